import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// The PPoGATT links of one phone.
struct PhoneTransports: Sendable {
    /// Which characteristic carries a transport's packets.
    enum Carrier: Hashable, Sendable {
        /// The phone's data characteristic: the watch writes, the phone notifies.
        case forward(AttributeHandle)
        /// The watch's own pair: the watch notifies, the phone writes.
        case reversed

        /// What a session calls it.
        var sessionTransport: SessionTransport {
            switch self {
            case .forward: .forwardPPoGATT
            case .reversed: .reversedPPoGATT
            }
        }
    }

    /// One PPoGATT link and the session that runs over it.
    struct Transport: Sendable {
        var link: PPoGATTLink
        /// Where the phone's service is; nil for the watch's own.
        let service: PPoGATTService?
        var session: SessionID?
        /// Of what the session gave, how much had not been acknowledged when the link was last looked at.
        var undeliveredCount = 0
        /// A packet that the GATT layer had no room for; it goes first when there is.
        var unsentPacket: [UInt8] = []
        /// Whether the service's app may have started again without the watch noticing.
        var doubt = RestartDoubt()

        // These are mutating so that they work in place: a getter of an optional's value is called on a copy.

        /// When the link has something to do.
        mutating func findDeadline() -> Duration? { link.nextDeadline }

        /// Gives the link what the session has to say, as far as it takes it.
        mutating func pumpStream(over transport: SessionTransport, _ system: inout WatchSystem, at now: Duration) {
            guard let session else { return }
            while true {
                undeliveredCount = link.undeliveredByteCount
                let bytes = system.takeOutbound(
                    of: session,
                    over: transport,
                    atMost: link.writableByteCount,
                    undelivered: undeliveredCount,
                    at: now
                )
                guard !bytes.isEmpty else { return }
                _ = link.send(bytes)
            }
        }

        /// Bytes have come over it.
        /// - Returns: the session that they are for.
        mutating func proved() -> SessionID? {
            if doubt.isRaised { doubt = RestartDoubt() }
            return session
        }

        /// Takes the packet that goes next.
        mutating func nextPacket(into packet: inout [UInt8], at now: Duration) -> Bool {
            guard unsentPacket.isEmpty else {
                packet = unsentPacket
                unsentPacket = []
                return true
            }
            return link.nextPacket(into: &packet, at: now)
        }
    }

    private var table = SmallTable<Carrier, Transport>()
    /// Whether the phone has subscribed to the watch's own PPoGATT service.
    var wantsReversed = false
    /// The time that the phone is given after its subscription, while it lasts.
    var pause: SubscriptionPause?
    /// The phone's services that are opened when the firmware's one session is free.
    var later: [PPoGATTService] = []
    /// Whether the same is true of the watch's own service.
    var opensReversedLater = false

    var carriers: [Carrier] { table.keys }

    subscript(carrier: Carrier) -> Transport? {
        _read { yield table[carrier] }
        _modify { yield &table[carrier] }
    }

    /// Takes what a transport's link has to say; asked at every packet, and the accessor above allocates what it keeps while its
    /// user has the transport.
    mutating func nextEvent(of carrier: Carrier) -> PPoGATTEvent? { table.change(carrier) { $0?.link.nextEvent() } }

    /// Bytes have come over a transport, so that its app has not started again.
    /// - Returns: the session that they are for.
    mutating func proved(_ carrier: Carrier) -> SessionID? { table.change(carrier) { $0?.proved() } }

    mutating func remove(_ carrier: Carrier) -> Transport? { table.removeValue(forKey: carrier) }

    /// Whether the phone hosts a PPoGATT service that is in use.
    var hasForward: Bool { table.keys.contains { table[$0]?.service != nil } }

    var sessions: [SessionID] { table.values.compactMap(\.session) }

    func has(_ session: SessionID) -> Bool { table.keys.contains { table[$0]?.session == session } }

    func hasSession(besides carrier: Carrier) -> Bool {
        table.keys.contains { $0 != carrier && table[$0]?.session != nil }
    }

    mutating func mtuChanged(to mtu: Int) {
        for carrier in table.keys { table[carrier]?.link.attMTU = mtu }
    }

    /// Takes a packet.
    mutating func receive(_ packet: ArraySlice<UInt8>, over carrier: Carrier, at now: Duration) {
        table.change(carrier) { $0?.link.receive(packet, at: now) }
    }

    /// When `advance` has something to do.
    mutating func findDeadline() -> Duration? {
        var next = pause?.end
        table.forEachInPlace { next.lower(to: $0?.findDeadline()) }
        return next
    }

    /// Lets time pass.
    /// - Parameter hasUnsentData: whether the phone has not received everything that it was sent.
    mutating func advance(to now: Duration, _ hasUnsentData: () -> Bool) {
        if pause?.isOver(at: now, hasUnsentData: hasUnsentData()) == true { pause = nil }
        table.forEachInPlace { $0?.link.advance(to: now) }
    }
}

// MARK: - Streams and packets

extension PhoneTransports {
    /// Gives the link what the session has to say, as far as it takes it.
    mutating func pumpStream(of carrier: Carrier, _ system: inout WatchSystem, at now: Duration) {
        table.change(carrier) { $0?.pumpStream(over: carrier.sessionTransport, &system, at: now) }
    }

    /// Gives the GATT layer the link's packets, as many as it has room for.
    /// - Parameter handle: the link to the phone.
    mutating func pumpPackets(
        of carrier: Carrier,
        on handle: ConnectionHandle,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        guard carrier != .reversed || pause == nil else { return }
        while true {
            var packet: [UInt8] = []
            let hasNext =
                core.transportFaults == nil
                ? table.change(carrier) { $0?.nextPacket(into: &packet, at: now) } == true
                : nextFaultyPacket(of: carrier, on: handle, &core, into: &packet, at: now)
            guard hasNext else { return }
            do {
                switch carrier {
                case .forward(let value):
                    try core.host.gatt.writeWithoutResponse(packet[...], to: value, on: handle, at: now)
                case .reversed:
                    try core.host.gatt.notify(packet[...], of: core.handles.reversedData, on: handle, at: now)
                }
            } catch .queueFull {
                table[carrier]?.unsentPacket = packet
                return
            } catch {
                core.log(.warning, .ppogatt, "\(handle): \(error)")
                return
            }
        }
    }
}

// MARK: - Doubt: see ``RestartDoubt``

extension PhoneTransports {
    /// The phone's database changed in a range: the apps behind the services there may have started again.
    mutating func databaseChanged(in range: AttributeHandleRange) {
        for carrier in table.keys {
            guard let transport = table[carrier], transport.session != nil,
                transport.service?.service.range.overlaps(range) == true
            else { continue }
            table[carrier]?.doubt.raise()
        }
    }

    /// The database changed where a service is, which is the one that it was.
    mutating func unchanged(_ service: PhoneService) {
        guard let transport = PPoGATTService(service) else { return }
        table[.forward(transport.data)]?.doubt = RestartDoubt()
    }

    /// The database changed where a service is, and the phone does not tell whether it is the one that it was.
    ///
    /// A session that is not open yet needs no help: its Reset Requests go on, and reach the app as it is.
    /// - Returns: whether it counts as another one.
    mutating func unclear(_ service: PhoneService) -> Bool {
        guard let transport = PPoGATTService(service) else { return true }
        return table[.forward(transport.data)]?.doubt.subscriptionIsUnreadable() == true
    }

    /// An app on the phone does once more what one does that starts.
    /// - Returns: the services that count as others.
    mutating func appStarts() -> [PhoneService] {
        var replaced: [PhoneService] = []
        for carrier in table.keys where table[carrier]?.doubt.appStarts() == true {
            if let service = table[carrier]?.service { replaced.append(service.service) }
        }
        return replaced
    }
}

// MARK: - Beginning and end

extension PhoneConnection {
    /// The phone subscribed to the watch's own service, or does not listen any more.
    mutating func reversedSubscriptionChanged(
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        let isSubscribed = subscription.contains(.notifications)
        // Subscribing once more starts the transport again. On V1, where the watch speaks first, a phone that only came back
        // has to subscribe again: before that it does not listen.
        let wasWritten = cause != .restored
        transports.wantsReversed = isSubscribed && (wasWritten || core.configuration.reversedRules == .reversedV2)
        transports.pause = isSubscribed && wasWritten ? SubscriptionPause(on: handle, core, at: now) : nil
        if wasWritten || !isSubscribed {
            let reason = isSubscribed ? "the phone subscribed again" : "the phone unsubscribed"
            close(.reversed, reason: reason, &core, at: now)
        }
        openReversed(&core, at: now)
    }

    /// Opens the transport over the watch's own service, if the phone wants and may use it.
    ///
    /// V2 cannot be subscribed to on a plain link. V1 can, and waits for the encryption; a phone that hosts PPoGATT
    /// itself does not need it.
    mutating func openReversed(_ core: inout WatchCore, at now: Duration) {
        guard let rules = core.configuration.reversedRules, transports.wantsReversed, transports[.reversed] == nil
        else { return }
        if rules == .reversedV1 {
            let security = core.host.connection(handle)?.security ?? .none
            let maySpeak =
                core.configuration.linkSecurity == .insecureTestLink || security.isEncrypted && security.isBonded
            guard maySpeak, !transports.hasForward else { return }
        }
        guard !opensLater(core) else {
            transports.opensReversedLater = true
            return
        }
        open(.reversed, with: rules, service: nil, &core, at: now)
    }

    /// Opens the transport over a service of the phone's.
    mutating func openForward(_ service: PPoGATTService, _ core: inout WatchCore, at now: Duration) {
        guard !opensLater(core) else {
            transports.later.append(service)
            return
        }
        open(.forward(service.data), with: .forward, service: service, &core, at: now)
    }

    /// Opens what has waited for the firmware's one session to be free.
    /// - Returns: whether there was anything.
    mutating func openWaiting(_ core: inout WatchCore, at now: Duration) -> Bool {
        guard !transports.later.isEmpty || transports.opensReversedLater, !opensLater(core) else { return false }
        let services = transports.later
        transports.later = []
        for service in services { openForward(service, &core, at: now) }
        transports.opensReversedLater = false
        openReversed(&core, at: now)
        return true
    }

    /// Whether the watch opens no transport now, since another companion has the one session.
    private func opensLater(_ core: borrowing WatchCore) -> Bool {
        guard core.configuration.personality.occupancy == .opensLater else { return false }
        return core.system.isOccupied(besides: sessions)
    }

    mutating func open(
        _ carrier: PhoneTransports.Carrier,
        with rules: PPoGATTConfiguration.Carrier,
        service: PPoGATTService?,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        close(carrier, reason: "opened again", &core, at: now)
        var link = PPoGATTLink(
            .watch(
                rules,
                serialNumber: core.configuration.identity.serialNumber,
                maximumATTMTU: core.configuration.personality.windowMTU,
                rules: core.configuration.personality.transportRules
            ),
            attMTU: mtu,
            disconnectHistory: core.transportHistory
        )
        if let service, let meta = finder.meta(of: service) {
            link.start(at: now, rememberedMeta: meta.value, isConfirmed: meta.isFresh)
        } else {
            link.start(at: now)
        }
        transports[carrier] = PhoneTransports.Transport(link: link, service: service)
    }

    mutating func close(
        _ carrier: PhoneTransports.Carrier,
        reason: String,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        guard let transport = transports.remove(carrier) else { return }
        core.transportHistory = transport.link.disconnectHistory
        leaveSession(of: transport, over: carrier.sessionTransport, reason: reason, &core, at: now)
    }

    /// The connection is gone, and every transport with it.
    mutating func closeTransports(reason: String, _ core: inout WatchCore, at now: Duration) {
        for carrier in transports.carriers { close(carrier, reason: reason, &core, at: now) }
    }

    /// Ends one transport and leaves the connection to the others. A phone that hosts the service is told by losing the
    /// subscription; one that uses the watch's may begin again whenever it likes.
    mutating func abandon(
        _ carrier: PhoneTransports.Carrier,
        reason: String,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        // No connection is given up, so nothing counts towards giving up for good.
        let history = core.transportHistory
        guard let service = transports[carrier]?.service else {
            close(carrier, reason: reason, &core, at: now)
            if core.configuration.reversedRules == .reversedV2 { openReversed(&core, at: now) }
            core.transportHistory = history
            return
        }
        close(carrier, reason: reason, &core, at: now)
        finder.forget(service.service)
        let unsubscribe = GATTProcedure.subscribe(clientConfiguration: service.configuration, [])
        run(unsubscribe, for: .farewell, &core, at: now)
        core.transportHistory = history
    }

    /// Ends the transports whose place another has taken: the newest service of an application wins, on any link.
    mutating func abandonReplacedTransports(_ core: inout WatchCore, at now: Duration) {
        for carrier in transports.carriers {
            guard let session = transports[carrier]?.session, !core.system.sessions.isOpen(session) else { continue }
            abandon(carrier, reason: "a newer session replaced it", &core, at: now)
        }
    }

    mutating func leaveSession(
        of transport: PhoneTransports.Transport,
        over kind: SessionTransport,
        reason: String,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        guard let session = transport.session else { return }
        companions.leave(session, core.system)
        core.system.leave(session, over: kind, undelivered: transport.undeliveredCount, reason: reason, at: now)
    }
}

extension WatchConfiguration {
    /// The rules of the watch's own PPoGATT service; nil if it has none.
    var reversedRules: PPoGATTConfiguration.Carrier? {
        switch personality.reversedTransport {
        case .v1: .reversedV1
        case .v2: .reversedV2
        case nil: nil
        }
    }
}
