import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// Opening and closing what carries the session's bytes, and PPoGATT's part of them.

extension WatchLink {
    mutating func forwardSubscriptionChanged(
        _ change: SubscriptionChange,
        _ core: inout PhoneCore,
        at now: Duration
    ) {
        if change.current.contains(.notifications) {
            openPPoGATT(.forward, .notification(change.handle), &core, at: now)
        } else {
            closeTransport(reason: "the watch unsubscribed", &core, at: now)
        }
    }

    /// Everything is known of the watch, or pairing is over: with both, what the watch hosts can be opened.
    mutating func openTransportIfReady(_ core: inout PhoneCore, at now: Duration) {
        guard canOpenTransport else { return }
        switch core.configuration.transport {
        case .forward: break
        case .reversed: openReversedTransport(&core, at: now)
        case .stream: openStream(&core, at: now)
        }
    }

    /// Reversed: subscribes to the watch's service.
    private mutating func openReversedTransport(_ core: inout PhoneCore, at now: Duration) {
        guard ppogatt.carrier == nil, !(core.hadSession && core.has(.subscribesOnce)) else { return }
        let data = watch.characteristic(.uuid128(PebbleAttribute.reversedData))
        let write = watch.characteristic(.uuid128(PebbleAttribute.reversedDataWrite))
        guard let data, let write, let configuration = data.clientConfiguration else {
            return giveUpOrWait(.ppogatt, "the watch does not host PPoGATT", &core, at: now)
        }
        ppogatt.reverse(.write(write.value), notifiedFrom: data.value)
        let subscription = GATTProcedure.subscribe(clientConfiguration: configuration, .notifications)
        run(subscription, for: .transportSubscription, &core, at: now)
    }

    /// What was begun before the phone was told to pair, and came to nothing, is begun again on the encrypted link: a watch may
    /// have passed over it without refusing it.
    mutating func beginTransportAgain(_ core: inout PhoneCore, at now: Duration) {
        guard core.configuration.pairing == .whenTold, core.configuration.transport == .reversed, session == nil
        else { return }
        closeTransport(reason: "the phone has paired", &core, at: now)
        ppogatt.forgetCharacteristics()
    }

    mutating func openPPoGATT(
        _ rules: PPoGATTConfiguration.Carrier,
        _ carrier: PPoGATTTransport.Carrier,
        _ core: inout PhoneCore,
        at now: Duration
    ) {
        closeTransport(reason: "the watch subscribed again", &core, at: now)
        ppogatt.open(rules, carrier, mtu: mtu, at: now)
    }

    mutating func closeTransport(reason: String, _ core: inout PhoneCore, at now: Duration) {
        closeSession(reason: reason, &core, at: now)
        ppogatt.close()
    }

    /// What the watch refuses a link that is not encrypted may be open to it once the phone is told to pair: then the link
    /// stays.
    mutating func giveUpOrWait(_ layer: Layer, _ why: String, _ core: inout PhoneCore, at now: Duration) {
        let isEncrypted = core.host.connection(handle)?.security.isEncrypted == true
        guard core.configuration.pairing == .whenTold, core.configuration.transport != .forward, !isEncrypted,
            !hadSession
        else { return core.giveUp(handle, layer, why, at: now) }
        closeTransport(reason: why, &core, at: now)
        ppogatt.forgetCharacteristics()
        stream = .notBegun
        core.log(.warning, layer, "\(why); there is no session before the phone has paired")
    }

    /// Takes what the PPoGATT machine reports.
    /// - Returns: whether it reported anything.
    mutating func pumpPPoGATT(_ core: inout PhoneCore, at now: Duration) -> Bool {
        var moved = false
        while let event = ppogatt.machine?.nextEvent() {
            moved = true
            switch event {
            case .opened(let opened):
                openSession(&core, at: now)
                core.emit(.transportOpened(core.configuration.transport, opened))
            case .received(let bytes):
                session?.receive(bytes, at: now)
            case .closed(let reason):
                closeSession(reason: "\(reason)", &core, at: now)
            case .disconnectRequested(let reason):
                giveUpOrWait(.ppogatt, "\(reason)", &core, at: now)
            case .metaReadRequested, .subscriptionRequested, .failed, .spaceAvailable, .stalled:
                // These concern a watch only; and space is looked for at every turn.
                break
            }
        }
        return moved
    }
}
