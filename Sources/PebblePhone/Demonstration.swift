import BluetoothHCI
import ByteCoding
import DequeModule
import PebbleProtocol

/// The whole story of a phone and its watch, told once: the phone finds the watch, connects, gets to know it, opens the
/// Pebble transport, pings, exchanges dictionaries of every type with a watchapp that echoes them, pings again, and
/// leaves.
///
/// A link that is lost on the way is made again, and the story goes on where it stopped. It ends with an
/// ``Demonstration/outcome`` in any case.
package struct Demonstration: HCIHost, Sendable {
    /// How it ended.
    package enum Outcome: Hashable, Sendable {
        case success(Summary)
        /// What did not happen, or should not have.
        case failure(String)
    }

    /// What a successful demonstration did.
    package struct Summary: Hashable, Sendable {
        package internal(set) var pings = 0
        /// Dictionaries that went to the watch and came back as they were.
        package internal(set) var echoes = 0
        /// The dictionaries' bytes, counted once.
        package internal(set) var echoedByteCount = 0
        /// Links that were lost and made again.
        package internal(set) var reconnections = 0
    }

    fileprivate enum Stage: Hashable, Sendable {
        case reachingWatch
        case launchingApp
        case pinging(isGoodbye: Bool)
        case exchanging(isAcknowledged: Bool, isEchoed: Bool)
        case leaving
        case over
    }

    /// What is done.
    package let script: DemonstrationScript
    /// How it ended; nil while it goes on.
    package private(set) var outcome: Outcome?
    private var phone: CompanionPhone
    private var stage = Stage.reachingWatch
    private var stageEnds = Duration.zero
    private var hasGreeted = false
    private var hasSaidGoodbye = false
    private var remaining: ArraySlice<DemonstrationScript.Exchange>
    private var watchCapabilities: Capabilities = []
    private var runningApp: PebbleUUID?
    private var summary = Summary()
    private var story: Deque<PhoneEvent> = []

    /// A story that has not begun. The phone must not have been started.
    package init(_ phone: CompanionPhone, script: DemonstrationScript = .standard) {
        self.phone = phone
        self.script = script
        remaining = script.exchanges[...]
    }

    /// What the phone tells, and nothing is left out.
    package mutating func nextEvent() -> PhoneEvent? { story.popFirst() }
}

// MARK: - HCIHost

extension Demonstration {
    package mutating func start(at now: Duration) {
        stageEnds = now + script.reachTimeLimit
        phone.start(at: now)
        follow(at: now)
    }

    package mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        phone.receive(packet, at: now)
        follow(at: now)
    }

    package mutating func advance(to now: Duration) {
        phone.advance(to: now)
        follow(at: now)
        if stage != .over, stageEnds <= now { fail("\(stage.aim) did not happen in time", at: now) }
    }

    package var nextDeadline: Duration? {
        guard stage != .over else { return phone.nextDeadline }
        return phone.nextDeadline.map { min($0, stageEnds) } ?? stageEnds
    }

    package mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }
}

// MARK: - The story

extension Demonstration {
    private mutating func follow(at now: Duration) {
        while let event = phone.nextEvent() {
            story.append(event)
            follow(event, at: now)
        }
    }

    private mutating func follow(_ event: PhoneEvent, at now: Duration) {
        switch (event, stage) {
        case (.failed(let reason), _) where stage != .over:
            fail(reason, at: now)
        case (.disconnected, .leaving):
            stage = .over
            outcome = .success(summary)
        case (.disconnected(let reason), _) where stage != .over:
            lostWatch(reason, at: now)
        case (.watchVersion(let version), _):
            watchCapabilities = version.capabilities
        case (.runningApp(let application), _):
            runningApp = application
        case (.negotiated, .reachingWatch):
            goOn(at: now)
        case (.message(.fromWatch, let message), .launchingApp):
            if case .start(script.application)? = try? AppRunStateMessage(payload: message.payload),
                message.endpoint == .appRunState
            {
                runningApp = script.application
                goOn(at: now)
            }
        case (.pong, .pinging(let isGoodbye)):
            summary.pings += 1
            hasGreeted = true
            hasSaidGoodbye = isGoodbye
            goOn(at: now)
        case (.pingTimedOut, .pinging):
            fail("the watch did not answer a ping", at: now)
        case (.appMessageEnded(_, let outcome, _), .exchanging(_, let isEchoed)):
            ended(outcome, isEchoed: isEchoed, at: now)
        case (.appMessageReceived(let push), .exchanging(let isAcknowledged, _)):
            received(push, isAcknowledged: isAcknowledged, at: now)
        default:
            break
        }
    }

    private mutating func lostWatch(_ reason: HCIStatus, at now: Duration) {
        guard summary.reconnections < script.reconnectionLimit else {
            return fail("the link was lost too often, at last with: \(reason)", at: now)
        }
        summary.reconnections += 1
        runningApp = nil
        enter(.reachingWatch, for: script.reachTimeLimit, at: now)
    }

    /// The watch took a dictionary, or did not.
    private mutating func ended(_ outcome: AppMessageOutcome, isEchoed: Bool, at now: Duration) {
        switch outcome {
        case .acknowledged:
            stage = .exchanging(isAcknowledged: true, isEchoed: isEchoed)
            finishExchange(at: now)
        case .refused: fail("the watch refused a dictionary", at: now)
        case .timedOut: fail("the watch did not acknowledge a dictionary", at: now)
        case .cancelled: break
        }
    }

    private mutating func received(_ push: AppMessagePush, isAcknowledged: Bool, at now: Duration) {
        guard let current = remaining.first else { return }
        guard push.application == script.application, push.dictionary == current.dictionary else {
            // After a lost link the watch may first deliver what it could not deliver then.
            let wasSentBefore = script.exchanges.contains { $0.dictionary == push.dictionary }
            guard summary.reconnections > 0, wasSentBefore else {
                return fail("the echo \(push.dictionary) is not what was sent, \(current.dictionary)", at: now)
            }
            return
        }
        stage = .exchanging(isAcknowledged: isAcknowledged, isEchoed: true)
        finishExchange(at: now)
    }

    private mutating func finishExchange(at now: Duration) {
        guard stage == .exchanging(isAcknowledged: true, isEchoed: true), let done = remaining.popFirst() else {
            return
        }
        summary.echoes += 1
        summary.echoedByteCount += done.dictionary.encoded.count
        goOn(at: now)
    }

    /// What comes next.
    private mutating func goOn(at now: Duration) {
        do throws(PhoneCommandError) {
            while let next = remaining.first, !watchCapabilities.contains(next.requires) {
                remaining = remaining.dropFirst()
            }
            if runningApp != script.application {
                enter(.launchingApp, for: script.answerTimeLimit, at: now)
                try phone.send(PebbleMessage(AppRunStateMessage.start(script.application)), at: now)
            } else if !hasGreeted {
                try ping(isGoodbye: false, at: now)
            } else if let next = remaining.first {
                enter(.exchanging(isAcknowledged: false, isEchoed: false), for: script.answerTimeLimit, at: now)
                try phone.sendAppMessage(next.dictionary, to: script.application, at: now)
            } else if !hasSaidGoodbye {
                // Its answer shows that the watch has got everything before it, the last acknowledgement too.
                try ping(isGoodbye: true, at: now)
            } else {
                enter(.leaving, for: script.answerTimeLimit, at: now)
                phone.disconnect(at: now)
            }
        } catch {
            fail("\(error)", at: now)
        }
    }

    private mutating func ping(isGoodbye: Bool, at now: Duration) throws(PhoneCommandError) {
        enter(.pinging(isGoodbye: isGoodbye), for: script.answerTimeLimit, at: now)
        try phone.ping(cookie: isGoodbye ? 2 : 1, at: now)
    }

    private mutating func enter(_ stage: Stage, for limit: Duration, at now: Duration) {
        self.stage = stage
        stageEnds = now + limit
    }

    private mutating func fail(_ reason: String, at now: Duration) {
        stage = .over
        outcome = .failure(reason)
        phone.disconnect(at: now)
    }
}

extension Demonstration.Stage {
    /// What is waited for.
    fileprivate var aim: String {
        switch self {
        case .reachingWatch: "a session with a watch"
        case .launchingApp: "the start of the watchapp"
        case .pinging: "the answer to a ping"
        case .exchanging(false, _): "the acknowledgement of a dictionary"
        case .exchanging(true, _): "the echo of a dictionary"
        case .leaving, .over: "the end of the link"
        }
    }
}
