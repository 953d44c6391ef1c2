import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import Testing

/// The Pebble stream on the air and in virtual time: who may learn its PSM and open it, what is said on it, and how it is
/// withdrawn.
@Suite struct StreamTests {
    private static let watchAddress = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
    private static let seed: UInt64 = 0x57EA
    /// The characteristic that CoreBluetooth looks for: CBUUIDL2CAPPSMCharacteristicString.
    private static let publishedPSM = BluetoothUUID.uuid128(0xABDD3056_28FA_441D_A470_55A75A52553A)
    /// Of the Pebble app on a phone: PPoGATT 0 to 1, the system's UUID, hybrid.
    private static let introduction: [UInt8] = [0, 1] + Array(repeating: 0, count: 16) + [1]
    /// The phone's version is asked for on every new session: one byte to endpoint 0x0011.
    private static let versionRequest: [UInt8] = [0x00, 0x01, 0x00, 0x11, 0x00]
    /// Ping with cookie CAFEBABE, and its answer.
    private static let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0xCA, 0xFE, 0xBA, 0xBE]
    private static let pong: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x01, 0xCA, 0xFE, 0xBA, 0xBE]

    /// A watch and a phone, connected.
    private struct Rig {
        var simulation: Simulation
        let watch: Simulation.HostID<RigWatch>
        let phone: Simulation.HostID<RigPhone>

        init(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws {
            var configuration = WatchConfiguration(identity: WatchIdentity(address: StreamTests.watchAddress))
            configuration.serviceChangedDelay = .seconds(1)
            change(&configuration)
            simulation = Simulation(seed: StreamTests.seed)
            watch = simulation.add(try RigWatch(configuration, seed: StreamTests.seed))
            phone = simulation.add(RigPhone(address: 0xA1, seed: StreamTests.seed))
            simulation.run(for: .seconds(1))
            simulation.withHost(phone) { $0.connect(to: StreamTests.watchAddress) }
            simulation.run(for: .seconds(3))
            let connection = onPhone { $0.connection }
            try #require(connection != nil, "the phone did not connect")
        }

        mutating func onPhone<Result>(_ body: (inout RigPhone) throws -> Result?) rethrows -> Result? {
            try simulation.withHost(phone) { try body(&$0) } ?? nil
        }

        mutating func onWatch<Result>(_ body: (inout RigWatch, Duration) throws -> Result?) rethrows -> Result? {
            let now = simulation.now
            return try simulation.withHost(watch) { watch in
                defer { watch.drain(at: now) }
                return try body(&watch, now)
            } ?? nil
        }

        mutating func pair() throws {
            let now = simulation.now
            try onPhone { try $0.pair(at: now) }
            simulation.run(for: .seconds(5))
            let isEncrypted = onPhone { $0.security.isEncrypted }
            try #require(isEncrypted == true)
        }

        /// What a read of the PSM returns; nil if it is refused.
        mutating func readPSM() throws -> [UInt8]? {
            let now = simulation.now
            let before = onPhone { $0.responses.count } ?? 0
            try onPhone { try $0.perform(.readByUUID(StreamTests.publishedPSM), at: now) }
            simulation.run(for: .seconds(2))
            let response = onPhone { $0.responses.count > before ? $0.responses.last : nil }
            guard case .values(let values)? = response else { return nil }
            return values.first.map { Array($0.value) }
        }

        mutating func openChannel(to psm: [UInt8]) throws -> Channel.ID? {
            let spsm = SPSM(rawValue: UInt16(psm[0]) | UInt16(psm[1]) << 8)
            let now = simulation.now
            _ = try onPhone { phone in
                guard let connection = phone.connection else { return nil as Channel.ID? }
                phone.host.advance(to: now)
                return try phone.host.openChannel(to: spsm, on: connection)
            }
            simulation.run(for: .seconds(1))
            return onPhone { $0.channels.last?.id }
        }

        mutating func openPublishedChannel() throws -> Channel.ID {
            let psm = try #require(try readPSM())
            return try #require(try openChannel(to: psm))
        }

        mutating func say(_ bytes: [UInt8], on channel: Channel.ID, for time: Duration = .seconds(1)) {
            let now = simulation.now
            let taken = onPhone { phone in
                phone.host.advance(to: now)
                return phone.host.write(bytes[...], to: channel)
            }
            #expect(taken == bytes.count)
            simulation.run(for: time)
        }

        mutating func heard(on channel: Channel.ID) -> [UInt8] { onPhone { $0.streams[channel] } ?? [] }

        mutating func publish(_ isPublished: Bool) throws {
            _ = try onWatch { watch, now in try watch.firmware.perform(.publish(.pebble, isPublished), at: now) }
        }
    }

    @Test func aPhoneThatHasNotPairedLearnsNothingAndOpensNothing() throws {
        var rig = try Rig()
        #expect(try rig.readPSM() == nil)
        guard case .refused(let response)? = rig.onPhone({ $0.failures.last }) else {
            Issue.record("the read was not refused")
            return
        }
        #expect(response.error == .insufficientAuthentication)
        let published = rig.onWatch { watch, _ in watch.firmware.status.streams[.pebble] }
        let psm = try #require(published)
        #expect(try rig.openChannel(to: WatchStreamValue.bytes(psm)) == nil)
        #expect(rig.onPhone { $0.closures } == [.refused(.insufficientAuthentication)])
    }

    @Test func pairedReadsThePSMAndTalks() throws {
        var rig = try Rig()
        try rig.pair()
        let psm = try #require(try rig.readPSM())
        #expect(psm.count == 2 && (0x80...0xFF).contains(psm[0]) && psm[1] == 0)
        let channel = try #require(try rig.openChannel(to: psm))
        #expect(rig.heard(on: channel).isEmpty, "the watch waits until it knows who is there")
        rig.say(Self.introduction, on: channel)
        #expect(rig.heard(on: channel) == Self.versionRequest)
        rig.say(Self.ping, on: channel)
        #expect(rig.heard(on: channel) == Self.versionRequest + Self.pong)
        let opened = rig.onWatch { watch, _ in
            watch.events.contains { if case .sessionOpened(_, .hybrid, .stream) = $0 { true } else { false } }
        }
        #expect(opened == true)
    }

    /// How the companion cuts what it writes does not matter.
    @Test func anIntroductionInPieces() throws {
        var rig = try Rig()
        try rig.pair()
        let channel = try rig.openPublishedChannel()
        for byte in Self.introduction.dropLast() { rig.say([byte], on: channel, for: .milliseconds(200)) }
        #expect(rig.heard(on: channel).isEmpty)
        rig.say([Self.introduction[18]] + Self.ping, on: channel)
        #expect(rig.heard(on: channel) == Self.versionRequest + Self.pong)
    }

    @Test func whoDoesNotIntroduceHimselfIsShownOut() throws {
        var rig = try Rig()
        try rig.pair()
        let channel = try rig.openPublishedChannel()
        rig.say([0], on: channel)
        rig.simulation.run(for: .milliseconds(7900))
        #expect(rig.onPhone { $0.channels.count } == 1)
        rig.simulation.run(for: .seconds(1))
        #expect(rig.onPhone { $0.closures } == [.byPeer])
    }

    @Test func aBadIntroductionClosesTheChannel() throws {
        var rig = try Rig()
        try rig.pair()
        let psm = try #require(try rig.readPSM())
        // A version that there is not, the UUID that names nothing, a session type that does not exist.
        let introductions: [[UInt8]] = [
            [2] + Self.introduction.dropFirst(), [0, 1] + Array(repeating: 0xFF, count: 16) + [1],
            Self.introduction.dropLast() + [2],
        ]
        for bad in introductions {
            let channel = try #require(try rig.openChannel(to: psm))
            rig.say(bad, on: channel)
            #expect(rig.heard(on: channel).isEmpty)
            #expect(rig.onPhone { $0.closures.last } == .byPeer)
        }
    }

    @Test func withdrawingClosesTakesAwayAndTells() throws {
        var rig = try Rig()
        try rig.pair()
        let psm = try #require(try rig.readPSM())
        let channel = try #require(try rig.openChannel(to: psm))
        rig.say(Self.introduction, on: channel)
        try rig.publish(false)
        rig.simulation.run(for: .seconds(1))
        #expect(rig.onPhone { $0.closures } == [.byPeer])
        #expect(try rig.readPSM() == nil)
        // The old number leads nowhere.
        #expect(try rig.openChannel(to: psm) == nil)
        #expect(rig.onPhone { $0.closures.last } == .refused(.spsmNotSupported))
        #expect(
            rig.onWatch { watch, _ in
                watch.events.contains { if case .sessionClosed = $0 { true } else { false } }
            } == true
        )
        try rig.publish(true)
        rig.simulation.run(for: .seconds(1))
        let new = try #require(try rig.readPSM())
        #expect(new != psm)
        let again = try #require(try rig.openChannel(to: new))
        rig.say(Self.introduction + Self.ping, on: again)
        #expect(rig.heard(on: again) == Self.versionRequest + Self.pong)
    }

    /// Publishing what is published and withdrawing what is not changes nothing.
    @Test func twiceIsOnce() throws {
        var rig = try Rig()
        try rig.pair()
        let psm = try rig.readPSM()
        try rig.publish(true)
        #expect(try rig.readPSM() == psm)
        try rig.publish(false)
        try rig.publish(false)
        #expect(try rig.readPSM() == nil)
        #expect(rig.onWatch { watch, _ in watch.firmware.status.streams } == [:])
    }

    /// A watch that does not bond keeps its database for good; a PSM of 0 says that nobody listens.
    @Test func aDatabaseThatNeverChangesSaysZero() throws {
        var rig = try Rig { $0.linkSecurity = .insecureTestLink }
        let psm = try #require(try rig.readPSM())
        #expect(try rig.openChannel(to: psm) != nil)
        try rig.publish(false)
        rig.simulation.run(for: .seconds(1))
        #expect(rig.onPhone { $0.closures } == [.byPeer])
        #expect(try rig.readPSM() == [0, 0])
        try rig.publish(true)
        #expect(try rig.readPSM() != psm)
    }

    @Test func aWatchWithoutStreamsShowsNone() throws {
        var rig = try Rig { $0.streams = [] }
        try rig.pair()
        #expect(try rig.readPSM() == nil)
    }
}

/// A PSM as its characteristic says it.
private enum WatchStreamValue {
    static func bytes(_ spsm: SPSM) -> [UInt8] {
        [UInt8(truncatingIfNeeded: spsm.rawValue), UInt8(spsm.rawValue >> 8)]
    }
}
