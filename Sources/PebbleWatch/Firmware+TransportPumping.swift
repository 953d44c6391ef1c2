import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The way of the Pebble Protocol's bytes: GATT values to PPoGATT packets to session streams, and back.

extension Firmware {
    mutating func receive(
        _ packet: ArraySlice<UInt8>,
        over carrier: PhoneLink.Carrier,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        links[connection]?.transports[carrier]?.link.receive(packet, at: now)
    }

    var nextTransportDeadline: Duration? {
        var earliest: Duration?
        for connection in links.keys {
            earliest = Duration.earlier(earliest, links[connection]?.subscriptionPause?.end)
            for carrier in links[connection]?.transports.keys ?? [] {
                guard let deadline = links[connection]?.transports[carrier]?.link.nextDeadline else { continue }
                earliest = min(earliest ?? deadline, deadline)
            }
        }
        return earliest
    }

    mutating func advanceTransports(to now: Duration) {
        for connection in links.keys {
            let hasUnsentData = host.hasUnsentData(connection)
            if links[connection]?.subscriptionPause?.isOver(at: now, hasUnsentData: hasUnsentData) == true {
                links[connection]?.subscriptionPause = nil
            }
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
            if transport.doubt.isRaised { links[connection]?.transports[carrier]?.doubt = RestartDoubt() }
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
            log(.warning, .ppogatt, "\(connection): \(failure)")
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
        // It has said on this link whose the service is, and taken the subscription: it is the app that does not answer. A
        // memory that has never led to a session is not relied on again all the same.
        if let service { distrustMemory(of: service, on: connection) }
        if hasSession(on: connection, besides: carrier) {
            // The other companions on the phone have nothing to do with it.
            emit(.recovery(.transportGivenUp(connection, reason)))
            abandon(carrier, of: connection, reason: "\(reason)", at: now)
        } else {
            log(.warning, .ppogatt, "\(connection): \(reason); disconnecting")
            end(connection, because: .transport(reason), at: now)
        }
    }

    /// A service that was remembered has not led to a session: the next link looks for the phone's services afresh.
    private mutating func distrustMemory(of service: PPoGATTService, on connection: ConnectionHandle) {
        guard links[connection]?.finder.distrustMemory(of: service.service) == true else { return }
        guard let identity = links[connection]?.identity, phones[identity]?.services != nil else { return }
        phones[identity]?.services = nil
        memoryChanges.append(.phoneServices(identity, PhoneServiceCache()))
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
        guard carrier != .reversed || links[connection]?.subscriptionPause == nil else { return }
        while true {
            var packet: [UInt8] = links[connection]?.transports[carrier]?.unsentPacket ?? []
            if packet.isEmpty {
                guard links[connection]?.transports[carrier]?.link.nextPacket(into: &packet, at: now) == true else {
                    return
                }
            }
            do {
                switch carrier {
                case .forward(let handle):
                    try host.writeWithoutResponse(packet[...], to: handle, on: connection, at: now)
                case .reversed: try host.notify(packet[...], of: handles.reversedData, on: connection, at: now)
                }
                links[connection]?.transports[carrier]?.unsentPacket = []
            } catch .queueFull {
                links[connection]?.transports[carrier]?.unsentPacket = packet
                return
            } catch {
                log(.warning, .ppogatt, "\(connection): \(error)")
                links[connection]?.transports[carrier]?.unsentPacket = []
                return
            }
        }
    }
}
