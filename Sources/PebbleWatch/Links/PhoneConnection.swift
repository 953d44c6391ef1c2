import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// A connected phone: its transports and channels, what the watch uses of its services, and how fast the link is.
///
/// The parts of the watch that all phones share come in as `core` for as long as it works.
struct PhoneConnection: Sendable {
    let handle: ConnectionHandle
    /// The phone's identity, once the Security Manager knows it, else the address that it uses.
    var identity: LEAddress
    /// How fast the link is to be.
    var policy: LinkPolicy
    /// What has happened on the link.
    var record: LinkRecord
    var mtu = ATT.defaultMTU
    var transports = PhoneTransports()
    var channels = PhoneChannels()
    var finder: PhoneServiceFinder
    /// What is used of the phone's own services.
    var clients = PhoneClients()
    var companions = PhoneCompanions()
    /// Which GATT procedure runs for what.
    var procedures: [GATTProcedureID: Purpose] = [:]

    /// Who waits for the end of a GATT procedure.
    enum Purpose: Sendable {
        case finder
        case meta(PhoneTransports.Carrier)
        case subscription(PhoneTransports.Carrier)
        /// One of the clients of the phone's own services.
        case client(PhoneServiceKind)
        /// Nothing waits for it: the transport is gone already.
        case farewell
        /// The read that wakes the phone's Pebble app.
        case waking

        var isWaking: Bool {
            if case .waking = self { true } else { false }
        }
    }

    init(_ connection: Connection, _ configuration: WatchConfiguration, _ policy: LinkPolicy, at now: Duration) {
        handle = connection.handle
        identity = connection.peer
        self.policy = policy
        record = LinkRecord(start: now)
        finder = PhoneServiceFinder(of: WantedService.all, configuration.phoneDiscovery)
        clients.notifications.titleLimit = configuration.personality.notificationTitleLimit
    }

    /// The sessions over this link, some of them twice.
    var sessions: [SessionID] { transports.sessions + channels.sessions }

    /// Whether a session runs over this link.
    func has(_ session: SessionID) -> Bool { transports.has(session) || channels.has(session) }

    /// Whether the phone has a session on this link besides that of one transport.
    func hasSession(besides carrier: PhoneTransports.Carrier) -> Bool {
        transports.hasSession(besides: carrier) || channels.hasSession
    }
}

/// What has happened on a link, as far as something depends on it.
struct LinkRecord: Sendable {
    /// When the phone connected.
    let start: Duration
    /// Why the watch wants it to end; nil if it does not.
    var endCause: Disconnection.Cause?
    /// Whether the link has been encrypted, so that the phone has been told.
    var wasEncrypted = false
    /// Whether the link's bond is in the store, so that the phone has been told.
    var wasBonded = false
    /// Whether what is remembered of the phone has been given back to the GATT layer on this link.
    var isRestored = false
    /// The Security Manager's code for the last pairing that failed on this link; 0 for none.
    var lastPairingResult: UInt8 = 0
    /// Why a pairing was last refused on this link, as far as the owner was told.
    var refusedFor: RefusedPairing.Reason?
    /// Whether the finder was at work when it was last looked at.
    var wasSearching = false
}

// MARK: - Time

extension PhoneConnection {
    /// What goes over a session of this phone needs speed.
    /// - Returns: false if it is another phone's session.
    mutating func noteNeed(of consumer: SpeedConsumer, for session: SessionID, at now: Duration) -> Bool {
        guard has(session) else { return false }
        policy.need(consumer, at: now)
        return true
    }

    /// Whether the controller's room may be what this phone's bytes wait for. An event says that there is room for a value again; none
    /// does for streams and procedures. It is mutating so that it works in place.
    mutating func isWaitingForRoom() -> Bool { !channels.isEmpty || !procedures.isEmpty }

    /// When `advance` has something to do.
    mutating func findDeadline() -> Duration? {
        var next = transports.findDeadline()
        next.lower(to: channels.nextDeadline)
        next.lower(to: clients.nextDeadline)
        next.lower(to: policy.nextDeadline)
        return next
    }

    /// Lets time pass.
    mutating func advance(to now: Duration, _ core: inout WatchCore) {
        transports.advance(to: now) { core.host.hasUnsentData(handle) }
        clients.advance(to: now)
        for id in channels.strangers(at: now) {
            core.log(.warning, .session, "\(handle): a stream is closed, since nobody introduced himself on it")
            core.host.channels.close(id, at: now)
        }
        policy.advance(to: now)
    }

    /// Works with what all parts of the watch share.
    mutating func work<Result>(
        with core: inout WatchCore,
        _ work: (inout PhoneConnection, inout WatchCore) -> Result
    ) -> Result {
        work(&self, &core)
    }

    /// Moves what can be moved between the phone and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pump(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = openWaiting(&core, at: now)
        moved = pumpTransports(&core, at: now) || moved
        channels.pump(&core, &policy, at: now)
        let hasFound = pumpFinder(&core, at: now)
        moved = hasFound || moved
        // What a transport that was found needs to open goes first.
        if !hasFound { moved = pumpClients(&core, at: now) || moved }
        return moved
    }
}

// MARK: - The link

extension PhoneConnection {
    /// Ends the link. The cause is kept, for those who ask for it.
    mutating func end(
        because cause: Disconnection.Cause,
        reason: HCIStatus = .remoteUserTerminatedConnection,
        _ host: inout LEHost,
        at now: Duration
    ) {
        // The first cause counts.
        if record.endCause == nil { record.endCause = cause }
        host.disconnect(handle, reason: reason, at: now)
    }

    /// The MTU of the link's ATT bearer has changed.
    mutating func mtuChanged(to mtu: Int, _ core: inout WatchCore) {
        self.mtu = mtu
        core.emit(.link(handle, .mtu(mtu)))
        transports.mtuChanged(to: mtu)
    }

    /// Carries out what the policy wants.
    /// - Returns: whether there was anything, so that there may be more to do.
    mutating func pumpPolicy(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = false
        while let event = policy.nextEvent() { core.emit(.link(handle, event)) }
        while let action = policy.nextAction() {
            moved = true
            core.host.advance(to: now)
            switch action {
            case .setDataLength(let length): core.host.setDataLength(handle, transmit: length, at: now)
            case .setPHY(let preferences): core.host.setPHY(handle, preferences, at: now)
            case .requestParameters(let parameters): core.host.requestParameters(handle, parameters, at: now)
            }
        }
        return moved
    }

    /// A link is fast while the watch looks for the phone's services, and for some time after, when the phone and the
    /// services that were found have most to say to each other.
    mutating func noteSearching(_ core: inout WatchCore, at now: Duration) {
        guard finder.isSearching != record.wasSearching else { return }
        record.wasSearching = finder.isSearching
        if finder.isSearching {
            policy.need(.discovery, at: now)
        } else {
            policy.release(.discovery, after: LinkPolicy.afterDiscovery, at: now)
            rememberServices(&core)
        }
    }

    /// The phone manages the parameters, or says what it needs.
    mutating func carryOut(
        _ command: ConnectionParametersCommand,
        _ core: inout WatchCore,
        at now: Duration
    ) throws(ConnectionParametersCommand.Refusal) {
        switch command {
        case .manage(let isByPhone, let sets):
            let profile = sets.map { LinkProfile($0, rules: core.configuration.link.rules) }
            if let profile { policy.use(profile, at: now) }
            policy.setManagedByPhone(isByPhone, at: now)
        case .need(let state):
            guard let responseTime = ResponseTime(rawValue: state) else { throw .noSuchResponseTime }
            policy.need(.phone, responseTime, at: now)
        case .lengthenPackets(let isWanted):
            guard core.host.capabilities.supportsDataLengthExtension else { throw .longPacketsNotSupported }
            guard isWanted else { return }
            let length = core.host.capabilities.maximumTransmitLength
            core.host.setDataLength(handle, transmit: length, at: now)
        case .stayAwake:
            // This controller decides itself when it sleeps, and that costs no speed.
            break
        }
    }
}

extension LinkPolicy {
    /// How long a link stays fast after the watch has found the phone's services.
    static let afterDiscovery: Duration = .seconds(10)
}

extension LinkPolicy.Abilities {
    init(_ capabilities: ControllerCapabilities) {
        maximumLength = capabilities.supportsDataLengthExtension ? capabilities.maximumTransmitLength : .minimum
        has2M = capabilities.supportsPHYChange && capabilities.features.contains(.le2MPHY)
    }
}
