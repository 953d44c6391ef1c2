import PebbleProtocol

/// Endpoint 9000: hands over the core dump. This watch has no files and no flash that a phone could read.
struct GetBytesService: EndpointService {
    static var endpoint: Endpoint { .getBytes }
    /// Data in one message, as much as fits into the firmware's own.
    static let pieceLength = 1024 - 6

    private struct Transfer: Sendable {
        let session: SessionID
        let transaction: UInt8
        let bytes: [UInt8]
        var sentByteCount = 0
    }

    private var transfer: Transfer?

    mutating func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        // Whatever can be read of a malformed request is its transaction.
        let transaction = message.payload.dropFirst().first ?? 0
        func refuse(_ status: GetBytesMessage.Status) {
            context.reply(GetBytesMessage(transaction: transaction, .info(status, size: 0)), on: session)
        }
        guard let request = try? GetBytesMessage(payload: message.payload) else { return refuse(.malformedRequest) }
        let coreDump = context.store.coreDump
        let wanted: CoreDump?
        switch request.body {
        case .coreDump: wanted = coreDump
        case .unreadCoreDump: wanted = coreDump?.isRead == false ? coreDump : nil
        case .file(let name) where name.isEmpty: return refuse(.malformedRequest)
        case .file, .flash: wanted = nil
        case .info, .data: return refuse(.malformedRequest)
        }
        guard transfer == nil else { return refuse(.alreadyInProgress) }
        guard let wanted else { return refuse(.doesNotExist) }
        let size = UInt32(clamping: wanted.bytes.count)
        context.reply(GetBytesMessage(transaction: transaction, .info(.ok, size: size)), on: session)
        transfer = Transfer(session: session, transaction: transaction, bytes: wanted.bytes)
        guard !wanted.isRead else { return }
        context.store.coreDump?.isRead = true
        context.remember(.coreDumpRead)
    }

    /// The next message with data; nil if there is none for this session.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? {
        guard let current = transfer, current.session == session else { return nil }
        let end = min(current.sentByteCount + Self.pieceLength, current.bytes.count)
        let part = current.bytes[current.sentByteCount..<end]
        if end == current.bytes.count { transfer = nil } else { transfer?.sentByteCount = end }
        guard !part.isEmpty else { return nil }
        return PebbleMessage(
            GetBytesMessage(
                transaction: current.transaction,
                .data(offset: UInt32(clamping: current.sentByteCount), part)
            )
        )
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        if transfer?.session == session { transfer = nil }
    }
}

/// What a watch leaves behind that was told to dump its core: here the lines that it has logged, as text, since it has no
/// memory whose image would mean anything.
public struct CoreDump: Sendable, Equatable {
    /// Text in UTF-8: a line about the watch, then one for each line that it had logged since it booted.
    public var bytes: [UInt8]
    /// Whether a phone has had it.
    public var isRead: Bool

    /// A core dump.
    public init(bytes: [UInt8], isRead: Bool = false) {
        self.bytes = bytes
        self.isRead = isRead
    }

    /// Of a watch that has logged this since it booted.
    init(_ log: SystemLog, identity: WatchIdentity, seconds: UInt32) {
        var text = "\(identity.boardName) \(identity.firmware) \(identity.serialNumber), core dumped at \(seconds)\n"
        for line in log.generations.first ?? [] {
            text += "\(line.timestamp) \(line.level.rawValue) \(line.file):\(line.line) \(line.message)\n"
        }
        self.init(bytes: Array(text.utf8))
    }
}
