import PebbleProtocol

/// A phone's message, and what both watches have answered so far.
struct MirrorExchange: Sendable {
    /// How many answers of a watch are kept.
    private static let answerLimit = 64

    /// How far it has come.
    enum Stage: Sendable, Equatable {
        /// The firmware has not been asked.
        case waiting
        /// It was asked, and has not gone on to what was asked after it.
        case asked(at: Duration)
        /// It has gone on, but the two do not agree: nothing more is asked until then.
        case heldUp(until: Duration)
        /// The firmware has said less than the watch; the rest may be late until then.
        case short(until: Duration)
        /// They agreed until one of them said more; what the other has to say to that may come until then.
        case disputed(until: Duration)
        /// They agree, and have since then.
        case agreed(since: Duration)
        /// It was reported, or is not compared; what comes now belongs to it all the same.
        case done(since: Duration)
    }

    struct Answer: Sendable {
        let kept: MirroredMessage
        let meaning: MirrorMeaning
    }

    let number: UInt64
    let session: SessionID
    let question: MirrorQuestion
    /// When the phone said it.
    let said: Duration
    /// Whether the app that an AppMessage is for runs on the watch.
    let runsOnWatch: Bool
    var stage = Stage.waiting
    /// When the firmware went on.
    var wentOn: Duration?
    private(set) var watch: [Answer] = []
    private(set) var firmware: [Answer] = []

    init(_ message: PebbleMessage, number: UInt64, on session: SessionID, runningApp: PebbleUUID, at now: Duration) {
        self.number = number
        self.session = session
        question = MirrorQuestion(message)
        said = now
        runsOnWatch = question.app == runningApp
    }

    /// Takes an answer.
    mutating func take(_ answer: PebbleMessage, from side: MirrorSide, _ names: MirrorNames) {
        let meaning = names.meaning(of: answer, to: question, from: side, runsOnWatch: runsOnWatch)
        let answer = Answer(kept: MirroredMessage(answer), meaning: meaning)
        switch side {
        case .watch where watch.count < Self.answerLimit: watch.append(answer)
        case .firmware where firmware.count < Self.answerLimit: firmware.append(answer)
        case .watch, .firmware: break
        }
    }

    /// Whether a watch has answered.
    func hasAnswer(from side: MirrorSide) -> Bool {
        switch side {
        case .watch: !watch.isEmpty
        case .firmware: !firmware.isEmpty
        }
    }

    /// Whether the firmware owes an answer of this meaning.
    func isOwed(_ meaning: MirrorMeaning) -> Bool {
        watch.count { $0.meaning == meaning } > firmware.count { $0.meaning == meaning }
    }

    /// Whether something may be missing only because it has not come yet.
    var isShort: Bool { firmware.count < watch.count }

    /// In what the answers differ; nil if they are the same.
    var difference: MirrorDifference.Kind? {
        let theirs = firmware.map(\.meaning)
        let ours = watch.map(\.meaning)
        // What an answer means may have changed between the two: the same bytes are the same all the same.
        guard theirs != ours, firmware.map(\.kept) != watch.map(\.kept) else { return nil }
        let lacking = Self.surplus(of: ours, over: theirs)
        let surplus = Self.surplus(of: theirs, over: ours)
        if lacking, surplus { return .answer }
        if lacking { return .missing }
        if surplus { return .extra }
        // Endpoints are served by tasks of their own: only within one does the order say something.
        for endpoint in Set(ours.map(\.endpoint))
        where ours.filter({ $0.endpoint == endpoint }) != theirs.filter({ $0.endpoint == endpoint }) {
            return .order
        }
        return nil
    }

    private static func surplus(of some: [MirrorMeaning], over others: [MirrorMeaning]) -> Bool {
        var left = others
        for meaning in some {
            guard let index = left.firstIndex(of: meaning) else { return true }
            left.remove(at: index)
        }
        return false
    }

    /// The difference for those who read about it.
    func report(_ kind: MirrorDifference.Kind, delay: Duration? = nil) -> MirrorDifference {
        MirrorDifference(
            kind: kind,
            number: number,
            session: session,
            question: question.kept,
            watch: watch.map(\.kept),
            firmware: firmware.map(\.kept),
            asked: said,
            delay: delay
        )
    }
}
