import ByteCoding
import PebbleProtocol

/// Endpoint 0x07D2: hands over the watch's own log, a line a message.
struct LogDumpService: EndpointService {
    static var endpoint: Endpoint { .logDump }

    /// A dump under way.
    private struct Dump: Sendable {
        let session: SessionID
        let cookie: UInt32
        /// Last to first, to be taken from the end.
        var lines: [LogLine]
    }

    /// How many generations a phone can ask for that does not know of more.
    static let legacyGenerationCount = 4

    private var dump: Dump?

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try LogDumpMessage(payload: message.payload) {
        case .request(let generation, let cookie), .legacyRequest(let generation, let cookie):
            guard dump == nil else { return }
            let generations = context.store.log.generations
            let knowsMore = context.phoneCapabilities.contains(.infiniteLogDump)
            let count = knowsMore ? generations.count : Self.legacyGenerationCount
            guard Int(generation) < count, generations.indices.contains(Int(generation)) else {
                context.reply(knowsMore ? LogDumpMessage.noLogs(cookie: cookie) : .done(cookie: cookie), on: session)
                return
            }
            dump = Dump(session: session, cookie: cookie, lines: generations[Int(generation)].reversed())
        case .line, .done, .noLogs:
            context.log(.info, .session, "\(session): the phone sent a watch's log")
        }
    }

    /// The next message of the dump; nil if there is none for this session.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? {
        guard let cookie = dump?.cookie, dump?.session == session else { return nil }
        if let line = dump?.lines.popLast() { return PebbleMessage(LogDumpMessage.line(cookie: cookie, line)) }
        dump = nil
        return PebbleMessage(LogDumpMessage.done(cookie: cookie))
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        if dump?.session == session { dump = nil }
    }
}
