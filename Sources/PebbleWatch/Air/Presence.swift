import BluetoothHCI
import BluetoothHost

/// The watch on the air: what it advertises, with which address, who may pair, and which links have earned a place on it.
struct Presence: Sendable {
    private(set) var advertiser: WatchAdvertiser
    private(set) var tenure = LinkTenure()
    /// The private address that the watch uses now, if it uses any.
    private(set) var privateAddress: DeviceAddress?
    private var addressEpochs: AddressEpochs?
    /// What was last told of the air.
    private var lastOnAir = OnAir(entries: [], silence: .controllerNotReady)
    /// Whether a phone without a bond was last said to be welcome.
    private var wasPairable = false
    /// Whether the watch is being switched off: what is on the air stays as it is, and nothing is added.
    var isSwitchedOff = false

    init(_ configuration: WatchConfiguration, _ randomness: RandomSource) {
        advertiser = WatchAdvertiser(configuration)
        if case .resolvablePrivateAddress(let lifetime) = configuration.privacy, configuration.hidesIdentity {
            addressEpochs = AddressEpochs(
                lifetime: lifetime,
                wallClock: configuration.wallClock,
                random: randomness,
                at: .zero
            )
        }
    }

    // MARK: What happens

    /// Tells the advertising policy what happened.
    mutating func receive(_ event: AdvertisingEvent, at now: Duration) { advertiser.receive(event, at: now) }

    mutating func controllerReady(_ capabilities: ControllerCapabilities, at now: Duration) {
        let sets = capabilities.usesExtendedCommands ? capabilities.advertisingSetCount : 1
        tenure.controllerReady(canWaitBeside: capabilities.canAdvertiseWhileConnected)
        advertiser.receive(.controllerReady(advertisingSets: sets), at: now)
    }

    /// The controller says how a set is doing.
    /// - Parameter isAlone: whether no phone is connected.
    mutating func reported(
        _ report: WatchAdvertiser.Report,
        of id: AdvertisingSetID,
        isAlone: Bool,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        let line = advertiser.receive(report, of: id, at: now)
        if advertiser.refusalCount >= LinkTenure.refusalsToBelieve, !isAlone, !tenure.holdsGhosts {
            tenure.controllerRefusedToWait()
            holdIfNeeded(at: now)
        }
        if let line { core.log(.warning, .gap, line) }
    }

    /// The watch is this one from now on.
    mutating func take(_ identity: WatchIdentity) { advertiser.take(identity) }

    // MARK: On the air

    /// Tells the host what the policy wants on the air, if that changed.
    mutating func update(_ core: inout WatchCore, at now: Duration) {
        // Who is told goodbye shall not be invited back: a phone that waits for its watch returns within milliseconds.
        guard advertiser.needsUpdate, !isSwitchedOff else { return }
        let holdsGhosts = tenure.holdsGhosts
        let patience = holdsGhosts ? LinkTenure.refusalsToBelieve : WatchAdvertiser.patience
        if advertiser.takesResetToAdvertise(after: patience) {
            let cause = holdsGhosts ? " beside links that it was told to end" : ""
            core.log(.error, .gap, "the controller has refused to advertise \(patience) times\(cause); resetting it")
            advertiser.receive(.controllerLost, at: now)
            core.host.start(at: now)
        }
        advertiser.update(&core.host, at: now)
        reportOnAir(&core)
    }

    /// Emits an event for what is on the air, if that changed by more than the passing of time.
    mutating func reportOnAir(_ core: inout WatchCore) {
        let onAir = advertiser.onAir.withoutTime
        guard onAir != lastOnAir else { return }
        lastOnAir = onAir
        core.emit(.advertising(advertiser.onAir))
    }

    // MARK: The address

    /// Takes another private address before its time, and advertises with it.
    mutating func changeAddressNow(_ core: inout WatchCore, at now: Duration) {
        changePrivateAddress(&core)
        advertiser.receive(.addressChanges(isSilent: false), at: now)
    }

    /// Takes another private address, if the watch uses any; what goes on the air from now on does so with it.
    mutating func changePrivateAddress(_ core: inout WatchCore) {
        guard case .resolvablePrivateAddress = core.configuration.privacy else { return }
        privateAddress = core.host.security?.makePrivateAddress()
        advertiser.privateAddress = privateAddress.map(LEAddress.random)
    }

    // MARK: Who may pair

    /// Lets a phone pair that has no bond, for a while.
    mutating func openPairingWindow(
        for duration: Duration,
        _ core: inout WatchCore,
        at now: Duration
    ) throws(WatchCommandError) -> WatchCommandResult {
        try core.checkPairing()
        guard duration >= .seconds(1), duration <= WatchCommand.longestPairingWindow else { throw .badWindow }
        let end = now + duration
        core.phones.windowEnd = end
        core.phones.refused = nil
        receive(.pairingWindow(isOpen: true), at: now)
        updatePairability(&core, at: now)
        return .pairingOpen(until: end)
    }

    /// Ends that.
    mutating func closePairingWindow(_ core: inout WatchCore, at now: Duration) {
        guard core.phones.isWindowOpen else { return }
        core.phones.windowEnd = nil
        receive(.pairingWindow(isOpen: false), at: now)
    }

    /// Tells the Security Manager and the advertising policy who may come.
    mutating func updatePairability(_ core: inout WatchCore, at now: Duration) {
        if let end = core.phones.windowEnd, end <= now { closePairingWindow(&core, at: now) }
        let isPairable = core.phones.isPairable
        core.host.security?.isPairable = isPairable
        if advertiser.policy.isControllerReady {
            if isPairable != wasPairable { core.emit(.pairable(isPairable)) }
            wasPairable = isPairable
        }
        receive(.bonds(count: core.phones.all.count), at: now)
    }

    // MARK: Places

    /// A phone has connected.
    /// - Returns: false if it is turned away, and no event is to tell of it.
    mutating func admits(_ connection: Connection, _ core: inout WatchCore, at now: Duration) -> Bool {
        tenure.rules = core.tenureRules
        let isKnown = core.phones[connection.peer] != nil
        switch tenure.connected(connection.handle, connection.peer, isKnown: isKnown, at: now) {
        case .admitted: return true
        case .turnedAway:
            core.host.disconnect(connection.handle, reason: .remoteDeviceLowResources, at: now)
            return false
        }
    }

    /// A link is encrypted.
    mutating func earnsPlace(_ handle: ConnectionHandle, isOwner: Bool, at now: Duration) {
        tenure.encrypted(handle, isOwner: isOwner)
        holdIfNeeded(at: now)
    }

    /// A link is gone.
    /// - Returns: whether it had no place.
    mutating func disconnected(_ handle: ConnectionHandle, at now: Duration) -> Bool {
        defer { tenure.disconnected(handle, at: now) }
        return tenure.isStranger(handle)
    }

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

    /// Finds the links that have not earned their place in time, and sees to it that the bonded phone can connect beside the
    /// others.
    /// - Parameter end: ends a link.
    mutating func supervise(
        _ core: inout WatchCore,
        at now: Duration,
        _ end: (ConnectionHandle, TenureEnd, inout WatchCore) -> Void
    ) {
        guard !tenure.isIdle else { return }
        tenure.rules = core.tenureRules
        tenure.advance(to: now) { handle in
            LinkTenure.Conduct(
                lastProgress: core.host.gatt.lastProgress(of: handle),
                isPairing: core.host.security?.isPairing(handle) ?? false
            )
        }
        while let (handle, cause) = tenure.nextEnd() { end(handle, cause, &core) }
        while let event = tenure.nextEvent() { core.emit(.recovery(event)) }
        holdIfNeeded(at: now)
        if advertiser.policy.isConnected, !tenure.isHeld(at: now) { advertiser.receive(.onlyStrangersAreHere, at: now) }
        let isAlarmed = tenure.isAlarmed(at: now)
        if isAlarmed != advertiser.policy.areStrangersAbout {
            advertiser.receive(.strangers(areAbout: isAlarmed), at: now)
        }
    }

    // MARK: Time

    var nextDeadline: Duration? {
        advertiser.nextDeadline.earlier(addressEpochs?.nextDeadline).earlier(tenure.nextDeadline)
    }

    mutating func advance(to now: Duration) { advertiser.advance(to: now) }

    /// Falls silent when the watch's address is about to change, and is heard again with another.
    mutating func advanceAddress(to now: Duration, _ core: inout WatchCore) {
        guard addressEpochs?.advance(to: now) == true, let epochs = addressEpochs else { return }
        if !epochs.isSilent { changePrivateAddress(&core) }
        advertiser.receive(.addressChanges(isSilent: epochs.isSilent), at: now)
    }
}

extension WatchCore {
    /// The rules for links at present.
    fileprivate var tenureRules: TenureRules {
        guard configuration.linkSecurity == .required else { return .unlimited }
        guard configuration.isBondable else { return .bench(isOwnerAwaited: false) }
        let hasOwner = !phones.all.isEmpty && !phones.isWindowOpen
        if configuration.pairing.mode == .open { return .bench(isOwnerAwaited: hasOwner) }
        return hasOwner ? .owned : .welcoming
    }
}
