import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The way of the Pebble Protocol's bytes: GATT values to PPoGATT packets to session streams, and back.

// MARK: - From the phone

extension Firmware {
    mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .mtuChanged(let connection, let mtu):
            mtuChanged(to: mtu, on: connection)
        case .written(let write) where [handles.reversedDataWrite, handles.reversedData].contains(write.handle):
            receive(write.value, over: .reversed, on: write.connection, at: now)
        case .written(let write) where write.handle == handles.clientSupportedFeatures:
            rememberClient(on: write.connection)
        case .valueReceived(let value):
            received(value, at: now)
        case .subscriptionChanged(let change):
            subscriptionChanged(change, at: now)
        case .indicationConfirmed(let connection, let handle):
            indicationConfirmed(handle, on: connection)
        case .readRequested(let request):
            answer(request, at: now)
        case .writeRequested(let request):
            answer(request, at: now)
        case .procedureEnded(let result):
            procedureEnded(result, at: now)
        case .transactionTimedOut(let connection):
            log(.warning, "att", "\(connection): the phone did not answer; disconnecting")
            end(connection, because: .noResponse)
        case .pduIgnored(let connection, let pdu):
            log(.warning, "att", "\(connection): \(pdu)")
        case .requestRefused(let connection, let error):
            log(.debug, "att", "\(connection): \(error)")
        default:
            break
        }
    }

    mutating func receive(
        _ packet: ArraySlice<UInt8>,
        over carrier: PhoneLink.Carrier,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        links[connection]?.transports[carrier]?.link.receive(packet, at: now)
    }

    private mutating func mtuChanged(to mtu: Int, on connection: ConnectionHandle) {
        guard let carriers = links[connection]?.transports.keys else { return }
        links[connection]?.mtu = mtu
        emit(.link(connection, .mtu(mtu)))
        notifyPairingService(handles.pairingMTU, on: connection)
        for carrier in carriers { links[connection]?.transports[carrier]?.link.attMTU = mtu }
    }
}

// MARK: - Opening transports

extension Firmware {
    private mutating func subscriptionChanged(_ change: SubscriptionChange, at now: Duration) {
        switch change.handle {
        case handles.reversedData:
            reversedSubscriptionChanged(change, at: now)
        case handles.connectionParameters:
            notifyConnectionParameters(on: change.connection)
        case handles.serviceChanged where change.current.contains(.indications):
            databaseChanges.subscribed(change.connection, at: now)
        case handles.connectivityStatus where change.cause != .restored && change.current.isEmpty:
            connectivityUnsubscribed(on: change.connection, at: now)
        default:
            break
        }
        if change.cause == .requested {
            notifyPairingService(change.handle, on: change.connection)
            host.gatt.respond(to: change)
        }
        if change.cause != .restored { rememberClient(on: change.connection) }
    }

    private mutating func reversedSubscriptionChanged(_ change: SubscriptionChange, at now: Duration) {
        let isSubscribed = change.current.contains(.notifications)
        // Subscribing once more begins anew. On V1, where the watch speaks first, a phone that only came back has to
        // subscribe again: before that it does not listen.
        let wasWritten = change.cause != .restored
        let wantsTransport = isSubscribed && (wasWritten || reversedRules == .reversedV2)
        links[change.connection]?.wantsReversedTransport = wantsTransport
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
    private mutating func abandon(
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
    private func hasSession(on connection: ConnectionHandle, besides carrier: PhoneLink.Carrier) -> Bool {
        guard let link = links[connection] else { return false }
        return link.transports.contains { $0.key != carrier && $0.value.session != nil }
            || link.streams.values.contains { $0.session != nil }
    }

    /// The connection is gone, and every transport with it.
    mutating func closeTransports(of connection: ConnectionHandle, reason: String, at now: Duration) {
        guard let carriers = links[connection]?.transports.keys else { return }
        for carrier in carriers { close(carrier, of: connection, reason: reason, at: now) }
    }

    private mutating func leaveSession(
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

    private mutating func procedureEnded(_ ended: GATTProcedureResult, at now: Duration) {
        guard let purpose = links[ended.connection]?.procedures.removeValue(forKey: ended.id) else { return }
        switch (purpose, ended.result) {
        case (.finder, _):
            links[ended.connection]?.finder.finish(ended.result)
        case (.meta(let carrier), .success(.value(let value))):
            if let service = links[ended.connection]?.transports[carrier]?.service {
                links[ended.connection]?.finder.metaRead(value, of: service)
                rememberServices(on: ended.connection)
            }
            links[ended.connection]?.transports[carrier]?.link.receiveMeta(value, at: now)
        case (.meta(let carrier), _):
            links[ended.connection]?.transports[carrier]?.link.metaReadFailed(at: now)
        case (.subscription(let carrier), .success):
            links[ended.connection]?.transports[carrier]?.link.subscribed(at: now)
        case (.subscription(let carrier), .failure):
            links[ended.connection]?.transports[carrier]?.link.subscriptionRefused()
        case (.client(let kind), _):
            links[ended.connection]?.clients.finish(kind, ended.result, at: now)
            if case .failure(.refused(let refusal)) = ended.result, refusal.error.saysThatHandlesAreWrong {
                links[ended.connection]?.finder.refused(kind.service)
            }
        case (.waking, .failure(let error)):
            log(.debug, "session", "\(ended.connection): App Launch could not be read: \(error)")
        case (.waking, .success), (.farewell, _):
            break
        }
    }

    mutating func run(
        _ procedure: GATTProcedure,
        for purpose: PhoneLink.Purpose,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        do {
            let id = try host.gatt.start(procedure, on: connection, at: now)
            links[connection]?.procedures[id] = purpose
        } catch {
            log(.warning, "gatt", "\(connection): \(procedure) could not be started: \(error)")
            switch purpose {
            case .finder: links[connection]?.finder.finish(.failure(.disconnected))
            case .client(let kind): links[connection]?.clients.finish(kind, .failure(.disconnected), at: now)
            case .meta, .subscription, .farewell, .waking: break
            }
        }
    }
}

// MARK: - Pumping

extension Firmware {
    var nextTransportDeadline: Duration? {
        var earliest: Duration?
        for connection in links.keys {
            for carrier in links[connection]?.transports.keys ?? [] {
                guard let deadline = links[connection]?.transports[carrier]?.link.nextDeadline else { continue }
                earliest = min(earliest ?? deadline, deadline)
            }
        }
        return earliest
    }

    mutating func advanceTransports(to now: Duration) {
        for connection in links.keys {
            for carrier in links[connection]?.transports.keys ?? [] {
                links[connection]?.transports[carrier]?.link.advance(to: now)
            }
        }
    }

    /// Moves what can be moved between the phone's links and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpTransports(at now: Duration) -> Bool {
        var moved = false
        for connection in links.keys {
            for carrier in links[connection]?.transports.keys ?? [] {
                moved = pumpEvents(of: carrier, on: connection, at: now) || moved
                pumpStream(of: carrier, on: connection, at: now)
                pumpPackets(of: carrier, on: connection, at: now)
            }
            pumpStreams(of: connection, at: now)
            pumpLoopbacks(of: connection, at: now)
            let hasFound = pumpFinder(of: connection, at: now)
            moved = hasFound || moved
            // What a transport that was found needs to open goes first.
            if !hasFound { moved = pumpPhoneClients(of: connection, at: now) || moved }
        }
        return moved
    }

    private mutating func pumpEvents(
        of carrier: PhoneLink.Carrier,
        on connection: ConnectionHandle,
        at now: Duration
    ) -> Bool {
        var moved = false
        while let event = links[connection]?.transports[carrier]?.link.nextEvent() {
            moved = true
            handle(event, of: carrier, on: connection, at: now)
        }
        return moved
    }

    private mutating func handle(
        _ event: PPoGATTEvent,
        of carrier: PhoneLink.Carrier,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        guard let transport = links[connection]?.transports[carrier] else { return }
        switch event {
        case .metaReadRequested:
            if let service = transport.service {
                run(.read(service.meta), for: .meta(carrier), on: connection, at: now)
            }
        case .subscriptionRequested:
            if let service = transport.service {
                let subscribe = GATTProcedure.subscribe(clientConfiguration: service.configuration, .notifications)
                run(subscribe, for: .subscription(carrier), on: connection, at: now)
            }
        case .opened(let opened):
            let session = session(
                for: opened.destination,
                over: carrier.sessionTransport,
                on: connection,
                at: now
            )
            links[connection]?.transports[carrier]?.session = session
            if let service = transport.service { links[connection]?.finder.proved(service.service) }
            abandonReplacedTransports(at: now)
        case .received(let bytes):
            if let session = transport.session {
                system.receive(bytes, on: session, over: carrier.sessionTransport, at: now)
            }
        case .spaceAvailable:
            break
        case .closed(let reason):
            links[connection]?.transports[carrier]?.session = nil
            links[connection]?.transports[carrier]?.undeliveredCount = 0
            leaveSession(of: transport, over: carrier.sessionTransport, on: connection, reason: "\(reason)", at: now)
        case .failed(let failure):
            log(.warning, "ppogatt", "\(connection): \(failure)")
            if let service = transport.service, !isOutdated(service, on: connection) { retry(service, on: connection) }
        case .disconnectRequested(let reason):
            disconnectRequested(by: carrier, of: connection, service: transport.service, reason, at: now)
        case .stalled:
            emit(.recovery(.transportStalled(connection)))
        }
    }

    /// A transport knows no other help than to disconnect.
    private mutating func disconnectRequested(
        by carrier: PhoneLink.Carrier,
        of connection: ConnectionHandle,
        service: PPoGATTService?,
        _ reason: PPoGATTCloseReason,
        at now: Duration
    ) {
        if let service, isOutdated(service, on: connection) {
            log(.warning, "ppogatt", "\(connection): \(reason); the phone's services are looked for again")
            // Nothing is given up.
            links[connection]?.transports[carrier]?.link.disconnectHistory = disconnectHistory
        } else if hasSession(on: connection, besides: carrier) {
            // The other companions on the phone have nothing to do with it.
            emit(.recovery(.transportGivenUp(connection, reason)))
            abandon(carrier, of: connection, reason: "\(reason)", at: now)
        } else {
            log(.warning, "ppogatt", "\(connection): \(reason); disconnecting")
            end(connection, because: .transport(reason))
        }
    }

    /// Whether a service that could not be used is one that the watch only remembers: then it is looked for afresh.
    private mutating func isOutdated(_ service: PPoGATTService, on connection: ConnectionHandle) -> Bool {
        links[connection]?.finder.refused(service.service) == true
    }

    /// A service that could not be used counts as new when it is seen again, and is looked for again once in a connection.
    private mutating func retry(_ service: PPoGATTService, on connection: ConnectionHandle) {
        links[connection]?.finder.forget(service.service)
        guard links[connection]?.hasLookedAgain == false else { return }
        links[connection]?.hasLookedAgain = true
        links[connection]?.finder.lookAgain(for: service.service.uuid)
    }

    /// Gives the link what the session has to say, as far as it takes it.
    private mutating func pumpStream(of carrier: PhoneLink.Carrier, on connection: ConnectionHandle, at now: Duration) {
        guard let session = links[connection]?.transports[carrier]?.session else { return }
        while true {
            let undelivered = links[connection]?.transports[carrier]?.link.undeliveredByteCount ?? 0
            links[connection]?.transports[carrier]?.undeliveredCount = undelivered
            let bytes = system.takeOutbound(
                of: session,
                over: carrier.sessionTransport,
                atMost: links[connection]?.transports[carrier]?.link.writableByteCount ?? 0,
                undelivered: undelivered,
                at: now
            )
            guard !bytes.isEmpty else { return }
            _ = links[connection]?.transports[carrier]?.link.send(bytes)
        }
    }

    /// Gives the GATT layer the link's packets, as many as it has room for.
    private mutating func pumpPackets(of carrier: PhoneLink.Carrier, on connection: ConnectionHandle, at now: Duration)
    {
        while true {
            var packet: [UInt8] = links[connection]?.transports[carrier]?.unsentPacket ?? []
            if packet.isEmpty {
                guard links[connection]?.transports[carrier]?.link.nextPacket(into: &packet, at: now) == true else {
                    return
                }
            }
            do {
                switch carrier {
                case .forward(let handle): try host.gatt.writeWithoutResponse(packet[...], to: handle, on: connection)
                case .reversed: try host.gatt.notify(packet[...], of: handles.reversedData, on: connection)
                }
                links[connection]?.transports[carrier]?.unsentPacket = []
            } catch .queueFull {
                links[connection]?.transports[carrier]?.unsentPacket = packet
                return
            } catch {
                log(.warning, "ppogatt", "\(connection): \(error)")
                links[connection]?.transports[carrier]?.unsentPacket = []
                return
            }
        }
    }
}
