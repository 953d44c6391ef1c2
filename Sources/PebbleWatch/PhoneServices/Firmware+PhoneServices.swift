import BluetoothHCI
import BluetoothHost

// What the phone offers to the watch, and the clients that use it.
//
// A client joins in here. It describes its service in `WantedService.all`; `found` hands it the service's handles and
// `vanished` takes them back; `received` gives it the values that the phone notifies. Its GATT procedures go through
// `run(_:for:on:at:)` with a purpose of its own, and their results come back by that. What succeeds is `proved` to the
// finder, and a refusal that should not have come is reported as `refused`: the handles may come from memory.

extension Firmware {
    /// Looks for what the phone offers; a second call on one connection does nothing.
    ///
    /// What is remembered of a bonded phone helps only on a link that its bond encrypts: on any other, somebody else might
    /// be there.
    mutating func findPhoneServices(on connection: ConnectionHandle, at now: Duration) {
        guard let link = links[connection] else { return }
        links[connection]?.finder.start(remembering: link.isRestored ? phones[link.identity]?.services : nil)
    }

    /// Keeps what is known of a bonded phone's services, if that changed.
    mutating func rememberServices(on connection: ConnectionHandle) {
        guard let link = links[connection], link.isRestored, storedBonds.contains(link.identity),
            let services = link.finder.memory, phones[link.identity]?.services != services
        else { return }
        phones[link.identity]?.services = services
        memoryChanges.append(.phoneServices(link.identity, services))
        log(.debug, .gatt, "\(connection): the phone's services are remembered")
    }

    /// The phone notified or indicated a value.
    mutating func received(_ value: ReceivedValue, at now: Duration) {
        if links[value.connection]?.finder.isServiceChanged(value) == true {
            databaseChanged(value.value, on: value.connection)
        } else if links[value.connection]?.clients.receive(value.value, of: value.handle, at: now) != true {
            receive(value.value, over: .forward(value.handle), on: value.connection, at: now)
        }
    }

    /// Moves what can be moved between a link's finder, the clients and the GATT layer.
    /// - Returns: whether anything did, so that there may be more to do.
    mutating func pumpFinder(of connection: ConnectionHandle, at now: Duration) -> Bool {
        var moved = false
        while let event = links[connection]?.finder.nextEvent() {
            moved = true
            switch event {
            case .found(let service): found(service, on: connection, at: now)
            case .vanished(let service): vanished(service, on: connection, at: now)
            case .unchanged(let service): unchanged(service, on: connection)
            case .unclear(let service): unclear(service, on: connection)
            case .problem(let text): log(.info, .gatt, "\(connection): \(text)")
            }
        }
        noteSearching(on: connection, at: now)
        // What a transport needs to open goes first: somebody waits for its first message.
        guard !moved, links[connection]?.procedures.isEmpty == true else { return moved }
        // The MTU waits for long packets.
        let isReady = links[connection]?.policy.isReadyForMTUExchange == true
        if let procedure = links[connection]?.finder.nextProcedure(isReadyForMTUExchange: isReady) {
            moved = true
            run(procedure, for: .finder, on: connection, at: now)
        }
        return moved
    }

    /// A service that a client wants is there, with these handles.
    private mutating func found(_ service: PhoneService, on connection: ConnectionHandle, at now: Duration) {
        if let transport = PPoGATTService(service) {
            if reversedRules == .reversedV1 {
                close(.reversed, of: connection, reason: "the phone hosts PPoGATT itself", at: now)
            }
            open(.forward(transport.data), with: .forward, service: transport, on: connection, at: now)
        } else if !system.isRecovery {
            // Recovery firmware has no use for anything but a session.
            links[connection]?.clients.found(service, at: now)
        }
        if service.uuid == WantedService.appLaunch.uuid { appLaunchFound(service, on: connection, at: now) }
    }

    /// A service that was found is there no more, or not as it was: its handles mean nothing from now on.
    private mutating func vanished(_ service: PhoneService, on connection: ConnectionHandle, at now: Duration) {
        if let transport = PPoGATTService(service) {
            close(.forward(transport.data), of: connection, reason: "the phone removed the service", at: now)
        } else {
            links[connection]?.clients.vanished(service, at: now)
        }
        appLaunchVanished(service, on: connection)
    }
}
