import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// The developer's connections: the emulator's frames and the bare stream, byte by byte.
@Suite struct DeveloperTests {
    private static let phoneVersionRequest: [UInt8] = [0x00, 0x01, 0x00, 0x11, 0x00]

    private func firmware() throws -> Watch {
        let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
        return try Watch(
            WatchConfiguration(identity: WatchIdentity(address: address)),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
    }

    /// A frame, written by hand.
    private func frame(_ protocolID: UInt8, _ data: [UInt8]) -> [UInt8] {
        [0xFE, 0xED, 0x00, protocolID, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data + [0xBE, 0xEF]
    }

    private func output(_ firmware: inout Watch, _ id: DeveloperConnectionID) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = firmware.nextBytes(for: id, at: .zero)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    @Test func theWatchSpeaksFirstAndAnswersInFrames() throws {
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.qemu, at: .zero)
        #expect(output(&firmware, id) == frame(1, Self.phoneVersionRequest))
        // A ping, in two frames and single bytes.
        let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0x11, 0x22, 0x33, 0x44]
        for byte in frame(1, Array(ping.prefix(3))) + frame(1, Array(ping.dropFirst(3))) {
            firmware.receive([byte], from: id, at: .zero)
        }
        #expect(output(&firmware, id) == frame(1, [0x00, 0x05, 0x07, 0xD1, 0x01, 0x11, 0x22, 0x33, 0x44]))
    }

    @Test func aSerialLineCarriesTheBareStream() throws {
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.serial, at: .zero)
        #expect(output(&firmware, id) == Self.phoneVersionRequest)
        firmware.receive([0x00, 0x05, 0x07, 0xD1, 0x00, 0x11, 0x22, 0x33, 0x44], from: id, at: .zero)
        #expect(output(&firmware, id) == [0x00, 0x05, 0x07, 0xD1, 0x01, 0x11, 0x22, 0x33, 0x44])
    }

    @Test func framesActOnTheModel() throws {
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.qemu, at: .zero)
        _ = output(&firmware, id)
        for bytes in [
            frame(2, [0x01, 0xFF]), frame(3, [0x00]), frame(4, [0x00, 0x00, 0x40, 0x00, 0x02]), frame(5, [42, 1]),
            frame(9, [1]), frame(10, [1]), frame(11, [3]), frame(12, [0, 0, 0, 0x10, 0x00]), frame(13, [61, 2]),
            frame(8, [4]),
        ] {
            firmware.receive(bytes[...], from: id, at: .zero)
        }
        let sensors = firmware.status.sensors
        #expect(sensors.lastTap == .init(axis: .y, direction: -1))
        #expect(sensors.phoneConnectionOverride == false)
        #expect(sensors.heading == .init(angle: 0x4000, calibration: .calibrated))
        #expect(sensors.batteryPercent == 42 && sensors.isCharging)
        #expect(sensors.is24HourStyle && sensors.showsTimelinePeek && sensors.contentSize == 3)
        #expect(sensors.health == [.steps: 4096])
        #expect(sensors.heartRate == .init(beatsPerMinute: 61, quality: 2))
        #expect(firmware.status.heldButtons == [.select])
        let running = frame(1, [0x00, 0x11, 0x00, 0x34, 0x01] + ClockFace.identifier.key)
        #expect(output(&firmware, id) == running, "that the phone came and went, which app runs, and nothing else")
    }

    @Test func theAccelerometerSaysHowMuchMoreItTakes() throws {
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.qemu, at: .zero)
        _ = output(&firmware, id)
        firmware.receive(frame(6, [1, 0x00, 0x01, 0xFF, 0xFF, 0x03, 0xE8])[...], from: id, at: .zero)
        #expect(firmware.status.sensors.acceleration == .init(x: 1, y: -1, z: 1000))
        #expect(output(&firmware, id) == frame(6, [0x00, 0xFF]))
        // A tool that never reads does not make the watch grow.
        for _ in 0..<10_000 { firmware.receive(frame(6, [0])[...], from: id, at: .zero) }
        #expect(output(&firmware, id).count <= 4200)
    }

    @Test func theNewestSessionIsTheOneThatCounts() throws {
        var firmware = try firmware()
        let first = firmware.openDeveloperConnection(.qemu, at: .zero)
        let second = firmware.openDeveloperConnection(.serial, at: .zero)
        #expect(!firmware.isDeveloperConnectionOpen(first) && firmware.isDeveloperConnectionOpen(second))
        #expect(firmware.status.sessions.map(\.transport) == [.serial])
        firmware.closeDeveloperConnection(second, reason: "the test is over", at: .zero)
        firmware.closeDeveloperConnection(first, reason: "the test is over", at: .zero)
        #expect(firmware.status.sessions.isEmpty)
        firmware.receive([1, 2, 3], from: second, at: .zero)
        #expect(firmware.nextBytes(for: second, at: .zero) == [])
    }

    @Test func halfAFrameIsForgottenAfterTenSeconds() throws {
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.qemu, at: .zero)
        _ = output(&firmware, id)
        firmware.receive(frame(5, [42, 1]).dropLast(), from: id, at: .seconds(1))
        #expect(firmware.nextDeadline.map { $0 <= .seconds(11) } == true)
        firmware.advance(to: .seconds(11))
        firmware.receive(frame(9, [1])[...], from: id, at: .seconds(12))
        #expect(firmware.status.sensors.is24HourStyle)
        #expect(firmware.status.sensors.batteryPercent == 100)
    }

    /// A tool can send any bytes, and none traps.
    @Test func bentFramesNeverTrap() throws {
        let seed: UInt64 = 0x9E_40
        var random = SplitMix64(seed: seed)
        var firmware = try firmware()
        let id = firmware.openDeveloperConnection(.qemu, at: .zero)
        var now = Duration.zero
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...12, using: &random)
            let data = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            var bytes = frame(UInt8.random(in: 0...14, using: &random), data)
            if Bool.random(using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            now += .milliseconds(Int.random(in: 0...50, using: &random))
            firmware.receive(bytes[...], from: id, at: now)
            firmware.advance(to: now)
            _ = firmware.nextBytes(for: id, at: now)
            while firmware.nextEvent() != nil {}
        }
        firmware.receive([UInt8](repeating: 0, count: 70_000)[...], from: id, at: now)
        firmware.receive(frame(5, [7, 0])[...], from: id, at: now + .seconds(20))
        #expect(firmware.isDeveloperConnectionOpen(id))
    }
}
