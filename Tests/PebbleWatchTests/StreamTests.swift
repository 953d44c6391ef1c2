import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import Testing

/// The Pebble stream on the air and in virtual time: who may learn its PSM and open it, what is said on it, and how it is
/// withdrawn.
@Suite struct StreamTests {
    private static let seed: UInt64 = 0x57EA
    /// The characteristic that CoreBluetooth looks for: CBUUIDL2CAPPSMCharacteristicString.
    fileprivate static let publishedPSM = BluetoothUUID.uuid128(0xABDD3056_28FA_441D_A470_55A75A52553A)
    /// Of the Pebble app on a phone: PPoGATT 0 to 1, the system's UUID, hybrid.
    private static let introduction: [UInt8] = [0, 1] + Array(repeating: 0, count: 16) + [1]
    /// The phone's version is asked for on every new session: one byte to endpoint 0x0011.
    private static let versionRequest: [UInt8] = [0x00, 0x01, 0x00, 0x11, 0x00]
    /// Ping with cookie CAFEBABE, and its answer.
    private static let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0xCA, 0xFE, 0xBA, 0xBE]
    private static let pong: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x01, 0xCA, 0xFE, 0xBA, 0xBE]

    /// A watch and a phone, connected.
    private func connected(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws -> RigPair {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.serviceChangedDelay = .seconds(1)
        change(&configuration)
        let watch = try RigWatch(configuration, seed: Self.seed)
        return try RigPair(connecting: watch, RigPhone(address: 0xA1, seed: Self.seed), seed: Self.seed)
    }

    /// The same, paired.
    private func paired(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws -> RigPair {
        var rig = try connected(change)
        try rig.pair()
        try #require(rig.onPhone { phone, _ in phone.security.isEncrypted })
        return rig
    }

    @Test func aPhoneThatHasNotPairedLearnsNothingAndOpensNothing() throws {
        var rig = try connected()
        #expect(try rig.readPSM() == nil)
        guard case .refused(let response)? = rig.onPhone({ phone, _ in phone.failures.last }) else {
            Issue.record("the read was not refused")
            return
        }
        #expect(response.error == .insufficientAuthentication)
        let published = rig.onWatch { watch, _ in watch.host.status.streams[.pebble] }
        let psm = try #require(published)
        #expect(try rig.openChannel(to: WatchStreamValue.bytes(psm)) == nil)
        #expect(rig.onPhone { phone, _ in phone.closures } == [.refused(.insufficientAuthentication)])
    }

    @Test func pairedReadsThePSMAndTalks() throws {
        var rig = try paired()
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
        #expect(opened)
    }

    /// How the companion cuts what it writes does not matter.
    @Test func anIntroductionInPieces() throws {
        var rig = try paired()
        let channel = try rig.openPublishedChannel()
        for byte in Self.introduction.dropLast() { rig.say([byte], on: channel, for: .milliseconds(200)) }
        #expect(rig.heard(on: channel).isEmpty)
        rig.say([Self.introduction[18]] + Self.ping, on: channel)
        #expect(rig.heard(on: channel) == Self.versionRequest + Self.pong)
    }

    @Test func whoDoesNotIntroduceHimselfIsShownOut() throws {
        var rig = try paired()
        let channel = try rig.openPublishedChannel()
        rig.say([0], on: channel)
        rig.run(for: .milliseconds(7900))
        #expect(rig.onPhone { phone, _ in phone.channels.count } == 1)
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.closures } == [.byPeer])
    }

    @Test func aBadIntroductionClosesTheChannel() throws {
        var rig = try paired()
        let psm = try #require(try rig.readPSM())
        // An unknown version, the UUID that names no app, an unknown session type.
        let introductions: [[UInt8]] = [
            [2] + Self.introduction.dropFirst(), [0, 1] + Array(repeating: 0xFF, count: 16) + [1],
            Self.introduction.dropLast() + [2],
        ]
        for bad in introductions {
            let channel = try #require(try rig.openChannel(to: psm))
            rig.say(bad, on: channel)
            #expect(rig.heard(on: channel).isEmpty)
            #expect(rig.onPhone { phone, _ in phone.closures.last } == .byPeer)
        }
    }

    @Test func withdrawingClosesTakesAwayAndTells() throws {
        var rig = try paired()
        let psm = try #require(try rig.readPSM())
        let channel = try #require(try rig.openChannel(to: psm))
        rig.say(Self.introduction, on: channel)
        try rig.order(.publish(.pebble, false))
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.closures } == [.byPeer])
        #expect(try rig.readPSM() == nil)
        // The old SPSM is refused.
        #expect(try rig.openChannel(to: psm) == nil)
        #expect(rig.onPhone { phone, _ in phone.closures.last } == .refused(.spsmNotSupported))
        #expect(
            rig.onWatch { watch, _ in
                watch.events.contains { if case .sessionClosed = $0 { true } else { false } }
            }
        )
        try rig.order(.publish(.pebble, true))
        rig.run(for: .seconds(1))
        let new = try #require(try rig.readPSM())
        #expect(new != psm)
        let again = try #require(try rig.openChannel(to: new))
        rig.say(Self.introduction + Self.ping, on: again)
        #expect(rig.heard(on: again) == Self.versionRequest + Self.pong)
    }

    /// Publishing what is published and withdrawing what is not changes nothing.
    @Test func twiceIsOnce() throws {
        var rig = try paired()
        let psm = try rig.readPSM()
        try rig.order(.publish(.pebble, true))
        #expect(try rig.readPSM() == psm)
        try rig.order(.publish(.pebble, false))
        try rig.order(.publish(.pebble, false))
        #expect(try rig.readPSM() == nil)
        #expect(rig.onWatch { watch, _ in watch.host.status.streams } == [:])
    }

    /// A watch that does not bond keeps its database for good; a PSM of 0 says that no service listens.
    @Test func aDatabaseThatNeverChangesSaysZero() throws {
        var rig = try connected { $0.linkSecurity = .insecureTestLink }
        let psm = try #require(try rig.readPSM())
        #expect(try rig.openChannel(to: psm) != nil)
        try rig.order(.publish(.pebble, false))
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.closures } == [.byPeer])
        #expect(try rig.readPSM() == [0, 0])
        try rig.order(.publish(.pebble, true))
        #expect(try rig.readPSM() != psm)
    }

    @Test func aWatchWithoutStreamsShowsNone() throws {
        var rig = try paired { $0.streams = [] }
        #expect(try rig.readPSM() == nil)
    }
}

extension RigPair {
    /// What a read of the PSM returns; nil if it is refused.
    fileprivate mutating func readPSM() throws -> [UInt8]? { try read(StreamTests.publishedPSM) }

    fileprivate mutating func openChannel(to psm: [UInt8]) throws -> Channel.ID? {
        let spsm = SPSM(rawValue: UInt16(psm[0]) | UInt16(psm[1]) << 8)
        try onPhone { phone, now in
            guard let connection = phone.connection else { return }
            phone.host.advance(to: now)
            _ = try phone.host.channels.open(to: spsm, on: connection, at: now)
        }
        run(for: .seconds(1))
        return onPhone { phone, _ in phone.channels.last?.id }
    }

    fileprivate mutating func openPublishedChannel() throws -> Channel.ID {
        let psm = try #require(try readPSM())
        return try #require(try openChannel(to: psm))
    }

    fileprivate mutating func say(_ bytes: [UInt8], on channel: Channel.ID, for time: Duration = .seconds(1)) {
        let taken = onPhone { phone, now in
            phone.host.advance(to: now)
            return phone.host.channels.write(bytes[...], to: channel, at: now)
        }
        #expect(taken == bytes.count)
        run(for: time)
    }

    fileprivate mutating func heard(on channel: Channel.ID) -> [UInt8] {
        onPhone { phone, _ in phone.streams[channel] ?? [] }
    }
}

/// A PSM as its characteristic says it.
private enum WatchStreamValue {
    static func bytes(_ spsm: SPSM) -> [UInt8] {
        [UInt8(truncatingIfNeeded: spsm.rawValue), UInt8(spsm.rawValue >> 8)]
    }
}
