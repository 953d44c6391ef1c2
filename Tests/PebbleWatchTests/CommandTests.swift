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

    // MARK: Apps and the clock

    private static let app = PebbleUUID(upperHalf: 78, lowerHalf: 1)

    private func package(_ version: UInt8 = 2, binary: [UInt8] = [1, 2, 3], resources: [UInt8]? = [4]) -> AppPackage {
        AppPackage(
            metadata: AppMetadata(
                uuid: Self.app,
                flags: .allowsJavaScript,
                majorVersion: version,
                minorVersion: 7,
                sdk: .current,
                name: "Brought"
            ),
            binary: binary,
            resources: resources
        )
    }

    /// Carries out what the watch wants remembered, and returns what it was.
    @discardableResult
    private func store(_ watch: inout Watch, failure: WatchStoreError? = nil) -> [MemoryChange] {
        var changes: [MemoryChange] = []
        while let (id, change) = watch.nextMemoryChange() {
            changes.append(change)
            watch.memoryChangeFinished(id, failure: failure, at: .zero)
        }
        return changes
    }

    /// Events that concern apps, in words.
    private func appEvents(_ watch: inout Watch) -> [String] {
        var words: [String] = []
        while let event = watch.nextEvent() {
            switch event {
            case .service(.appInstalled(let metadata)): words.append("installed \(metadata.name)")
            case .service(.appRemoved): words.append("removed")
            case .service(.uploaded(let kind, let count)): words.append("\(kind) \(count)")
            case .appLaunched(_, let name): words.append("launched \(name)")
            default: break
            }
        }
        return words
    }

    @Test func aPackageIsInstalledWhenTheStoreHasIt() throws {
        var watch = try firmware()
        store(&watch)
        _ = appEvents(&watch)
        try watch.perform(.installApp(package(), launches: true), at: .zero)
        #expect(throws: WatchCommandError.installsAlready) {
            try watch.perform(.installApp(package(), launches: false), at: .zero)
        }
        #expect(!watch.apps.contains { $0.uuid == Self.app } && appEvents(&watch).isEmpty)
        #expect(store(&watch).count == 1, "whole or not at all")
        #expect(appEvents(&watch) == ["installed Brought", "appBinary 3", "appResources 1", "launched Brought"])
        let app = try #require(watch.apps.last)
        #expect(
            app
                == WatchStatus.App(
                    uuid: Self.app,
                    name: "Brought",
                    version: "2.7",
                    isWatchface: false,
                    isBuiltIn: false,
                    isInstalled: true,
                    isRunning: true
                )
        )
        #expect(watch.installationFailure == nil)
        // Another version takes its place, and does not start by itself.
        try watch.perform(.installApp(package(3), launches: false), at: .zero)
        store(&watch)
        #expect(watch.apps.last?.version == "3.7" && watch.apps.last?.isRunning == false)
        try watch.perform(.launchApp(Self.app), at: .zero)
        _ = appEvents(&watch)
        try watch.perform(.removeApp(Self.app), at: .zero)
        #expect(store(&watch).count == 1)
        #expect(appEvents(&watch).first == "removed")
        #expect(!watch.isAppInstalled(Self.app) && watch.runningApp != Self.app)
    }

    @Test func whatTheStoreDoesNotTakeIsNotInstalled() throws {
        var watch = try firmware()
        store(&watch)
        try watch.perform(.installApp(package(), launches: true), at: .zero)
        store(&watch, failure: .full(path: "/state"))
        #expect(watch.installationFailure == .full(path: "/state"))
        #expect(!watch.isAppInstalled(Self.app))
        try watch.perform(.installApp(package(), launches: true), at: .zero)
        store(&watch)
        #expect(watch.installationFailure == nil && watch.runningApp == Self.app)
    }

    @Test func appsThatCannotBeInstalledOrRemovedAreRefused() throws {
        var watch = try firmware()
        let builtIn = try #require(watch.apps.first)
        #expect(builtIn.isBuiltIn && builtIn.isWatchface && builtIn.isRunning && builtIn.version == nil)
        #expect(throws: WatchCommandError.appIsBuiltIn(builtIn.uuid)) {
            try watch.perform(.removeApp(builtIn.uuid), at: .zero)
        }
        #expect(throws: WatchCommandError.unknownApp(Self.app)) {
            try watch.perform(.removeApp(Self.app), at: .zero)
        }
        let large = [UInt8](repeating: 0, count: 256 * 1024 + 1)
        #expect(throws: WatchCommandError.noRoomForApp(Self.app)) {
            try watch.perform(.installApp(package(binary: large), launches: false), at: .zero)
        }
        var face = package()
        face.metadata.uuid = builtIn.uuid
        #expect(throws: WatchCommandError.appIsBuiltIn(builtIn.uuid)) {
            try watch.perform(.installApp(face, launches: false), at: .zero)
        }
    }

    @Test func theClockIsSetAsByAPhone() throws {
        var watch = try firmware()
        #expect(!watch.clock.isSet)
        try watch.perform(.setTime(seconds: 1_700_000_000, offsetMinutes: nil, zone: nil), at: .seconds(1))
        #expect(watch.clock.isSet && watch.clock.zone == nil && watch.clock.seconds(at: .seconds(3)) == 1_700_000_002)
        try watch.perform(.setTime(seconds: 1_800_000_000, offsetMinutes: -210, zone: nil), at: .seconds(4))
        #expect(watch.clock.zone?.name == "UTC-3:30" && watch.clock.zone?.offsetMinutes == -210)
        try watch.perform(.setTime(seconds: 1_800_000_000, offsetMinutes: 60, zone: "Europe/Paris"), at: .seconds(4))
        #expect(watch.clock.zone?.name == "Europe/Paris")
        try watch.perform(.setTime(seconds: 1_800_000_000, offsetMinutes: nil, zone: "Europe/Oslo"), at: .seconds(4))
        #expect(watch.clock.zone?.name == "Europe/Oslo" && watch.clock.zone?.offsetMinutes == 60)
        var count = 0
        while let event = watch.nextEvent() { if case .clockSet = event { count += 1 } }
        #expect(count == 4)
    }
}
