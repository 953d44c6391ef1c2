import BluetoothHCI

/// Decides what the watch advertises, how often, and for how long; which intervals there are is in
/// `AdvertisingProfile`.
///
/// The watch has two *purposes*: to be discovered by a phone that does not know it, and to be reconnected to by the one
/// that does. Each walks down a schedule. In a profile with turns they take them, one second each as the firmware has
/// it; in the others one advertisement serves both. A beacon is on the air beside them where the controller has several
/// advertising sets, and in between where it has one. Whatever is not on the air does not grow older.
///
/// The policy knows nothing of payloads or controllers: it is told what happens and asked what should be on the air.
///
/// While strangers are about, whom a bonded phone need not fear, it is waited for at the shortest interval, and links that come
/// and go slow nothing down: it has to find a gap between them.
///
/// **Invariant**: while the controller is there and no phone is connected, something that a phone can connect to is on the
/// air. With a beacon on a controller of one set, that holds for all but the beacon's slices: a wait of at most
/// `beaconSlice`, after at least `connectableSlice`, and never one right after a disconnection. A watch that hides its address
/// is silent for a moment whenever that changes (`AddressEpochs`).
public struct AdvertisingPolicy: Sendable {
    /// Why a phone should be able to connect.
    public enum Purpose: String, Hashable, Sendable, CaseIterable {
        /// So that a phone that does not know the watch can find it.
        case discovery
        /// So that the phone that does know it can come back.
        case reconnection

        var other: Purpose { self == .discovery ? .reconnection : .discovery }
    }

    /// Something to connect to.
    public struct Connectable: Hashable, Sendable {
        /// Which phones it is for. Where one advertisement serves both purposes, the one whose interval is shorter; discovery
        /// if they are the same.
        public let purpose: Purpose
        /// How often it is sent.
        public let interval: AdvertisingInterval

        /// Names a purpose and how often it is advertised.
        public init(_ purpose: Purpose, every interval: AdvertisingInterval) {
            self.purpose = purpose
            self.interval = interval
        }
    }

    /// On a controller with one advertising set: how long a phone can connect before the beacon has its slice. Even at the
    /// slowest interval that a beacon allows, four advertising events fall into it.
    public static let connectableSlice: Duration = .milliseconds(1500)
    /// How long the beacon's slice is: five of its events.
    public static let beaconSlice: Duration = .milliseconds(500)

    /// How far a purpose has come on its schedule.
    struct Course: Sendable {
        let schedule: AdvertisingSchedule
        var isWanted = false
        var step = 0
        /// How long the step has been on the air.
        var elapsed: Duration = .zero
        /// When the step began.
        var since: Duration = .zero
        var reason: AdvertisingReason = .activity(.boot)

        var interval: AdvertisingInterval { schedule.interval(at: step) }
        /// How much longer on the air the step lasts; nil for ever.
        var remaining: Duration? { schedule.duration(at: step).map { $0 - elapsed } }

        mutating func begin(_ reason: AdvertisingReason, atStep step: Int = 0, at now: Duration) {
            isWanted = true
            self.step = min(step, schedule.steps.count)
            elapsed = .zero
            since = now
            self.reason = reason
        }

        mutating func grow(by time: Duration, at now: Duration) {
            elapsed += time
            guard let remaining, remaining <= .zero else { return }
            step += 1
            elapsed = .zero
            since = now
        }
    }

    let profile: AdvertisingProfile
    /// How long after a lost link the beacon waits; nil if there is no beacon.
    private let beaconHoldOff: Duration?
    /// The time up to which everything is accounted for.
    private(set) var clock: Duration = .zero

    private(set) var isControllerReady = false
    private var hasBooted = false
    private(set) var isConnected = false
    /// Whether the watch changes its address.
    private(set) var isSilent = false
    private var bondCount = 0
    private var isWindowOpen = false
    /// Whether the phone that is connected is the one that was waited for.
    private var isAwaitedPhoneHere = false
    private(set) var setCount = 1
    /// Whether strangers are about while the bonded phone is waited for.
    private(set) var areStrangersAbout = false

    private(set) var discovery: Course
    private(set) var reconnection: Course
    /// Whose turn it is, where they take turns.
    private var front: Purpose = .discovery
    private var turnElapsed: Duration = .zero
    /// When the latest waits for the bonded phone began, for the churn guard.
    private var recentWaits: [Duration] = []
    private var churn = LinkChurn()

    /// Until when the beacon is held off.
    private(set) var holdOffEnd: Duration = .zero
    /// Since when the beacon is out, whether or not it has its slice at the moment; nil if it is not.
    private(set) var beaconSince: Duration?
    private var isBeaconSlice = false
    private var sliceEnd: Duration = .zero

    /// A policy with nothing on the air yet.
    /// - Parameters:
    ///   - profile: what decides how the watch advertises.
    ///   - beaconHoldOff: how long after a lost link the beacon waits; nil for no beacon.
    public init(_ profile: AdvertisingProfile, beaconHoldOff: Duration? = nil) {
        self.profile = profile
        self.beaconHoldOff = beaconHoldOff
        discovery = Course(schedule: profile.discovery)
        reconnection = Course(schedule: profile.reconnection)
        discovery.begin(.activity(.boot), at: .zero)
    }

    /// Whether anything can be on the air.
    var isRunning: Bool { isControllerReady && !isConnected && !isSilent }

    // MARK: What should be on the air

    /// What a phone should be able to connect to now.
    public var connectable: Connectable? {
        guard isRunning, !isBeaconSlice, let purpose = airedPurpose else { return nil }
        return Connectable(purpose, every: interval(of: purpose))
    }

    /// Whether the beacon should be on the air now.
    public var isBeaconOnAir: Bool { beaconSince != nil && (isBeaconSlice || setCount > 1) }

    /// Whether the beacon and what can be connected to take slices of the time.
    var isSliced: Bool { beaconSince != nil && setCount == 1 }

    /// Whether the two purposes take turns.
    var takesTurns: Bool { profile.turn != nil && discovery.isWanted && reconnection.isWanted }

    /// The purpose that is on the air, or will be after the beacon's slice.
    var airedPurpose: Purpose? {
        switch (discovery.isWanted, reconnection.isWanted) {
        case (true, true) where takesTurns: front
        // One advertisement for both, so it is the one that comes more often.
        case (true, true): reconnection.interval < discovery.interval ? .reconnection : .discovery
        case (true, false): .discovery
        case (false, true): .reconnection
        case (false, false): nil
        }
    }

    /// How often a purpose is advertised now.
    func interval(of purpose: Purpose) -> AdvertisingInterval {
        guard !isHurried(purpose) else { return .apple20 }
        let interval = isChurning ? max(self[purpose].interval, LinkChurn.shortestInterval) : self[purpose].interval
        return beaconSince == nil ? interval : min(interval, profile.slowestWithBeacon)
    }

    /// Whether a purpose is served at the shortest interval, whatever its schedule says.
    func isHurried(_ purpose: Purpose) -> Bool { areStrangersAbout && purpose == .reconnection }

    /// Whether links come and go in a loop.
    var isChurning: Bool { churn.isOn(at: clock) }

    private(set) subscript(purpose: Purpose) -> Course {
        get { purpose == .discovery ? discovery : reconnection }
        set { if purpose == .discovery { discovery = newValue } else { reconnection = newValue } }
    }

    // MARK: Events

    /// Something happened.
    public mutating func receive(_ event: AdvertisingEvent, at now: Duration) {
        advance(to: now)
        switch event {
        case .controllerReady(let sets):
            setCount = max(1, sets)
            isControllerReady = true
            if !hasBooted || profile.wakesOn.contains(.boot) { restart(.activity(.boot)) }
            hasBooted = true
        case .controllerLost:
            isControllerReady = false
        case .activity(let activity):
            if profile.wakesOn.contains(activity) { restart(.activity(activity)) }
        case .command:
            restart(.command)
        case .connected:
            isConnected = true
        case .addressChanges(let isSilent):
            self.isSilent = isSilent
        case .onlyStrangersAreHere:
            isConnected = false
        case .strangers(let areAbout):
            areStrangersAbout = areAbout
        case .bondedPhoneIsBack:
            guard isConnected else { break }
            isAwaitedPhoneHere = true
            reconnection.isWanted = false
        case .disconnected(let end):
            disconnected(end)
        case .bonds(let count):
            let reason: AdvertisingReason = count > bondCount ? .bondAdded : .bondRemoved
            bondCount = count
            refreshPurposes(reason)
        case .pairingWindow(let isOpen):
            isWindowOpen = isOpen
            // Opened again, it begins again.
            if isOpen { discovery.isWanted = false }
            refreshPurposes(.pairingWindow)
        }
        updateBeacon()
    }

    private mutating func disconnected(_ end: LinkEnd) {
        isConnected = false
        churn.linkEnded(at: clock)
        switch end {
        case .lost: holdOffEnd = clock + (beaconHoldOff ?? .zero)
        case .phone, .watch: holdOffEnd = clock
        // Nothing had come of it, so nothing is over: a hold-off that ran runs on.
        case .notEstablished: break
        }
        if profile.restartsAfter.contains(end) { restart(.disconnected(end)) }
        isAwaitedPhoneHere = false
        refreshPurposes(.disconnected(end))
    }

    /// Begins all schedules again that there is a purpose for.
    private mutating func restart(_ reason: AdvertisingReason) {
        for purpose in Purpose.allCases where self[purpose].isWanted { self[purpose].begin(reason, at: clock) }
    }

    /// Begins and ends purposes, as bonds and the pairing window have it. With no phone connected, one of them is there.
    private mutating func refreshPurposes(_ reason: AdvertisingReason) {
        let isDiscoverable = bondCount == 0 || isWindowOpen
        if isDiscoverable != discovery.isWanted {
            discovery.isWanted = false
            if isDiscoverable { begin(.discovery, reason) }
        }
        let isAwaiting = bondCount > 0 && !isAwaitedPhoneHere
        if isAwaiting != reconnection.isWanted {
            reconnection.isWanted = false
            if isAwaiting { begin(.reconnection, reason, atStep: skipsFastStep(after: reason) ? 1 : 0) }
        }
    }

    /// A new purpose is on the air at once.
    private mutating func begin(_ purpose: Purpose, _ reason: AdvertisingReason, atStep step: Int = 0) {
        self[purpose].begin(reason, atStep: step, at: clock)
        front = purpose
        turnElapsed = .zero
    }

    /// Whether the wait for the bonded phone that begins now does without its fast step.
    private mutating func skipsFastStep(after reason: AdvertisingReason) -> Bool {
        guard case .disconnected(let end) = reason else { return false }
        var churns = false
        if let guardian = profile.churnGuard {
            recentWaits.append(clock)
            // As many as it takes to tell are kept.
            if recentWaits.count > guardian.limit + 1 { recentWaits.removeFirst() }
            churns = recentWaits.count > guardian.limit && recentWaits.allSatisfy { clock - $0 <= guardian.window }
        }
        return churns || (beaconHoldOff == nil && profile.staysSlowAfter.contains(end))
    }

    // MARK: Time

    /// When something changes on the air by itself.
    public var nextDeadline: Duration? {
        let churnEnd = isChurning ? churn.end : nil
        guard isRunning else { return churnEnd }
        var next = churnEnd
        func consider(_ deadline: Duration) { next = next.map { min($0, deadline) } ?? deadline }
        if beaconHoldOff != nil, beaconSince == nil { consider(holdOffEnd) }
        if isSliced { consider(sliceEnd) }
        guard !isBeaconSlice else { return next }
        for purpose in Purpose.allCases where growsOlder(purpose) {
            if let remaining = self[purpose].remaining { consider(clock + remaining) }
        }
        if let turn = profile.turn, takesTurns { consider(clock + (turn - turnElapsed)) }
        return next
    }

    /// Lets time pass: steps end, purposes and the beacon take turns.
    public mutating func advance(to now: Duration) {
        while let deadline = nextDeadline, deadline <= now { pass(until: max(deadline, clock)) }
        pass(until: now)
    }

    /// Whether a purpose's time on the air is running.
    private func growsOlder(_ purpose: Purpose) -> Bool {
        self[purpose].isWanted && (!takesTurns || front == purpose)
    }

    /// Lets time pass up to the next deadline at most.
    private mutating func pass(until now: Duration) {
        guard now >= clock else { return }
        let time = now - clock
        clock = now
        guard isRunning else { return }
        if !isBeaconSlice {
            let takesTurns = takesTurns
            if !takesTurns || front == .discovery, discovery.isWanted { discovery.grow(by: time, at: now) }
            if !takesTurns || front == .reconnection, reconnection.isWanted { reconnection.grow(by: time, at: now) }
            if let turn = profile.turn, takesTurns {
                turnElapsed += time
                if turnElapsed >= turn {
                    front = front.other
                    turnElapsed = .zero
                }
            }
        }
        updateBeacon()
    }

    private mutating func updateBeacon() {
        let isOut = beaconHoldOff != nil && isRunning && holdOffEnd <= clock
        if isOut != (beaconSince != nil) {
            beaconSince = isOut ? clock : nil
            isBeaconSlice = false
            sliceEnd = clock + Self.connectableSlice
        }
        if !isSliced {
            isBeaconSlice = false
        } else if sliceEnd <= clock {
            isBeaconSlice.toggle()
            sliceEnd = clock + (isBeaconSlice ? Self.beaconSlice : Self.connectableSlice)
        }
    }
}
