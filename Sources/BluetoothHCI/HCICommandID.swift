/// What is known of a command besides its parameters: its name, its number, and how a controller says that it has it.
public struct HCICommandID: Hashable, Sendable {
    /// The name as the Core prints it, without `HCI_`.
    public let name: String
    /// The number.
    public let opcode: HCIOpcode
    /// Where Read Local Supported Commands says whether a controller has the command; nil if every controller has it.
    package let supportedBit: SupportedCommands.Bit?

    /// A command.
    /// - Parameters:
    ///   - name: the name as the Core prints it, without `HCI_`.
    ///   - group: the opcode group field (OGF), 6 bits.
    ///   - command: the opcode command field (OCF), 10 bits.
    ///   - bit: octet and bit in Read Local Supported Commands (Core 5.4, Vol 4, Part E, 6.27).
    public init(_ name: String, _ group: HCIOpcode.Group, _ command: UInt16, bit: (octet: Int, bit: UInt8)? = nil) {
        self.name = name
        opcode = HCIOpcode(group, command)
        supportedBit = bit.map { SupportedCommands.Bit(octet: $0.octet, bit: $0.bit) }
    }
}
