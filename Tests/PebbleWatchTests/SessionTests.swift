import PebbleProtocol
import Testing

@testable import PebbleWatch

/// A session and its transports: what each is given, in which order, and what happens to what a lost one had taken.
@Suite struct SessionTests {
    /// A message whose payload is one byte, repeated.
    private static func message(_ byte: UInt8, count: Int = 6) -> PebbleMessage {
        PebbleMessage(endpoint: .ping, payload: Array(repeating: byte, count: count))
    }

    /// The message on the wire: length and endpoint, most significant byte first, then the payload.
    private static func wire(_ byte: UInt8, count: Int = 6) -> [UInt8] {
        [0, UInt8(count), 0x07, 0xD1] + Array(repeating: byte, count: count)
    }

    private static func session(_ kind: SessionKind = .hybrid, over transport: SessionTransport) -> Session {
        Session(id: SessionID(number: 1), kind: kind, transport: transport, application: .system)
    }

    private func take(
        _ session: inout Session,
        _ transport: SessionTransport,
        atMost limit: Int = .max,
        undelivered: Int = 0
    ) -> [UInt8] {
        Array(session.takeOutbound(over: transport, atMost: limit, undelivered: undelivered))
    }

    private func send(_ session: inout Session, _ message: PebbleMessage) -> Bool { session.send(message) }

    private func leave(_ session: inout Session, _ transport: SessionTransport, undelivered: Int) -> Bool {
        session.leave(transport, undelivered: undelivered)
    }

    @Test func oneTransportTakesEverythingInItsPieces() {
        var session = Self.session(over: .forwardPPoGATT)
        for byte in UInt8(1)...3 { #expect(send(&session, Self.message(byte))) }
        #expect(session.outboundByteCount == 30)
        #expect(take(&session, .stream).isEmpty, "a transport that the session does not have takes nothing")
        var wire: [UInt8] = []
        while case let piece = take(&session, .forwardPPoGATT, atMost: 4, undelivered: wire.count), !piece.isEmpty {
            #expect(piece.count <= 4)
            wire += piece
        }
        #expect(wire == Self.wire(1) + Self.wire(2) + Self.wire(3))
        #expect(session.outboundByteCount == 0)
    }

    /// The better transport waits for the end of a message and for its delivery, so that the order is kept.
    @Test func theStreamTakesOverBetweenMessages() {
        var session = Self.session(over: .forwardPPoGATT)
        _ = session.send(Self.message(1))
        _ = session.send(Self.message(2))
        #expect(take(&session, .forwardPPoGATT, atMost: 7) == Array(Self.wire(1).prefix(7)))
        session.join(.stream)
        #expect(take(&session, .stream).isEmpty)
        // The message under way is ended where it began, and nothing else.
        #expect(take(&session, .forwardPPoGATT, undelivered: 7) == Array(Self.wire(1).suffix(3)))
        #expect(take(&session, .forwardPPoGATT, undelivered: 10).isEmpty)
        #expect(take(&session, .stream).isEmpty, "what PPoGATT has taken is still on its way")
        #expect(session.carrier == .forwardPPoGATT)
        #expect(take(&session, .forwardPPoGATT, undelivered: 0).isEmpty)
        #expect(session.carrier == .stream)
        #expect(take(&session, .stream) == Self.wire(2))
    }

    /// A lost stream gives back what it did not deliver whole, and nothing that it did.
    @Test(
        arguments: [
            // Of three messages of 10 bytes that were taken: how many bytes are lost, and which messages come again.
            (0, []), (1, [3]), (10, [3]), (11, [2, 3]), (20, [2, 3]), (25, [1, 2, 3]), (30, [1, 2, 3]),
            (1000, [1, 2, 3]),
        ] as [(Int, [UInt8])]
    )
    func aLostStreamLosesNothing(_ undelivered: Int, _ again: [UInt8]) {
        var session = Self.session(over: .forwardPPoGATT)
        session.join(.stream)
        #expect(take(&session, .forwardPPoGATT).isEmpty)
        for byte in UInt8(1)...4 { _ = session.send(Self.message(byte)) }
        var sent: [UInt8] = []
        for _ in 0..<3 { sent += take(&session, .stream, undelivered: sent.count) }
        #expect(sent.count == 30)
        #expect(leave(&session, .stream, undelivered: undelivered))
        #expect(session.carrier == .forwardPPoGATT)
        var rest: [UInt8] = []
        while case let piece = take(&session, .forwardPPoGATT, undelivered: rest.count), !piece.isEmpty {
            rest += piece
        }
        #expect(rest == (again + [4]).flatMap { Self.wire($0) })
    }

    /// A stream that is lost in the middle of a message: the message comes again from its first byte.
    @Test func aMessageThatWasCutBeginsAgain() {
        var session = Self.session(over: .stream)
        session.join(.forwardPPoGATT)
        _ = session.send(Self.message(1))
        #expect(take(&session, .stream, atMost: 9).count == 9)
        #expect(leave(&session, .stream, undelivered: 0))
        #expect(take(&session, .forwardPPoGATT) == Self.wire(1))
    }

    /// The stream goes with either way of PPoGATT. Two ways of PPoGATT on one phone are two apps, of which the newer wins.
    @Test(arguments: [SessionTransport.forwardPPoGATT, .reversedPPoGATT])
    func whatCanCarryOneSession(_ way: SessionTransport) {
        var session = Self.session(over: way)
        #expect(!session.canBeJoined(by: .forwardPPoGATT))
        #expect(!session.canBeJoined(by: .reversedPPoGATT))
        #expect(session.canBeJoined(by: .stream))
        session.join(.stream)
        #expect(!session.canBeJoined(by: .stream))
        #expect(!session.canBeJoined(by: way))
    }

    /// Of two AppMessages that PPoGATT took, the first was acknowledged: the second is lost, and its sender knows that it had
    /// been taken; the third never was.
    @Test func whatIsLostWithTheLastTransport() {
        var session = Self.session(over: .forwardPPoGATT)
        let tickets = (1...3).map { AppMessageTicket(number: $0) }
        for (byte, ticket) in zip(UInt8(1)..., tickets) { _ = session.send(Self.message(byte), marking: ticket) }
        #expect(take(&session, .forwardPPoGATT).count == 10)
        #expect(take(&session, .forwardPPoGATT, undelivered: 10).count == 10)
        #expect(session.nextConsumedMessage() == tickets[0])
        #expect(session.nextConsumedMessage() == tickets[1])
        #expect(session.nextConsumedMessage() == nil)
        #expect(!leave(&session, .forwardPPoGATT, undelivered: 10))
        #expect(session.undeliveredMessages == [tickets[1], tickets[2]])
        #expect(session.unsentMessages == [tickets[2]])
    }

    @Test func aSessionEndsWithItsLastTransport() {
        var session = Self.session(over: .stream)
        session.join(.reversedPPoGATT)
        #expect(leave(&session, .reversedPPoGATT, undelivered: 0))
        #expect(session.carrier == .stream)
        #expect(!leave(&session, .stream, undelivered: 0))
    }

    /// Each transport brings messages of its own: the parts of two never mix, and those of a lost one are forgotten.
    @Test func partsOfMessagesDoNotMix() {
        var session = Self.session(over: .forwardPPoGATT)
        session.join(.stream)
        func receive(_ bytes: some Sequence<UInt8>, _ transport: SessionTransport) -> [UInt8] {
            var rest = Array(bytes)[...]
            var payloads: [UInt8] = []
            while case .message(let message)? = session.nextMessage(from: &rest, over: transport) {
                payloads += message.payload
            }
            return payloads
        }
        #expect(receive(Self.wire(1).prefix(5), .forwardPPoGATT).isEmpty)
        #expect(receive(Self.wire(2).prefix(8), .stream).isEmpty)
        #expect(receive(Self.wire(1).dropFirst(5), .forwardPPoGATT) == Array(repeating: 1, count: 6))
        _ = session.leave(.stream, undelivered: 0)
        session.join(.stream)
        #expect(receive(Self.wire(3), .stream) == Array(repeating: 3, count: 6))
        #expect(receive(Self.wire(4), .reversedPPoGATT).isEmpty)
    }

    @Test func fullIsFull() {
        var session = Self.session(over: .stream)
        let large = Self.message(7, count: 60_000)
        #expect(send(&session, large))
        #expect(!send(&session, large))
        #expect(take(&session, .stream).count == 60_004)
        #expect(send(&session, large), "what is on its way does not count against what waits")
    }

    /// Whose session it is: an app's by its UUID, the phone's for any other UUID.
    @Test func companions() {
        let app = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let phone = Self.session(.hybrid, over: .reversedPPoGATT)
        #expect(phone.isFor(PPoGATTDestination(kind: .system, application: .system)))
        #expect(phone.isFor(.reversedV2))
        #expect(!phone.isFor(PPoGATTDestination(kind: .app, application: app)))
        let own = Session(id: SessionID(number: 2), kind: .app, transport: .forwardPPoGATT, application: app)
        #expect(own.isFor(PPoGATTDestination(kind: .app, application: app)))
        #expect(!own.isFor(PPoGATTDestination(kind: .app, application: PebbleUUID(upperHalf: 1, lowerHalf: 3))))
        #expect(!own.isFor(PPoGATTDestination(kind: .hybrid, application: app)))
    }
}
