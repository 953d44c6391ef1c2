import BluetoothHost
import DequeModule

// The watch restarts: links end with a reason that says so, everything starts again from what is remembered, and the
// phones that were there find it again.

/// Starts and restarts of one watch.
struct WatchLife: Sendable {
    /// Who the watch was before any update.
    var originalIdentity: WatchIdentity
    /// Whether it was to offer its battery, whatever its firmware can.
    private let wantsBattery: Bool
    /// Its name on the air, and the key that hides it.
    let identity: LocalIdentity
    /// Whether the apps have been started: the controller may be started more than once.
    var hasStarted = false
    /// A restart that has begun.
    var restart: Restart?

    /// - Parameter configuration: what was decided about the watch, before its firmware changed any of it.
    init(configuration: WatchConfiguration, identity: LocalIdentity) {
        originalIdentity = configuration.identity
        wantsBattery = configuration.offersBattery
        self.identity = identity
    }

    var nextDeadline: Duration? { restart?.deadline }

    /// What was decided about the watch before any update.
    func original(of current: WatchConfiguration) -> WatchConfiguration {
        var original = current
        original.identity = originalIdentity
        original.offersBattery = wantsBattery
        return original
    }
}

/// A restart that waits for the links to end.
struct Restart: Sendable {
    /// After it, the watch restarts even if a phone has not confirmed that its link ended.
    static let patience: Duration = .seconds(2)

    let cause: RestartCause
    let deadline: Duration

    /// What the restart does to what is remembered.
    func prepare(
        _ memory: inout WatchMemory,
        _ core: borrowing WatchCore,
        at now: Duration,
        changes: inout Deque<MemoryChange>
    ) {
        switch cause {
        case .reboot, .recovery, .firmwareUpdate:
            break
        case .coreDump:
            let dump = CoreDump(
                core.system.services.log,
                identity: core.configuration.identity,
                seconds: core.system.clock.seconds(at: now)
            )
            memory.services.coreDump = dump
            changes.append(.service(.coreDump(dump.bytes)))
        case .factoryReset:
            for phone in memory.phones { changes.append(.forget(phone.bond.identity)) }
            changes.append(.service(.factoryReset))
            memory.phones = []
            memory.services = ServiceMemory(
                firmware: memory.services.firmware,
                recoveryFirmware: memory.services.recoveryFirmware
            )
        }
    }
}

extension Watch {
    /// Ends all links; `finishRestart(at:)` does the rest once they are gone.
    mutating func beginRestart(_ cause: RestartCause, at now: Duration) {
        guard life.restart == nil else { return }
        life.restart = Restart(cause: cause, deadline: now + Restart.patience)
        core.emit(.restarting(cause))
        links.endAll(because: .restart(cause), reason: .remoteDevicePowerOff, &core.host, at: now)
    }

    /// Starts the watch again, if the time has come.
    mutating func finishRestart(at now: Duration) {
        guard let restart = life.restart, links.isEmpty || restart.deadline <= now else { return }
        var changes = core.store.changes
        while let change = core.system.nextChange() { changes.append(.service(change.change)) }
        var memory = memory
        restart.prepare(&memory, core, at: now, changes: &changes)
        var reborn: Watch
        do throws(GATTDatabaseError) {
            reborn = try Watch(
                life.original(of: core.configuration),
                memory: memory,
                isRecovery: restart.cause == .recovery,
                cryptography: core.host.cryptography,
                randomness: core.system.randomness
            )
        } catch {
            // It was legal once, and an update changes no name that it depends on.
            life.restart = nil
            core.log(.error, .watch, "the watch cannot restart: \(error)")
            return
        }
        // The store and the readers of events see one watch.
        reborn.core.store.follow(core.store, changes)
        reborn.core.phones.follow(core.phones)
        reborn.core.outbox.follow(core.outbox)
        // The real-time clock goes on, and so do the log and the world around the watch.
        reborn.core.system.clock = core.system.clock
        reborn.core.system.continueLog(of: core.system)
        reborn.history.follow(history)
        reborn.controls = controls
        // Faults are done to the watch, and not remembered by it.
        reborn.faults = faults
        reborn.core.transportFaults = core.transportFaults
        reborn.core.system.faults = core.system.faults
        // The firmware that it is the radio of goes on.
        core.system.endBridgedSession(at: now)
        reborn.core.system.bridge = core.system.bridge
        core.system.endMirroredSession()
        reborn.core.system.mirror = core.system.mirror
        reborn.core.system.recorder = core.system.recorder
        self = reborn
        start(at: now)
        // Its tools are still connected, and get new sessions.
        controls.developers.reopen(&core.system, at: now)
        settle(at: now)
    }
}
