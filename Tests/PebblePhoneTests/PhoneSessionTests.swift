import ByteCoding
import PebbleProtocol
import Testing

@testable import PebblePhone

/// The phone's end of a session, byte for byte. What the bytes should be is written out from the protocol's description.
@Suite("A phone's session")
struct PhoneSessionTests {
    private static let start: Duration = .seconds(100)
    private static let clock = PhoneClock(secondsAtOrigin: 0x6774_8580, offsetMinutes: -60, zoneName: "UTC-1")

    private static func makeSession() -> PhoneSession {
        PhoneSession(of: PhoneConfiguration.usualVersion, by: clock, from: start)
    }

    /// What the session has for the watch, as messages in hexadecimal.
    private static func takeMessages(_ session: inout PhoneSession) -> [String] {
        var bytes = session.outboundBytes
        session.removeOutbound(bytes.count)
        var deframer = MessageDeframer()
        var messages: [String] = []
        while case .message(let message)? = deframer.next(from: &bytes) {
            messages.append(
                [UInt8(message.endpoint.rawValue >> 8), UInt8(message.endpoint.rawValue & 0xFF)].hexadecimal
                    + " " + message.payload.hexadecimal
            )
        }
        return messages
    }

    private static func takeEvents(_ session: inout PhoneSession) -> [String] {
        var events: [String] = []
        while let event = session.nextEvent() {
            if case .message = event { continue }
            events.append("\(event)")
        }
        return events
    }

    private static func receive(_ session: inout PhoneSession, _ hexadecimal: String, at now: Duration = start) throws {
        session.receive(try #require([UInt8](hexadecimal: hexadecimal))[...], at: now)
    }

    /// A version response of the watch's, 155 bytes of payload.
    private static func watchVersion() -> [UInt8] {
        let metadata = FirmwareMetadata(
            timestamp: 1,
            versionTag: "v4.9.100",
            shortGitHash: "cafe",
            flags: [],
            hardwarePlatform: .asterix
        )
        let version = WatchVersion(
            running: metadata,
            recovery: nil,
            bootLoaderVersion: 1,
            board: "asterix",
            serialNumber: "CAIRN0004455",
            bluetoothAddress: WatchVersion.BluetoothAddress(rawValue: 0xC011_2233_4455),
            resourcesCRC: 0,
            resourcesTimestamp: 0,
            locale: "en_US",
            languageVersion: 1,
            capabilities: [.appRunState],
            isUnfaithful: false,
            healthInsightsVersion: 0,
            javaScriptBytecodeVersion: 0
        )
        var stream: [UInt8] = []
        try? MessageFramer.append(WatchVersionMessage.response(version), to: &stream)
        return stream
    }

    private static func negotiated() throws -> PhoneSession {
        var session = makeSession()
        try receive(&session, "0001001100")
        session.receive(watchVersion()[...], at: start)
        try receive(&session, "00061389 010400000022")
        try receive(&session, "00110034 01 2c1d6f5e8f3a4c579d0eec0ec0ec0ec0")
        _ = takeMessages(&session)
        _ = takeEvents(&session)
        return session
    }

    @Test("waits for the watch's question, answers, and asks its own questions one after the other")
    func negotiation() throws {
        var session = Self.makeSession()
        #expect(Self.takeMessages(&session) == [])
        try Self.receive(&session, "0001001100")
        #expect(
            Self.takeMessages(&session) == [
                // Protocol version, session capabilities, Android, response version 2, 4.4.0, bits 0 and 5.
                "0011 01ffffffff0000000000000002020404002100000000000000",
                "0010 00",
            ]
        )
        session.receive(Self.watchVersion()[...], at: Self.start)
        #expect(Self.takeMessages(&session) == ["1389 00096d66675f636f6c6f72"])
        try Self.receive(&session, "00061389 010400000022", at: Self.start + .seconds(5))
        // 105 s after the origin: 0x67748580 + 105; one hour west of Greenwich.
        #expect(Self.takeMessages(&session) == ["000b 03677485e9ffc4055554432d31", "0034 03"])
        #expect(session.negotiation.state == .awaiting(.runningApp))
        try Self.receive(&session, "00110034 01 2c1d6f5e8f3a4c579d0eec0ec0ec0ec0")
        #expect(session.negotiation.state == .done)
        #expect(
            Self.takeEvents(&session) == [
                "told the watch what this phone is: android",
                "it is of board asterix, firmware v4.9.100, serial number CAIRN0004455",
                "its colour is duo2Black",
                "set its clock to 1735689705 s since 1970, UTC-1",
                "it runs 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0",
                "the watch is connected",
            ]
        )
        #expect(session.nextDeadline == nil)
    }

    @Test("takes messages one byte at a time")
    func singleBytes() throws {
        var session = Self.makeSession()
        for byte in [0x00, 0x01, 0x00, 0x11, 0x00] as [UInt8] { session.receive([byte], at: Self.start) }
        #expect(Self.takeMessages(&session).count == 2)
    }

    @Test("gives a watch twenty seconds for the whole negotiation")
    func negotiationTimeout() throws {
        var session = Self.makeSession()
        #expect(session.nextDeadline == Self.start + .seconds(20))
        session.advance(to: Self.start + .milliseconds(19_999))
        #expect(Self.takeEvents(&session) == [])
        session.advance(to: Self.start + .seconds(20))
        #expect(
            Self.takeEvents(&session) == [
                "the watch is not accepted: no request for the phone's version within 20.0 seconds"
            ]
        )
        #expect(session.nextDeadline == nil)
    }

    @Test("does not accept a watch without a colour, or with an unknown one")
    func color() throws {
        for (answer, reason) in [
            ("00011389 ff", "the watch does not say its colour"),
            ("00041389 01020022", "FactoryRegistry (0x1389): factory_registry.mfg_color: 4 bytes needed, 2 left"),
        ] {
            var session = Self.makeSession()
            try Self.receive(&session, "0001001100")
            session.receive(Self.watchVersion()[...], at: Self.start)
            _ = Self.takeEvents(&session)
            try Self.receive(&session, answer)
            #expect(Self.takeEvents(&session) == ["the watch is not accepted: \(reason)"])
        }
    }

    @Test("gives a dictionary ten seconds, and forgets it then")
    func appMessageTimeout() throws {
        var session = try Self.negotiated()
        let first = try session.sendAppMessage(.empty, to: DemonstrationScript.echo, at: Self.start)
        let second = try session.sendAppMessage(.empty, to: DemonstrationScript.echo, at: Self.start + .seconds(1))
        #expect(first != second)
        #expect(
            Self.takeMessages(&session) == [
                "0030 01012c1d6f5e8f3a4c579d0eec0ec0ec0ec000", "0030 01022c1d6f5e8f3a4c579d0eec0ec0ec0ec000",
            ]
        )
        #expect(session.nextDeadline == Self.start + .seconds(10))
        // The second is answered first.
        try Self.receive(&session, "00020030 ff02", at: Self.start + .seconds(3))
        session.advance(to: Self.start + .seconds(10))
        try Self.receive(&session, "00020030 ff01", at: Self.start + .seconds(11))
        #expect(
            Self.takeEvents(&session) == [
                "AppMessage 2 acknowledged after 2000 ms",
                "AppMessage 1 timedOut after 10000 ms",
                "warning session: the watch answered AppMessage 1, which was not under way",
            ]
        )
    }

    @Test("acknowledges a watchapp's messages, and reports refusals")
    func appMessages() throws {
        var session = try Self.negotiated()
        try Self.receive(&session, "001b0030 01 2a 2c1d6f5e8f3a4c579d0eec0ec0ec0ec0 01 00000000 02 0100 07")
        #expect(Self.takeMessages(&session) == ["0030 ff2a"])
        _ = try session.sendAppMessage(.empty, to: DemonstrationScript.echo, at: Self.start)
        // Bytes after a message, as Gadgetbridge sends them, are accepted both ways.
        try Self.receive(&session, "00120030 7f01 2c1d6f5e8f3a4c579d0eec0ec0ec0ec0")
        #expect(
            Self.takeEvents(&session) == [
                "AppMessage from 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0: {0: uint8 7}",
                "AppMessage 1 refused after 0 ms",
            ]
        )
    }

    @Test("has a bounded number of dictionaries and pings under way, and of bytes waiting")
    func limits() throws {
        var session = try Self.negotiated()
        for cookie in 0..<16 as Range<UInt32> {
            _ = try session.sendAppMessage(.empty, to: DemonstrationScript.echo, at: Self.start)
            try session.ping(cookie: cookie, at: Self.start)
        }
        #expect(throws: PhoneCommandError.queueFull) {
            try session.sendAppMessage(.empty, to: DemonstrationScript.echo, at: Self.start)
        }
        #expect(throws: PhoneCommandError.queueFull) { try session.ping(cookie: 16, at: Self.start) }
        let large = PebbleMessage(endpoint: .appMessage, payload: [UInt8](repeating: 0, count: 40_000))
        try session.send(large)
        #expect(throws: PhoneCommandError.queueFull) { try session.send(large) }
        session.close(at: Self.start)
        #expect(Self.takeEvents(&session).count { $0.hasSuffix("cancelled after 0 ms") } == 16)
    }

    @Test("pings, answers pings, and gives a ping fifteen seconds")
    func pings() throws {
        var session = try Self.negotiated()
        try session.ping(cookie: 0xDEAD_BEEF, at: Self.start)
        try session.ping(cookie: 1, at: Self.start)
        #expect(Self.takeMessages(&session) == ["07d1 00deadbeef00", "07d1 000000000100"])
        try Self.receive(&session, "000507d1 01deadbeef", at: Self.start + .milliseconds(30))
        try Self.receive(&session, "000607d1 000000002a01")
        #expect(Self.takeMessages(&session) == ["07d1 010000002a"])
        session.advance(to: Self.start + .seconds(15))
        #expect(Self.takeEvents(&session) == ["ping answered after 30 ms", "ping not answered"])
    }
}
