import ByteCoding

/// How the radio modulates.
public enum PHY: UInt8, Hashable, Sendable, CaseIterable {
    /// One megabit a second: what everyone has.
    case le1M = 1
    /// Two megabits a second.
    case le2M = 2
    /// Long range.
    case leCoded = 3
}

/// Several PHYs.
public struct PHYSet: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Bit 0: LE 1M.
    public static let le1M = PHYSet(rawValue: 1 << 0)
    /// Bit 1: LE 2M.
    public static let le2M = PHYSet(rawValue: 1 << 1)
    /// Bit 2: LE Coded.
    public static let leCoded = PHYSet(rawValue: 1 << 2)
    /// All three PHYs: bits 0 to 2.
    package static let all: PHYSet = [.le1M, .le2M, .leCoded]
}

/// Which PHYs a host wants in each direction.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.48.
public struct PHYPreferences: Hashable, Sendable {
    /// The PHYs to transmit on; nil for no preference.
    public var transmit: PHYSet?
    /// The PHYs to receive on; nil for no preference.
    public var receive: PHYSet?

    /// Makes preferences for the two directions; nil leaves the choice to the controller.
    public init(transmit: PHYSet?, receive: PHYSet?) {
        self.transmit = transmit
        self.receive = receive
    }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let noPreference = try reader.readUInt8(field + ".all_phys")
        let transmit = PHYSet(rawValue: try reader.readUInt8(field + ".tx_phys"))
        let receive = PHYSet(rawValue: try reader.readUInt8(field + ".rx_phys"))
        self.transmit = noPreference & 0b01 == 0 ? transmit : nil
        self.receive = noPreference & 0b10 == 0 ? receive : nil
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.append((transmit == nil ? 0b01 : 0) | (receive == nil ? 0b10 : 0))
        buffer.append(transmit?.rawValue ?? 0)
        buffer.append(receive?.rawValue ?? 0)
    }
}

/// How a host wants the coded PHY coded.
public struct PHYOptions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Two symbols a bit when transmitting: faster.
    public static let preferS2 = PHYOptions(rawValue: 1)
    /// Eight symbols a bit when transmitting: farther.
    public static let preferS8 = PHYOptions(rawValue: 2)
}
