import BluetoothHost

// The watch restarts: links end with a reason that says so, everything begins anew from what is remembered, and the
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
        for handle in links.keys { host.disconnect(handle, reason: .remoteDevicePowerOff) }
    }

    /// Begins anew, if the time has come.
    mutating func finishRestart(at now: Duration) {
        guard let restart, links.isEmpty || restart.deadline <= now else { return }
        var changes = memoryChanges
        while let change = system.nextChange() { changes.append(.service(change.change)) }
        var reborn: Firmware
        do throws(GATTDatabaseError) {
            reborn = try Firmware(
                originalConfiguration,
                memory: memory,
                randomness: system.randomness
            )
        } catch {
            // It was legal once, and an update changes no name that it depends on.
            self.restart = nil
            log(.error, "watch", "the watch cannot restart: \(error)")
            return
        }
        // The store and whoever watches see one watch.
        reborn.memoryChanges = changes + reborn.memoryChanges
        reborn.lastMemoryChange = lastMemoryChange
        reborn.bondsBeingStored = bondsBeingStored
        reborn.storedBonds = storedBonds
        reborn.events = events + reborn.events
        // The real-time clock goes on, and so does the world around the watch.
        reborn.system.clock = system.clock
        reborn.sensors = sensors
        reborn.buttons = buttons
        self = reborn
        start(at: now)
    }

    /// Everything that a restart finds again.
    var memory: WatchMemory {
        WatchMemory(identity: localIdentity, phones: Array(phones.values), services: system.services.memory)
    }
}
