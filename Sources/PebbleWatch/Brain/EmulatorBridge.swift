import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// The way to the real firmware in its emulator: what a phone says goes in as frames of the emulator's first serial port, and
/// what the firmware says comes out.
///
/// The firmware has one session, which begins when it starts: neither a new connection to the port nor the emulator's word that
/// the phone is gone (protocol 3) begins another one. So a phone gets the session as the one before left it. Between two phones
/// stands a question of the bridge's own (``FirmwareMark``): what the firmware says before its answer was meant for the phone
/// before, and is dropped. Nothing of the next phone goes in before that.
///
/// A phone's messages wait here while the emulator starts. A firmware that falls silent, or stops in the middle of a message, is
/// taken for one that has crashed: the owner learns it by ``takeFall()``, and ends the links of phones, as a watch that crashes.
struct EmulatorBridge: Sendable {
    /// How far the emulator can be relied on.
    enum State: Sendable, Equatable {
        /// Nobody is at the other end.
        case absent
        /// It may be starting. Its port is deaf for good if it is spoken to before it listens: so it is asked when it has said
        /// something, or then.
        case starting(until: Duration)
        /// It was asked whether it is there, and has until then to answer.
        case asked(FirmwareMark, until: Duration)
        /// What it says was meant for somebody who is gone, until it answers this.
        case clearing(FirmwareMark, until: Duration)
        /// Its console begins a fresh session, and has until then. It is due when the firmware has read what was on its way.
        case renewing(until: Duration, isDue: Bool)
        /// It works for the session, if there is one.
        case ready
    }

    /// How long a firmware that says nothing may have been starting.
    static let startPatience: Duration = .seconds(8)
    /// How long the firmware may take to answer a question of the bridge's own.
    static let patience: Duration = .seconds(10)
    /// After so long without a message it is asked whether it is still there.
    static let quiet: Duration = .seconds(30)
    /// How long the firmware may take to take note of a phone that has come or gone.
    static let notePatience: Duration = .seconds(3)
    /// How long the console may take to begin a fresh session.
    static let renewalPatience: Duration = .seconds(15)
    /// For how long after a session's beginning the firmware's own question for the phone's version is one too many.
    static let secondQuestion: Duration = .seconds(5)
    /// How many bytes of messages may wait for a firmware that is not ready.
    static let heldLimit = 64 * 1024
    /// How many bytes of messages may wait for a phone that is slower than the firmware. It holds several pictures of the screen.
    static let inboundLimit = 1024 * 1024

    /// What the firmware is to the phone that has the session.
    enum Role: Sendable {
        /// What answers it.
        case brain
        /// What is asked the same in the shadow of the watch's own services: the phone never hears of it.
        case shadow

        /// What becomes of phones when the firmware fails.
        fileprivate var consequence: String {
            switch self {
            case .brain: "phones are disconnected"
            case .shadow: "nothing is compared until one answers"
            }
        }
    }

    /// Who the watch is on the air.
    var identity: WatchIdentity
    private let role: Role
    private(set) var state = State.absent
    /// What waits for the emulator.
    var outbox = EmulatorOutbox()
    /// The session that the firmware works for.
    private(set) var session: SessionID?
    /// What the firmware has said of itself, as it said it.
    private(set) var version: WatchVersion?
    /// The colour of its case, as it said it.
    private var color: WatchColor?
    /// Whether what it has said of itself is news to the watch.
    private var hasSaidMore = false
    /// What the firmware said to the session, whole and in order.
    private var inbound = MessageQueue(limit: inboundLimit)
    private var hasDropped = false
    /// What was said to the firmware before it was ready for it, or while a picture is on its way.
    private var held = MessageQueue(limit: heldLimit)
    private var upload: UploadRelay
    /// The upload that a phone has left behind.
    private var leftover = UploadTrace()
    /// Until when uploads wait for the firmware to have taken note of a phone that has come or gone: it gives up every upload then,
    /// and says which app runs.
    private var noteEnd: Duration?
    /// How often it has not said so yet.
    private var owedNotes = 0
    /// Whether a session is over whose picture is on its way.
    private var isEndDue = false
    /// The endpoints that the session has spoken to.
    private var asked: Set<Endpoint> = []
    /// Until when the firmware's own question for the phone's version is dropped; nil once it was.
    private var questionEnd: Duration?
    var buttons = EmulatorButtons()
    /// What the firmware's screen shows.
    var screen = EmulatorScreen()
    /// Wishes of the session for pictures, while the bridge takes one.
    private var waitingPictures: Deque<PebbleMessage> = []
    /// Names of the bridge's own writes of databases that have not been answered.
    private var ownTokens: Set<UInt16> = []
    private var lastToken: UInt16 = 0

    private var inbox = EmulatorInbox()
    /// Whether the firmware was told that the phone is there; nil if it was told nothing.
    private var toldConnected: Bool?
    private var markCount: UInt8 = 0
    private var lastHeard: Duration = .zero
    /// What asks a firmware that works whether it still does, and until when it may answer.
    private var watchdog: (mark: FirmwareMark, until: Duration)?
    /// Whether the person was told that the firmware does not answer.
    private var hasComplained = false
    private var hasFallen = false
    /// How often it was taken for one that hangs.
    private(set) var hangCount = 0
    /// Whether the emulator's console can begin a fresh session.
    private var hasConsole = false
    /// Whether the person was told which firmware answers.
    private var hasIntroduced = false
    private var notes: Deque<Diagnostic> = []

    /// A bridge to nowhere yet.
    init(identity: WatchIdentity, as role: Role = .brain) {
        self.identity = identity
        self.role = role
        upload = UploadRelay(runsAhead: role == .brain)
        // The screen of a shadow is nobody's.
        screen.isWanted = role == .brain
    }

    // MARK: The emulator

    /// The emulator can be reached from now on.
    mutating func connected(at now: Duration) {
        forgetStreams()
        outbox.removeAll()
        version = nil
        color = nil
        hasSaidMore = false
        hasComplained = false
        hasIntroduced = false
        state = .starting(until: now + Self.startPatience)
    }

    /// The emulator cannot be reached any more.
    mutating func lost(reason: String, at now: Duration) {
        guard state != .absent else { return }
        let worked = state == .ready || session != nil
        forgetStreams()
        forgetSession()
        outbox.removeAll()
        state = .absent
        guard worked else { return }
        hasFallen = true
        note(.error, "the firmware is gone: \(reason); \(role.consequence)")
    }

    /// Asks whether a firmware is there. One that was told to wait for its phone begins its session at protocol 3.
    private mutating func ask(at now: Duration) {
        toldConnected = nil
        owedNotes = 0
        tellConnected(true, at: now)
        state = .asked(mark(), until: now + Self.patience)
    }

    /// Tells the firmware's apps whether the phone is there, unless they know.
    private mutating func tellConnected(_ isConnected: Bool, at now: Duration) {
        guard toldConnected != isConnected else { return }
        if toldConnected != nil { owedNotes += 1 }
        noteEnd = now + Self.notePatience
        toldConnected = isConnected
        outbox.append(.bluetoothConnection(isConnected: isConnected))
    }

    /// Whether the firmware has to take note of a phone that has come or gone.
    var isTakingNote: Bool { noteEnd != nil }

    private mutating func hasTakenNote() {
        owedNotes -= 1
        if owedNotes <= 0 { forgetNotes() }
    }

    private mutating func forgetNotes() {
        owedNotes = 0
        noteEnd = nil
    }

    /// Asks the firmware something that is answered when it has gone on from all before.
    private mutating func mark() -> FirmwareMark {
        markCount &+= 1
        let mark = FirmwareMark(.bridge, number: markCount)
        _ = outbox.append(mark.question)
        return mark
    }

    private mutating func forgetStreams() {
        inbox = EmulatorInbox()
        watchdog = nil
        leftover = UploadTrace()
        isEndDue = false
        screen.reset()
    }

    private mutating func forgetSession() {
        session = nil
        held.removeAll()
        inbound.removeAll()
        hasDropped = false
        upload = UploadRelay(runsAhead: role == .brain)
        asked = []
        waitingPictures = []
        questionEnd = nil
        ownTokens = []
    }

    /// The firmware cannot be relied on any more: the session ends, and it is asked until it answers.
    private mutating func fall(_ what: String, at now: Duration) {
        hangCount += 1
        note(.error, "the firmware \(what): it is taken for one that has crashed; \(role.consequence)")
        hasFallen = true
        forgetStreams()
        forgetSession()
        outbox.removeAll()
        ask(at: now)
    }

    /// Whether the firmware has crashed, or is taken for it, since this was last asked.
    mutating func takeFall() -> Bool {
        defer { hasFallen = false }
        return hasFallen
    }

    /// The next thing for the reader of the log.
    mutating func nextNote() -> Diagnostic? { notes.popFirst() }

    private mutating func note(_ severity: Diagnostic.Severity, _ message: String) {
        notes.append(Diagnostic(severity: severity, layer: .session, message: message))
    }

    // MARK: The session

    /// A phone's session begins, which the caller has seen to be the only one.
    mutating func begin(_ id: SessionID, at now: Duration) {
        forgetSession()
        session = id
        if state == .ready, !isEndDue { open(at: now) }
    }

    /// The firmware is ready for the session.
    private mutating func open(at now: Duration) {
        tellConnected(true, at: now)
        // The firmware asks by itself only if it has begun a session just now.
        questionEnd = now + Self.secondQuestion
        if role == .brain { queueForPhone(PebbleMessage(PhoneVersionMessage.request)) }
        passHeld(at: now)
    }

    /// Takes a message that the session brought. It waits if the firmware is not ready, or a picture is on its way.
    mutating func forward(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        guard id == session else { return }
        if message.endpoint == .screenshot, state == .ready, screen.isBusy { return holdPicture(message) }
        guard !held.append(message) else { return passHeld(at: now) }
        guard state != .ready || isEndDue else {
            // It costs less to have answers lost than messages.
            while let first = held.next() { pass(first, at: now) }
            // A firmware that does not read has fallen by now, and its session has ended.
            if state == .ready { pass(message, at: now) }
            return
        }
        note(.warning, "\(id): no firmware is ready for \(message.endpoint); the message is dropped")
    }

    /// Passes on what has waited, if nothing is in its way any more.
    private mutating func passHeld(at now: Duration) {
        while state == .ready, !isEndDue, !screen.isBusy, let message = held.next() { pass(message, at: now) }
    }

    private mutating func pass(_ message: PebbleMessage, at now: Duration) {
        asked.insert(message.endpoint)
        if message.endpoint == .screenshot {
            // The firmware takes one picture at a time.
            guard !screen.isTaking else { return holdPicture(message) }
            screen.phoneAsked(at: now)
        }
        if message.endpoint == .putBytes { screen.uploadGoesOn(isAnswered: false, at: now) }
        guard message.endpoint == .putBytes ? upload.append(message) : outbox.append(message) else {
            return fall(Self.readsTooLittle, at: now)
        }
        passUpload(at: now)
    }

    private static let readsTooLittle = "does not read what phones say"

    /// Passes on what of an upload need not wait for the firmware.
    private mutating func passUpload(at now: Duration) {
        while !screen.isBusy, !isTakingNote, let (message, acknowledgement) = upload.next() {
            guard outbox.append(message) else { return fall(Self.readsTooLittle, at: now) }
            if let acknowledgement { queueForPhone(acknowledgement) }
        }
    }

    private mutating func holdPicture(_ message: PebbleMessage) {
        // A phone that asks without end gets one picture for each of the first few wishes.
        if waitingPictures.count < Self.pictureLimit { waitingPictures.append(message) }
    }

    private static let pictureLimit = 8

    /// Goes on with what a picture was in the way of, if it is not any more.
    private mutating func goOn(at now: Duration) {
        guard !screen.isBusy else { return }
        guard !isEndDue else { return finishSession(at: now) }
        passUpload(at: now)
        releasePicture(at: now)
        passHeld(at: now)
    }

    /// Passes on what waited for the bridge's own picture.
    private mutating func releasePicture(at now: Duration) {
        guard !screen.isTaking, !screen.isBusy, let message = waitingPictures.popFirst() else { return }
        pass(message, at: now)
    }

    /// The session is over: what it has begun ends, and what is on its way to it is dropped.
    mutating func end(_ id: SessionID, at now: Duration) {
        guard id == session else { return }
        leftover = upload.trace
        forgetSession()
        guard state == .ready else { return screen.reset() }
        // What is asked while a picture is on its way is not answered.
        if screen.isBusy { isEndDue = true } else { finishSession(at: now) }
    }

    private mutating func finishSession(at now: Duration) {
        isEndDue = false
        screen.reset()
        if let abort = leftover.takeAbort() { _ = outbox.append(abort) }
        tellConnected(false, at: now)
        watchdog = nil
        if hasConsole {
            state = .renewing(until: now + Self.renewalPatience, isDue: false)
        } else {
            clear(at: now)
        }
    }

    /// Lets the firmware finish what it says to the phone before.
    private mutating func clear(at now: Duration) {
        state = .clearing(mark(), until: now + Self.patience)
    }

    /// Whether a fresh session can be begun by the emulator's console, from now on.
    mutating func consoleChanged(isThere: Bool, at now: Duration) {
        hasConsole = isThere
        if !isThere, case .renewing = state { clear(at: now) }
    }

    /// The firmware's session is a fresh one, which begins when it is told that a phone is there.
    mutating func renewed(at now: Duration) {
        guard case .renewing = state else { return }
        forgetStreams()
        ask(at: now)
    }

    /// Whether the console is to begin a fresh session.
    var wantsFreshSession: Bool { if case .renewing(_, let isDue) = state { isDue } else { false } }

    /// The next message for the session; nil if there is none.
    mutating func nextForPhone(on id: SessionID) -> PebbleMessage? {
        guard id == session, let message = inbound.next() else { return nil }
        if inbound.isEmpty { hasDropped = false }
        return message
    }

    /// Queues what the firmware says to the session.
    mutating func queueForPhone(_ message: PebbleMessage) {
        guard session != nil else { return }
        guard !inbound.append(message) else { return }
        if !hasDropped { note(.warning, "the firmware says more than the phone takes; messages are dropped") }
        hasDropped = true
    }

    // MARK: What the watch itself tells the firmware

    /// Says something in the phone's stead. The firmware is not told what happens while it is not ready.
    mutating func say(_ message: some EndpointMessage) { say(PebbleMessage(message)) }

    /// Says something in the phone's stead.
    mutating func say(_ message: PebbleMessage) {
        guard state == .ready, !screen.isBusy || !held.append(message) else { return }
        _ = outbox.append(message)
    }

    /// Changes a database in the phone's stead; the answer is not for the phone.
    mutating func change(_ command: BlobDBRequest.Command) {
        guard state == .ready else { return }
        // Answers that never came are forgotten with the oldest names.
        if ownTokens.count >= Int(UInt8.max) { ownTokens = [] }
        lastToken = (lastToken &+ 1) | Self.ownTokenMark
        ownTokens.insert(lastToken)
        say(BlobDBRequest(token: BlobDBToken(rawValue: lastToken), command: command))
    }

    private static let ownTokenMark: UInt16 = 0xCA00

    /// Tells the emulator what happens to the watch.
    mutating func tell(_ message: QEMUMessage?) {
        guard let message else { return }
        switch state {
        case .absent, .starting: break
        case .asked, .clearing, .renewing, .ready: outbox.append(message)
        }
    }
}

// MARK: - What the firmware says

extension EmulatorBridge {
    /// Takes bytes of the emulator's; then call ``nextMessage(at:)`` until it returns nil.
    mutating func receive(_ bytes: ArraySlice<UInt8>, at now: Duration) {
        guard state != .absent else { return }
        inbox.receive(bytes)
    }

    /// The next message that the firmware has for the world.
    mutating func nextMessage(at now: Duration) -> PebbleMessage? {
        defer { takeAnswers() }
        while let message = inbox.next(at: now) {
            // What was answered before the message counts before it.
            takeAnswers()
            lastHeard = now
            if let message = filter(message, at: now) { return message }
        }
        if inbox.takeSkipped(), state == .ready, watchdog == nil {
            note(.warning, "the emulator sends bytes that are in no frame; the firmware is asked whether it is in step")
            watchdog = (mark(), now + Self.patience)
        }
        return nil
    }

    private mutating func takeAnswers() {
        for _ in 0..<inbox.takeAnswers() { outbox.wasAnswered() }
        if case .renewing(let end, false) = state, outbox.isAtRest { state = .renewing(until: end, isDue: true) }
    }

    /// Takes what is the bridge's own, and what is nobody's any more.
    /// - Returns: what is left.
    private mutating func filter(_ message: PebbleMessage, at now: Duration) -> PebbleMessage? {
        if message.endpoint == .appRunState { hasTakenNote() }
        let answered = FirmwareMark(answeredBy: message)
        switch state {
        case .absent, .renewing: return nil
        case .starting:
            ask(at: now)
            return nil
        case .asked(let question, _):
            guard answered == question else { return nil }
            _ = outbox.append(PebbleMessage(WatchVersionMessage.request))
            let key = FactoryRegistryMessage.read(key: FactoryRegistryMessage.colorKey)
            _ = outbox.append(PebbleMessage(key))
            _ = outbox.append(leftover.begin())
            state = .clearing(mark(), until: now + Self.patience)
            return nil
        case .clearing(let question, _):
            if answered == question { cleared(at: now) }
            if case .response(let version)? = try? WatchVersionMessage(message) { self.version = version }
            if message.endpoint == .factoryRegistry { color = WatchColor(registryAnswer: message.payload) ?? color }
            if message.endpoint == .putBytes { giveUpLeftover(message.payload, at: now) }
            return nil
        case .ready:
            return filterReady(message, answered: answered, at: now)
        }
    }

    /// The firmware has said all that was for somebody who is gone. It is asked once more if it still owes an upload its name.
    private mutating func cleared(at now: Duration) {
        guard leftover.isBeginning, !leftover.isWaitedFor else { return becomeReady(at: now) }
        leftover.isWaitedFor = true
        state = .clearing(mark(), until: now + Self.patience)
    }

    /// The firmware gives an upload its name whose phone is gone: it ends, and what is answered to that is no phone's either.
    private mutating func giveUpLeftover(_ answer: [UInt8], at now: Duration) {
        leftover.answered(answer)
        guard let abort = leftover.takeAbort() else { return }
        _ = outbox.append(abort)
        state = .clearing(mark(), until: now + Self.patience)
    }

    private mutating func filterReady(
        _ message: PebbleMessage,
        answered: FirmwareMark?,
        at now: Duration
    ) -> PebbleMessage? {
        watchdog = nil
        if answered?.asker == .bridge { return nil }
        switch message.endpoint {
        case .phoneVersion:
            guard let end = questionEnd else { return message }
            questionEnd = nil
            return now < end ? nil : message
        case .watchVersion: return message.corrected(for: identity)
        case .putBytes:
            let isForPhone = upload.answered(message.payload)
            screen.uploadGoesOn(isAnswered: upload.isAnswered, at: now)
            if !isForPhone { passUpload(at: now) }
            return isForPhone ? message : nil
        case .blobDB:
            if let answer = try? BlobDBResponse(payload: message.payload),
                ownTokens.remove(answer.token.rawValue) != nil
            {
                screen.mayHaveChanged(at: now)
                return nil
            }
            return message
        case .appRunState:
            passUpload(at: now)
            screen.mayHaveChanged(at: now)
            return message
        // What is long, and was asked for by a phone that is gone, may go on after that answer.
        case .screenshot:
            let isOwn = screen.take(message.payload, of: version?.running.hardwarePlatform.appPlatform, at: now)
            goOn(at: now)
            return !isOwn && asked.contains(.screenshot) ? message : nil
        case .getBytes, .logDump: return asked.contains(message.endpoint) ? message : nil
        default: return message
        }
    }

    private mutating func becomeReady(at now: Duration) {
        state = .ready
        lastHeard = now
        screen.mayHaveChanged(at: now)
        if !hasIntroduced { introduce() }
        hasComplained = false
        if session == nil {
            tellConnected(false, at: now)
        } else {
            open(at: now)
        }
    }

    private mutating func introduce() {
        hasIntroduced = true
        guard let version else { return note(.warning, "the firmware answers, but does not say its version") }
        let kind = version.running.hardwarePlatform.appPlatform
        note(.info, "the firmware answers: \(version.running.versionTag), \(kind?.rawValue ?? "of an unknown kind")")
        hasSaidMore = true
        guard role == .brain else { return }
        guard let kind, kind != identity.hardware.appPlatform else { return }
        note(.info, "the watch is one for \(kind.rawValue) from now on, as its firmware is")
    }

    /// What the firmware says of itself, once after each of its introductions.
    mutating func takeSaid() -> FirmwareIdentity? {
        guard hasSaidMore, let version else { return nil }
        hasSaidMore = false
        return FirmwareIdentity(version: version, color: color)
    }

    // MARK: Time

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next = inbox.nextDeadline
        switch state {
        case .absent: return nil
        case .starting(let end), .asked(_, let end), .clearing(_, let end), .renewing(let end, _): next.lower(to: end)
        case .ready:
            next.lower(to: watchdog?.until ?? lastHeard + Self.quiet)
            next.lower(to: screen.nextDeadline)
            next.lower(to: noteEnd)
        }
        next.lower(to: buttons.nextDeadline)
        next.lower(to: outbox.nextDeadline)
        return next
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        guard state != .absent else { return }
        inbox.advance(to: now)
        outbox.advance(to: now)
        tell(buttons.advance(to: now))
        if inbox.isStuck(at: now) { return stuck(at: now) }
        switch state {
        case .absent: break
        case .starting(let end) where end <= now: ask(at: now)
        case .asked(_, let end) where end <= now: askAgain(at: now)
        case .clearing(_, let end) where end <= now: fall("does not answer", at: now)
        case .renewing(let end, _) where end <= now: clear(at: now)
        case .ready: advanceReady(to: now)
        case .starting, .asked, .clearing, .renewing: break
        }
    }

    private mutating func stuck(at now: Duration) {
        switch state {
        case .starting, .asked: inbox.forgetMessage()
        case .absent, .clearing, .renewing, .ready: fall("has stopped in the middle of a message", at: now)
        }
    }

    private mutating func askAgain(at now: Duration) {
        note(
            hasComplained ? .debug : .warning,
            "the firmware does not answer: it may be starting, or out of step with the emulator's port; if it goes on, start "
                + "the emulator again"
        )
        hasComplained = true
        // One that has answered before is not one that is starting.
        if version != nil { hangCount += 1 }
        // A port that takes nothing gets no more questions.
        if outbox.isEmpty {
            ask(at: now)
        } else if case .asked(let question, _) = state {
            state = .asked(question, until: now + Self.patience)
        }
    }

    private mutating func advanceReady(to now: Duration) {
        if let end = noteEnd, end <= now { forgetNotes() }
        if screen.advance(to: now) { _ = outbox.append(PebbleMessage(ScreenshotRequest())) }
        goOn(at: now)
        guard state == .ready else { return }
        if let watchdog {
            if watchdog.until <= now { fall("does not answer", at: now) }
        } else if lastHeard + Self.quiet <= now {
            watchdog = (mark(), now + Self.patience)
        }
    }
}

extension WatchVersionMessage {
    /// Reads a message; nil if it is another endpoint's.
    fileprivate init?(_ message: PebbleMessage) throws(ByteDecodingError) {
        guard message.endpoint == .watchVersion else { return nil }
        try self.init(payload: message.payload)
    }
}
