import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// The phones that are connected, and what moves between them and the system.
typealias PhoneLinks = SmallTable<ConnectionHandle, PhoneConnection>

extension PhoneLinks {
    /// Lets a connection work. A session that it opens may take the place of one on another link, whose transport ends then.
    mutating func work<Result>(
        on handle: ConnectionHandle,
        _ core: inout WatchCore,
        at now: Duration,
        _ work: (inout PhoneConnection, inout WatchCore) -> Result
    ) -> Result? {
        let lastSession = core.system.sessions.lastNumber
        let result = change(handle) { $0?.work(with: &core, work) }
        guard core.system.sessions.lastNumber != lastSession else { return result }
        for other in keys where other != handle { self[other]?.abandonReplacedTransports(&core, at: now) }
        return result
    }

    // MARK: Time

    /// When `advance` has something to do.
    mutating func findDeadline() -> Duration? {
        var next: Duration?
        forEachInPlace { next.lower(to: $0?.findDeadline()) }
        return next
    }

    /// Lets time pass.
    mutating func advance(to now: Duration, _ core: inout WatchCore) {
        for handle in keys { self[handle]?.advance(to: now, &core) }
    }

    // MARK: Bytes

    /// Moves what can be moved between phones and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pump(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = false
        for handle in keys {
            moved = work(on: handle, &core, at: now) { $0.pump(&$1, at: now) } == true || moved
        }
        if moved { return true }
        while let request = core.system.nextPhoneRequest() {
            moved = true
            switch request {
            case .act(let action, let source):
                self[source.connection]?.clients.notifications.perform(action, of: source.uid)
            case .music(let command, let connection): self[connection]?.clients.media.send(command)
            }
        }
        if moved { return true }
        forEachInPlace { moved = $0?.pumpPolicy(&core, at: now) == true || moved }
        return moved || pumpWaitingMessage(&core, at: now)
    }

    /// Whether the controller's room may be what a phone's bytes wait for.
    mutating func areWaitingForRoom() -> Bool {
        var areWaiting = false
        forEachInPlace { areWaiting = areWaiting || $0?.isWaitingForRoom() == true }
        return areWaiting
    }

    /// The running app's message waits only for a companion that can come: because its phone is still there, or can be made
    /// to start its app.
    /// - Returns: whether anything changed, so that there may be more to do.
    private mutating func pumpWaitingMessage(_ core: inout WatchCore, at now: Duration) -> Bool {
        guard core.system.isWaitingForCompanion else { return false }
        guard keys.contains(where: { self[$0]?.companions.canCome(core.system) == true }) else {
            core.system.stopWaiting(at: now)
            return true
        }
        guard core.system.push.takeWakingWanted() else { return false }
        wake(because: .message, &core, at: now)
        return true
    }

    /// What goes over a session decides how fast its link has to be.
    mutating func noteNeed(for event: WatchEvent, at now: Duration) {
        guard case .message(let session, _, let message) = event, let consumer = SpeedConsumer(message.endpoint) else {
            return
        }
        var isNoted = false
        forEachInPlace { phone in
            guard !isNoted else { return }
            isNoted = phone?.noteNeed(of: consumer, for: session, at: now) ?? false
        }
    }

    /// Wakes the Pebble apps of all phones.
    mutating func wake(because reason: WakingReason, _ core: inout WatchCore, at now: Duration) {
        for handle in keys { self[handle]?.wake(because: reason, &core, at: now) }
    }

    // MARK: Ends

    /// Ends every link, in the order in which they came.
    mutating func endAll(
        because cause: Disconnection.Cause,
        reason: HCIStatus,
        _ host: inout LEHost,
        at now: Duration
    ) {
        for handle in keys { self[handle]?.end(because: cause, reason: reason, &host, at: now) }
    }

    /// A phone is bonded: links end whose trust came from a key that counts no more, or from the time before there was an
    /// owner.
    mutating func endDistrusted(besides connection: ConnectionHandle, _ core: inout WatchCore, at now: Duration) {
        let bonded = core.host.security?.identity(on: connection)
        let isClosedNow = core.configuration.pairing.answer(to: .stranger, isWindowOpen: false) == .no
        for other in keys.sorted() where other != connection {
            // The first phone was let in, or the one that the window was for: not the first two.
            if isClosedNow { core.host.security?.cancelPairing(other, at: now) }
            guard core.host.connection(other)?.security.isEncrypted == true else { continue }
            let proven = core.host.security?.provenIdentity(on: other)
            if proven == nil || proven == bonded { self[other]?.end(because: .replaced, &core.host, at: now) }
        }
    }
}
