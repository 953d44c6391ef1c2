import BluetoothHost
import DequeModule

// The watch restarts: links end with a reason that says so, everything starts again from what is remembered, and the
// phones that were there find it again.

/// A restart that waits for the links to end.
struct Restart: Sendable {
    /// After it, the watch restarts even if a phone has not confirmed that its link ended.
    static let patience: Duration = .seconds(2)

    let cause: RestartCause
    let deadline: Duration
}

extension Firmware {
    /// Ends all links; `finishRestart(at:)` does the rest once they are gone.
    mutating func beginRestart(_ cause: RestartCause, at now: Duration) {
        guard restart == nil else { return }
        restart = Restart(cause: cause, deadline: now + Restart.patience)
        emit(.restarting(cause))
        for handle in links.keys { end(handle, because: .restart(cause), reason: .remoteDevicePowerOff, at: now) }
    }

    /// Starts the watch again, if the time has come.
    mutating func finishRestart(at now: Duration) {
        guard let restart, links.isEmpty || restart.deadline <= now else { return }
        var changes = memoryChanges
        while let change = system.nextChange() { changes.append(.service(change.change)) }
        var memory = memory
        prepare(&memory, for: restart.cause, at: now, changes: &changes)
        var reborn: Firmware
        do throws(GATTDatabaseError) {
            reborn = try Firmware(
                originalConfiguration,
                memory: memory,
                isRecovery: restart.cause == .recovery,
                cryptography: host.cryptography,
                randomness: system.randomness
            )
        } catch {
            // It was legal once, and an update changes no name that it depends on.
            self.restart = nil
            log(.error, .watch, "the watch cannot restart: \(error)")
            return
        }
        // The store and the readers of events see one watch.
        reborn.memoryChanges = changes + reborn.memoryChanges
        reborn.lastMemoryChange = lastMemoryChange
        reborn.bondsBeingStored = bondsBeingStored
        reborn.storedBonds = storedBonds.intersection(reborn.phones.keys)
        reborn.events = events + reborn.events
        // The real-time clock goes on, and so do the log and the world around the watch.
        reborn.system.clock = system.clock
        reborn.system.continueLog(of: system)
        reborn.endedLinks = endedLinks
        reborn.lastDisconnection = lastDisconnection
        reborn.sensors = sensors
        reborn.buttons = buttons
        reborn.developers = developers
        reborn.lastDeveloperConnection = lastDeveloperConnection
        self = reborn
        start(at: now)
        reopenDeveloperSessions(at: now)
        settle(at: now)
    }

    /// What a restart does to what is remembered.
    private func prepare(
        _ memory: inout WatchMemory,
        for cause: RestartCause,
        at now: Duration,
        changes: inout Deque<MemoryChange>
    ) {
        switch cause {
        case .reboot, .recovery, .firmwareUpdate:
            break
        case .coreDump:
            let dump = CoreDump(
                system.services.log,
                identity: configuration.identity,
                seconds: system.clock.seconds(at: now)
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

    /// Everything that a restart finds again.
    var memory: WatchMemory {
        // In the order in which they paired, which says who goes when there is one too many.
        let order = host.security?.bonds.map(\.identity) ?? []
        return WatchMemory(
            identity: localIdentity,
            phones: order.compactMap { phones[$0] },
            services: system.services.memory
        )
    }
}
