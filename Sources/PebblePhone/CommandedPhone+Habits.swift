import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// A phone that behaves as a companion app: its habits, carried out.

extension CommandedPhone {
    /// When the phone does something by itself. Each of these ends in something that is done or decided, so that none is due
    /// for ever.
    var nextHabit: Duration? {
        guard let habits else { return nil }
        var deadlines = [habits.nextEndOfWish]
        if mayComeBack { deadlines.append(habits.comesBackAt) }
        if mayPair { deadlines.append(habits.pairsAt) }
        if phone.linkState != nil { deadlines.append(habits.sessionDueAt) }
        if phone.isNegotiated { deadlines += [habits.pingsAt, habits.nextWish] }
        return deadlines.compactMap(\.self).min()
    }

    /// Does what is due, one thing at a time.
    /// - Returns: whether there may be more.
    mutating func keepHabits(at now: Duration) -> Bool {
        guard habits != nil else { return false }
        return takeOwnResult(at: now) || giveUpWishes(at: now) || leave(at: now) || comeBack(at: now) || pair(at: now)
            || ping(at: now) || pursueWish(at: now)
    }

    private mutating func takeOwnResult(at now: Duration) -> Bool {
        guard let (id, result) = requests.nextOwnResult() else { return false }
        switch habits?.finish(id, result, at: now) {
        case .sessionIsDead?: phone.disconnect(at: now)
        case .ended(let id, let result)?: requests.end(id, result)
        case .startApp(let app)?: try? phone.send(PebbleMessage(AppRunStateMessage.start(app)), at: now)
        case .over?, nil: break
        }
        return true
    }

    private mutating func giveUpWishes(at now: Duration) -> Bool {
        guard let overdue = habits?.overdueWishes(at: now), !overdue.isEmpty else { return false }
        for wish in overdue {
            if let attempt = wish.attempt { _ = requests.remove(attempt) }
            requests.end(wish.id, .failure(.timedOut("the watch did not take it", after: CompanionHabits.wishTime)))
        }
        return true
    }

    /// A link that is of no use is left; a new one may be.
    private mutating func leave(at now: Duration) -> Bool {
        guard let link = phone.linkState else { return false }
        if link.isExplored, habits?.refuses(mtu: link.mtu) == true {
            phone.disconnect(at: now)
            return true
        }
        guard let due = habits?.sessionDueAt, due <= now else { return false }
        habits?.sessionIsOverdue()
        if habits?.minds == true { phone.disconnect(at: now) }
        return true
    }

    private var mayComeBack: Bool {
        guard let habits else { return false }
        return habits.wantsLink && habits.watch != nil && phone.isReady && !phone.isEngaged && !phone.isSurveying
    }

    private mutating func comeBack(at now: Duration) -> Bool {
        guard mayComeBack, let watch = habits?.watch else { return false }
        guard let due = habits?.comesBackAt else {
            habits?.comesBackAt = now + CompanionHabits.comebackDelay
            return false
        }
        guard due <= now else { return false }
        habits?.comesBackAt = nil
        give(.connect(.selected(.address(watch.address)), within: CompanionHabits.connectTime), for: .connect, at: now)
        return true
    }

    private var mayPair: Bool {
        guard let habits, let link = phone.linkState, phone.configuration.pairing != .never else { return false }
        guard link.isExplored, !link.security.isEncrypted, phone.pairingQuestion == nil
        else { return false }
        let isUnderway = requests.underway.contains { $0.purpose.isPairing }
        let isKnown = bonds.contains { $0.identity == link.watch }
        return habits.wantsLink && !isUnderway && habits.pairs(isKnown: isKnown)
    }

    private mutating func pair(at now: Duration) -> Bool {
        guard mayPair, (habits?.pairsAt ?? now) <= now else { return false }
        habits?.pairingBegins()
        give(.pair(.yes, within: .seconds(60)), for: .pair, at: now)
        return true
    }

    private mutating func ping(at now: Duration) -> Bool {
        guard phone.isNegotiated, let due = habits?.pingsAt, due <= now else { return false }
        if habits?.pingBegins(at: now) == true { give(.ping, for: .ping, at: now) }
        return true
    }

    private mutating func pursueWish(at now: Duration) -> Bool {
        guard phone.isNegotiated, let index = habits?.wishIndex(at: now), let id = habits?.begin(wishAt: index),
            let command = habits?.wishes[index].command
        else { return false }
        give(command, as: id, at: now)
        return true
    }

    private mutating func give(_ command: PhoneCommand, for deed: CompanionHabits.Deed, at now: Duration) {
        guard let id = habits?.begin(deed) else { return }
        give(command, as: id, at: now)
    }

    private mutating func give(_ command: PhoneCommand, as id: PhoneRequestID, at now: Duration) {
        do throws(PhoneCommandError) {
            try start(command, id, at: now)
        } catch {
            requests.end(id, .failure(error))
        }
    }
}
