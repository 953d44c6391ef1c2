import ByteCoding

/// One frame of the protocol that Pebble's emulator speaks over TCP, and with it pebble-tool, pypkjs and others.
///
/// Layout: signature `FE ED`, protocol (UInt16), length (UInt16), data, footer `BE EF`; big-endian. Frames of
/// ``QEMUProtocol/spp`` carry the Pebble Protocol's stream, cut anywhere.
package struct QEMUFrame: Equatable, Sendable {
    /// What the data are.
    package var protocolID: QEMUProtocol
    /// At most 65535 bytes.
    package var data: [UInt8]

    /// Firmware and libpebble3 take no longer data.
    package static let maximumDataLength = 2048

    /// What every frame begins with.
    package static let signature: [UInt8] = [0xFE, 0xED]
    static let footer: [UInt8] = [0xBE, 0xEF]
    static let headerLength = 6
    /// How many bytes it is longer than its data.
    package static let overhead = headerLength + footer.count

    /// A frame.
    package init(_ protocolID: QEMUProtocol, data: [UInt8]) {
        self.protocolID = protocolID
        self.data = data
    }

    /// Appends a stream of one protocol as frames, each as long as may be.
    /// - Parameter maximumDataLength: at most 65535. Gadgetbridge must find each message in one frame, however long.
    package static func append(
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
package struct QEMUProtocol: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The Pebble Protocol's stream.
    package static let spp = QEMUProtocol(rawValue: 1)
    /// To the watch: somebody tapped it, ``QEMUMessage/tap(_:direction:)``.
    package static let tap = QEMUProtocol(rawValue: 2)
    /// To the watch: whether the phone counts as connected, ``QEMUMessage/bluetoothConnection(isConnected:)``.
    package static let bluetoothConnection = QEMUProtocol(rawValue: 3)
    /// To the watch: where its compass points, ``QEMUMessage/compass(heading:_:)``.
    package static let compass = QEMUProtocol(rawValue: 4)
    /// To the watch: how full its battery is, ``QEMUMessage/battery(percent:isCharging:)``.
    package static let battery = QEMUProtocol(rawValue: 5)
    /// To the watch: samples, ``QEMUMessage/accelerometer(_:)``. From the watch: ``QEMUMessage/accelerometerSpace(_:)``.
    package static let accelerometer = QEMUProtocol(rawValue: 6)
    /// From the watch: whether it vibrates, ``QEMUMessage/vibration(isOn:)``.
    package static let vibration = QEMUProtocol(rawValue: 7)
    /// To the watch: which buttons are held down, ``QEMUMessage/buttons(_:)``.
    package static let button = QEMUProtocol(rawValue: 8)
    /// To the watch: how it is to show the time, ``QEMUMessage/timeFormat(is24Hour:)``.
    package static let timeFormat = QEMUProtocol(rawValue: 9)
    /// To the watch: whether the timeline's preview is shown, ``QEMUMessage/timelinePeek(isShown:)``.
    package static let timelinePeek = QEMUProtocol(rawValue: 10)
    /// To the watch: how large its texts are, ``QEMUMessage/contentSize(_:)``.
    package static let contentSize = QEMUProtocol(rawValue: 11)
    /// To the watch: what it has counted, ``QEMUMessage/healthMetric(_:value:)``.
    package static let healthMetric = QEMUProtocol(rawValue: 12)
    /// To the watch: a measured heart rate, ``QEMUMessage/heartRate(beatsPerMinute:quality:)``.
    package static let heartRate = QEMUProtocol(rawValue: 13)
    /// Both ways: for tests; ``QEMUMessage`` does not read it.
    package static let rebbleTest = QEMUProtocol(rawValue: 100)

    /// Whether it is one of these: no tool sends another.
    package var isKnown: Bool {
        (QEMUProtocol.spp.rawValue...QEMUProtocol.heartRate.rawValue).contains(rawValue) || self == .rebbleTest
    }

    /// What a watch may send: libpebble2's parser stalls for ever on anything else.
    package var mayBeSentByWatch: Bool { [.spp, .accelerometer, .vibration, .rebbleTest].contains(self) }
}
