import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What a companion app does by itself, on a phone that is otherwise told what to do: it comes back to its watch, pairs with
/// one that has forgotten it, leaves a link that is of no use, and brings the watch what its user has for it, again if need be.
///
/// Each ``PhoneDefect`` takes something away from that. `CommandedPhone` carries it out; here is what is wanted, and when.
struct CompanionHabits: Sendable {
    /// How long after the end of a link, or a vain attempt, the phone comes back.
    static let comebackDelay: Duration = .seconds(2)
    /// How long one attempt to connect takes.
    static let connectTime: Duration = .seconds(30)
    /// How long after a pairing that failed the next begins.
    static let pairingDelay: Duration = .seconds(10)
    /// How many pairings a phone begins on one link.
    static let pairingLimit = 5
    /// How long an encrypted link may have no session.
    static let sessionTime: Duration = .seconds(45)
    /// How often the phone makes sure that the session is alive.
    static let pingInterval: Duration = .seconds(60)
    /// How long the phone tries to bring the watch something.
    static let wishTime: Duration = .seconds(600)
    /// How often it tries that.
    static let wishLimit = 8

    /// Something that the user wants the watch to have.
    struct Wish: Sendable {
        let id: PhoneRequestID
        let command: PhoneCommand
        var attempts = 0
        /// The attempt that is under way.
        var attempt: PhoneRequestID?
        /// When the next begins, if there is a session then.
        var due: Duration
        let givenUpAt: Duration
        /// Whether the watch has it; it is kept only to be sent again, by mistake.
        var isFulfilled = false
    }

    /// What a command that the phone gives itself is for.
    enum Deed: Hashable, Sendable {
        case connect, pair, ping, wish
    }

    private let defects: Set<PhoneDefect>
    /// Whether the phone is to have a link: from the first one that its owner wanted, until the owner ends one.
    private(set) var wantsLink = false
    /// The watch that it had a link with last.
    private(set) var watch: LEAddress?
    /// When it comes back; nil if that is not decided.
    var comesBackAt: Duration?
    private var vainAttempts = 0
    private var hasPaired = false
    private var pairingCount = 0
    /// Whether a pairing has failed since the owner wanted the link.
    private var wasRefused = false
    /// When it pairs; nil for at once.
    private(set) var pairsAt: Duration?
    /// When the link is left if it has no session by then.
    private(set) var sessionDueAt: Duration?
    private(set) var pingsAt: Duration?
    /// In the order in which they came.
    private(set) var wishes: [Wish] = []
    private(set) var deeds: [PhoneRequestID: Deed] = [:]
    private var lastDeed: UInt64 = 0

    init(defects: Set<PhoneDefect>) { self.defects = defects }

    // MARK: What the owner wants

    /// Takes note of a command of the owner's.
    mutating func see(_ command: PhoneCommand) {
        switch command {
        case .connect:
            wantsLink = true
            wasRefused = false
            vainAttempts = 0
            comesBackAt = nil
        case .disconnect: wantsLink = false
        case .scan, .pair, .confirm, .drop, .forget, .launch, .stop, .push, .expect, .upload, .install, .notify, .ping,
            .setTime:
            break
        }
    }

    /// Takes what the watch is to have, whenever that is possible.
    /// - Returns: false for a command that is carried out now or not at all.
    /// - Throws: `.noSession` from a phone that does without what it cannot bring at once.
    mutating func takes(
        _ command: PhoneCommand,
        as id: PhoneRequestID,
        hasSession: Bool,
        at now: Duration
    ) throws(PhoneCommandError) -> Bool {
        switch command {
        case .notify:
            if !hasSession, defects.contains(.dropsNotifications) { throw .noSession }
        case .push, .upload, .install: break
        case .scan, .connect, .pair, .confirm, .disconnect, .drop, .forget, .launch, .stop, .expect, .ping, .setTime:
            return false
        }
        wishes.append(Wish(id: id, command: command, due: now, givenUpAt: now + Self.wishTime))
        return true
    }

    /// The owner does not want something any more.
    /// - Returns: the attempt at it that is under way.
    mutating func giveUp(_ id: PhoneRequestID) -> PhoneRequestID? {
        guard let index = wishes.firstIndex(where: { $0.id == id }) else { return nil }
        return wishes.remove(at: index).attempt
    }

    // MARK: What happens

    /// Takes note of what has happened.
    mutating func see(_ event: PhoneEvent, at now: Duration) {
        switch event {
        case .connected(let peer):
            watch = peer
            vainAttempts = 0
            comesBackAt = nil
            pairingCount = 0
            pairsAt = nil
        case .disconnected:
            linkEnded()
            if defects.contains(.staysAway) { wantsLink = false }
        case .dropped, .controllerLost:
            linkEnded()
            if defects.contains(.staysOff) { wantsLink = false }
        case .paired: hasPaired = true
        case .securityChanged(let security):
            if security.isEncrypted { sessionDueAt = now + Self.sessionTime }
        case .negotiated:
            sessionDueAt = nil
            pingsAt = now + Self.pingInterval
            for index in wishes.indices {
                wishes[index].due = now
                wishes[index].isFulfilled = false
            }
        case .transportClosed:
            pingsAt = nil
            if watch != nil { sessionDueAt = now + Self.sessionTime }
        default: break
        }
    }

    private mutating func linkEnded() {
        sessionDueAt = nil
        pingsAt = nil
        pairsAt = nil
    }

    // MARK: What the phone does now

    /// Names a command that the phone gives itself.
    mutating func begin(_ deed: Deed) -> PhoneRequestID {
        lastDeed += 1
        let id = PhoneRequestID.own(lastDeed)
        deeds[id] = deed
        return id
    }

    /// An attempt at a wish begins.
    mutating func begin(wishAt index: Int) -> PhoneRequestID {
        let id = begin(.wish)
        wishes[index].attempt = id
        wishes[index].attempts += 1
        return id
    }

    /// Whether something that the phone gave itself to do is under way.
    func isUnderway(_ deed: Deed) -> Bool { deeds.values.contains(deed) }

    /// Whether it pairs with the watch that is connected, and not encrypted.
    /// - Parameter isKnown: whether it has a key of this watch.
    func pairs(isKnown: Bool) -> Bool {
        if isKnown, defects.contains(.keepsLostBond) { return false }
        if !isKnown, hasPaired, defects.contains(.neverPairsAgain) { return false }
        if wasRefused, defects.contains(.onePairingAttempt) { return false }
        return pairingCount < Self.pairingLimit
    }

    /// It pairs.
    mutating func pairingBegins() {
        pairingCount += 1
        pairsAt = nil
    }

    /// No session has come in time, or the session is dead.
    mutating func sessionIsOverdue() { sessionDueAt = nil }

    /// Whether a link on which so much fits into a packet is left, and not come back to.
    mutating func refuses(mtu: Int) -> Bool {
        guard wantsLink, mtu <= ATT.defaultMTU, defects.contains(.needsLargeMTU) else { return false }
        wantsLink = false
        return true
    }

    /// Whether it finds out that a session does not come.
    var minds: Bool { !defects.contains(.waitsForSession) }

    /// It makes sure that the session is alive.
    /// - Returns: whether it does.
    mutating func pingBegins(at now: Duration) -> Bool {
        pingsAt = now + Self.pingInterval
        return !defects.contains(.trustsSilence)
    }

    /// The wish to try now; nil for none.
    func wishIndex(at now: Duration) -> Int? {
        wishes.firstIndex { $0.attempt == nil && !$0.isFulfilled && $0.due <= now }
    }

    /// When the next wish is to be tried in a session.
    var nextWish: Duration? { wishes.lazy.filter { $0.attempt == nil && !$0.isFulfilled }.map(\.due).min() }

    /// When the first wish is given up.
    var nextEndOfWish: Duration? { wishes.lazy.filter { !$0.isFulfilled }.map(\.givenUpAt).min() }

    /// Takes the wishes out whose time is over.
    mutating func overdueWishes(at now: Duration) -> [Wish] {
        let overdue = wishes.filter { !$0.isFulfilled && $0.givenUpAt <= now }
        wishes.removeAll { wish in overdue.contains { $0.id == wish.id } }
        return overdue
    }

    // MARK: What became of it

    /// What a deed of the phone's came to.
    enum End: Sendable {
        /// Nothing more is to be done about it.
        case over
        /// The session is dead.
        case sessionIsDead
        /// A wish has come to its end.
        case ended(PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)
        /// The app that a dictionary is for is to be started.
        case startApp(PebbleUUID)
    }

    /// A deed has ended.
    mutating func finish(
        _ id: PhoneRequestID,
        _ result: Result<PhoneCommandResult, PhoneCommandError>,
        at now: Duration
    ) -> End {
        switch deeds.removeValue(forKey: id) {
        case .connect?:
            if case .failure = result {
                vainAttempts += 1
                if vainAttempts >= 3, defects.contains(.givesUpComingBack) { wantsLink = false }
            }
            return .over
        case .pair?:
            if case .failure = result {
                pairsAt = now + Self.pairingDelay
                wasRefused = true
            }
            return .over
        case .ping?:
            if case .failure(.timedOut) = result { return .sessionIsDead }
            return .over
        case .wish?: return finishWish(id, result, at: now)
        case nil: return .over
        }
    }

    private mutating func finishWish(
        _ id: PhoneRequestID,
        _ result: Result<PhoneCommandResult, PhoneCommandError>,
        at now: Duration
    ) -> End {
        guard let index = wishes.firstIndex(where: { $0.attempt == id }) else { return .over }
        wishes[index].attempt = nil
        let wish = wishes[index]
        switch result {
        case .success:
            if case .notify = wish.command, defects.contains(.repeatsNotifications) {
                wishes[index].isFulfilled = true
            } else {
                wishes.remove(at: index)
            }
            return .ended(wish.id, result)
        case .failure(.busy):
            // It was not begun: the watch takes one thing at a time.
            wishes[index].attempts -= 1
            wishes[index].due = now + .seconds(1)
            return .over
        case .failure(let error):
            guard wish.attempts < Self.wishLimit, !triesOnce(wish.command) else {
                wishes.remove(at: index)
                return .ended(wish.id, result)
            }
            wishes[index].due = now + .seconds(2 * wish.attempts)
            if case .push(_, let app?) = wish.command, case .refused = error { return .startApp(app) }
            return .over
        }
    }

    private func triesOnce(_ command: PhoneCommand) -> Bool {
        switch command {
        case .notify: defects.contains(.oneNotificationAttempt)
        case .push: defects.contains(.onePushAttempt)
        case .upload, .install: defects.contains(.oneUploadAttempt)
        case .scan, .connect, .pair, .confirm, .disconnect, .drop, .forget, .launch, .stop, .expect, .ping, .setTime:
            false
        }
    }
}
