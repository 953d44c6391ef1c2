import BluetoothHCI
import BluetoothHost

// Links that have to earn their place: what happens reaches `LinkTenure`, and what that decides reaches the host and the air.

extension Firmware {
    /// The rules for links at present.
    private var tenureRules: TenureRules {
        guard configuration.linkSecurity == .required else { return .unlimited }
        guard configuration.isBondable else { return .bench(isOwnerAwaited: false) }
        let hasOwner = !phones.isEmpty && pairingWindowEnd == nil
        if configuration.pairing.mode == .open { return .bench(isOwnerAwaited: hasOwner) }
        return hasOwner ? .owned : .welcoming
    }

    // MARK: What happens

    /// A phone has connected.
    /// - Returns: false if it is turned away, and no event is to tell of it.
    mutating func admits(_ connection: Connection, at now: Duration) -> Bool {
        tenure.rules = tenureRules
        let isKnown = phones[connection.peer] != nil
        switch tenure.connected(connection.handle, connection.peer, isKnown: isKnown, at: now) {
        case .admitted: return true
        case .turnedAway:
            host.disconnect(connection.handle, reason: .remoteDeviceLowResources, at: now)
            return false
        }
    }

    /// A link is encrypted.
    mutating func earnsPlace(_ handle: ConnectionHandle, isOwner: Bool, at now: Duration) {
        tenure.encrypted(handle, isOwner: isOwner)
        holdIfNeeded(at: now)
    }

    /// The controller has refused to let a phone connect beside those that are here.
    mutating func controllerRefusedToWait(at now: Duration) {
        tenure.controllerRefusedToWait()
        holdIfNeeded(at: now)
    }

    // MARK: Who holds the watch

    /// No other phone can connect from now on, if a phone is here for which that is right.
    mutating func holdIfNeeded(at now: Duration) {
        guard !advertiser.policy.isConnected, tenure.isHeld(at: now) else { return }
        advertiser.receive(.connected, at: now)
    }

    /// A link has ended: others can connect, unless there is somebody else for whom they could not.
    mutating func releaseIfPossible(_ end: LinkEnd, at now: Duration) {
        guard advertiser.policy.isConnected, !tenure.isHeld(at: now) else { return }
        advertiser.receive(.disconnected(end), at: now)
    }

    // MARK: Time

    /// Ends the links that have not earned their place in time, and sees to it that the bonded phone can connect beside the
    /// others.
    mutating func superviseLinks(at now: Duration) {
        guard !tenure.isIdle else { return }
        tenure.rules = tenureRules
        tenure.advance(to: now) { handle in
            LinkTenure.Conduct(
                lastProgress: host.gatt.lastProgress(of: handle),
                isPairing: host.security?.isPairing(handle) ?? false
            )
        }
        while let (handle, end) = tenure.nextEnd() { self.end(handle, because: .tenure(end), at: now) }
        while let event = tenure.nextEvent() { emit(.recovery(event)) }
        holdIfNeeded(at: now)
        if advertiser.policy.isConnected, !tenure.isHeld(at: now) { advertiser.receive(.onlyStrangersAreHere, at: now) }
        let isAlarmed = tenure.isAlarmed(at: now)
        if isAlarmed != advertiser.policy.areStrangersAbout {
            advertiser.receive(.strangers(areAbout: isAlarmed), at: now)
        }
    }
}
