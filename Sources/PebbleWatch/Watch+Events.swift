import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import PebbleProtocol

// What the host reports, and which part of the watch it is for.

extension Watch {
    mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities):
            presence.controllerReady(capabilities, at: now)
            core.emit(.started(capabilities))
        case .restarting(let reason):
            presence.receive(.controllerLost, at: now)
            core.emit(.recovery(.controllerRestarting(reason)))
        case .controllerLost:
            presence.receive(.controllerLost, at: now)
            core.emit(.recovery(.controllerLost))
        case .advertisingStarted(let id):
            presence.reported(.started, of: id, isAlone: links.isEmpty, &core, at: now)
        case .advertisingFailed(let id, let status):
            presence.reported(.failed(status), of: id, isAlone: links.isEmpty, &core, at: now)
        case .advertisingEnded(let id, let end):
            presence.reported(.ended(end), of: id, isAlone: links.isEmpty, &core, at: now)
        case .advertisingNotStopped(let id, let status):
            presence.reported(.notStopped(status), of: id, isAlone: links.isEmpty, &core, at: now)
        case .connected(let connection):
            connected(connection, at: now)
        case .disconnected(let handle, let reason):
            disconnected(handle, reason: reason, at: now)
        case .securityChanged(let handle, let security):
            securityChanged(handle, security, at: now)
        case .security(let event):
            self.handle(event, at: now)
        case .clientStateToKeep(let handle, let state):
            if links[handle]?.record.isRestored == true { links[handle]?.rememberClient(state, &core, database) }
        case .gatt(let event):
            self.handle(event, at: now)
        case .channel(let event):
            self.handle(event, at: now)
        case .remoteFeaturesRead(let handle, let features):
            links[handle]?.policy.remoteFeaturesRead(features, at: now)
        case .dataLengthUpdated(let handle):
            guard let connection = core.host.connection(handle) else { return }
            let lengths = (connection.transmitLength, connection.receiveLength)
            links[handle]?.policy.dataLengthChanged(transmit: lengths.0, receive: lengths.1, at: now)
        case .phyUpdated(let handle, let outcome):
            links[handle]?.policy.phyChanged(outcome, at: now)
        case .parametersUpdated(let handle):
            guard let connection = core.host.connection(handle) else { return }
            links[handle]?.policy.parametersChanged(
                interval: connection.interval,
                latency: connection.latency,
                supervisionTimeout: connection.supervisionTimeout,
                subrating: connection.subrating,
                at: now
            )
            tell(.connectionParameters, on: handle, at: now)
        case .parametersUpdateFailed(let handle, let failure):
            links[handle]?.policy.parametersRefused(failure)
        case .notice(let notice):
            core.emit(.diagnostic(.notice(notice)))
        case .failed(let failure):
            core.emit(.failed(failure))
        case .scanningStarted, .scanningFailed, .scanningEnded, .advertisingReport, .connectionFailed, .rssi:
            // A watch neither scans nor connects, and asks for no signal strength.
            break
        }
    }

    // MARK: Links

    private mutating func connected(_ connection: Connection, at now: Duration) {
        guard presence.admits(connection, &core, at: now) else { return }
        let policy = LinkPolicy(
            connection,
            abilities: LinkPolicy.Abilities(core.host.capabilities),
            profile: configuration.link,
            at: now
        )
        links[connection.handle] = PhoneConnection(connection, configuration, policy, at: now)
        profiles.connected(Peer(connection), &core.host, at: now)
        database.changes.connected(connection.handle, at: now)
        presence.holdIfNeeded(at: now)
        // What left the air is told before who came.
        presence.reportOnAir(&core)
        core.emit(.connected(connection.handle, connection.peer))
        if core.phones[connection.peer] == nil { history.noteReturn(of: connection.peer, &core, at: now) }
        if configuration.personality.occupancy == .endsLink, core.system.isOccupied(besides: []) {
            links[connection.handle]?.end(
                because: .busy,
                reason: .remoteDeviceLowResources,
                &core.host,
                at: now
            )
            return
        }
        // A real watch asks an unencrypted phone for nothing; a rig that cannot pair is talked to at once.
        if configuration.linkSecurity == .insecureTestLink { links[connection.handle]?.findServices(core) }
    }

    private mutating func disconnected(_ handle: ConnectionHandle, reason: HCIStatus, at now: Duration) {
        let hadNoPlace = presence.disconnected(handle, at: now)
        guard var link = links[handle] else { return presence.releaseIfPossible(LinkEnd(reason), at: now) }
        // One that got as far as encryption, and was not let in, is still not the owner, whose return is told.
        let isStranger = hadNoPlace || presence.tenure.rules.isOwnerAwaited && core.phones[link.identity] == nil
        link.closeTransports(reason: "\(reason)", &core, at: now)
        link.servicesLost(&core, at: now)
        links[handle] = nil
        core.phones.prompts[handle] = nil
        core.transportFaults?.remove(handle)
        profiles.disconnected(handle, &core.host, at: now)
        database.changes.disconnected(handle)
        presence.updatePairability(&core, at: now)
        presence.releaseIfPossible(LinkEnd(reason), at: now)
        core.emit(.disconnected(handle, reason: reason))
        // What ends for other reasons than a transport's failure may work again next time (PPoGATT gives up only after
        // failures in a row).
        if case .transport = link.record.endCause {} else { core.transportHistory.linkLostByOtherSide() }
        let disconnection = Disconnection(
            phone: link.identity,
            reason: reason,
            cause: link.record.endCause,
            time: now,
            linkDuration: now - link.record.start
        )
        history.add(disconnection, isStranger: isStranger)
    }

    private mutating func securityChanged(_ handle: ConnectionHandle, _ security: LinkSecurity, at now: Duration) {
        guard let before = links[handle]?.record else { return }
        if let connection = core.host.connection(handle) {
            links[handle]?.identity = connection.peer
            profiles.changed(Peer(connection))
        }
        core.emit(.securityChanged(handle, security))
        let isNews = security.isEncrypted && !before.wasEncrypted || security.isBonded && !before.wasBonded
        tell(.connectivity, on: handle, evenIfNotSubscribed: isNews, at: now)
        links[handle]?.record.wasEncrypted = security.isEncrypted
        links[handle]?.record.wasBonded = security.isBonded
        if security.isEncrypted { presence.earnsPlace(handle, isOwner: security.isBonded, at: now) }
        guard security.isEncrypted, security.isBonded else { return }
        if let phone = links[handle]?.identity { history.noteReturn(of: phone, &core, at: now) }
        links[handle]?.restore(&core, &database, at: now)
        if links[handle]?.record.isRestored == true { presence.receive(.bondedPhoneIsBack, at: now) }
        links[handle]?.openReversed(&core, at: now)
        links[handle]?.findServices(core)
    }

    // MARK: Channels

    private mutating func handle(_ event: ChannelEvent, at now: Duration) {
        switch event {
        case .opened(let channel):
            guard let stream = spsms.first(where: { $0.value == channel.spsm })?.key else { return }
            core.emit(.streamOpened(channel.id.connection, stream))
            links[channel.id.connection]?.channels.opened(channel.id, to: stream, at: now)
        case .readable(let id):
            _ = links.work(on: id.connection, &core, at: now) { $0.read(id, &$1, at: now) }
        case .unsent(let id, let count):
            links[id.connection]?.channels.unsent(count, on: id)
        case .closed(let id, let closure, var unread):
            var bytes: [UInt8] = []
            unread.read(into: &bytes)
            _ = links.work(on: id.connection, &core, at: now) { $0.closed(id, closure, unread: bytes, &$1, at: now) }
        case .writable, .reconfigured:
            // Whatever waits is offered again each time that anything happens.
            break
        }
    }

    // MARK: GATT

    private mutating func handle(_ event: GATTEvent, at now: Duration) {
        if core.phones.hasUnheard, let connection = event.speaker, core.heard(on: connection) {
            presence.updatePairability(&core, at: now)
        }
        switch event {
        case .mtuChanged(let connection, let mtu):
            links[connection]?.mtuChanged(to: mtu, &core)
            tell(.mtu, on: connection, at: now)
        case .written(let write)
        where write.handle == core.handles.reversedDataWrite || write.handle == core.handles.reversedData:
            links[write.connection]?.receiveTransportPacket(write.value, over: .reversed, &core, at: now)
        case .written(let write) where write.handle == core.handles.clientSupportedFeatures:
            links[write.connection]?.rememberClient(&core, database)
        case .valueReceived(let value):
            links[value.connection]?.received(value, &core, at: now)
        case .subscriptionChanged(let change):
            if change.handle == core.handles.serviceChanged, change.current.contains(.indications) {
                database.changes.subscribed(change.connection, at: now)
            }
            handleByServices(event, on: change.connection, at: now)
            if change.cause != .restored { links[change.connection]?.rememberClient(&core, database) }
        case .indicationConfirmed(let connection, let handle):
            guard handle == core.handles.serviceChanged, database.changes.confirmed(connection) else { return }
            links[connection]?.rememberClient(&core, database)
        case .valueNotSent(let unsent):
            // A phone unsubscribed, or its link changed, before a value left.
            core.log(.debug, .gatt, "\(unsent.connection): \(unsent.reason)")
            guard unsent.handle == core.handles.serviceChanged, unsent.isIndication else { return }
            database.changes.wasNotSent(unsent.value, on: unsent.connection)
        case .readRequested(let request):
            handleByServices(event, on: request.connection, at: now)
        case .writeRequested(let request):
            handleByServices(event, on: request.connection, at: now)
        case .procedureEnded(let result):
            links[result.connection]?.ended(result, &core, at: now)
        case .transactionTimedOut(let connection):
            core.log(.warning, .att, "\(connection): the phone did not answer; disconnecting")
            links[connection]?.end(because: .noResponse, &core.host, at: now)
        case .pduIgnored(let connection, let pdu):
            core.log(.warning, .att, "\(connection): \(pdu)")
        case .requestRefused(let connection, let error):
            core.log(.debug, .att, "\(connection): \(error)")
        case .requestNotAnswered(let connection, let handle):
            core.log(.error, .gatt, "\(connection): no service of this watch answered a request about \(handle)")
        case .enhancedBearerOpened(let connection, let mtu, let count):
            core.log(.info, .att, "\(connection): enhanced bearer \(count), with an MTU of \(mtu)")
        case .enhancedBearerClosed(let connection, let closure, let wasOpen, let count):
            let what = wasOpen ? "an enhanced bearer is closed" : "no more enhanced bearers"
            core.log(.info, .att, "\(connection): \(what): \(closure); it has \(count)")
        case .written, .roomToSend:
            break
        }
    }
}

extension GATTEvent {
    /// The connection whose peer has said something; nil if no peer has.
    fileprivate var speaker: ConnectionHandle? {
        switch self {
        case .mtuChanged(let connection, _), .pduIgnored(let connection, _), .indicationConfirmed(let connection, _),
            .requestRefused(let connection, _):
            connection
        case .readRequested(let request): request.connection
        case .writeRequested(let request): request.connection
        case .written(let write): write.connection
        case .subscriptionChanged(let change): change.cause == .restored ? nil : change.connection
        case .valueReceived(let value): value.connection
        case .procedureEnded(let ended):
            switch ended.result {
            case .success, .failure(.refused): ended.connection
            case .failure: nil
            }
        case .enhancedBearerOpened(let connection, _, _): connection
        case .transactionTimedOut, .roomToSend, .requestNotAnswered, .valueNotSent, .enhancedBearerClosed: nil
        }
    }
}
