import BluetoothHCI
import BluetoothHost

// What is on the air: what moves the advertising policy, and what the host is told of its decisions.

extension Firmware {
    /// What is on the air now, why, and for how long.
    public var onAir: OnAir { advertiser.onAir }

    /// Whether the controller has been started.
    public var isReady: Bool { advertiser.policy.isControllerReady }

    mutating func controllerReady(_ capabilities: ControllerCapabilities, at now: Duration) {
        let sets = capabilities.usesExtendedCommands ? capabilities.advertisingSetCount : 1
        tenure.controllerReady(canWaitBeside: capabilities.canAdvertiseWhileConnected)
        advertiser.receive(.controllerReady(advertisingSets: sets), at: now)
    }

    mutating func advertisingReported(_ report: WatchAdvertiser.Report, of id: AdvertisingSetID, at now: Duration) {
        let line = advertiser.receive(report, of: id, at: now)
        if advertiser.refusalCount >= LinkTenure.refusalsToBelieve, !links.isEmpty, !tenure.holdsGhosts {
            controllerRefusedToWait(at: now)
        }
        guard let line else { return }
        log(.warning, .gap, line)
    }

    /// Tells the host what the policy wants on the air, if that changed.
    mutating func updateAdvertising(at now: Duration) {
        // Who is told goodbye shall not be invited back: a phone that waits for its watch returns within milliseconds.
        guard advertiser.needsUpdate, !isSwitchedOff else { return }
        let holdsGhosts = tenure.holdsGhosts
        let patience = holdsGhosts ? LinkTenure.refusalsToBelieve : WatchAdvertiser.patience
        if advertiser.takesResetToAdvertise(after: patience) {
            let cause = holdsGhosts ? " beside links that it was told to end" : ""
            log(.error, .gap, "the controller has refused to advertise \(patience) times\(cause); resetting it")
            advertiser.receive(.controllerLost, at: now)
            host.start(at: now)
        }
        advertiser.update(&host, at: now)
        reportOnAir()
    }

    /// Emits an event for what is on the air, if that changed by more than the passing of time.
    mutating func reportOnAir() {
        let onAir = advertiser.onAir.withoutTime
        guard onAir != lastOnAir else { return }
        lastOnAir = onAir
        emit(.advertising(advertiser.onAir))
    }
}
