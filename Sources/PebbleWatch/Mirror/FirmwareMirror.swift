import BluetoothHost
import DequeModule
import PebbleProtocol

/// The comparison of the watch's own services with the real firmware: the phone hears the watch, and the firmware is asked the
/// same in its shadow.
///
/// The firmware is asked one thing after the other, and each is followed by a mark (``FirmwareMark``): when that is answered, the
/// firmware has gone on, and whatever it answers at once it has answered. So answers are told apart that look alike, and a slow emulator is no
/// difference: its marks are slow too. Nothing waits for it but the next question.
///
/// Everything is bounded. What the firmware is too slow for is not compared, and that is said once.
struct FirmwareMirror: Sendable {
    /// How long the next question waits while the two do not agree.
    static let settling: Duration = .milliseconds(500)
    /// How long after it has gone on the firmware may still answer: then an answer is missing.
    static let patience: Duration = .seconds(5)
    /// How long the firmware may take to go on before a question is given up: longer than the bridge takes to find that it hangs.
    static let longest: Duration = .seconds(60)
    /// How many questions wait, and how many bytes of them.
    static let waitingLimit = 4096
    static let waitingByteLimit = 256 * 1024
    /// How many questions are remembered that the firmware has been asked.
    private static let rememberedLimit = 32

    /// What is to be done with the firmware, in order.
    private enum Step: Sendable {
        case begin(SessionID)
        case end(SessionID)
        case question(MirrorExchange, PebbleMessage)
        /// Something of the mirror's own, whose answer is not compared.
        case own(PebbleMessage)
        /// The same, of a database.
        case change(BlobDBRequest.Command)
    }

    /// What the firmware is asked now.
    private enum Current: Sendable {
        case question(MirrorExchange, mark: FirmwareMark)
        case own(Endpoint, mark: FirmwareMark, since: Duration)
    }

    /// The way to the firmware.
    var bridge: EmulatorBridge
    /// The session that is compared.
    private(set) var session: SessionID?
    /// What the session's phone has said of itself: a firmware that starts again is told once more.
    private var introduction: PebbleMessage?
    private(set) var tally = MirrorTally()
    private var names = MirrorNames()
    private var agenda: Deque<Step> = []
    private var agendaByteCount = 0
    private var current: Current?
    /// What the firmware was asked before, oldest first.
    private var past: Deque<MirrorExchange> = []
    private var lastNumber: UInt64 = 0
    private var lastMark: UInt8 = 0
    /// The question that the watch is at work on.
    private var handling: UInt64?
    /// Whether what the watch works on is not compared.
    private var handlesLost = false
    /// Whether the firmware is too slow, so that what the phone says is not compared until it has caught up.
    private var isBehind = false
    /// How many bytes of pictures each watch has announced and not sent.
    private var watchPixels = 0
    private var firmwarePixels = 0
    /// What the time was when that was last told.
    var time: Duration = .zero
    private var differences: Deque<MirrorDifference> = []
    private var notes: Deque<Diagnostic> = []

    /// A mirror without a firmware yet.
    init(identity: WatchIdentity) { bridge = EmulatorBridge(identity: identity, as: .shadow) }

    /// How much was compared, and how much waits for that.
    var wholeTally: MirrorTally {
        var tally = tally
        for case .question in agenda { tally.waiting += 1 }
        if case .question = current { tally.waiting += 1 }
        for exchange in past {
            switch exchange.stage {
            case .short, .disputed: tally.waiting += 1
            case .waiting, .asked, .heldUp, .agreed, .done: break
            }
        }
        return tally
    }

    /// The next difference that was found.
    mutating func nextDifference() -> MirrorDifference? { differences.popFirst() }

    /// The next thing for the reader of the log.
    mutating func nextNote() -> Diagnostic? { notes.popFirst() ?? bridge.nextNote() }

    private mutating func note(_ severity: Diagnostic.Severity, _ message: String) {
        notes.append(Diagnostic(severity: severity, layer: .session, message: message))
    }

    // MARK: The phone

    /// A session has opened that is compared from now on.
    mutating func open(_ id: SessionID) {
        if let session { close(session) }
        session = id
        introduction = nil
        watchPixels = 0
        agenda.append(.begin(id))
        // Which app runs decides what an AppMessage is answered with.
        agenda.append(.own(PebbleMessage(AppRunStateMessage.request)))
    }

    /// A session is over. What it has said is compared all the same.
    mutating func close(_ id: SessionID) {
        guard id == session else { return }
        session = nil
        agenda.append(.end(id))
    }

    /// The phone has said something, which the watch begins to work on.
    /// - Parameter runningApp: the app that the watch runs.
    mutating func ask(_ message: PebbleMessage, on id: SessionID, runningApp: PebbleUUID, at now: Duration) {
        handled()
        guard id == session else { return }
        if PhoneVersionMessage.answer(in: message) != nil { introduction = message }
        guard hasRoom(for: message) else {
            tally.lost += 1
            handlesLost = true
            return
        }
        lastNumber += 1
        handling = lastNumber
        let exchange = MirrorExchange(message, number: lastNumber, on: id, runningApp: runningApp, at: now)
        agendaByteCount += message.payload.count
        agenda.append(.question(exchange, message))
    }

    /// The watch has worked on what the phone said.
    mutating func handled() {
        handling = nil
        handlesLost = false
    }

    private mutating func hasRoom(for message: PebbleMessage) -> Bool {
        if isBehind, !agenda.isEmpty || current != nil { return false }
        isBehind = false
        guard agenda.count >= Self.waitingLimit || agendaByteCount + message.payload.count > Self.waitingByteLimit
        else {
            return true
        }
        isBehind = true
        if let upload = names.lastFirmwareUpload { agenda.append(.own(PebbleMessage(PutBytesRequest.abort(upload)))) }
        note(
            .warning,
            "the firmware is slower than the phone: what the phone says is not compared until the firmware has caught up; "
                + "what it was not told may make differences later"
        )
        return false
    }

    /// The watch has said something to the phone.
    mutating func watchSaid(_ message: PebbleMessage, on id: SessionID) {
        guard id == session else { return }
        if message.endpoint == .appFetch, let request = try? AppFetchRequest(payload: message.payload) {
            names.fetches(request, on: .watch)
        }
        if message.endpoint == .screenshot, Self.isPicture(message.payload, pixels: &watchPixels) { return }
        // What it says to a message that is not compared answers none of those before it.
        guard !handlesLost, let place = place(of: message, from: .watch) else { return passOver(message) }
        take(message, from: .watch, at: place, now: time)
    }

    /// The watch answers what is not compared. An upload of which the firmware does not have all goes no further there.
    private mutating func passOver(_ answer: PebbleMessage) {
        guard answer.endpoint == .putBytes,
            case .acknowledgement(let token)? = try? PutBytesResponse(payload: answer.payload), token != .none
        else { return }
        lastNumber += 1
        names.named(token, begunBy: lastNumber, on: .watch)
    }

    // MARK: The phone's own services

    /// The watch has learned something from a phone's own services: the firmware is told, in its turn.
    mutating func tell(_ message: PebbleMessage) { tell(.own(message)) }

    /// A phone's own services have changed a database of the watch: so does the firmware, in its turn.
    mutating func tell(_ change: BlobDBRequest.Command) { tell(.change(change)) }

    private mutating func tell(_ step: Step) {
        // Its absence is no time to tell it anything.
        guard bridge.state != .absent, agenda.count < Self.waitingLimit else { return }
        agenda.append(step)
    }

    // MARK: The firmware

    /// The firmware has said something.
    mutating func firmwareSaid(_ message: PebbleMessage, at now: Duration) {
        if let mark = FirmwareMark(answeredBy: message), mark.asker == .mirror { return wentOn(mark, at: now) }
        learn(from: message)
        if message.endpoint == .screenshot, Self.isPicture(message.payload, pixels: &firmwarePixels) { return }
        // What the mirror has asked is none of the phone's.
        if case .own(message.endpoint, _, _)? = current { return }
        guard let place = place(of: message, from: .firmware) else {
            tally.unasked += 1
            return
        }
        take(message, from: .firmware, at: place, now: now)
    }

    private mutating func learn(from message: PebbleMessage) {
        switch message.endpoint {
        case .appRunState:
            if case .start(let app)? = try? AppRunStateMessage(payload: message.payload) { names.firmwareRuns(app) }
        case .appFetch:
            if let request = try? AppFetchRequest(payload: message.payload) { names.fetches(request, on: .firmware) }
        case .appMessage:
            // Its apps go on only when they have been heard.
            if case .push(let push)? = try? AppMessage(payload: message.payload) {
                bridge.say(AppMessage.acknowledgement(push.transaction))
            }
        default: break
        }
    }

    /// Whether a message is a part of a picture that was announced.
    private static func isPicture(_ payload: [UInt8], pixels: inout Int) -> Bool {
        if pixels > 0 {
            pixels -= payload.count
            return true
        }
        pixels = max(0, EmulatorScreen.missing(after: payload))
        return false
    }

    /// The firmware is gone, or is not the one that it was: what it owed is not compared.
    mutating func forgetFirmware(at now: Duration) {
        if case .question(var exchange, _)? = current {
            tally.lost += 1
            exchange.stage = .done(since: now)
            remember(exchange, at: now)
        }
        current = nil
        for index in past.indices {
            switch past[index].stage {
            case .short, .disputed:
                tally.lost += 1
                past[index].stage = .done(since: now)
            case .waiting, .asked, .heldUp, .agreed, .done: break
            }
        }
        names.forgetFirmware()
        firmwarePixels = 0
        if let session {
            agenda.prepend(.own(PebbleMessage(AppRunStateMessage.request)))
            if let introduction { agenda.prepend(.own(introduction)) }
            agenda.prepend(.begin(session))
        }
    }

    // MARK: Time

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next = bridge.nextDeadline
        switch current {
        case .question(let exchange, _): next.lower(to: Self.deadline(of: exchange.stage))
        case .own(_, _, let since): next.lower(to: since + Self.longest)
        case nil: break
        }
        for exchange in past { next.lower(to: Self.deadline(of: exchange.stage)) }
        return next
    }

    private static func deadline(of stage: MirrorExchange.Stage) -> Duration? {
        switch stage {
        case .asked(let since): since + longest
        case .heldUp(let end), .short(let end), .disputed(let end): end
        case .agreed(let since), .done(let since): since + patience
        case .waiting: nil
        }
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        bridge.advance(to: now)
        switch current {
        case .question(let exchange, _):
            if let end = Self.deadline(of: exchange.stage), end <= now { giveUpWaiting(for: exchange, at: now) }
        case .own(_, _, let since) where since + Self.longest <= now: current = nil
        case .own, nil: break
        }
        for index in past.indices {
            guard let end = Self.deadline(of: past[index].stage), end <= now else { continue }
            switch past[index].stage {
            case .short, .disputed: judge(at: index, now: now)
            case .waiting, .asked, .heldUp, .agreed, .done: break
            }
        }
        past.removeAll { exchange in
            switch exchange.stage {
            case .agreed(let since), .done(let since): since + Self.patience <= now
            case .waiting, .asked, .heldUp, .short, .disputed: false
            }
        }
    }

    /// The next question waits no longer for this one.
    private mutating func giveUpWaiting(for exchange: MirrorExchange, at now: Duration) {
        var exchange = exchange
        current = nil
        if case .asked = exchange.stage {
            note(.warning, "the firmware does not go on after \(exchange.question.endpoint); that is not compared")
            tally.lost += 1
            exchange.stage = .done(since: now)
            return remember(exchange, at: now)
        }
        let wentOn = exchange.wentOn ?? now
        exchange.stage = exchange.isShort ? .short(until: wentOn + Self.patience) : .disputed(until: now)
        remember(exchange, at: now)
        if !exchange.isShort { judge(at: past.count - 1, now: now) }
    }

    /// Nothing more is waited for: what differs is reported, and what was not asked is not compared.
    mutating func finish(at now: Duration) {
        if case .question(var exchange, _)? = current {
            exchange.stage = exchange.wentOn == nil ? .done(since: now) : .disputed(until: now)
            if exchange.wentOn == nil { tally.lost += 1 }
            remember(exchange, at: now)
        }
        current = nil
        for index in past.indices {
            switch past[index].stage {
            case .short, .disputed: judge(at: index, now: now)
            case .waiting, .asked, .heldUp, .agreed, .done: break
            }
        }
        for case .question in agenda { tally.lost += 1 }
        agenda = []
        agendaByteCount = 0
        session = nil
    }
}

// MARK: - Asking

extension FirmwareMirror {
    /// Asks the firmware what is next, if it is ready for that.
    mutating func proceed(at now: Duration) {
        while bridge.state == .ready, !bridge.isTakingNote, current == nil, let step = agenda.popFirst() {
            switch step {
            case .begin(let id): bridge.begin(id, at: now)
            case .end(let id): bridge.end(id, at: now)
            case .own(let message):
                bridge.say(message)
                current = .own(message.endpoint, mark: mark(), since: now)
            case .change(let command):
                bridge.change(command)
                current = .own(.blobDB, mark: mark(), since: now)
            case .question(var exchange, let message):
                agendaByteCount -= message.payload.count
                // Its session began with a firmware that is gone.
                guard bridge.session == exchange.session else {
                    tally.lost += 1
                    continue
                }
                switch names.translate(message) {
                case .asked(let translated):
                    if translated.endpoint == .screenshot { firmwarePixels = 0 }
                    bridge.forward(translated, on: exchange.session, at: now)
                    exchange.stage = .asked(at: now)
                    current = .question(exchange, mark: mark())
                case .withheld(let reason, let instead):
                    tally.withheld[reason, default: 0] += 1
                    exchange.stage = .done(since: now)
                    remember(exchange, at: now)
                    if let instead { agenda.prepend(.own(instead)) }
                }
            }
        }
    }

    /// Asks what is answered when the firmware has gone on.
    private mutating func mark() -> FirmwareMark {
        lastMark &+= 1
        let mark = FirmwareMark(.mirror, number: lastMark)
        bridge.say(mark.question)
        return mark
    }

    private mutating func wentOn(_ mark: FirmwareMark, at now: Duration) {
        switch current {
        case .own(_, mark, _): current = nil
        case .question(var exchange, mark):
            exchange.wentOn = now
            exchange.stage = .heldUp(until: now + Self.settling)
            current = .question(exchange, mark: mark)
            settleCurrent(at: now)
        case .own, .question, nil: break
        }
    }

    /// The firmware has gone on: if the two agree, the next question is due.
    private mutating func settleCurrent(at now: Duration) {
        guard case .question(let exchange, _)? = current, exchange.wentOn != nil, exchange.difference == nil else {
            return
        }
        current = nil
        remember(agreed(exchange, at: now), at: now)
    }

    private mutating func remember(_ exchange: MirrorExchange, at now: Duration) {
        past.append(exchange)
        guard past.count > Self.rememberedLimit else { return }
        switch past[0].stage {
        case .short, .disputed: judge(at: 0, now: now)
        case .waiting, .asked, .heldUp, .agreed, .done: break
        }
        past.removeFirst()
    }
}

// MARK: - Answers

extension FirmwareMirror {
    /// Where a question is that was asked, or is to be.
    private enum Place {
        case agenda(Int)
        case current
        case past(Int)
    }

    /// The question that a message answers; nil if it answers none.
    private func place(of answer: PebbleMessage, from side: MirrorSide) -> Place? {
        var best: (place: Place, score: Int)?
        func look(at exchange: MirrorExchange, _ place: Place) {
            guard let fit = exchange.question.fit(of: answer) else { return }
            // Once it has been said which app runs, what is said of that is news.
            if answer.endpoint == .appRunState, exchange.hasAnswer(from: side) { return }
            var score = fit.rawValue * 8
            switch side {
            case .watch:
                if exchange.number == handling { score += 16 }
                // Of two that are alike, the one that was asked first is answered first.
                if exchange.watch.isEmpty { score += 1 }
                if let best, best.score > score { return }
            case .firmware:
                let meaning = names.meaning(
                    of: answer,
                    to: exchange.question,
                    from: side,
                    runsOnWatch: exchange.runsOnWatch
                )
                if exchange.isOwed(meaning) { score += 4 }
                if case .current = place { score += 2 }
                if let best, best.score >= score { return }
            }
            best = (place, score)
        }
        if side == .watch {
            for index in agenda.indices.reversed() {
                if case .question(let exchange, _) = agenda[index] { look(at: exchange, .agenda(index)) }
            }
        }
        if case .question(let exchange, _)? = current { look(at: exchange, .current) }
        for index in past.indices.reversed() { look(at: past[index], .past(index)) }
        return best?.place
    }

    private mutating func take(_ answer: PebbleMessage, from side: MirrorSide, at place: Place, now: Duration) {
        switch place {
        case .agenda(let index):
            guard case .question(var exchange, let message) = agenda[index] else { return }
            learn(answer, to: exchange, from: side)
            exchange.take(answer, from: side, names)
            agenda[index] = .question(exchange, message)
        case .current:
            guard case .question(var exchange, let mark)? = current else { return }
            learn(answer, to: exchange, from: side)
            exchange.take(answer, from: side, names)
            current = .question(exchange, mark: mark)
            settleCurrent(at: now)
        case .past(let index):
            learn(answer, to: past[index], from: side)
            past[index].take(answer, from: side, names)
            settle(at: index, now: now)
        }
    }

    /// An upload has a name from its first answer on.
    private mutating func learn(_ answer: PebbleMessage, to exchange: MirrorExchange, from side: MirrorSide) {
        guard answer.endpoint == .putBytes, exchange.question.command == Self.beginUpload,
            case .acknowledgement(let token)? = try? PutBytesResponse(payload: answer.payload)
        else { return }
        names.named(token, begunBy: exchange.number, on: side)
    }

    private static let beginUpload: UInt8 = 0x01

    /// A question from which the firmware had gone on was answered once more.
    private mutating func settle(at index: Int, now: Duration) {
        let difference = past[index].difference
        switch past[index].stage {
        case .short:
            if difference == nil {
                let delay = now - (past[index].wentOn ?? now)
                report(.late, at: index, delay: delay, now: now)
            } else if !past[index].isShort {
                judge(at: index, now: now)
            }
        case .agreed:
            guard difference != nil else { return }
            tally.compared -= 1
            tally.same -= 1
            if past[index].watch.isEmpty || past[index].firmware.isEmpty { tally.unanswered -= 1 }
            past[index].stage = .disputed(until: now + Self.settling)
        case .disputed:
            if difference == nil { past[index] = agreed(past[index], at: now) }
        case .waiting, .asked, .heldUp, .done: break
        }
    }

    /// The two agree.
    private mutating func agreed(_ exchange: MirrorExchange, at now: Duration) -> MirrorExchange {
        var exchange = exchange
        exchange.stage = .agreed(since: now)
        tally.compared += 1
        tally.same += 1
        if exchange.watch.isEmpty { tally.unanswered += 1 }
        let status = exchange.watch.first?.kept.bytes.part(2, 1)
        let isDone = exchange.question.endpoint == .blobDB && status == [BlobDBStatus.success.rawValue]
        names.agreed(on: exchange.question, isDone: isDone)
        return exchange
    }

    /// It is decided whether the two differ.
    private mutating func judge(at index: Int, now: Duration) {
        guard let kind = past[index].difference else {
            past[index] = agreed(past[index], at: now)
            return
        }
        report(kind, at: index, now: now)
    }

    private mutating func report(_ kind: MirrorDifference.Kind, at index: Int, delay: Duration? = nil, now: Duration) {
        let exchange = past[index]
        past[index].stage = .done(since: now)
        tally.compared += 1
        tally.different[kind, default: 0] += 1
        if exchange.watch.isEmpty { tally.unansweredByWatch += 1 }
        if exchange.firmware.isEmpty { tally.unansweredByFirmware += 1 }
        differences.append(exchange.report(kind, delay: delay))
        giveUpUpload(of: exchange)
    }

    /// An upload that the firmware alone has begun goes no further.
    private mutating func giveUpUpload(of exchange: MirrorExchange) {
        guard exchange.question.endpoint == .putBytes, exchange.question.command == Self.beginUpload,
            let token = exchange.firmware.lazy.compactMap({ $0.kept.upload }).first,
            !exchange.watch.contains(where: { $0.kept.upload != nil })
        else { return }
        agenda.prepend(.own(PebbleMessage(PutBytesRequest.abort(token))))
    }
}

extension MirroredMessage {
    /// The name of the upload that it acknowledges.
    fileprivate var upload: PutBytesToken? {
        guard case .acknowledgement(let token)? = try? PutBytesResponse(payload: bytes) else { return nil }
        return token
    }
}
