import ByteCoding

/// The number of a command: six bits of group (OGF) above ten bits of command (OCF).
///
/// Source: Core 5.4, Vol 4, Part E, 5.4.1.
public struct HCIOpcode: RawRepresentable, Hashable, Sendable {
    /// Group and command in one number, as sent.
    public let rawValue: UInt16

    /// Any opcode, known or not.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// An opcode of a group.
    public init(_ group: Group, _ command: UInt16) {
        rawValue = UInt16(group.rawValue) << 10 | (command & 0x3FF)
    }

    /// The opcode group fields that Cairn speaks.
    public enum Group: UInt8, Sendable {
        /// OGF 0x01: Link Control commands. Source: Core 5.4, Vol 4, Part E, 7.1.
        case linkControl = 0x01
        /// OGF 0x02: Link Policy commands. Source: Core 5.4, Vol 4, Part E, 7.2.
        case linkPolicy = 0x02
        /// OGF 0x03: Controller & Baseband commands. Source: Core 5.4, Vol 4, Part E, 7.3.
        case controllerAndBaseband = 0x03
        /// OGF 0x04: Informational parameters. Source: Core 5.4, Vol 4, Part E, 7.4.
        case informational = 0x04
        /// OGF 0x05: Status parameters. Source: Core 5.4, Vol 4, Part E, 7.5.
        case status = 0x05
        /// OGF 0x08: LE Controller commands. Source: Core 5.4, Vol 4, Part E, 7.8.
        case lowEnergy = 0x08
        /// OGF 0x3F: commands that a manufacturer defines.
        case vendor = 0x3F
    }

    /// Zero: a Command Complete or Command Status with it only says how many commands the controller takes.
    package static let none = HCIOpcode(rawValue: 0)
}

extension HCIOpcode: CustomStringConvertible {
    public var description: String {
        if let command = HCICommands.command(self) { return command.name }
        return "0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal.uppercased()
    }
}
