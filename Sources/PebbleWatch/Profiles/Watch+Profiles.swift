import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The watch and its GATT services: what they are told, and what phones ask for by them.

extension Watch {
    /// Gives a GATT event to the service that it concerns, and does what phones ask for by it.
    mutating func handleByServices(_ event: GATTEvent, on connection: ConnectionHandle, at now: Duration) {
        describe(connection)
        profiles.handle(event, &core.host, at: now)
        while let request = profiles.services.pairing.nextRequest() { handle(request, at: now) }
        while let change = profiles.services.reversed?.nextChange() {
            links[change.connection]?.reversedSubscriptionChanged(to: change.subscription, change.cause, &core, at: now)
        }
    }

    /// Changes services, and sends what is new to phones.
    mutating func updateServices(at now: Duration, _ change: (inout WatchProfiles) -> Void) {
        profiles.update(&core.host, at: now, change)
        var hasChanged = false
        while let range = profiles.nextDatabaseChange() {
            database.changes.changed(range)
            hasChanged = true
        }
        if hasChanged { database.updateHash(&core, &profiles, at: now) }
    }

    /// A value of the pairing service has changed for a phone.
    mutating func tell(
        _ value: PairingService.Value,
        on connection: ConnectionHandle,
        evenIfNotSubscribed: Bool = false,
        at now: Duration
    ) {
        describe(connection)
        updateServices(at: now) {
            $0.pairing.changed(value, on: connection, evenIfNotSubscribed: evenIfNotSubscribed)
        }
    }

    /// Tells the pairing service how a link is.
    private mutating func describe(_ connection: ConnectionHandle) {
        guard let link = core.host.connection(connection), links[connection] != nil else { return }
        let connectivity = ConnectivityStatus(
            isBonded: link.security.isBonded,
            isEncrypted: link.security.isEncrypted,
            hasGateway: !core.phones.stored.isEmpty,
            isReversedPPoGATT: configuration.reversedRules == .reversedV1
                && links[connection]?.transports[.reversed] != nil,
            lastPairingResult: links[connection]?.record.lastPairingResult ?? 0
        )
        let parameters = ConnectionParametersStatus(
            supportsLongPackets: core.host.capabilities.supportsDataLengthExtension,
            interval: link.interval.rawValue,
            latency: link.latency,
            supervisionTimeout: link.supervisionTimeout.rawValue
        )
        profiles.services.pairing.describe(
            connection,
            PairingService.Link(
                connectivity: connectivity,
                mtu: links[connection]?.mtu ?? ATT.defaultMTU,
                parameters: parameters
            )
        )
    }

    // MARK: What phones ask for

    private mutating func handle(_ request: PairingService.Request, at now: Duration) {
        switch request {
        case .security(let connection, let token):
            requestSecurity(on: connection, at: now)
            profiles.accept(token, &core.host, at: now)
        case .exchangeMTU(let connection, let token):
            // That can be done once in a connection, and is done by itself sooner or later.
            do {
                _ = try core.host.gatt.start(.exchangeMTU, on: connection, at: now)
            } catch {
                core.log(.debug, .gatt, "\(connection): the MTU is not exchanged once more: \(error)")
            }
            profiles.accept(token, &core.host, at: now)
        case .parameters(let command, let connection, let token):
            do throws(ConnectionParametersCommand.Refusal) {
                try links[connection]?.carryOut(command, &core, at: now)
                profiles.accept(token, &core.host, at: now)
            } catch {
                core.log(.info, .gatt, "\(connection): connection parameters refused: \(error)")
                profiles.refuse(token, with: ATTError(rawValue: error.rawValue), &core.host, at: now)
            }
        case .badParameters(let refusal, let connection):
            core.log(.info, .gatt, "\(connection): connection parameters refused: \(refusal)")
        case .app(isThere: true, let connection):
            links[connection]?.connectivitySubscribed()
        case .app(isThere: false, let connection):
            // Pebble 2 takes that for the end of the app.
            guard configuration.personality.wakesUnsubscribers else { return }
            links[connection]?.wake(because: .unsubscribed, &core, at: now)
        }
    }

    /// Asks the phone to encrypt or to pair; a refusal to ask is logged, and the phone is never told.
    private mutating func requestSecurity(on connection: ConnectionHandle, at now: Duration) {
        do throws(SecurityRefusal) {
            try core.host.security?.sendSecurityRequest(connection, at: now)
        } catch {
            if error == .notPairable { return pairingFailed(on: connection, .notPairable, at: now) }
            core.log(.info, .smp, "\(connection): no Security Request was sent: \(error)")
        }
    }

    // MARK: Streams

    /// Publishes a stream, which phones can open from now on, or withdraws it.
    mutating func publish(_ stream: WatchStream, _ isPublished: Bool, at now: Duration) {
        guard let index = profiles.services.streams.firstIndex(where: { $0.stream == stream }) else { return }
        let published = profiles.services.streams[index].spsm
        var spsm: SPSM?
        if isPublished {
            guard published == nil else { return }
            let isOpen = configuration.linkSecurity == .insecureTestLink
            let listener = ChannelListener(requirement: isOpen ? .open : .encrypted, parameters: stream.parameters)
            do {
                spsm = try core.host.channels.listen(listener)
            } catch {
                return core.log(.error, .l2cap, "\(stream) cannot be published: \(error)")
            }
        } else {
            guard let published else { return }
            core.host.channels.stopListening(published, at: now)
        }
        updateServices(at: now) { $0.streams[index].publish(spsm) }
        core.emit(.streamPublished(stream, spsm))
    }

    /// The streams that are published, and where.
    var spsms: [WatchStream: SPSM] {
        var spsms: [WatchStream: SPSM] = [:]
        for service in profiles.services.streams { spsms[service.stream] = service.spsm }
        return spsms
    }
}

// MARK: - Service Changed

extension Watch {
    /// Sends the Service Changed indications that are due.
    mutating func indicateDatabaseChanges(at now: Duration) {
        while let indication = database.changes.nextIndication(at: now) {
            let connection = indication.connection
            // A phone that has read the hash knows already.
            if links[connection]?.record.isRestored == true,
                core.host.gatt.clientState(of: connection)?.isChangeAware == true
            {
                database.changes.isAware(connection)
                _ = database.changes.confirmed(connection)
                links[connection]?.rememberClient(&core, database)
                continue
            }
            do {
                let handle = core.handles.serviceChanged
                try core.host.gatt.indicate(indication.value[...], of: handle, on: connection, at: now)
                core.log(.info, .gatt, "\(connection): told that handles \(indication.range) changed")
            } catch {
                database.changes.wasNotSent(indication)
                core.log(.info, .gatt, "\(connection): not told yet that the database changed: \(error)")
            }
        }
    }
}
