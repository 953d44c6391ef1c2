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
            while let event = transports[carrier]?.link.nextEvent() {
                moved = true
                handle(event, of: carrier, &core, at: now)
            }
            pumpStream(of: carrier, &core, at: now)
            pumpPackets(of: carrier, &core, at: now)
        }
        return moved
    }

    private mutating func handle(
        _ event: PPoGATTEvent,
        of carrier: PhoneTransports.Carrier,
        _ core: inout WatchCore,
        at now: Duration
    ) {
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
        case .received(let bytes):
            if transport.doubt.isRaised { transports[carrier]?.doubt = RestartDoubt() }
            if let session = transport.session {
                core.system.receive(bytes, on: session, over: carrier.sessionTransport, at: now)
            }
        case .spaceAvailable:
            break
        case .closed(let reason):
            transports[carrier]?.session = nil
            transports[carrier]?.undeliveredCount = 0
            leaveSession(of: transport, over: carrier.sessionTransport, reason: "\(reason)", &core, at: now)
        case .failed(let failure):
            core.log(.warning, .ppogatt, "\(handle): \(failure)")
            if let service = transport.service, !finder.refused(service.service) { retry(service) }
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
        // memory that has never led to a session is not relied on again all the same.
        if let service { distrustMemory(of: service, &core) }
        if hasSession(besides: carrier) {
            // The other companions on the phone have nothing to do with it.
            core.emit(.recovery(.transportGivenUp(handle, reason)))
            abandon(carrier, reason: "\(reason)", &core, at: now)
        } else {
            core.log(.warning, .ppogatt, "\(handle): \(reason); disconnecting")
            end(because: .transport(reason), &core.host, at: now)
        }
    }

    /// A service that could not be used counts as new when it is seen again, and is looked for again once in a connection.
    private mutating func retry(_ service: PPoGATTService) {
        finder.forget(service.service)
        guard !record.hasLookedAgain else { return }
        record.hasLookedAgain = true
        finder.lookAgain(for: service.service.uuid)
    }

    /// Gives the link what the session has to say, as far as it takes it.
    private mutating func pumpStream(of carrier: PhoneTransports.Carrier, _ core: inout WatchCore, at now: Duration) {
        guard let session = transports[carrier]?.session else { return }
        while true {
            let undelivered = transports[carrier]?.link.undeliveredByteCount ?? 0
            transports[carrier]?.undeliveredCount = undelivered
            let bytes = core.system.takeOutbound(
                of: session,
                over: carrier.sessionTransport,
                atMost: transports[carrier]?.link.writableByteCount ?? 0,
                undelivered: undelivered,
                at: now
            )
            guard !bytes.isEmpty else { return }
            _ = transports[carrier]?.link.send(bytes)
        }
    }

    /// Gives the GATT layer the link's packets, as many as it has room for.
    private mutating func pumpPackets(of carrier: PhoneTransports.Carrier, _ core: inout WatchCore, at now: Duration) {
        guard carrier != .reversed || transports.pause == nil else { return }
        while true {
            var packet: [UInt8] = transports[carrier]?.unsentPacket ?? []
            if packet.isEmpty {
                guard transports[carrier]?.link.nextPacket(into: &packet, at: now) == true else { return }
            }
            do {
                switch carrier {
                case .forward(let value):
                    try core.host.gatt.writeWithoutResponse(packet[...], to: value, on: handle, at: now)
                case .reversed:
                    try core.host.gatt.notify(packet[...], of: core.handles.reversedData, on: handle, at: now)
                }
                transports[carrier]?.unsentPacket = []
            } catch .queueFull {
                transports[carrier]?.unsentPacket = packet
                return
            } catch {
                core.log(.warning, .ppogatt, "\(handle): \(error)")
                transports[carrier]?.unsentPacket = []
                return
            }
        }
    }
}
