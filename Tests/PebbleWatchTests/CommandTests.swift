import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Commands to a watch without a phone. `BondingTests` has those with one.
@Suite struct CommandTests {
    private func firmware(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws -> Watch {
        let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
        var configuration = WatchConfiguration(identity: WatchIdentity(address: address))
        change(&configuration)
        return try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
    }

    private func presses(_ firmware: inout Watch) -> [String] {
        var presses: [String] = []
        while let event = firmware.nextEvent() {
            if case .buttonPressed(let button, let press) = event { presses.append("\(button) \(press)") }
        }
        return presses
    }

    @Test func aButtonIsShortWhenItIsLetGoAndLongWhileItIsHeld() throws {
        var firmware = try firmware()
        try firmware.perform(.hold([.up]), at: .seconds(1))
        #expect(firmware.nextDeadline == .seconds(3))
        try firmware.perform(.hold([.up, .select]), at: .milliseconds(2000))
        #expect(presses(&firmware) == [])
        try firmware.perform(.hold([.select]), at: .milliseconds(2999))
        #expect(presses(&firmware) == ["up short"])
        firmware.advance(to: .milliseconds(3999))
        #expect(presses(&firmware) == [])
        firmware.advance(to: .milliseconds(4000))
        #expect(presses(&firmware) == ["select long"])
        #expect(firmware.status.pairing.windowEnd == .seconds(304), "select held opens pairing")
        try firmware.perform(.hold([]), at: .seconds(9))
        #expect(presses(&firmware) == [], "it was counted already")
        #expect(firmware.status.heldButtons.isEmpty)
    }

    /// A press has its real length, even if the watch hears late of its beginning and its end.
    @Test func aPressThatIsToldLateIsAsLongAsItWas() throws {
        var firmware = try firmware()
        firmware.advance(to: .seconds(20))
        try firmware.perform(.hold([.select], since: .seconds(10)), at: .seconds(20))
        try firmware.perform(.hold([], since: .milliseconds(11_900)), at: .seconds(20))
        try firmware.perform(.hold([.up], since: .seconds(13)), at: .seconds(20))
        try firmware.perform(.hold([], since: .milliseconds(15_000)), at: .seconds(20))
        #expect(presses(&firmware) == ["select short", "up long"])
        // A time in the future counts as now.
        try firmware.perform(.hold([.down], since: .seconds(30)), at: .seconds(20))
        firmware.advance(to: .seconds(22))
        #expect(presses(&firmware) == ["down long"])
    }

    @Test func backIsHeldLongerThanTheOthersToForget() throws {
        var firmware = try firmware()
        try firmware.perform(.hold([.back, .up]), at: .seconds(1))
        #expect(firmware.nextDeadline == .seconds(3))
        firmware.advance(to: .seconds(3))
        #expect(presses(&firmware) == ["up long"])
        firmware.advance(to: .milliseconds(5999))
        #expect(presses(&firmware) == [])
        #expect(firmware.nextDeadline == .seconds(6))
        firmware.advance(to: .seconds(6))
        #expect(presses(&firmware) == ["back long"])
    }

    @Test func aReadingThatCannotBeIsRefusedAndChangesNothing() throws {
        var firmware = try firmware { $0.batteryLevel = 50 }
        let before = firmware.status.sensors
        for reading: SensorReading in [
            .battery(percent: 101, isCharging: true), .tap(.x, direction: 2), .contentSize(4),
        ] {
            #expect(throws: WatchCommandError.self) { try firmware.perform(.sense(reading), at: .zero) }
        }
        #expect(firmware.status.sensors == before)
    }

    @Test func readingsAreRemembered() throws {
        var firmware = try firmware()
        for reading: SensorReading in [
            .battery(percent: 42, isCharging: true), .tap(.y, direction: -1), .compass(heading: 0x4000, .refining),
            .accelerometer([.init(x: 1, y: 2, z: 3), .init(x: 4, y: 5, z: 6)]), .accelerometer([]),
            .phoneConnection(isConnected: false), .timeFormat(is24Hour: true), .timelinePeek(isShown: true),
            .contentSize(3), .health(.steps, value: 7), .heartRate(beatsPerMinute: 61, quality: 2),
        ] {
            try firmware.perform(.sense(reading), at: .zero)
        }
        let sensors = firmware.status.sensors
        #expect(sensors.batteryPercent == 42 && sensors.isCharging)
        #expect(sensors.tapCount == 1 && sensors.lastTap == .init(axis: .y, direction: -1))
        #expect(sensors.heading == .init(angle: 0x4000, calibration: .refining))
        #expect(sensors.acceleration == .init(x: 4, y: 5, z: 6))
        #expect(sensors.phoneConnectionOverride == false)
        #expect(sensors.is24HourStyle && sensors.showsTimelinePeek && sensors.contentSize == 3)
        #expect(sensors.health == [.steps: 7])
        #expect(sensors.heartRate == .init(beatsPerMinute: 61, quality: 2))
    }

    @Test func whatCannotBeDoneIsRefused() throws {
        var firmware = try firmware()
        func refusal(_ command: WatchCommand) -> WatchCommandError? {
            do throws(WatchCommandError) {
                try firmware.perform(command, at: .zero)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal(.confirmPairing) == .nothingWaits)
        #expect(refusal(.refusePairing) == .nothingWaits)
        #expect(refusal(.enterPasskey(try #require(Passkey(1)))) == .noPasskeyIsAsked)
        #expect(refusal(.forgetAll) == .noPhones)
        #expect(refusal(.forget(DeviceAddress(1))) == .unknownPhone(DeviceAddress(1)))
        #expect(refusal(.disconnect) == .notConnected)
        #expect(refusal(.openPairing(for: .zero)) == .badWindow)
        #expect(refusal(.openPairing(for: .seconds(3601))) == .badWindow)
    }

    @Test func aWatchThatRefusesOrKeepsNothingOpensForNobody() throws {
        let change: [(WatchCommandError, @Sendable (inout WatchConfiguration) -> Void)] = [
            (.pairingIsRefused, { $0.pairing.mode = .reject }),
            (.notBondable, { $0.pairing.isBondable = false }),
        ]
        for (error, change) in change {
            var firmware = try firmware(change)
            #expect(throws: error) { try firmware.perform(.openPairing(for: .seconds(60)), at: .zero) }
            #expect(throws: error) { try firmware.perform(.makeOutOfBandData, at: .zero) }
        }
    }

    @Test func outOfBandSecretsAreNewEachTimeAndReadBack() throws {
        var firmware = try firmware()
        var blocks: [OutOfBandBlock] = []
        for _ in 0..<2 {
            guard case .outOfBandData(let block) = try firmware.perform(.makeOutOfBandData, at: .zero) else { continue }
            blocks.append(block)
        }
        #expect(blocks.count == 2 && blocks.first != blocks.last)
        let block = try #require(blocks.first)
        #expect(try OutOfBandBlock(parsing: block.bytes[...]) == block)
        #expect("\(block)" == "<redacted>")
    }
}
