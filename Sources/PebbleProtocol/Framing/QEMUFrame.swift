import ByteCoding

/// One frame of the protocol that Pebble's emulator speaks over TCP, and with it pebble-tool, pypkjs and others.
///
/// Layout: signature `FE ED`, protocol (UInt16), length (UInt16), data, footer `BE EF`; big-endian. Frames of
/// ``QEMUProtocol/spp`` carry the Pebble Protocol's stream, cut anywhere.
public struct QEMUFrame: Equatable, Sendable {
    /// What the data are.
    public var protocolID: QEMUProtocol
    /// At most 65535 bytes.
    public var data: [UInt8]

    /// Firmware and libpebble3 take no longer data.
    public static let maximumDataLength = 2048

    /// What every frame begins with.
    public static let signature: [UInt8] = [0xFE, 0xED]
    static let footer: [UInt8] = [0xBE, 0xEF]
    static let headerLength = 6
    static let overhead = headerLength + footer.count

    /// A frame.
    public init(_ protocolID: QEMUProtocol, data: [UInt8]) {
        self.protocolID = protocolID
        self.data = data
    }

    /// Appends a stream of one protocol as frames, each as long as may be.
    /// - Parameter maximumDataLength: at most 65535. Gadgetbridge must find each message in one frame, however long.
    public static func append(
        _ stream: ArraySlice<UInt8>,
        as protocolID: QEMUProtocol,
        maximumDataLength: Int = maximumDataLength,
        to bytes: inout [UInt8]
    ) {
        let limit = min(max(1, maximumDataLength), Int(UInt16.max))
        var rest = stream
        repeat {
            let data = rest.prefix(limit)
            rest = rest.dropFirst(data.count)
            bytes += signature
            bytes.appendBigEndian(protocolID.rawValue)
            bytes.appendBigEndian(UInt16(truncatingIfNeeded: data.count))
            bytes += data
            bytes += footer
        } while !rest.isEmpty
    }
}

/// What the data of a frame are.
public struct QEMUProtocol: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The Pebble Protocol's stream.
    public static let spp = QEMUProtocol(rawValue: 1)
    public static let tap = QEMUProtocol(rawValue: 2)
    public static let bluetoothConnection = QEMUProtocol(rawValue: 3)
    public static let compass = QEMUProtocol(rawValue: 4)
    public static let battery = QEMUProtocol(rawValue: 5)
    public static let accelerometer = QEMUProtocol(rawValue: 6)
    public static let vibration = QEMUProtocol(rawValue: 7)
    public static let button = QEMUProtocol(rawValue: 8)
    public static let timeFormat = QEMUProtocol(rawValue: 9)
    public static let timelinePeek = QEMUProtocol(rawValue: 10)
    public static let contentSize = QEMUProtocol(rawValue: 11)
    public static let healthMetric = QEMUProtocol(rawValue: 12)
    public static let heartRate = QEMUProtocol(rawValue: 13)
    public static let rebbleTest = QEMUProtocol(rawValue: 100)

    /// Whether it is one of these: no tool sends another.
    public var isKnown: Bool {
        (QEMUProtocol.spp.rawValue...QEMUProtocol.heartRate.rawValue).contains(rawValue) || self == .rebbleTest
    }

    /// What a watch may send: libpebble2's parser stalls for ever on anything else.
    public var mayBeSentByWatch: Bool { [.spp, .accelerometer, .vibration, .rebbleTest].contains(self) }
}
