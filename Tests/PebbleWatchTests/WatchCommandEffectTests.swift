import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

@Suite("Commands and looks of a watch without a phone: what is logged and finished, and which apps there are")
struct WatchCommandEffectTests {
    @Test("An app that logs no more has what it logged sent, and then its session closed")
    func finishedLogging() throws {
        var rig = ServiceRig()
        let application = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let session = DataLoggingMessage.Session(
            application: application,
            timestamp: 0,
            tag: 7,
            itemType: .unsigned,
            itemSize: 4
        )
        try rig.system.perform(.log([1, 2, 3, 4], as: session), at: rig.now)
        let id = LoggingSessionID(rawValue: 1)
        #expect(rig.takeServiceEvents() == [.dataLogged(id, byteCount: 4)])
        try rig.system.perform(.finishLogging(id), at: rig.now)
        // 0x1A7A: Report Open Sessions, of which the phone has none. The watch opens its own, and sends what there is.
        let opened = rig.send([0x00, 0x01, 0x1A, 0x7A, 0x84]).map(\.payload)
        #expect(opened.map(\.first) == [0x01])
        #expect(rig.send([0x00, 0x02, 0x1A, 0x7A, 0x85, 0x01]).map { $0.payload.suffix(4) } == [[1, 2, 3, 4]])
        #expect(rig.send([0x00, 0x02, 0x1A, 0x7A, 0x85, 0x01]).map(\.payload) == [[0x03, 0x01]], "and closes it")
        #expect(rig.changes.last == .loggingEnded(id))
    }

    @Test(
        "The apps of a watch are those that came with it, with the versions of those that it was started with, and once each"
    )
    func apps() throws {
        func package(_ number: UInt64, _ name: String, flags: AppFlags = [], minor: UInt8 = 0) -> AppPackage {
            AppPackage(
                metadata: AppMetadata(
                    uuid: PebbleUUID(upperHalf: 77, lowerHalf: number),
                    flags: flags,
                    majorVersion: 2,
                    minorVersion: minor,
                    sdk: .current,
                    name: name
                ),
                binary: []
            )
        }
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.defaultApp = ClockFace()
        configuration.builtInApps = [EchoApp()]
        configuration.apps = [package(1, "Tea", minor: 3), package(2, "Hands", flags: .watchFace), package(1, "Again")]
        let watch = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        let apps = watch.apps
        #expect(apps.map(\.name) == ["Clock", "Echo", "Tea", "Hands"])
        #expect(apps.map(\.version) == [nil, nil, "2.3", "2.0"])
        #expect(apps.map(\.isWatchface) == [true, false, false, true])
        #expect(apps.allSatisfy { $0.isBuiltIn && $0.isInstalled })
        #expect(apps.map(\.isRunning) == [true, false, false, false])
    }

    @Test("The screen of a board that nobody knows is the first Pebble's")
    func unknownBoard() {
        let display = Display(of: HardwarePlatform(rawValue: 0x80))
        #expect(display.width == 144 && display.height == 168 && !display.hasColor && !display.isRound)
        #expect(FrameBuffer(display).pixels.count == 3024, "one bit a pixel")
    }

    @Test("The connection of a tool that has gone is not open, and gone once more it changes nothing")
    func toolThatHasGone() throws {
        var watch = try Watch(
            WatchConfiguration(identity: WatchIdentity(address: RigWatch.address)),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        let id = watch.openDeveloperConnection(.qemu, at: .zero)
        #expect(watch.isDeveloperConnectionOpen(id))
        watch.closeDeveloperConnection(id, reason: "the test is over", at: .zero)
        #expect(!watch.isDeveloperConnectionOpen(id))
        while watch.nextEvent() != nil {}
        watch.closeDeveloperConnection(id, reason: "the test is over", at: .zero)
        #expect(watch.nextEvent() == nil && watch.status.sessions.isEmpty)
    }

    /// A frame of the emulator, written by hand.
    private func frame(_ protocolID: UInt8, _ data: [UInt8]) -> [UInt8] {
        [0xFE, 0xED, 0x00, protocolID, UInt8(data.count >> 8), UInt8(data.count & 0xFF)] + data + [0xBE, 0xEF]
    }

    /// What the emulator is told of its buttons; whenever it is asked, it says that its accelerometer has room for 256 samples.
    private func toldButtons(_ watch: inout Watch, at now: Duration) throws -> [UInt8] {
        var told: [UInt8] = []
        var deframer = QEMUDeframer()
        while case .firmwareBytes(let bytes) = try watch.take(.firmware(.hasRoom), at: now), !bytes.isEmpty {
            deframer.receive(bytes[...])
            while let frame = deframer.nextFrame(at: now) {
                if frame.protocolID.rawValue == 8 { told += frame.data }
                if frame.protocolID.rawValue == 6 {
                    try watch.take(.firmware(.bytes(self.frame(6, [0x01, 0x00])[...])), at: now)
                }
            }
        }
        return told
    }

    @Test("A button that a person holds is down in the emulator for as long")
    func heldInTheEmulator() throws {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.brain = .emulator
        var watch = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        try watch.take(.firmware(.connected), at: .zero)
        // The firmware has had the time to start.
        watch.advance(to: .seconds(20))
        _ = try toldButtons(&watch, at: .seconds(20))
        // Bit 1 is up, and bit 2 select.
        for (second, held, expected) in [
            (21, [.select, .up], [0b0110]), (22, [.up], [0b0010]), (23, [], [0]), (24, [], []),
        ] as [(Int, Set<WatchButton>, [UInt8])] {
            try watch.perform(.hold(held), at: .seconds(second))
            let told = try toldButtons(&watch, at: .seconds(second))
            #expect(told == expected, "\(held)")
        }
    }

    @Test(
        "An image of an update that has only begun to come is the least far, and one that the next boot starts is the furthest"
    )
    func progress() {
        let steps: [StoredFirmwareImage.Progress] = [.installed, .partial, .committed]
        #expect(steps.sorted() == [.partial, .committed, .installed])
    }
}
