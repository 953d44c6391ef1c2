import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Transports whose place another has taken, or that wait for one, on the air and in virtual time.
@Suite struct ReplacedTransportTests {
    private static let publishedPSM = BluetoothUUID.uuid128(0xABDD3056_28FA_441D_A470_55A75A52553A)
    /// Of the Pebble app on a phone: PPoGATT 0 to 1, the system's UUID, hybrid.
    private static let introduction: [UInt8] = [0, 1] + Array(repeating: 0, count: 16) + [1]
    /// The phone's version is asked for on every new session: one byte to endpoint 0x0011.
    private static let versionRequest: [UInt8] = [0x00, 0x01, 0x00, 0x11, 0x00]

    private func paired(_ personality: Personality = .universal, brain: WatchBrain = .builtIn) throws -> RigPair {
        let identity = WatchIdentity(address: RigWatch.address, personality: personality)
        var configuration = WatchConfiguration(identity: identity, personality: personality)
        configuration.brain = brain
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        try rig.pair()
        rig.onPhone { phone, _ in phone.received = [] }
        return rig
    }

    /// The phone opens a channel to the Pebble stream, and says who it is.
    private func openStream(_ rig: inout RigPair) throws -> Channel.ID {
        let psm = try #require(try rig.read(Self.publishedPSM))
        let channel = try rig.onPhone { phone, now in
            let connection = try #require(phone.connection)
            phone.host.advance(to: now)
            let spsm = SPSM(rawValue: UInt16(psm[0]) | UInt16(psm[1]) << 8)
            return try phone.host.channels.open(to: spsm, on: connection, at: now)
        }
        rig.run(for: .seconds(1))
        rig.onPhone { phone, now in
            phone.host.advance(to: now)
            _ = phone.host.channels.write(Self.introduction[...], to: channel, at: now)
        }
        rig.run(for: .seconds(1))
        return channel
    }

    /// A session of another phone's Pebble app.
    private func openElsewhere(_ rig: inout RigPair) -> SessionID {
        rig.onWatch { watch, now in
            let session = watch.host.core.system.openSession(.reversedV2, over: .reversedPPoGATT, at: now)
            watch.host.settle(at: now)
            return session
        }
    }

    @Test func aStreamWhoseSessionIsReplacedIsClosed() throws {
        var rig = try paired()
        let channel = try openStream(&rig)
        #expect(rig.onPhone { phone, _ in phone.streams[channel] } == Self.versionRequest)
        #expect(rig.onPhone { phone, _ in phone.closures.isEmpty })
        _ = openElsewhere(&rig)
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.closures } == [.byPeer])
        #expect(rig.onPhone { phone, _ in phone.connection } != nil, "the link stays")
        #expect(rig.onWatch { watch, _ in watch.host.status.sessions.map(\.kind) } == [.hybrid])
    }

    /// Pebble 2 has one session, and asks for it over its own service once it is free.
    @Test func theWatchsOwnServiceWaitsUntilTheSessionIsFree() throws {
        var rig = try paired(.silk, brain: .emulator)
        let other = openElsewhere(&rig)
        let configuration = AttributeHandle(rawValue: 0xE003)
        #expect(try rig.perform(.subscribe(clientConfiguration: configuration, .notifications)) == .written)
        rig.run(for: .seconds(20))
        #expect(rig.onPhone { phone, _ in phone.received.isEmpty }, "no Reset Request")
        rig.onWatch { watch, now in
            watch.host.core.system.closeSession(other, reason: "its phone left", at: now)
            watch.host.settle(at: now)
        }
        rig.run(for: .seconds(1))
        let received = rig.onPhone { phone, _ in phone.received }
        #expect(received.map(\.handle) == [AttributeHandle(rawValue: 0xE002)])
        #expect(received.first?.value.first == 0x02, "a Reset Request")
    }

    /// Pebble 2 has its own service for phones that have none: one that has both is spoken to over its own.
    @Test func aPhoneThatHostsPPoGATTIsNotSpokenToOverTheWatchs() throws {
        let name: AttributeName = "system"
        var rig = try CompanionsRig([RigCompanion(name, .system)], personality: .silk)
        #expect(rig.companion(name).isOpen)
        try rig.onPhone { phone, now in
            let subscribe = GATTProcedure.subscribe(
                clientConfiguration: AttributeHandle(rawValue: 0xE003),
                .notifications
            )
            try phone.host.perform(subscribe, at: now)
        }
        rig.run(for: .seconds(10))
        let (answer, packets) = rig.onPhone { phone, _ in
            (phone.host.responses.last, phone.host.received.filter { $0.handle == AttributeHandle(rawValue: 0xE002) })
        }
        #expect(answer == .written && packets.isEmpty)
        rig.expectAlive(name, 7)
    }

    /// A phone whose app has a session over the stream, and begins one over the watch's own service without going on.
    @Test func aTransportThatDoesNotOpenBesideAnotherIsGivenUpAlone() throws {
        var rig = try paired()
        let channel = try openStream(&rig)
        let configuration = AttributeHandle(rawValue: 0x002C)
        #expect(try rig.perform(.subscribe(clientConfiguration: configuration, .notifications)) == .written)
        // Reset Request, version 1. The watch completes it, and hears nothing of the phone's completion.
        try write([0x02, 0x01], &rig)
        rig.run(for: .seconds(60))
        let packets = rig.onPhone { phone, _ in phone.received.map { Array($0.value) } }
        #expect(packets.first == [0x03, 17, 4], "Reset Complete, and both windows")
        #expect(packets.dropFirst().map(\.first) == [0x02, 0x02, 0x02, 0x02], "Reset Requests of the watch")
        let given = rig.onWatch { watch, _ in
            watch.events.count { if case .recovery(.transportGivenUp) = $0 { true } else { false } }
        }
        #expect(given == 1)
        #expect(rig.onPhone { phone, _ in phone.connection } != nil, "the link stays")
        // The stream's session goes on: ping with cookie CAFEBABE, and its answer.
        rig.onPhone { phone, now in
            let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0xCA, 0xFE, 0xBA, 0xBE]
            phone.host.advance(to: now)
            _ = phone.host.channels.write(ping[...], to: channel, at: now)
        }
        rig.run(for: .seconds(1))
        let pong: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x01, 0xCA, 0xFE, 0xBA, 0xBE]
        #expect(rig.onPhone { phone, _ in phone.streams[channel] } == Self.versionRequest + pong)
        // The phone may begin again over the watch's own service.
        rig.onPhone { phone, _ in phone.received = [] }
        try write([0x02, 0x01], &rig)
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.received.map { Array($0.value) } } == [[0x03, 17, 4]])
    }

    /// The phone writes a packet to the watch's own service.
    private func write(_ packet: [UInt8], _ rig: inout RigPair) throws {
        try rig.onPhone { phone, now in
            let connection = try #require(phone.connection)
            let handle = AttributeHandle(rawValue: 0x002E)
            phone.host.advance(to: now)
            try phone.host.gatt.writeWithoutResponse(packet[...], to: handle, on: connection, at: now)
        }
    }
}
