import ByteCoding
import PebbleProtocol

/// Endpoint 0xB2DB: the watch writes its own changes of the settings back to the phone.
///
/// A phone that asks for the version of this protocol waits, on every connection, until it hears that all changes were
/// written. One that never asks does not know the protocol and is sent nothing.
struct BlobDB2Service: EndpointService {
    static var endpoint: Endpoint { .blobDB2 }

    static let version: UInt8 = 1
    /// How long after the question for the version the changes are written: it may be followed by one that makes
    /// everything count as changed.
    static let grace: Duration = .seconds(1)
    /// An unanswered write is repeated after this time.
    static let retryInterval: Duration = .seconds(30)
    /// And given up after this.
    static let patience: Duration = .seconds(300)

    /// What is being written, and to whom.
    private struct Sync: Sendable {
        let session: SessionID
        /// When to begin.
        var start: Duration?
        var waiting: [[UInt8]] = []
        var inFlight: Write?
        var isDoneSent = false
    }

    private struct Write: Sendable {
        let token: BlobDBToken
        let key: [UInt8]
        let timestamp: UInt32
        var retryTime: Duration
        let end: Duration
    }

    private var sync: Sync?
    /// Tokens count from 1.
    private var lastToken: UInt16 = 0

    var nextDeadline: Duration? {
        guard let sync else { return nil }
        return sync.start ?? sync.inFlight.map { min($0.retryTime, $0.end) }
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        guard !context.isUpdating else {
            // Whatever it is, answers to the watch among it.
            var reader = ByteReader(message.payload)
            let command = try reader.readUInt8("blob_db2.command")
            let token = BlobDBToken(rawValue: try reader.readLittleEndian("blob_db2.token"))
            return respond(token, to: command, .tryLater, on: session, in: &context)
        }
        let request: BlobDB2Message
        do {
            request = try BlobDB2Message(payload: message.payload)
        } catch {
            // What is too short is dropped without a word, but for what only watches say.
            var reader = ByteReader(message.payload)
            let command = try reader.readUInt8("blob_db2.command")
            let token = BlobDBToken(rawValue: try reader.readLittleEndian("blob_db2.token"))
            guard [BlobDB2Message.Command.write, BlobDB2Message.Command.writeBack].contains(command) else {
                throw error
            }
            return respond(token, to: command, .invalidOperation, on: session, in: &context)
        }
        switch request.body {
        case .dirtyDatabases:
            let isDirty = !Self.dirtyKeys(in: context.store).isEmpty
            respond(
                request.token,
                to: BlobDB2Message.Command.dirtyDatabases,
                .success,
                .databases(isDirty ? [.settings] : []),
                on: session,
                in: &context
            )
        case .startSync(let database):
            let status = startSync(of: database, on: session, in: &context)
            respond(request.token, to: BlobDB2Message.Command.startSync, status, on: session, in: &context)
        case .version:
            respond(
                request.token,
                to: BlobDB2Message.Command.version,
                .success,
                .version(Self.version),
                on: session,
                in: &context
            )
            if sync?.session != session { sync = Sync(session: session, start: context.now + Self.grace) }
        case .markAllDirty(let database):
            guard database == .settings else {
                respond(
                    request.token,
                    to: BlobDB2Message.Command.markAllDirty,
                    .notSupported,
                    on: session,
                    in: &context
                )
                return
            }
            context.markAllDirty(database)
            respond(request.token, to: BlobDB2Message.Command.markAllDirty, .success, on: session, in: &context)
            begin(on: session, in: &context)
        case .syncDone:
            respond(request.token, to: BlobDB2Message.Command.syncDone, .invalidOperation, on: session, in: &context)
        case .write:
            respond(request.token, to: BlobDB2Message.Command.write, .invalidOperation, on: session, in: &context)
        case .writeBack:
            respond(request.token, to: BlobDB2Message.Command.writeBack, .invalidOperation, on: session, in: &context)
        case .unsupported(let command):
            respond(request.token, to: command, .invalidOperation, on: session, in: &context)
        case .response(let command, let status, _):
            answered(request.token, command, status, on: session, in: &context)
        }
    }

    /// The watch changed a setting: a phone that keeps up with settings hears of it.
    mutating func settingChanged(in context: inout ServiceContext) {
        guard let sync, sync.start == nil else { return }
        begin(on: sync.session, in: &context)
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        if sync?.session == session { sync = nil }
    }

    mutating func advance(in context: inout ServiceContext) {
        guard let deadline = nextDeadline, deadline <= context.now, let sync else { return }
        if sync.start != nil {
            begin(on: sync.session, in: &context)
        } else if let write = sync.inFlight, write.end <= context.now {
            context.log(.warning, .session, "\(sync.session): the phone does not take changed settings")
            self.sync?.inFlight = nil
            self.sync?.waiting = []
        } else if let write = sync.inFlight {
            self.sync?.inFlight?.retryTime = context.now + Self.retryInterval
            send(write, in: &context)
        }
    }
}

// MARK: - Writing

extension BlobDB2Service {
    /// Writes what a database has to write, and says when that is done, both before the answer. Only settings change on the
    /// watch; the others have nothing to write.
    private mutating func startSync(
        of database: BlobDBDatabase,
        on session: SessionID,
        in context: inout ServiceContext
    ) -> BlobDBStatus {
        guard DatabaseRules(database) != nil else { return .invalidDatabase }
        guard database == .settings else {
            context.reply(BlobDB2Message(token: nextToken(), .syncDone(database)), on: session)
            return .success
        }
        if sync?.session == session, sync?.inFlight != nil { return .tryLater }
        sync = Sync(session: session)
        begin(on: session, in: &context)
        return .success
    }

    private static func dirtyKeys(in store: ServiceStore) -> [[UInt8]] {
        store.databases.keys(of: .settings).filter { store.databases[.settings, $0]?.isDirty == true }
    }

    /// Writes everything that is dirty, to a phone that takes settings, and says when that is done.
    private mutating func begin(on session: SessionID, in context: inout ServiceContext) {
        if sync?.session != session { sync = Sync(session: session) }
        sync?.start = nil
        let takesSettings = context.phoneCapabilities.contains(.settingsSync)
        let busy = sync?.inFlight?.key
        sync?.waiting = takesSettings ? Self.dirtyKeys(in: context.store).filter { $0 != busy } : []
        next(in: &context)
    }

    private mutating func next(in context: inout ServiceContext) {
        guard let current = sync, current.inFlight == nil else { return }
        guard let key = current.waiting.first else {
            guard !current.isDoneSent else { return }
            sync?.isDoneSent = true
            context.reply(BlobDB2Message(token: nextToken(), .syncDone(.settings)), on: current.session)
            return
        }
        sync?.waiting.removeFirst()
        let write = Write(
            token: nextToken(),
            key: key,
            timestamp: context.store.databases[.settings, key]?.timestamp ?? 0,
            retryTime: context.now + Self.retryInterval,
            end: context.now + Self.patience
        )
        sync?.inFlight = write
        send(write, in: &context)
    }

    private func send(_ write: Write, in context: inout ServiceContext) {
        guard let session = sync?.session, let record = context.store.databases[.settings, write.key] else { return }
        let message = BlobDB2Message(
            token: write.token,
            .writeBack(
                .init(
                    database: .settings,
                    timestamp: record.timestamp,
                    record: BlobDBRecord(key: SettingKeys.sentKey(of: write.key)[...], value: record.value[...])
                )
            )
        )
        context.reply(message, on: session)
    }

    private mutating func answered(
        _ token: BlobDBToken,
        _ command: UInt8,
        _ status: BlobDBStatus,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        guard command == BlobDB2Message.Command.writeBack, sync?.session == session, let write = sync?.inFlight,
            write.token == token
        else { return }
        sync?.inFlight = nil
        // A phone that has something newer will write that itself.
        if status == .success || status == .dataStale {
            context.wasWrittenBack(.settings, write.key, at: write.timestamp)
        }
        next(in: &context)
    }

    private mutating func nextToken() -> BlobDBToken {
        lastToken = lastToken == .max ? 1 : lastToken + 1
        return BlobDBToken(rawValue: lastToken)
    }

    private func respond(
        _ token: BlobDBToken,
        to command: UInt8,
        _ status: BlobDBStatus,
        _ detail: BlobDB2Message.Detail = .none,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        context.reply(BlobDB2Message(token: token, .response(to: command, status, detail)), on: session)
    }
}
