import BluetoothHCI
import Faults
import PebbleProtocol

/// Between the sessions and the services, with faults on it: messages of both sides come out as the faults leave them.
///
/// It is there only while a fault needs it.
struct MessageFaultLine: Sendable {
    /// What becomes of a message.
    struct Outcome {
        /// The message, as often as it goes on, in its order.
        var messages: [PebbleMessage]
        /// What the watch answers in the stead of the service.
        var answer: PebbleMessage?

        static func pass(_ message: PebbleMessage) -> Self { Self(messages: [message]) }
        static let drop = Self(messages: [])
        static func answer(_ answer: some EndpointMessage) -> Self {
            Self(messages: [], answer: PebbleMessage(answer))
        }
    }

    /// A message that is late.
    struct Late: Sendable {
        let message: PebbleMessage
        let session: SessionID
        let direction: MessageDirection
        let due: Duration
    }

    var faults = FaultList()
    private var now: Duration = .zero
    private var late: [Late] = []

    /// Whether the line changes nothing any more and keeps nothing back.
    var isIdle: Bool { faults.isEmpty && late.isEmpty }

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next = faults.nextDeadline(after: now)
        for item in late { next.lower(to: item.due) }
        return next
    }

    /// Lets time pass.
    /// - Returns: the messages that are due now.
    mutating func advance(to now: Duration) -> [Late] {
        self.now = max(now, self.now)
        _ = faults.removeOver(at: now)
        defer { late.removeAll { $0.due <= now } }
        return late.filter { $0.due <= now }
    }

    /// A session is gone, and what was late with it.
    mutating func remove(_ session: SessionID) { late.removeAll { $0.session == session } }

    // MARK: Messages

    /// Takes a message of a phone's.
    mutating func receive(_ message: PebbleMessage, on session: SessionID, at now: Duration) -> Outcome {
        self.now = max(now, self.now)
        switch message.endpoint {
        case .ping: if let outcome = receivePing(message) { return outcome }
        case .putBytes: if let outcome = receivePutBytes(message) { return outcome }
        case .blobDB: if let outcome = receiveBlobDB(message) { return outcome }
        case .appMessage: if let outcome = receiveAppMessage(message, session) { return outcome }
        default: break
        }
        return bend(message, .fromPhone, session)
    }

    /// The time is this: what the watch says in a step is said then.
    mutating func note(_ now: Duration) { self.now = max(now, self.now) }

    /// Takes a message of the watch's.
    mutating func send(_ message: PebbleMessage, on session: SessionID) -> Outcome {
        var message = message
        switch message.endpoint {
        case .watchVersion: changeVersion(&message)
        case .appMessage: if let outcome = sendAppMessage(&message) { return outcome }
        default: break
        }
        return bend(message, .toPhone, session)
    }

    // MARK: Services

    private mutating func receivePing(_ message: PebbleMessage) -> Outcome? {
        guard case .ping? = try? PingMessage(payload: message.payload) else { return nil }
        return fire(.message(.pingUnanswered), "a ping is not answered") == nil ? nil : .drop
    }

    private mutating func receivePutBytes(_ message: PebbleMessage) -> Outcome? {
        guard let request = try? PutBytesRequest(payload: message.payload) else { return nil }
        switch request {
        case .begin(let object):
            let size = Int(object.size)
            let fault = fire(.watch(.memoryShort), "an upload of \(size) bytes is refused") {
                size > $0.number(.bytes) ?? 0
            }
            return fault == nil ? nil : .answer(PutBytesResponse.negativeAcknowledgement(.none))
        case .put(let piece):
            for index in faults.indices(of: .message(.putBytesRefused)) where faults.running[index].isAtWork(at: now) {
                let limit = faults.running[index].fault.number(.bytes) ?? 0
                let now = now
                let (passed, fires) = faults.update(index) { fault in
                    fault.passed += piece.data.count
                    return (fault.passed, fault.passed > limit && fault.fires(at: now, phone: nil))
                }
                guard fires else { continue }
                faults.tell(faults.running[index], "a piece is refused, at byte \(passed)")
                return .answer(PutBytesResponse.negativeAcknowledgement(piece.token))
            }
            return nil
        case .commit(let token, let crc):
            guard fire(.message(.putBytesWrongCRC), "the watch finds another checksum") != nil else { return nil }
            return .pass(PebbleMessage(PutBytesRequest.commit(token, crc: crc ^ 1)))
        case .abort, .install: return nil
        }
    }

    private mutating func receiveBlobDB(_ message: PebbleMessage) -> Outcome? {
        guard let command = try? BlobDBRequest(payload: message.payload) else { return nil }
        if fire(.message(.blobDBBusy), "a database is busy") != nil {
            return .answer(BlobDBResponse(token: command.token, status: .tryLater))
        }
        guard case .insert = command.command else { return nil }
        if fire(.message(.blobDBFull), "a database is full") != nil {
            return .answer(BlobDBResponse(token: command.token, status: .databaseFull))
        }
        if fire(.message(.blobDBStale), "a record is held for stale") != nil {
            return .answer(BlobDBResponse(token: command.token, status: .dataStale))
        }
        return nil
    }

    private mutating func receiveAppMessage(_ message: PebbleMessage, _ session: SessionID) -> Outcome? {
        guard case .push(let push)? = try? AppMessage(payload: message.payload) else { return nil }
        if fire(.message(.appMessageBusy), "the app is busy: an AppMessage is refused") != nil {
            return .answer(AppMessage.negativeAcknowledgement(push.transaction))
        }
        // Command (1), transaction (1) and UUID (16) stand in front of the dictionary.
        let size = max(0, message.payload.count - 18)
        let isTooLarge = { (fault: Fault) in size > fault.number(.bytes) ?? 0 }
        for fault in [FaultKind.message(.appMessageInboxSmall), .watch(.memoryShort)]
        where fire(fault, "an AppMessage of \(size) bytes is refused", where: isTooLarge) != nil {
            return .answer(AppMessage.negativeAcknowledgement(push.transaction))
        }
        if let fault = fire(.watch(.appSlow), "the app takes its time for an AppMessage") {
            delay(message, .fromPhone, session, by: fault)
            return .drop
        }
        return nil
    }

    /// The app has seen the AppMessage, and the phone hears something else of it.
    private mutating func sendAppMessage(_ message: inout PebbleMessage) -> Outcome? {
        guard case .acknowledgement(let transaction)? = try? AppMessage(payload: message.payload) else { return nil }
        if fire(.message(.appMessageSilent), "an AppMessage is not answered") != nil { return .drop }
        if fire(.message(.appMessageRefused), "an AppMessage is refused") != nil {
            message = PebbleMessage(AppMessage.negativeAcknowledgement(transaction))
        }
        return nil
    }

    private mutating func changeVersion(_ message: inout PebbleMessage) {
        guard case .response(var version)? = try? WatchVersionMessage(payload: message.payload) else { return }
        if let fault = fire(.message(.versionOld), "the version answer names old firmware") {
            version.running.versionTag = "v\(fault.fault.number(.version) ?? 2).0"
        }
        if fire(.message(.versionRecovery), "the version answer says that recovery firmware runs") != nil {
            version.running.flags.insert(.recovery)
        }
        if let fault = fire(.message(.versionWithoutCapability), "the version answer lacks a capability") {
            version.capabilities.remove(Capabilities(rawValue: 1 << UInt64(fault.fault.number(.capability) ?? 0)))
        }
        message = PebbleMessage(WatchVersionMessage.response(version))
    }

    // MARK: Any message

    private mutating func bend(_ message: PebbleMessage, _ direction: MessageDirection, _ session: SessionID) -> Outcome
    {
        let endpoint = Int(message.endpoint.rawValue)
        let whose = direction == .fromPhone ? "from-phone" : "to-phone"
        let matches = { (fault: Fault) in
            (fault.number(.endpoint) ?? endpoint) == endpoint
                && ["both", whose].contains(fault.word(.direction) ?? "both")
        }
        if fire(.message(.lost), "\(message.endpoint): a message is lost", where: matches) != nil { return .drop }
        if let fault = fire(.message(.late), "\(message.endpoint): a message is late", where: matches) {
            delay(message, direction, session, by: fault)
            return .drop
        }
        var message = message
        if let fault = fire(.message(.cut), "\(message.endpoint): a message is cut", where: matches) {
            message.payload.removeLast(max(0, message.payload.count - (fault.fault.number(.length) ?? 0)))
        }
        let isDoubled = fire(.message(.doubled), "\(message.endpoint): a message comes twice", where: matches) != nil
        return Outcome(messages: isDoubled ? [message, message] : [message])
    }

    private mutating func delay(
        _ message: PebbleMessage,
        _ direction: MessageDirection,
        _ session: SessionID,
        by fault: RunningFault
    ) {
        let due = now + (fault.fault.time(.delay) ?? .zero)
        late.append(Late(message: message, session: session, direction: direction, due: due))
    }

    /// An occasion for a fault, which is told if it fires.
    private mutating func fire(
        _ kind: FaultKind,
        _ effect: String,
        where matches: (Fault) -> Bool = { _ in true }
    ) -> RunningFault? {
        let fired = faults.fire(kind, at: now, where: matches)
        if let fired { faults.tell(fired, effect) }
        return fired
    }
}
