import BluetoothHCI
import DequeModule

/// Decides how long the watch keeps links that have not earned their place, so that the phone that it belongs to gets in
/// whatever others do.
///
/// A link earns its place by being encrypted. Until then it is a *stranger's*, unless its address is that of a bonded phone,
/// which is left a moment to prove itself. ``TenureRules`` has how long strangers may stay. While a bonded phone is waited for,
/// strangers do not hold the watch: it goes on advertising beside a few of them, turns the others away, has less patience with
/// those who come again, and ends them all when the bonded phone comes.
///
/// A bonded phone is known by its address, which the host has resolved with its identity resolving key if it is private. A
/// phone of which no key is known proves itself by encrypting, in the time that strangers have.
struct LinkTenure: Sendable {
    /// What a link's phone does, as far as it counts here.
    struct Conduct: Sendable {
        /// When it last sent a request that it had not sent before.
        var lastProgress: Duration?
        /// Whether it is pairing.
        var isPairing: Bool
    }

    /// What becomes of a link that has just been made.
    enum Verdict: Sendable {
        case admitted
        /// It is to be ended at once, and no event tells of it.
        case turnedAway
    }

    private struct Tenant: Sendable {
        let phone: LEAddress
        let start: Duration
        /// Whether it has the address of a bonded phone.
        let isKnown: Bool
        /// How long it may stay without encryption, or without progress; nil for as long as it likes.
        let patience: Duration?
        /// Whether it is, or has been, encrypted.
        var hasEarnedPlace = false
        var isTurnedAway = false
        /// Why the watch ends it.
        var end: TenureEnd?
        /// When it was last seen pairing.
        var lastPairing: Duration?
        /// When to look at it again.
        var nextLook: Duration?
    }

    /// As many strangers are let in at once beside whom the bonded phone is waited for.
    static let strangerLimit = 2
    /// How long a phone with the address of a bonded one has to encrypt before another one may connect beside it.
    static let timeToProve: Duration = .seconds(3)
    /// How many refusals in a row to advertise beside a link say that the controller cannot.
    static let refusalsToBelieve = 10
    /// How long after the last stranger has gone the bonded phone is still waited for with haste.
    static let alarm: Duration = .seconds(10)
    /// How often a pairing that goes on is looked at.
    private static let pairingLook: Duration = .milliseconds(500)

    var rules = TenureRules.welcoming {
        didSet {
            guard rules != oldValue else { return }
            // A person who opens the window, or a new bond, begins again with everybody.
            record = StrangerRecord()
            for handle in tenants.keys { tenants[handle]?.nextLook = .zero }
        }
    }
    /// Whether the controller lets a phone connect beside another one.
    private var canWaitBeside = false
    /// Beside how many links it refused to, since there was no link last: beside fewer it may.
    private var refusedLinkCount: Int?
    private var tenants = SmallTable<ConnectionHandle, Tenant>()
    private var record = StrangerRecord()
    private var ends: Deque<(ConnectionHandle, TenureEnd)> = []
    /// Until when the bonded phone is waited for with haste, unless a stranger is here.
    private var alarmEnd: Duration?
    /// How many strangers have been turned away since that began last; nil if none is at present.
    private var turnedAwayNow: Int?
    /// How many were in all.
    private(set) var turnedAwayCount = 0
    private var events: Deque<RecoveryEvent> = []

    // MARK: What happens

    /// The controller has been started.
    mutating func controllerReady(canWaitBeside: Bool) { self.canWaitBeside = canWaitBeside }

    /// The controller would not let a phone connect beside those that are here.
    mutating func controllerRefusedToWait() { refusedLinkCount = max(1, tenants.keys.count) }

    /// A phone has connected.
    /// - Parameter isKnown: whether its address is that of a bonded phone.
    mutating func connected(_ handle: ConnectionHandle, _ phone: LEAddress, isKnown: Bool, at now: Duration) -> Verdict
    {
        var tenant = Tenant(
            phone: phone,
            start: now,
            isKnown: isKnown,
            patience: patience(with: phone, isKnown, at: now)
        )
        tenant.nextLook = now
        defer { tenants[handle] = tenant }
        guard waitsBeside, !isKnown else { return .admitted }
        alarmEnd = now + Self.alarm
        let strangers = tenants.values.count { !$0.hasEarnedPlace && !$0.isKnown && !$0.isTurnedAway }
        guard strangers < Self.strangerLimit, record.admits(at: now) else {
            tenant.isTurnedAway = true
            if turnedAwayNow == nil { events.append(.strangersTurnedAway) }
            turnedAwayNow = (turnedAwayNow ?? 0) + 1
            turnedAwayCount += 1
            return .turnedAway
        }
        return .admitted
    }

    /// A link is encrypted.
    /// - Parameter isOwner: whether it is with the key of a bonded phone.
    mutating func encrypted(_ handle: ConnectionHandle, isOwner: Bool) {
        tenants[handle]?.hasEarnedPlace = true
        guard isOwner, rules.isOwnerAwaited else { return }
        for other in tenants.keys where other != handle { end(other, .ownerIsHere) }
    }

    /// A link has ended.
    mutating func disconnected(_ handle: ConnectionHandle, at now: Duration) {
        guard let tenant = tenants.removeValue(forKey: handle) else { return }
        if tenants.isEmpty { refusedLinkCount = nil }
        guard !tenant.hasEarnedPlace, !tenant.isKnown, tenant.end != .ownerIsHere else { return }
        if rules.isOwnerAwaited { alarmEnd = now + Self.alarm }
        // Where all are welcome, only those count who had to be ended.
        if rules.isOwnerAwaited || tenant.end != nil { record.failed(tenant.phone, at: now) }
    }

    /// The next link to end, and why.
    mutating func nextEnd() -> (handle: ConnectionHandle, end: TenureEnd)? { ends.popFirst() }

    /// The next thing to tell.
    mutating func nextEvent() -> RecoveryEvent? { events.popFirst() }

    // MARK: What is so

    /// Whether there is nothing to supervise.
    var isIdle: Bool { tenants.isEmpty && alarmEnd == nil }

    /// Whether a link was made by a phone that is neither bonded nor encrypted while a bonded one is waited for.
    func isStranger(_ handle: ConnectionHandle) -> Bool {
        guard rules.isOwnerAwaited, let tenant = tenants[handle] else { return false }
        return !tenant.hasEarnedPlace && !tenant.isKnown
    }

    /// Whether those who are here keep other phones from connecting.
    func isHeld(at now: Duration) -> Bool {
        guard waitsBeside else { return !tenants.isEmpty }
        return tenants.values.contains { $0.hasEarnedPlace || ($0.isKnown && now < $0.start + Self.timeToProve) }
    }

    /// Whether the bonded phone is to be waited for with haste, since strangers are about.
    func isAlarmed(at now: Duration) -> Bool {
        guard waitsBeside else { return false }
        return tenants.values.contains { !$0.hasEarnedPlace && !$0.isKnown } || alarmEnd.map { now < $0 } ?? false
    }

    private var waitsBeside: Bool {
        rules.isOwnerAwaited && canWaitBeside && (refusedLinkCount.map { tenants.keys.count < $0 } ?? true)
    }

    /// Whether links that the watch has ended are all that keeps the controller from letting the bonded phone connect.
    ///
    /// A link that the watch ends is there until its phone has acknowledged that, and a phone that has gone never does: the
    /// controller keeps a place for it until the supervision timeout, which is up to 32 s and the phone's choice. Only a reset
    /// of the controller makes room at once, and no phone that the watch would keep loses by it.
    var holdsGhosts: Bool {
        guard rules.isOwnerAwaited, canWaitBeside else { return false }
        var areThere = false
        for tenant in tenants.values {
            if tenant.hasEarnedPlace || (tenant.isKnown && tenant.end == nil) { return false }
            if tenant.isTurnedAway || tenant.end != nil { areThere = true }
        }
        return areThere
    }

    private func patience(with phone: LEAddress, _ isKnown: Bool, at now: Duration) -> Duration? {
        guard let patience = rules.patience, let shortest = rules.shortestPatience, !isKnown else {
            return rules.patience
        }
        return max(shortest, patience / (1 << record.halvings(of: phone, at: now)))
    }

    // MARK: Time

    /// When there is something to decide, unless something happens first.
    var nextDeadline: Duration? {
        var next = alarmEnd
        func consider(_ deadline: Duration?) {
            guard let deadline else { return }
            next = next.map { min($0, deadline) } ?? deadline
        }
        for tenant in tenants.values { consider(tenant.nextLook) }
        return next
    }

    /// Lets time pass: looks at the links whose time it is.
    mutating func advance(to now: Duration, conduct: (ConnectionHandle) -> Conduct) {
        for handle in tenants.keys {
            guard let look = tenants[handle]?.nextLook, look <= now else { continue }
            examine(handle, conduct(handle), at: now)
        }
        if let end = alarmEnd, end <= now {
            alarmEnd = nil
            if let count = turnedAwayNow, !isAlarmed(at: now) {
                events.append(.strangersGone(turnedAway: count))
                turnedAwayNow = nil
            }
        }
    }

    private mutating func examine(_ handle: ConnectionHandle, _ conduct: Conduct, at now: Duration) {
        guard var tenant = tenants[handle] else { return }
        tenant.nextLook = nil
        defer { tenants[handle]?.nextLook = tenant.nextLook }
        // By then it has had the time to prove itself.
        if waitsBeside, tenant.isKnown, now < tenant.start + Self.timeToProve {
            tenant.nextLook = tenant.start + Self.timeToProve
        }
        guard !tenant.hasEarnedPlace, !tenant.isTurnedAway, tenant.end == nil else { return }
        func look(at time: Duration) { tenant.nextLook = tenant.nextLook.map { min($0, time) } ?? time }
        if let limit = rules.limit {
            guard now < tenant.start + limit else { return end(handle, .unencryptedFor(limit)) }
            look(at: tenant.start + limit)
        }
        if conduct.isPairing {
            tenants[handle]?.lastPairing = now
            return look(at: now + Self.pairingLook)
        }
        // Rules may have changed since it came.
        guard let patience = rules.patience.map({ min($0, tenant.patience ?? $0) }) else { return }
        let signs = rules.countsProgress ? [conduct.lastProgress, tenant.lastPairing] : []
        let latest = signs.compactMap { $0 }.reduce(tenant.start, max)
        guard now < latest + patience else {
            return end(handle, rules.countsProgress ? .noProgress(for: patience) : .notEncrypted(after: patience))
        }
        look(at: latest + patience)
    }

    private mutating func end(_ handle: ConnectionHandle, _ end: TenureEnd) {
        guard let tenant = tenants[handle], !tenant.hasEarnedPlace, !tenant.isTurnedAway, tenant.end == nil else {
            return
        }
        tenants[handle]?.end = end
        // Room is being made.
        refusedLinkCount = nil
        ends.append((handle, end))
    }
}
