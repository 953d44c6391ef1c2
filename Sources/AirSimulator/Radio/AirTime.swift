import BluetoothHCI

/// How long packets take on the air.
///
/// Source: Core 5.4, Vol 6, Part B, 2.1 and 2.2 (packet formats), 4.1 (inter frame space), Part A, 3.3 (modulation).
enum AirTime {
    /// The time between the end of a packet and the start of the next one on the same channel (T_IFS).
    static let interFrameSpace = Microseconds(150)
    /// The least time between an advertising packet and the auxiliary packet that it points to (T_MAFS).
    static let minimumAuxiliaryFrameSpace = Microseconds(300)
    /// How long a receiver listens past the expected start before it gives up: until an access address would have
    /// ended, and the tolerance of T_IFS.
    static let listenTimeout = Microseconds(50)
    /// What a radio needs to go to another channel.
    static let channelSwitch = Microseconds(150)
    /// Added to data of an encrypted packet that is not empty: the message integrity check.
    static let messageIntegrityCheckLength = 4

    /// The payload lengths of the advertising physical channel that are fixed.
    static let scanRequestLength = 12
    static let connectIndicationLength = 34
    /// AdvA in front of the data of a legacy advertising PDU or a scan response.
    static let legacyAdvertisingHeaderLength = 6
    /// ADV_EXT_IND: extended header length and mode, flags, AdvDataInfo, AuxPtr.
    static let extendedIndicationLength = 7
    /// AUX_CONNECT_RSP: extended header length and mode, flags, AdvA, TargetA.
    static let auxiliaryConnectResponseLength = 14
}

extension PHY {
    /// How long a packet with a payload of `length` octets is on the air. Coded packets use S=8.
    func airTime(payloadLength length: Int) -> Microseconds {
        let length = Int64(length)
        return switch self {
        // Preamble 1, access address 4, header 2, payload, CRC 3 octets, 8 µs each.
        case .le1M: Microseconds(8 * (1 + 4 + 2 + length + 3))
        // The preamble is 2 octets; 4 µs each.
        case .le2M: Microseconds(4 * (2 + 4 + 2 + length + 3))
        // Preamble 80 µs, access address 256, coding indicator 16, first terminator 24; 64 µs for each octet of header,
        // payload and CRC; second terminator 24.
        case .leCoded: Microseconds(80 + 256 + 16 + 24 + 64 * (2 + length + 3) + 24)
        }
    }

    /// The longest data payload whose packet takes no more than `time`, with room for an integrity check in any case.
    ///
    /// Source: Core 5.4, Vol 6, Part B, 4.5.10.
    func maximumPayloadLength(within time: Microseconds) -> Int {
        let perOctet = airTime(payloadLength: 1).count - airTime(payloadLength: 0).count
        let octets = (time.count - airTime(payloadLength: 0).count) / perOctet
        return max(0, Int(octets) - AirTime.messageIntegrityCheckLength)
    }
}
