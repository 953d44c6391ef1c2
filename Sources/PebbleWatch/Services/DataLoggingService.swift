import ByteCoding
import PebbleProtocol

/// Endpoint 6778: sends the phone what apps have logged.
///
/// What an app logs is spooled, in memory and in the store, until the phone has acknowledged it. A session is opened on the
/// phone; when the phone acknowledges that, all that is spooled goes out, message by message, each of which waits for its
/// acknowledgement. What is logged later goes out when it is much, when the phone asks, and every 15 minutes.
struct DataLoggingService: EndpointService {
    static var endpoint: Endpoint { .dataLogging }

    /// Sessions that there can be at once.
    static let sessionLimit = 20
    /// The most that one session can spool, in bytes.
    static let spoolLimit = 128 * 1024
    /// The most data in one message; only whole items are sent.
    static let dataLimit = DataLoggingMessage.maximumDataLength
    /// A session that has spooled so much is sent without being asked for.
    static let flushThreshold = 8000
    /// However little there is, it goes out when so much time has passed: at the whole quarters of the watch's own time.
    static let flushInterval: Duration = .seconds(15 * 60)
    /// What an unanswered message waits for its answer.
    static let acknowledgementTimeout: Duration = .seconds(30)
    /// After this time data are sent again if the phone asks for them.
    static let repetitionDelay: Duration = .seconds(1)
    /// After so many refusals of an opening it is left alone, and of a message its data are thrown away.
    static let refusalLimit = 20

    /// What a session waits for on the wire.
    private enum Link: Sendable, Equatable {
        /// The phone does not know it.
        case closed
        case opening(by: Duration)
        case open
        case sending(byteCount: Int, by: Duration)
    }

    /// How far the phone is with one of ``ServiceStore/spools``; each has one.
    private struct Session: Sendable {
        var link = Link.closed
        var refusalCount = 0
        /// Whether everything is to go out, however little it is.
        var isFlushing = false

        /// Whether nothing makes go out what there is to send.
        var isIdle: Bool {
            guard !isFlushing else { return false }
            switch link {
            case .closed, .open: return true
            case .opening, .sending: return false
            }
        }

        var deadline: Duration? {
            switch link {
            case .closed, .open: nil
            case .opening(let deadline), .sending(_, let deadline): deadline
            }
        }
    }

    /// Something that was logged and is with the store.
    private struct Pending: Sendable {
        enum Change: Sendable {
            case created(LoggingSpool)
            case logged([UInt8])
        }

        let id: LoggingSessionID
        let change: Change
    }

    private var sessions: [LoggingSessionID: Session] = [:]
    private var lastID: Int64 = 0
    private var pending: [Pending] = []
    /// The phone's session, once it has asked for logs.
    private var phone: SessionID?
    /// Sessions that the phone is to hear of, one after the other.
    private var toOpen: [LoggingSessionID] = []
    /// When everything goes out; nil if there is nothing to send.
    private var flushTime: Duration?

    /// - Parameter spools: what is spooled.
    init(spools: [LoggingSessionID: LoggingSpool]) {
        sessions = spools.mapValues { _ in Session() }
        lastID = spools.keys.map(\.rawValue).max() ?? 0
    }

    var nextDeadline: Duration? {
        guard !sessions.isEmpty else { return flushTime }
        let deadline = sessions.values.lazy.compactMap { $0.deadline }.min()
        guard let flushTime else { return deadline }
        return min(deadline ?? flushTime, flushTime)
    }

    /// The number of a session on the wire.
    private static func wireID(_ id: LoggingSessionID) -> DataLoggingMessage.SessionID {
        DataLoggingMessage.SessionID(rawValue: UInt8(truncatingIfNeeded: id.rawValue))
    }

    private func session(_ id: DataLoggingMessage.SessionID) -> LoggingSessionID? {
        sessions.keys.first { Self.wireID($0) == id }
    }
}

// MARK: - What apps log

extension DataLoggingService {
    /// Logs items of an app under a tag, in the session that is open for them or in a new one.
    /// - Returns: false if there is no room, or the bytes are not whole items.
    mutating func log(
        _ items: [UInt8],
        as description: DataLoggingMessage.Session,
        in context: inout ServiceContext
    ) -> Bool {
        let size = Int(description.itemSize)
        guard (1...Self.dataLimit).contains(size), !items.isEmpty, items.count.isMultiple(of: size) else {
            return false
        }
        var id = context.store.spools.first { _, spool in
            !spool.isFinished && spool.session.describesSameItems(as: description)
        }?.key
        id =
            id
            ?? pending.last {
                guard case .created(let spool) = $0.change else { return false }
                return spool.session.describesSameItems(as: description)
            }?.id
        let spooled = id.map { id in (context.store.spools[id]?.bytes.count ?? 0) + pendingByteCount(of: id) } ?? 0
        guard spooled + items.count <= Self.spoolLimit else { return false }
        let place: LoggingSessionID
        if let id {
            place = id
        } else {
            guard let free = nextID() else { return false }
            place = free
            let spool = LoggingSpool(session: description)
            pending.append(Pending(id: place, change: .created(spool)))
            context.remember(.loggingSession(place, description), for: .dataLogging)
        }
        let offset = (context.store.spools[place]?.end ?? 0) + pendingByteCount(of: place)
        pending.append(Pending(id: place, change: .logged(items)))
        context.remember(.loggingData(place, offset: offset, items), for: .dataLogging)
        return true
    }

    /// The store has what was logged, or could not take it: then it was not logged.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard !pending.isEmpty else { return }
        let done = pending.removeFirst()
        switch done.change {
        case .created(let spool):
            guard failure == nil else { return }
            sessions[done.id] = Session()
            context.store.spools[done.id] = spool
            if phone != nil { toOpen.append(done.id) }
        case .logged(let items):
            guard failure == nil, sessions[done.id] != nil else {
                context.emit(.dataNotLogged(done.id, reason: failure?.description ?? "its session was not stored"))
                return
            }
            context.store.spools[done.id]?.append(items)
            context.emit(.dataLogged(done.id, byteCount: items.count))
            // An opening that was not answered is tried again when there is a reason.
            if phone != nil, sessions[done.id]?.link == .closed, !toOpen.contains(done.id) { toOpen.append(done.id) }
        }
        work(isQuiet: context.store.isUploading, in: &context)
    }

    /// An app logs no more under a tag: what is spooled goes out, and then the session ends.
    mutating func finish(_ id: LoggingSessionID, in context: inout ServiceContext) {
        guard sessions[id] != nil else { return }
        context.store.spools[id]?.isFinished = true
        context.remember(.loggingFinished(id))
        work(isQuiet: false, in: &context)
    }

    /// Everything under some tags is to go out now.
    private mutating func flush(_ tags: ClosedRange<UInt32>, in context: inout ServiceContext) {
        for id in sessions.keys where tags.contains(context.store.spools[id]?.session.tag ?? .max) {
            sessions[id]?.isFlushing = true
        }
        work(isQuiet: context.store.isUploading, in: &context)
    }

    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        switch effect {
        case .logsWanted(let tags): flush(tags, in: &context)
        case .upload: if !context.store.isUploading { work(isQuiet: false, in: &context) }
        case .phoneAnnounced, .imageUploadWanted, .imageInstallWanted, .appInstalled, .packageInstalled, .appRemoved,
            .appsCleared, .appWanted,
            .appFetched:
            break
        }
    }

    private func pendingByteCount(of id: LoggingSessionID) -> Int {
        pending.reduce(0) { sum, change in
            guard change.id == id, case .logged(let items) = change.change else { return sum }
            return sum + items.count
        }
    }

    /// A number whose low byte no session has.
    private mutating func nextID() -> LoggingSessionID? {
        let waiting = pending.filter { if case .created = $0.change { true } else { false } }.map(\.id)
        let taken = Set((Array(sessions.keys) + waiting).map(Self.wireID))
        guard taken.count < Self.sessionLimit else { return nil }
        repeat { lastID += 1 } while taken.contains(Self.wireID(LoggingSessionID(rawValue: lastID)))
        return LoggingSessionID(rawValue: lastID)
    }
}

// MARK: - What the phone says

extension DataLoggingService {
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try DataLoggingMessage(payload: message.payload) {
        case .reportOpenSessions(let known):
            report(known, on: session, in: &context)
        case .acknowledgement(let id):
            if let id = self.session(id) { acknowledged(id, in: &context) }
        case .negativeAcknowledgement(let id):
            if let id = self.session(id) { refused(id, in: &context) }
        case .emptySession(let id):
            // A session with nothing to send says nothing.
            if let id = self.session(id) { wanted(id, in: context) }
        case .getSendEnable:
            context.reply(DataLoggingMessage.sendEnableState(context.store.isDataLoggingEnabled), on: session)
        case .setSendEnable(let isEnabled):
            context.store.isDataLoggingEnabled = isEnabled
            context.remember(.isDataLoggingEnabled(isEnabled))
        case .open, .data, .close, .timeout, .sendEnableState:
            context.log(.info, .session, "\(session): the phone sent a watch's data logging message")
        }
        work(isQuiet: context.store.isUploading, in: &context)
    }

    /// The phone starts again: what it knows and the watch does not is closed, and everything is opened again.
    private mutating func report(
        _ known: [DataLoggingMessage.SessionID],
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        phone = session
        var closed: Set<DataLoggingMessage.SessionID> = []
        for id in known where self.session(id) == nil && closed.insert(id).inserted {
            context.reply(DataLoggingMessage.close(id), on: session)
        }
        for id in sessions.keys {
            sessions[id]?.link = .closed
            sessions[id]?.refusalCount = 0
        }
        toOpen = sessions.keys.sorted()
    }

    /// The phone asks for what there is. Data that it was sent a while ago, and did not acknowledge, it has not taken:
    /// libpebble2 overlooks what comes while it waits for openings.
    private mutating func wanted(_ id: LoggingSessionID, in context: ServiceContext) {
        sessions[id]?.isFlushing = true
        guard case .sending(_, by: let deadline) = sessions[id]?.link,
            context.now >= deadline - Self.acknowledgementTimeout + Self.repetitionDelay
        else { return }
        sessions[id]?.link = .open
    }

    private mutating func acknowledged(_ id: LoggingSessionID, in context: inout ServiceContext) {
        switch sessions[id]?.link {
        case .opening:
            sessions[id]?.link = .open
            sessions[id]?.refusalCount = 0
            // Whatever there is goes out.
            sessions[id]?.isFlushing = true
        case .sending(let byteCount, _):
            sessions[id]?.link = .open
            sessions[id]?.refusalCount = 0
            consume(byteCount, of: id, in: &context)
            context.emit(.dataSent(id, byteCount: byteCount))
        case .closed, .open, nil: break
        }
    }

    private mutating func refused(_ id: LoggingSessionID, in context: inout ServiceContext) {
        sessions[id]?.refusalCount += 1
        let isHopeless = sessions[id].map { $0.refusalCount >= Self.refusalLimit } ?? true
        switch sessions[id]?.link {
        case .opening, .open:
            sessions[id]?.link = .closed
            // To be opened again, before any other.
            if !isHopeless { toOpen.insert(id, at: 0) }
        case .sending(let byteCount, _):
            sessions[id]?.link = .open
            guard isHopeless else { return }
            sessions[id]?.refusalCount = 0
            consume(byteCount, of: id, in: &context)
            context.emit(.dataDropped(id, byteCount: byteCount))
        case .closed, nil: break
        }
    }

    private mutating func consume(_ byteCount: Int, of id: LoggingSessionID, in context: inout ServiceContext) {
        context.store.spools[id]?.removeFirst(byteCount)
        guard let start = context.store.spools[id]?.start else { return }
        context.remember(.loggingConsumed(id, upTo: start))
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        guard phone == session else { return }
        phone = nil
        flushTime = nil
        toOpen = []
        for id in sessions.keys {
            sessions[id]?.link = .closed
            sessions[id]?.refusalCount = 0
        }
    }

    mutating func advance(in context: inout ServiceContext) {
        guard let deadline = nextDeadline, deadline <= context.now, let phone else { return }
        for id in sessions.keys.sorted() {
            guard let deadline = sessions[id]?.deadline, deadline <= context.now else { continue }
            context.reply(DataLoggingMessage.timeout(Self.wireID(id)), on: phone)
            // Later means: when there is something new, or the phone asks.
            if case .sending = sessions[id]?.link { sessions[id]?.link = .open } else { sessions[id]?.link = .closed }
            sessions[id]?.isFlushing = false
        }
        if let flushTime, flushTime <= context.now { flushEverything(in: context) }
        work(isQuiet: context.store.isUploading, in: &context)
    }
}

// MARK: - Sending

extension DataLoggingService {
    /// Sends what may be sent. While an upload is under way nothing may.
    private mutating func work(isQuiet: Bool, in context: inout ServiceContext) {
        defer { scheduleFlush(in: context) }
        guard !isQuiet, context.store.isDataLoggingEnabled, let phone else { return }
        openNext(on: phone, in: &context)
        for id in sessions.keys.sorted() { send(id, on: phone, in: &context) }
    }

    /// The quarter of an hour is over: what is there goes out, and sessions that the phone never answered are opened again.
    private mutating func flushEverything(in context: ServiceContext) {
        flushTime = nil
        for id in sessions.keys.sorted() where isIdle(id, in: context) {
            sessions[id]?.isFlushing = true
            if sessions[id]?.link == .closed, !toOpen.contains(id) { toOpen.append(id) }
        }
    }

    /// Whether a session has something to send, and nothing makes it go out.
    private func isIdle(_ id: LoggingSessionID, in context: ServiceContext) -> Bool {
        sessions[id]?.isIdle == true && context.store.spools[id]?.bytes.isEmpty == false
    }

    private mutating func scheduleFlush(in context: ServiceContext) {
        guard phone != nil, context.store.isDataLoggingEnabled,
            sessions.keys.contains(where: { isIdle($0, in: context) })
        else {
            flushTime = nil
            return
        }
        guard flushTime == nil else { return }
        let interval = Self.flushInterval.components.seconds
        flushTime = .seconds((context.now.components.seconds / interval + 1) * interval)
    }

    private mutating func openNext(on phone: SessionID, in context: inout ServiceContext) {
        guard !sessions.values.contains(where: { if case .opening = $0.link { true } else { false } }) else { return }
        while !toOpen.isEmpty {
            let id = toOpen.removeFirst()
            guard let spool = context.store.spools[id], sessions[id]?.link == .closed else { continue }
            sessions[id]?.link = .opening(by: context.now + Self.acknowledgementTimeout)
            context.reply(DataLoggingMessage.open(Self.wireID(id), spool.session), on: phone)
            return
        }
    }

    private mutating func send(_ id: LoggingSessionID, on phone: SessionID, in context: inout ServiceContext) {
        guard let session = sessions[id], session.link == .open, let spool = context.store.spools[id] else { return }
        guard !spool.bytes.isEmpty else {
            sessions[id]?.isFlushing = false
            guard spool.isFinished else { return }
            sessions[id] = nil
            context.store.spools[id] = nil
            context.reply(DataLoggingMessage.close(Self.wireID(id)), on: phone)
            context.remember(.loggingEnded(id))
            return
        }
        guard session.isFlushing || spool.isFinished || spool.bytes.count >= Self.flushThreshold else {
            return
        }
        sessions[id]?.isFlushing = true
        let size = max(1, Int(spool.session.itemSize))
        let data = spool.bytes.prefix(max(1, Self.dataLimit / size) * size)
        sessions[id]?.link = .sending(byteCount: data.count, by: context.now + Self.acknowledgementTimeout)
        context.reply(
            DataLoggingMessage.data(
                Self.wireID(id),
                itemsLeft: DataLoggingMessage.unknownItemsLeft,
                crc: LegacyChecksum.checksum(of: data),
                data
            ),
            on: phone
        )
    }
}

extension DataLoggingMessage.Session {
    /// Whether items of both can go into one session: the same app's, under one tag, of one kind.
    fileprivate func describesSameItems(as other: Self) -> Bool {
        application == other.application && tag == other.tag && itemType == other.itemType && itemSize == other.itemSize
    }
}
