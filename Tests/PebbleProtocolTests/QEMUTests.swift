import ByteCoding
import PebbleProtocol
import Testing

@Suite("Frames of the emulator's protocol")
struct QEMUTests {
    static let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "qemu-frame" }

    static let expected: [String: QEMUMessage] = [
        "qemu-tap-y-minus": .tap(.y, direction: -1),
        "qemu-bt-connected": .bluetoothConnection(isConnected: true),
        "qemu-bt-disconnected": .bluetoothConnection(isConnected: false),
        "qemu-compass-90": .compass(heading: 0x4000, .calibrated),
        "qemu-battery-42-charging": .battery(percent: 42, isCharging: true),
        "qemu-accel-3": .accelerometer([
            .init(x: -500, y: 0, z: -900), .init(x: -900, y: 0, z: -500), .init(x: -1000, y: 0, z: 0),
        ]),
        "qemu-accel-response": .accelerometerSpace(100),
        "qemu-vibration-on": .vibration(isOn: true),
        "qemu-vibration-off": .vibration(isOn: false),
        "qemu-button-back": .buttons(.back),
        "qemu-button-up": .buttons(.up),
        "qemu-button-select": .buttons(.select),
        "qemu-button-down": .buttons(.down),
        "qemu-button-release": .buttons([]),
        "qemu-time-format-24h": .timeFormat(is24Hour: true),
        "qemu-timeline-peek": .timelinePeek(isShown: true),
        "qemu-content-size-large": .contentSize(2),
        "qemu-health-steps-1234": .healthMetric(.steps, value: 1234),
        "qemu-heart-rate-72": .heartRate(beatsPerMinute: 72, quality: 4),
    ]

    private func frames(_ stream: [UInt8], chunkLength: Int = .max) -> [QEMUFrame] {
        var deframer = QEMUDeframer()
        var frames: [QEMUFrame] = []
        var rest = stream[...]
        while !rest.isEmpty {
            deframer.receive(rest.prefix(chunkLength))
            rest = rest.dropFirst(min(chunkLength, rest.count))
            while let frame = deframer.nextFrame(at: .zero) { frames.append(frame) }
        }
        #expect(deframer.skippedByteCount == 0)
        #expect(deframer.bufferedByteCount == 0)
        return frames
    }

    @Test("A single byte that may begin a frame has its time too")
    func timeOfOneByte() {
        var deframer = QEMUDeframer()
        deframer.receive([0xFE])
        #expect(deframer.nextFrame(at: .seconds(1)) == nil)
        #expect(deframer.nextDeadline != nil)
    }

    @Test("Every frame vector is read, and written again", arguments: [1, 7, Int.max])
    func vectorsRoundTrip(chunkLength: Int) throws {
        #expect(Self.vectors.count == 28)
        let frames = frames(Self.vectors.flatMap(\.bytes), chunkLength: chunkLength)
        #expect(frames.count == Self.vectors.count)
        for (frame, vector) in zip(frames, Self.vectors) {
            var bytes: [UInt8] = []
            QEMUFrame.append(frame.data[...], as: frame.protocolID, to: &bytes)
            let isSame = bytes == vector.bytes
            #expect(isSame, "\(vector.name)")
            let message = try QEMUMessage(frame)
            #expect(message == Self.expected[vector.name], "\(vector.name)")
            if let message { #expect(message.frame == frame, "\(vector.name)") }
        }
        let isStream: [QEMUProtocol] = [.spp, .rebbleTest]
        let streams = frames.filter { isStream.contains($0.protocolID) }.count
        #expect(Self.expected.count + streams == Self.vectors.count)
    }

    @Test("A long message is cut at 2048 bytes, as the vectors cut it, or not at all")
    func longMessage() throws {
        let message = try #require(EndpointVectorTests.packets.first { $0.name == "appmessage-push-8192-bytearray" })
        var bytes: [UInt8] = []
        QEMUFrame.append(message.bytes[...], as: .spp, to: &bytes)
        let chunks = Self.vectors.filter { $0.name.hasPrefix("qemu-spp-8k-appmessage-chunk") }
        let isSame = bytes == chunks.flatMap(\.bytes)
        #expect(isSame)
        #expect(frames(bytes).flatMap(\.data).count == 8222)
        bytes = []
        QEMUFrame.append(message.bytes[...], as: .spp, maximumDataLength: 65535, to: &bytes)
        #expect(bytes.count == 8222 + 8)
        #expect(frames(bytes).count == 1)
        bytes = []
        QEMUFrame.append([], as: .vibration, to: &bytes)
        #expect(bytes == hex("feed00070000beef"))
        #expect(try QEMUMessage(frames(bytes)[0]) == .vibration(isOn: true))
    }

    @Test("Garbage is skipped and counted; a frame behind a broken one is found")
    func garbage() {
        var deframer = QEMUDeframer()
        let good = hex("feed0003000101beef")
        deframer.receive((hex("00fefefe") + good)[...])
        #expect(deframer.nextFrame(at: .zero) == QEMUFrame(.bluetoothConnection, data: [1]))
        #expect(deframer.skippedByteCount == 4)
        // A frame is handled with any footer.
        deframer.receive(hex("feed0003000100 0000")[...])
        #expect(deframer.nextFrame(at: .zero) == QEMUFrame(.bluetoothConnection, data: [0]))
        #expect(deframer.skippedByteCount == 4)
        // But what is longer than any frame of the firmware's, and has no footer: a whole frame is within it.
        deframer.receive((hex("feed00010900 00") + good + [UInt8](repeating: 0, count: 0x900))[...])
        #expect(deframer.nextFrame(at: .zero) == QEMUFrame(.bluetoothConnection, data: [1]))
        #expect(deframer.nextFrame(at: .zero) == nil)
        #expect(deframer.bufferedByteCount == 0)
    }

    @Test("A million bytes that only begin signatures need no stack")
    func endlessSignatures() {
        var deframer = QEMUDeframer()
        deframer.receive([UInt8](repeating: 0xFE, count: 1_000_000)[...])
        #expect(deframer.nextFrame(at: .zero) == nil)
        #expect(deframer.bufferedByteCount == 1)
    }

    @Test("A frame that is not complete after 10 s is dropped")
    func timeout() {
        var deframer = QEMUDeframer()
        deframer.receive(hex("feed000300")[...])
        #expect(deframer.nextFrame(at: .seconds(5)) == nil)
        #expect(deframer.nextDeadline == .seconds(15))
        deframer.receive(hex("01")[...])
        #expect(deframer.nextFrame(at: .seconds(9)) == nil)
        #expect(deframer.nextDeadline == .seconds(15))
        deframer.advance(to: .seconds(14))
        #expect(deframer.bufferedByteCount == 6)
        deframer.advance(to: .seconds(15))
        #expect(deframer.bufferedByteCount == 0)
        #expect(deframer.nextDeadline == nil)
        deframer.receive(hex("feed0003000101beef")[...])
        #expect(deframer.nextFrame(at: .seconds(16)) == QEMUFrame(.bluetoothConnection, data: [1]))
        #expect(deframer.nextDeadline == nil)
    }

    @Test("What libpebble2 accepts")
    func sendable() {
        let allowed = (0...200 as ClosedRange<UInt16>).filter { QEMUProtocol(rawValue: $0).mayBeSentByWatch }
        #expect(allowed == [1, 6, 7, 100])
    }
}
