import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// When PPoGATT links begin and end on a connection, and whose sessions they carry.

extension Firmware {
    /// The phone subscribed to the watch's own service, or does not listen any more.
    mutating func reversedSubscriptionChanged(_ change: SubscriptionChange, at now: Duration) {
        let isSubscribed = change.current.contains(.notifications)
        // Subscribing once more starts the transport again. On V1, where the watch speaks first, a phone that only came back
        // has to subscribe again: before that it does not listen.
        let wasWritten = change.cause != .restored
        let wantsTransport = isSubscribed && (wasWritten || reversedRules == .reversedV2)
        links[change.connection]?.wantsReversedTransport = wantsTransport
        let pause = isSubscribed && wasWritten ? subscriptionPause(on: change.connection, at: now) : nil
        links[change.connection]?.subscriptionPause = pause
        if wasWritten || !isSubscribed {
            let reason = isSubscribed ? "the phone subscribed again" : "the phone unsubscribed"
            close(.reversed, of: change.connection, reason: reason, at: now)
        }
        openReversed(on: change.connection, at: now)
    }

    /// Opens the transport over the watch's own service, if the phone wants and may use it.
    ///
    /// V2 cannot be subscribed to on a plain link. V1 can, and waits for the encryption; a phone that hosts PPoGATT
    /// itself does not need it.
    mutating func openReversed(on connection: ConnectionHandle, at now: Duration) {
        guard let rules = reversedRules, let link = links[connection], link.wantsReversedTransport,
            link.transports[.reversed] == nil
        else { return }
        if rules == .reversedV1 {
            let security = host.connection(connection)?.security ?? .none
            let maySpeak = configuration.linkSecurity == .insecureTestLink || security.isEncrypted && security.isBonded
            guard maySpeak, !link.transports.values.contains(where: { $0.service != nil }) else { return }
        }
        open(.reversed, with: rules, service: nil, on: connection, at: now)
    }

    /// The pause behind a subscription, if there is one. Where the phone begins it needs none: it begins when it has nothing
    /// else to do.
    private func subscriptionPause(on connection: ConnectionHandle, at now: Duration) -> SubscriptionPause? {
        guard reversedRules == .reversedV1, configuration.subscriptionPause > .zero,
            let link = host.connection(connection)
        else { return nil }
        let eventSpacing = link.interval.duration * (Int(link.latency) + 1)
        return SubscriptionPause(configuration.subscriptionPause, eventSpacing: eventSpacing, at: now)
    }

    var reversedRules: PPoGATTConfiguration.Carrier? {
        switch configuration.personality.reversedTransport {
        case .v1: .reversedV1
        case .v2: .reversedV2
        case nil: nil
        }
    }

    mutating func open(
        _ carrier: PhoneLink.Carrier,
        with rules: PPoGATTConfiguration.Carrier,
        service: PPoGATTService?,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        guard let mtu = links[connection]?.mtu else { return }
        close(carrier, of: connection, reason: "opened again", at: now)
        var link = PPoGATTLink(
            .watch(
                rules,
                serialNumber: configuration.identity.serialNumber,
                maximumATTMTU: configuration.personality.windowMTU,
                rules: configuration.personality.transportRules
            ),
            attMTU: mtu,
            disconnectHistory: disconnectHistory
        )
        if let service, let meta = links[connection]?.finder.meta(of: service) {
            link.start(at: now, rememberedMeta: meta.value, isConfirmed: meta.isFresh)
        } else {
            link.start(at: now)
        }
        links[connection]?.transports[carrier] = PhoneLink.Transport(link: link, service: service)
    }

    mutating func close(
        _ carrier: PhoneLink.Carrier,
        of connection: ConnectionHandle,
        reason: String,
        at now: Duration
    ) {
        guard let transport = links[connection]?.transports.removeValue(forKey: carrier) else { return }
        disconnectHistory = transport.link.disconnectHistory
        leaveSession(of: transport, over: carrier.sessionTransport, on: connection, reason: reason, at: now)
    }

    /// Ends one transport and leaves the connection to the others. A phone that hosts the service is told by losing the
    /// subscription; one that uses the watch's may begin again whenever it likes.
    mutating func abandon(
        _ carrier: PhoneLink.Carrier,
        of connection: ConnectionHandle,
        reason: String,
        at now: Duration
    ) {
        // No connection is given up, so nothing counts towards giving up for good.
        let history = disconnectHistory
        defer { disconnectHistory = history }
        guard let service = links[connection]?.transports[carrier]?.service else {
            close(carrier, of: connection, reason: reason, at: now)
            if reversedRules == .reversedV2 { openReversed(on: connection, at: now) }
            return
        }
        close(carrier, of: connection, reason: reason, at: now)
        links[connection]?.finder.forget(service.service)
        let unsubscribe = GATTProcedure.subscribe(clientConfiguration: service.configuration, [])
        run(unsubscribe, for: .farewell, on: connection, at: now)
    }

    /// Ends the transports whose place another has taken: the newest service of an application wins, on any link.
    mutating func abandonReplacedTransports(at now: Duration) {
        for (connection, link) in links {
            for (carrier, transport) in link.transports {
                guard let session = transport.session, !system.isOpen(session) else { continue }
                abandon(carrier, of: connection, reason: "a newer session replaced it", at: now)
            }
        }
    }

    /// Whether the phone has a session on this link besides that of one transport.
    func hasSession(on connection: ConnectionHandle, besides carrier: PhoneLink.Carrier) -> Bool {
        guard let link = links[connection] else { return false }
        return link.transports.contains { $0.key != carrier && $0.value.session != nil }
            || link.streams.values.contains { $0.session != nil }
    }

    /// The connection is gone, and every transport with it.
    mutating func closeTransports(of connection: ConnectionHandle, reason: String, at now: Duration) {
        guard let carriers = links[connection]?.transports.keys else { return }
        for carrier in carriers { close(carrier, of: connection, reason: reason, at: now) }
    }

    mutating func leaveSession(
        of transport: PhoneLink.Transport,
        over kind: SessionTransport,
        on connection: ConnectionHandle,
        reason: String,
        at now: Duration
    ) {
        guard let session = transport.session else { return }
        companionLeaves(session, on: connection)
        system.leave(session, over: kind, undelivered: transport.undeliveredCount, reason: reason, at: now)
    }
}
