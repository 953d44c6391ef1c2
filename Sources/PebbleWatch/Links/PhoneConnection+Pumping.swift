import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The way of the Pebble Protocol's bytes: GATT values to PPoGATT packets to session streams, and back.

extension PhoneConnection {
    /// Moves what can be moved between the phone's PPoGATT links and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpTransports(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = false
        for carrier in transports.carriers {
            while let event = transports.nextEvent(of: carrier) {
                moved = true
                handle(event, of: carrier, &core, at: now)
            }
            transports.pumpStream(of: carrier, &core.system, at: now)
            transports.pumpPackets(of: carrier, on: handle, &core, at: now)
        }
        return moved
    }

    private mutating func handle(
        _ event: PPoGATTEvent,
        of carrier: PhoneTransports.Carrier,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        // The one that comes in numbers looks at the transport where it stands; the others have a copy.
        if case .received(let bytes) = event {
            if let session = transports.proved(carrier) {
                core.system.receive(bytes, on: session, over: carrier.sessionTransport, at: now)
            }
            return
        }
        guard let transport = transports[carrier] else { return }
        switch event {
        case .metaReadRequested:
            if let service = transport.service { run(.read(service.meta), for: .meta(carrier), &core, at: now) }
        case .subscriptionRequested:
            if let service = transport.service {
                let subscribe = GATTProcedure.subscribe(clientConfiguration: service.configuration, .notifications)
                run(subscribe, for: .subscription(carrier), &core, at: now)
            }
        case .opened(let opened):
            let session = core.system.session(
                for: opened.destination,
                over: carrier.sessionTransport,
                among: sessions,
                at: now
            )
            transports[carrier]?.session = session
            if let service = transport.service { finder.proved(service.service) }
            abandonReplacedTransports(&core, at: now)
            // A phone of which nothing else is here is told by the end of its link.
            if !core.system.sessions.isOpen(session), !sessions.contains(where: core.system.sessions.isOpen) {
                end(because: .busy, reason: .remoteDeviceLowResources, &core.host, at: now)
            }
        case .received, .spaceAvailable:
            break
        case .closed(let reason):
            transports[carrier]?.session = nil
            transports[carrier]?.undeliveredCount = 0
            leaveSession(of: transport, over: carrier.sessionTransport, reason: "\(reason)", &core, at: now)
        case .failed(let failure):
            core.log(.warning, .ppogatt, "\(handle): \(failure)")
            if let service = transport.service, !finder.refused(service.service) { finder.retry(service.service) }
        case .disconnectRequested(let reason):
            disconnectRequested(by: carrier, service: transport.service, reason, &core, at: now)
        case .stalled:
            core.emit(.recovery(.transportStalled(handle)))
        }
    }

    /// A transport knows no other help than to disconnect.
    private mutating func disconnectRequested(
        by carrier: PhoneTransports.Carrier,
        service: PPoGATTService?,
        _ reason: PPoGATTCloseReason,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        // It has said on this link whose the service is, and taken the subscription: it is the app that does not answer. A
        // memory that has never led to a session is not relied on again all the same: the next link looks for the phone's
        // services afresh.
        if let service, finder.distrustMemory(of: service.service),
            let change = core.phones.forgetServices(of: identity)
        {
            core.store.append(change)
        }
        if hasSession(besides: carrier) {
            // The other companions on the phone have nothing to do with it.
            core.emit(.recovery(.transportGivenUp(handle, reason)))
            abandon(carrier, reason: "\(reason)", &core, at: now)
        } else {
            core.log(.warning, .ppogatt, "\(handle): \(reason); disconnecting")
            end(because: .transport(reason), &core.host, at: now)
        }
    }
}
