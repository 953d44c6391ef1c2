import ByteCoding
import PebbleProtocol

/// Endpoint 0x07D6: sends what apps log to the phones that asked for it.
struct AppLogService: EndpointService {
    static var endpoint: Endpoint { .appLog }
    /// Lines that wait while an upload is under way; beyond it the oldest are lost.
    static let waitingLimit = 64

    private(set) var listeners: Set<SessionID> = []
    private var waiting: [AppLogRecord] = []

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let isEnabled = try AppLogControl(payload: message.payload).isEnabled
        if isEnabled { listeners.insert(session) } else { listeners.remove(session) }
        context.emit(.appLogsWanted(isEnabled))
    }

    /// An app has logged a line.
    mutating func log(_ record: AppLogRecord, in context: inout ServiceContext) {
        guard !listeners.isEmpty else { return }
        if waiting.count >= Self.waitingLimit { waiting.removeFirst() }
        waiting.append(record)
        if !context.store.isUploading { flush(in: &context) }
    }

    /// Sends what waits: some clients take any message for the answer to an upload, so that nothing may come between.
    private mutating func flush(in context: inout ServiceContext) {
        guard !waiting.isEmpty else { return }
        for record in waiting {
            // In one order, so that the same inputs always have the same outcome: a set has another in each process.
            for session in listeners.sorted(by: { $0.number < $1.number }) { context.reply(record, on: session) }
        }
        waiting = []
    }

    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        if case .upload = effect, !context.store.isUploading { flush(in: &context) }
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        listeners.remove(session)
        if listeners.isEmpty { waiting = [] }
    }
}
