import BluetoothHCI
import BluetoothHost
import DequeModule

/// Makes one link as fast as it needs to be, and no faster.
///
/// Two things happen side by side:
///
/// - *Preparing*, once: the peer's features become known, then packets become long, then the radio goes to 2M. The ATT
///   MTU is exchanged when the packets are long, as Apple asks of accessories: `isReadyForMTUExchange`.
/// - *Pacing*, always: a consumer that needs speed says so (`need`), the fastest need decides, and the phone is asked for the
///   parameters of that response time: at the earliest one second after connecting, again after five seconds if they
///   did not come, three times at most until another response time is wanted. What the phone sets by itself stands,
///   within these attempts. A phone that said that it manages the parameters is asked for nothing.
///
/// The machine does nothing itself: it is told what happens, and asked for the next action.
struct LinkPolicy: Sendable {
    /// What the owner is to do for the link.
    enum Action: Sendable, Equatable {
        case setDataLength(DataLength)
        case setPHY(PHYPreferences)
        case requestParameters(ConnectionParameters)
    }

    /// What this side's controller can do.
    struct Abilities: Sendable, Equatable {
        /// The longest packet that it can send; the minimum if it has only those.
        var maximumLength: DataLength = .minimum
        var has2M = false
    }

    /// Where preparing stands.
    private enum Preparation: Sendable, Equatable {
        case learning
        case lengthening
        case modulating
        case done
    }

    private struct Need: Sendable {
        let responseTime: ResponseTime
        let end: Duration
    }

    /// Before this long after connecting, no phone is asked for parameters: it has enough to do. A second is also
    /// short enough for iOS, which begins with a supervision timeout of 720 ms and never raises it by itself.
    static let firstRequestDelay: Duration = .seconds(1)
    /// How long parameters that were asked for may take to come.
    static let retryDelay: Duration = .seconds(5)
    /// How often one response time is asked for.
    static let attemptLimit = 3
    /// How long a link stays fast for a consumer that has finished, because the next one often follows at once.
    static let releaseDelay: Duration = .seconds(2)
    /// How long a step of preparing may take. Most have an end; that a data length stays as it was is never reported.
    static let stepTimeout: Duration = .seconds(1)
    /// Two seconds: a link whose timeout is shorter is lost for nothing now and then, however right the rest is.
    static let shortestSupervisionTimeout = SupervisionTimeout(rawValue: 200)

    private let abilities: Abilities
    private var profile: LinkProfile
    private let connectedAt: Duration

    private var preparation = Preparation.learning
    private var stepEnd: Duration?
    private var remoteFeatures: LEFeatures?
    private var transmitLength: DataLength
    private var phys: LinkPHYs

    private var interval: ConnectionInterval
    private var latency: UInt16
    private var subrating: LinkSubrating
    private var supervisionTimeout: SupervisionTimeout
    private var needs = SmallTable<SpeedConsumer, Need>() { didSet { findFirstNeedEnd() } }
    /// When the first of the needs ends.
    private var firstNeedEnd: Duration?
    /// What is wanted now.
    private(set) var responseTime = ResponseTime.slow
    private var attempts = 0
    private var retryAt: Duration?
    private var hasGivenUp = false
    private(set) var isManagedByPhone = false

    private var actions: Deque<Action> = []
    private var events: Deque<LinkEvent> = []

    /// A policy for a connection that has just been made.
    init(_ connection: Connection, abilities: Abilities, profile: LinkProfile, at now: Duration) {
        self.abilities = abilities
        self.profile = profile
        connectedAt = now
        stepEnd = now + Self.stepTimeout
        transmitLength = connection.transmitLength
        phys = connection.phys
        interval = connection.interval
        latency = connection.latency
        subrating = connection.subrating
        supervisionTimeout = connection.supervisionTimeout
    }

    /// Whether the watch may exchange the ATT MTU now.
    var isReadyForMTUExchange: Bool { preparation == .modulating || preparation == .done }

    /// The next thing to do.
    mutating func nextAction() -> Action? { actions.popFirst() }

    /// The next thing to tell.
    mutating func nextEvent() -> LinkEvent? { events.popFirst() }

    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? {
        stepEnd.earlier(firstNeedEnd).earlier(nextRequest)
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        if let stepEnd, stepEnd <= now { continuePreparing(at: now) }
        if let firstNeedEnd, firstNeedEnd <= now {
            for consumer in needs.keys {
                if let need = needs[consumer], need.end <= now { needs[consumer] = nil }
            }
            updateResponseTime(at: now)
        }
        requestParametersIfDue(at: now)
    }
}

// MARK: - Preparing

extension LinkPolicy {
    /// What the peer's link layer can do; nil if that cannot be found out.
    mutating func remoteFeaturesRead(_ features: LEFeatures?, at now: Duration) {
        remoteFeatures = features
        if preparation == .learning { continuePreparing(at: now) }
    }

    /// Either side made packets longer.
    mutating func dataLengthChanged(transmit: DataLength, receive: DataLength, at now: Duration) {
        transmitLength = transmit
        events.append(.dataLength(transmit: transmit, receive: receive))
        if preparation == .lengthening { continuePreparing(at: now) }
    }

    /// Either side changed the radio's modulation, or this side tried to.
    mutating func phyChanged(_ outcome: HCIOutcome<LinkPHYs>, at now: Duration) {
        switch outcome {
        case .success(let new):
            phys = new
            events.append(.phys(new))
        case .failure(let status):
            events.append(.phyRefused(status))
        }
        if preparation == .modulating { continuePreparing(at: now) }
    }

    /// Ends the present step, and begins the next one that makes sense.
    private mutating func continuePreparing(at now: Duration) {
        switch preparation {
        case .learning:
            preparation = .lengthening
            if canLengthen { return begin(.setDataLength(abilities.maximumLength), at: now) }
            continuePreparing(at: now)
        case .lengthening:
            preparation = .modulating
            if canUse2M { return begin(.setPHY(PHYPreferences(transmit: .le2M, receive: .le2M)), at: now) }
            continuePreparing(at: now)
        case .modulating, .done:
            preparation = .done
            stepEnd = nil
        }
    }

    private mutating func begin(_ action: Action, at now: Duration) {
        actions.append(action)
        stepEnd = now + Self.stepTimeout
    }

    private var canLengthen: Bool {
        // A peer that did not say what it can do may be able to; its controller knows how to refuse.
        abilities.maximumLength.octets > transmitLength.octets
            && remoteFeatures?.contains(.dataPacketLengthExtension) ?? true
    }

    private var canUse2M: Bool {
        abilities.has2M && phys != LinkPHYs(transmit: .le2M, receive: .le2M)
            && remoteFeatures?.contains(.le2MPHY) ?? true
    }
}

// MARK: - Pacing

extension LinkPolicy {
    /// A consumer needs speed from now on, as long as such consumers may have it.
    mutating func need(_ consumer: SpeedConsumer, _ responseTime: ResponseTime = .fast, at now: Duration) {
        let isNew = needs[consumer]?.responseTime != responseTime
        needs[consumer] = Need(responseTime: responseTime, end: now + consumer.longestNeed)
        // One that only lasts longer, as with each message, changes nothing else.
        if isNew { updateResponseTime(at: now) }
    }

    /// A consumer has finished.
    mutating func release(_ consumer: SpeedConsumer, after delay: Duration = releaseDelay, at now: Duration) {
        guard let need = needs[consumer] else { return }
        needs[consumer] = Need(responseTime: need.responseTime, end: min(need.end, now + delay))
    }

    /// The phone says whether it manages the parameters itself.
    mutating func setManagedByPhone(_ isManaged: Bool, at now: Duration) {
        guard isManaged != isManagedByPhone else { return }
        isManagedByPhone = isManaged
        events.append(.phoneManages(isManaged))
        beginAsking(at: now)
    }

    /// The phone says what it is to be asked for.
    mutating func use(_ profile: LinkProfile, at now: Duration) {
        self.profile = profile
        beginAsking(at: now)
    }

    /// The link has other parameters, by either side's wish.
    mutating func parametersChanged(
        interval: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout,
        subrating: LinkSubrating,
        at now: Duration
    ) {
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
        self.subrating = subrating
        events.append(
            .parameters(
                interval: interval,
                latency: latency,
                supervisionTimeout: supervisionTimeout,
                subrating: subrating
            )
        )
        requestParametersIfDue(at: now)
    }

    /// What was asked for did not come; it is asked for again when its time is up.
    mutating func parametersRefused(_ failure: ParameterUpdateFailure) { events.append(.refused(failure)) }

    private mutating func findFirstNeedEnd() {
        firstNeedEnd = nil
        for need in needs.values { firstNeedEnd.lower(to: need.end) }
    }

    private mutating func updateResponseTime(at now: Duration) {
        var wanted = ResponseTime.slow
        for need in needs.values { wanted = max(wanted, need.responseTime) }
        guard wanted != responseTime else { return }
        responseTime = wanted
        let consumers = SpeedConsumer.allCases.filter { needs[$0]?.responseTime == wanted }
        events.append(.responseTime(wanted, for: consumers))
        beginAsking(at: now)
    }

    private mutating func beginAsking(at now: Duration) {
        attempts = 0
        retryAt = nil
        hasGivenUp = false
        requestParametersIfDue(at: now)
    }

    /// When the phone is asked next; nil if it has what it takes or was asked often enough.
    private var nextRequest: Duration? {
        // A phone may say that it manages the parameters and leave the timeout as short as iOS opens links with.
        let isUpToPhone = isManagedByPhone && supervisionTimeout >= Self.shortestSupervisionTimeout
        guard !isUpToPhone, !hasGivenUp, !isAsWanted else { return nil }
        return max(connectedAt + Self.firstRequestDelay, retryAt ?? .zero)
    }

    /// Whether the link is as the response time wants it: faster than fast is fine too.
    private var isAsWanted: Bool {
        guard supervisionTimeout >= Self.shortestSupervisionTimeout else { return false }
        let wanted = profile.parameters(for: responseTime)
        guard subrating.factor == 1 else { return subratedIsAsWanted(wanted) }
        return interval <= wanted.intervalMaximum
            && (responseTime == .fast || interval >= wanted.intervalMinimum)
            && latency == wanted.latency
    }

    /// The same for a link that the phone subrates. How much it sleeps is the phone's choice then, and other parameters would undo it.
    /// It is fast if it is fast while data moves: continuation events follow each other at the interval.
    private func subratedIsAsWanted(_ wanted: ConnectionParameters) -> Bool {
        guard responseTime == .fast else { return true }
        let pace = subrating.continuationNumber > 0 ? interval.duration : interval.duration * Int(subrating.factor)
        return pace <= wanted.intervalMaximum.duration
    }

    private mutating func requestParametersIfDue(at now: Duration) {
        guard let nextRequest, nextRequest <= now else { return }
        guard attempts < Self.attemptLimit else {
            hasGivenUp = true
            return events.append(.gaveUp(responseTime, attempts: attempts))
        }
        let wanted = profile.parameters(for: responseTime)
        do {
            try profile.rules.check(wanted)
        } catch {
            hasGivenUp = true
            return events.append(.notRequested(wanted, error))
        }
        attempts += 1
        retryAt = now + Self.retryDelay
        actions.append(.requestParameters(wanted))
        events.append(.requested(wanted, attempt: attempts))
    }
}
