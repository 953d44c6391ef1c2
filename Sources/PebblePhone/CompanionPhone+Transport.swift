import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The way of the Pebble Protocol's bytes: GATT values to PPoGATT packets to the session's stream, and back.

// MARK: - From the watch

extension CompanionPhone {
    mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .written(let write) where write.handle == transportData && write.connection == link?.handle:
            link?.transport?.receive(write.value, at: now)
        case .subscriptionChanged(let change) where change.handle == transportData && change.connection == link?.handle:
            forwardSubscriptionChanged(change, at: now)
        case .valueReceived(let value) where value.connection == link?.handle:
            received(value, at: now)
        case .mtuChanged(let connection, let mtu) where connection == link?.handle:
            link?.mtu = mtu
            link?.transport?.attMTU = mtu
        case .procedureEnded(let ended) where ended.connection == link?.handle:
            procedureEnded(ended, at: now)
        case .transactionTimedOut(let connection) where connection == link?.handle:
            giveUp(connection, .att, "the watch did not answer", at: now)
        case .pduIgnored(let connection, let pdu):
            log(.warning, .att, "\(connection): \(pdu)")
        case .requestRefused(let connection, let error):
            log(.debug, .att, "\(connection): \(error)")
        default:
            break
        }
    }

    private mutating func received(_ value: ReceivedValue, at now: Duration) {
        switch value.handle {
        case link?.inboundData: link?.transport?.receive(value.value, at: now)
        case link?.explorer.connectivityStatus: link?.explorer.receiveConnectivity(value.value)
        case link?.explorer.serviceChanged: link?.explorer.restart()
        default: log(.info, .gatt, "a value of \(value.handle) came that nobody asked for")
        }
    }

    /// The link is of no more use; a new one may be.
    mutating func giveUp(_ connection: ConnectionHandle, _ layer: Layer, _ why: String, at now: Duration) {
        log(.warning, layer, "\(why); disconnecting")
        host.disconnect(connection, reason: .remoteUserTerminatedConnection, at: now)
    }

    /// What the watch refuses a link that is not encrypted may be open to it once the phone is told to pair: then the link
    /// stays.
    mutating func giveUpOrWait(_ connection: ConnectionHandle, _ layer: Layer, _ why: String, at now: Duration) {
        let isEncrypted = host.connection(connection)?.security.isEncrypted == true
        guard configuration.pairing == .whenTold, configuration.transport != .forward, !isEncrypted,
            link?.hadSession == false
        else { return giveUp(connection, layer, why, at: now) }
        closeTransport(reason: why, at: now)
        link?.carrier = nil
        link?.inboundData = nil
        link?.stream = .notBegun
        log(.warning, layer, "\(why); there is no session before the phone has paired")
    }
}

// MARK: - Opening and closing

extension CompanionPhone {
    private mutating func forwardSubscriptionChanged(_ change: SubscriptionChange, at now: Duration) {
        if change.current.contains(.notifications) {
            openTransport(.forward, .notification(change.handle), at: now)
        } else {
            closeTransport(reason: "the watch unsubscribed", at: now)
        }
    }

    /// Everything is known of the watch, or pairing is over: with both, what the watch hosts can be opened.
    mutating func openTransportIfReady(at now: Duration) {
        openReversedTransportIfReady(at: now)
        openStreamIfReady(at: now)
    }

    /// Reversed: subscribes to the watch's service.
    private mutating func openReversedTransportIfReady(at now: Duration) {
        guard configuration.transport == .reversed, let link, link.carrier == nil else { return }
        guard link.isExplored, link.security == .settled else { return }
        let data = link.explorer.watch.characteristic(.uuid128(PebbleAttribute.reversedData))
        let write = link.explorer.watch.characteristic(.uuid128(PebbleAttribute.reversedDataWrite))
        guard let data, let write, let configuration = data.clientConfiguration else {
            return giveUpOrWait(link.handle, .ppogatt, "the watch does not host PPoGATT", at: now)
        }
        self.link?.carrier = .write(write.value)
        self.link?.inboundData = data.value
        run(.subscribe(clientConfiguration: configuration, .notifications), for: .transportSubscription, at: now)
    }

    /// What was begun before the phone was told to pair, and came to nothing, is begun again on the encrypted link: a watch may
    /// have passed over it without refusing it.
    mutating func beginTransportAgain(at now: Duration) {
        guard configuration.pairing == .whenTold, configuration.transport == .reversed, let link, link.session == nil
        else { return }
        closeTransport(reason: "the phone has paired", at: now)
        self.link?.carrier = nil
        self.link?.inboundData = nil
    }

    private mutating func openTransport(
        _ rules: PPoGATTConfiguration.Carrier,
        _ carrier: WatchLink.Carrier,
        at now: Duration
    ) {
        closeTransport(reason: "the watch subscribed again", at: now)
        guard let mtu = link?.mtu else { return }
        link?.carrier = carrier
        link?.transport = PPoGATTLink(.phone(rules), attMTU: mtu)
        link?.transport?.start(at: now)
    }

    mutating func closeTransport(reason: String, at now: Duration) {
        closeSession(reason: reason, at: now)
        link?.transport = nil
        link?.hasUnsentPacket = false
    }

    mutating func closeSession(reason: String, at now: Duration) {
        guard link?.session != nil else { return }
        link?.session?.close(at: now)
        while let event = link?.session?.nextEvent() { emit(event) }
        link?.session = nil
        emit(.transportClosed(reason: reason))
    }

    private mutating func procedureEnded(_ ended: GATTProcedureResult, at now: Duration) {
        switch (link?.procedures.removeValue(forKey: ended.id), ended.result) {
        case (.explorer, let result):
            link?.explorer.finish(result)
        case (.pairingTrigger, .success):
            pair(at: now)
        case (.pairingTrigger, .failure(let error)):
            log(.info, .gatt, "Trigger Pairing: \(error)")
            pair(at: now)
        case (.transportSubscription, .success):
            if let carrier = link?.carrier { openTransport(.reversedV2, carrier, at: now) }
        case (.transportSubscription, .failure(let error)):
            let reason = "the watch refused the subscription to its transport: \(error)"
            giveUpOrWait(ended.connection, .ppogatt, reason, at: now)
        case (.psm, .success(.value(let value))):
            receivePSM(value, at: now)
        case (.psm, _):
            giveUpOrWait(ended.connection, .l2cap, "the watch does not say where its stream is", at: now)
        case (nil, _):
            break
        }
    }

    mutating func run(_ procedure: GATTProcedure, for purpose: WatchLink.Purpose, at now: Duration) {
        guard let handle = link?.handle else { return }
        do {
            let id = try host.gatt.start(procedure, on: handle, at: now)
            link?.procedures[id] = purpose
        } catch {
            switch purpose {
            case .explorer: link?.explorer.couldNotStart("\(error)")
            case .pairingTrigger: pair(at: now)
            case .transportSubscription: giveUp(handle, .ppogatt, "\(error)", at: now)
            case .psm: giveUp(handle, .l2cap, "\(error)", at: now)
            }
        }
    }
}

// MARK: - Pumping

extension CompanionPhone {
    /// Moves what can be moved between the host, the transport and the session.
    /// - Returns: whether anything did that may move more.
    mutating func pumpLink(at now: Duration) -> Bool {
        guard link != nil else { return false }
        var moved = pumpExplorer(at: now)
        moved = pumpTransport(at: now) || moved
        pumpSession(at: now)
        pumpPackets(at: now)
        return moved
    }

    private mutating func pumpExplorer(at now: Duration) -> Bool {
        var moved = false
        // That there is none may be an event.
        if let procedure = link?.explorer.nextProcedure() {
            moved = true
            run(procedure, for: .explorer, at: now)
        }
        while let event = link?.explorer.nextEvent() {
            moved = true
            switch event {
            case .mtuAgreed(let mtu): emit(.mtuAgreed(mtu))
            case .databaseDiscovered(let watch): emit(.databaseDiscovered(watch))
            case .deviceInformation(let information): emit(.deviceInformation(information))
            case .connectivity(let status): emit(.connectivity(status))
            case .batteryLevel(let level): emit(.batteryLevel(level))
            case .problem(let problem): log(.warning, .gatt, problem)
            case .finished:
                link?.isExplored = true
                if configuration.remembersWatch { knownWatch = link?.explorer.watch }
                pairIfWanted(at: now)
            }
        }
        return moved
    }

    private mutating func pumpTransport(at now: Duration) -> Bool {
        var moved = false
        while let event = link?.transport?.nextEvent() {
            moved = true
            switch event {
            case .opened(let opened):
                let session = PhoneSession(of: configuration.version, by: configuration.clock, from: now)
                link?.session = session
                link?.hadSession = true
                emit(.transportOpened(configuration.transport, opened))
            case .received(let bytes):
                link?.session?.receive(bytes, at: now)
            case .closed(let reason):
                closeSession(reason: "\(reason)", at: now)
            case .disconnectRequested(let reason):
                if let handle = link?.handle { giveUpOrWait(handle, .ppogatt, "\(reason)", at: now) }
            case .metaReadRequested, .subscriptionRequested, .failed, .spaceAvailable, .stalled:
                // These concern a watch only; and space is looked for at every turn.
                break
            }
        }
        return moved
    }

    private mutating func pumpSession(at now: Duration) {
        while true {
            let taken = sendOutboundBytes(at: now)
            guard taken > 0 else { break }
            link?.session?.removeOutbound(taken)
        }
        while let event = link?.session?.nextEvent() {
            emit(event)
            if case .negotiationFailed(let failure) = event, let handle = link?.handle {
                giveUp(handle, .session, "\(failure)", at: now)
            }
        }
    }

    private mutating func sendOutboundBytes(at now: Duration) -> Int {
        guard let bytes = link?.session?.outboundBytes, !bytes.isEmpty else { return 0 }
        if case .open(let channel)? = link?.stream { return host.channels.write(bytes, to: channel, at: now) }
        return link?.transport?.send(bytes) ?? 0
    }

    /// Gives the GATT layer the transport's packets, as many as it has room for.
    private mutating func pumpPackets(at now: Duration) {
        while let handle = link?.handle, let carrier = link?.carrier {
            if link?.hasUnsentPacket != true {
                guard nextTransportPacket(at: now) else { return }
            }
            guard let packet = link?.packet else { return }
            do {
                switch carrier {
                case .notification(let data): try host.gatt.notify(packet[...], of: data, on: handle, at: now)
                case .write(let data): try host.gatt.writeWithoutResponse(packet[...], to: data, on: handle, at: now)
                }
                link?.hasUnsentPacket = false
            } catch .queueFull {
                link?.hasUnsentPacket = true
                return
            } catch {
                log(.warning, .ppogatt, "\(error)")
                link?.hasUnsentPacket = false
                return
            }
        }
    }

    private mutating func nextTransportPacket(at now: Duration) -> Bool {
        guard var packet = link?.packet else { return false }
        link?.packet = []
        let isThere = link?.transport?.nextPacket(into: &packet, at: now) ?? false
        link?.packet = packet
        return isThere
    }
}
