import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What the phone offers to the watch, and the clients that use it.
//
// A client joins in here. It describes its service in `WantedService.all`; `found` hands it the service's handles and
// `vanished` takes them back; `received` gives it the values that the phone notifies. Its GATT procedures go through
// `run(_:for:_:at:)` with a purpose of its own, and their results come back by that. What succeeds is `proved` to the
// finder, and a refusal that should not have come is reported as `refused`: the handles may come from memory.

extension PhoneConnection {
    /// Looks for what the phone offers; a second call on one connection does nothing.
    ///
    /// What is remembered of a bonded phone helps only on a link that its bond encrypts: on any other, somebody else might
    /// be there.
    mutating func findServices(_ core: borrowing WatchCore) {
        finder.start(remembering: record.isRestored ? core.phones[identity]?.services : nil)
    }

    /// The phone notified or indicated a value.
    mutating func received(_ value: ReceivedValue, _ core: inout WatchCore, at now: Duration) {
        if finder.isServiceChanged(value) {
            if let range = finder.databaseChanged(value.value) { transports.databaseChanged(in: range) }
        } else if !clients.receive(value.value, of: value.handle, at: now) {
            receiveTransportPacket(value.value, over: .forward(value.handle), &core, at: now)
        }
    }

    /// Moves what can be moved between the link's finder, the clients and the GATT layer.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpFinder(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = false
        while let event = finder.nextEvent() {
            moved = true
            switch event {
            case .found(let service): found(service, &core, at: now)
            case .vanished(let service): vanished(service, &core, at: now)
            case .unchanged(let service): transports.unchanged(service)
            case .unclear(let service): if transports.unclear(service) { finder.vanish(service) }
            case .problem(let text): core.log(.info, .gatt, "\(handle): \(text)")
            }
        }
        noteSearching(&core, at: now)
        // What a transport needs to open goes first: somebody waits for its first message.
        guard !moved, procedures.isEmpty else { return moved }
        // The MTU waits for long packets.
        if let procedure = finder.nextProcedure(isReadyForMTUExchange: policy.isReadyForMTUExchange) {
            moved = true
            run(procedure, for: .finder, &core, at: now)
        }
        return moved
    }

    /// A service that a client wants is there, with these handles.
    private mutating func found(_ service: PhoneService, _ core: inout WatchCore, at now: Duration) {
        if let transport = PPoGATTService(service) {
            if core.configuration.reversedRules == .reversedV1 {
                close(.reversed, reason: "the phone hosts PPoGATT itself", &core, at: now)
            }
            openForward(transport, &core, at: now)
        } else if !core.system.isRecovery {
            // Recovery firmware has no use for anything but a session.
            clients.found(service, at: now)
        }
        guard service.uuid == WantedService.appLaunch.uuid else { return }
        // The newest instance is the one that counts.
        companions.appLaunch = service
        if !core.system.hasSystemSession { wake(because: .found, &core, at: now) }
    }

    /// A service that was found is there no more, or not as it was: its handles mean nothing from now on.
    private mutating func vanished(_ service: PhoneService, _ core: inout WatchCore, at now: Duration) {
        if let transport = PPoGATTService(service) {
            transports.later.removeAll { $0.service == service }
            close(.forward(transport.data), reason: "the phone removed the service", &core, at: now)
        } else {
            clients.vanished(service, at: now)
        }
        if companions.appLaunch == service { companions.appLaunch = nil }
    }

    /// Moves what can be moved between the link's clients, the GATT layer and the system.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpClients(_ core: inout WatchCore, at now: Duration) -> Bool {
        var moved = false
        clients.media.holdBack(core.system.services.music.isTaken(from: handle))
        while let event = clients.notifications.nextEvent() {
            moved = true
            if case .problem(let problem) = event {
                core.emit(.phoneService(handle, .problem(.notifications(problem))))
            }
            core.system.hearPhone(at: now) { $0.receive(event, from: handle, in: &$1) }
        }
        while let event = clients.media.nextEvent() {
            moved = true
            if case .problem(let problem) = event { core.emit(.phoneService(handle, .problem(.media(problem)))) }
            core.system.hearPhone(at: now) { $0.receive(event, from: handle, in: &$1) }
        }
        while let event = clients.time.nextEvent() {
            moved = true
            if case .problem(let problem) = event { core.emit(.phoneService(handle, .problem(.time(problem)))) }
            core.system.hearPhone(at: now) { $0.receive(event, in: &$1) }
        }
        for change in clients.takeChanges() { core.emit(.phoneService(handle, change)) }
        while let (kind, procedure) = clients.nextProcedure(at: now) {
            moved = true
            run(procedure, for: .client(kind), &core, at: now)
        }
        return moved
    }

    /// The link is gone, and with it the phone's services.
    func servicesLost(_ core: inout WatchCore, at now: Duration) {
        for kind in clients.used { core.emit(.phoneService(handle, .ended(kind))) }
        core.system.hearPhone(at: now) { $0.phoneGone(handle, in: &$1) }
    }
}

// MARK: - Procedures

extension PhoneConnection {
    /// Has a GATT procedure run; its result comes to `ended(_:_:at:)`.
    mutating func run(
        _ procedure: GATTProcedure,
        for purpose: Purpose,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        do {
            procedures[try core.host.gatt.start(procedure, on: handle, at: now)] = purpose
        } catch {
            core.log(.warning, .gatt, "\(handle): \(procedure) could not be started: \(error)")
            switch purpose {
            case .finder: finder.finish(.failure(.disconnected))
            case .client(let kind): clients.finish(kind, .failure(.disconnected), at: now)
            case .meta, .subscription, .farewell, .waking: break
            }
        }
    }

    /// A GATT procedure has ended.
    mutating func ended(_ ended: GATTProcedureResult, _ core: inout WatchCore, at now: Duration) {
        guard let purpose = procedures.removeValue(forKey: ended.id) else { return }
        switch (purpose, ended.result) {
        case (.finder, _):
            finder.finish(ended.result)
        case (.meta(let carrier), .success(.value(let value))):
            if let service = transports[carrier]?.service {
                finder.metaRead(value, of: service)
                rememberServices(&core)
            }
            transports[carrier]?.link.receiveMeta(value, at: now)
        case (.meta(let carrier), _):
            transports[carrier]?.link.metaReadFailed(at: now)
        case (.subscription(let carrier), .success):
            transports[carrier]?.link.subscribed(at: now)
        case (.subscription(let carrier), .failure):
            transports[carrier]?.link.subscriptionRefused()
        case (.client(let kind), _):
            clients.finish(kind, ended.result, at: now)
            if case .failure(.refused(let refusal)) = ended.result, refusal.error.saysThatHandlesAreWrong {
                finder.refused(kind.service)
            }
        case (.waking, .failure(let error)):
            core.log(.debug, .session, "\(handle): App Launch could not be read: \(error)")
        case (.waking, .success), (.farewell, _):
            break
        }
    }
}
