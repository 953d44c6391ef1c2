import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// The connection to the watch, with everything that the phone keeps for it.
struct WatchLink: Sendable {
    /// Who waits for the end of a GATT procedure.
    enum Purpose: Sendable {
        case explorer
        case pairingTrigger
        case transportSubscription
        case psm
    }

    let handle: ConnectionHandle
    let peer: LEAddress
    private(set) var mtu = ATT.defaultMTU
    private var explorer: WatchExplorer
    /// Whether the explorer has been through with the watch.
    private(set) var isExplored = false
    var pairing = LinkPairing()
    /// Under way; there are two at most.
    private var procedures: [GATTProcedureID: Purpose] = [:]
    var ppogatt = PPoGATTTransport()
    var stream = Stream.notBegun
    var session: PhoneSession?
    /// Whether there was ever a session on this link.
    private(set) var hadSession = false

    init(_ connection: Connection, knowing watch: DiscoveredWatch?) {
        explorer = WatchExplorer(knowing: watch)
        handle = connection.handle
        peer = connection.peer
    }

    /// What is known of the watch.
    var watch: DiscoveredWatch { explorer.watch }

    /// Whether what the watch hosts can be opened: the watch is known, and pairing is over.
    var canOpenTransport: Bool { isExplored && pairing.progress == .settled }
}

// MARK: - Values and procedures

extension WatchLink {
    /// Takes what the GATT layer reports.
    mutating func receive(_ event: GATTEvent, _ core: inout PhoneCore, at now: Duration) {
        switch event {
        case .written(let write) where write.handle == core.transportData && write.connection == handle:
            ppogatt.machine?.receive(write.value, at: now)
        case .subscriptionChanged(let change) where change.handle == core.transportData && change.connection == handle:
            forwardSubscriptionChanged(change, &core, at: now)
        case .valueReceived(let value) where value.connection == handle:
            receive(value, &core, at: now)
        case .mtuChanged(handle, let mtu):
            self.mtu = mtu
            ppogatt.machine?.attMTU = mtu
        case .procedureEnded(let ended) where ended.connection == handle:
            procedureEnded(ended, &core, at: now)
        case .transactionTimedOut(handle):
            core.giveUp(handle, .att, "the watch did not answer", at: now)
        default:
            break
        }
    }

    private mutating func receive(_ value: ReceivedValue, _ core: inout PhoneCore, at now: Duration) {
        switch value.handle {
        case ppogatt.inboundData: ppogatt.machine?.receive(value.value, at: now)
        case explorer.connectivityStatus: explorer.receiveConnectivity(value.value)
        case explorer.serviceChanged: if !core.has(.ignoresServiceChanged) { explorer.restart() }
        default: core.log(.info, .gatt, "a value of \(value.handle) came that nobody asked for")
        }
    }

    /// Begins a GATT procedure.
    mutating func run(_ procedure: GATTProcedure, for purpose: Purpose, _ core: inout PhoneCore, at now: Duration) {
        do {
            let id = try core.host.gatt.start(procedure, on: handle, at: now)
            procedures[id] = purpose
        } catch {
            switch purpose {
            case .explorer: explorer.couldNotStart("\(error)")
            case .pairingTrigger: pair(&core, at: now)
            case .transportSubscription: core.giveUp(handle, .ppogatt, "\(error)", at: now)
            case .psm: core.giveUp(handle, .l2cap, "\(error)", at: now)
            }
        }
    }

    private mutating func procedureEnded(_ ended: GATTProcedureResult, _ core: inout PhoneCore, at now: Duration) {
        switch (procedures.removeValue(forKey: ended.id), ended.result) {
        case (.explorer, let result):
            explorer.finish(result)
        case (.pairingTrigger, .success):
            pair(&core, at: now)
        case (.pairingTrigger, .failure(let error)):
            core.log(.info, .gatt, "Trigger Pairing: \(error)")
            pair(&core, at: now)
        case (.transportSubscription, .success):
            if let carrier = ppogatt.carrier { openPPoGATT(.reversedV2, carrier, &core, at: now) }
        case (.transportSubscription, .failure(let error)):
            let reason = "the watch refused the subscription to its transport: \(error)"
            giveUpOrWait(.ppogatt, reason, &core, at: now)
        case (.psm, .success(.value(let value))):
            receivePSM(value, &core, at: now)
        case (.psm, _):
            giveUpOrWait(.l2cap, "the watch does not say where its stream is", &core, at: now)
        case (nil, _):
            break
        }
    }
}

// MARK: - The session

extension WatchLink {
    /// What carries the Pebble Protocol is open.
    mutating func openSession(_ core: inout PhoneCore, at now: Duration) {
        let configuration = core.configuration
        session = PhoneSession(
            of: configuration.version,
            by: configuration.clock,
            with: configuration.defects,
            from: now
        )
        hadSession = true
        core.hadSession = true
    }

    mutating func closeSession(reason: String, _ core: inout PhoneCore, at now: Duration) {
        guard session != nil else { return }
        session?.close(at: now)
        while let event = session?.nextEvent() { core.emit(event) }
        session = nil
        core.emit(.transportClosed(reason: reason))
    }
}

// MARK: - Pumping

extension WatchLink {
    /// Moves what can be moved between the host, the transport and the session.
    /// - Returns: whether anything did that may move more.
    mutating func pump(_ core: inout PhoneCore, at now: Duration) -> Bool {
        var moved = pumpExplorer(&core, at: now)
        moved = pumpPPoGATT(&core, at: now) || moved
        pumpSession(&core, at: now)
        ppogatt.sendPackets(on: handle, &core, at: now)
        return moved
    }

    private mutating func pumpExplorer(_ core: inout PhoneCore, at now: Duration) -> Bool {
        var moved = false
        // That there is none may be an event.
        if let procedure = explorer.nextProcedure() {
            moved = true
            run(procedure, for: .explorer, &core, at: now)
        }
        while let event = explorer.nextEvent() {
            moved = true
            switch event {
            case .mtuAgreed(let mtu): core.emit(.mtuAgreed(mtu))
            case .databaseDiscovered(let watch): core.emit(.databaseDiscovered(watch))
            case .deviceInformation(let information): core.emit(.deviceInformation(information))
            case .connectivity(let status): core.emit(.connectivity(status))
            case .batteryLevel(let level): core.emit(.batteryLevel(level))
            case .problem(let problem): core.log(.warning, .gatt, problem)
            case .finished:
                isExplored = true
                if core.configuration.remembersWatch { core.knownWatch = watch }
                pairIfWanted(&core, at: now)
            }
        }
        return moved
    }

    private mutating func pumpSession(_ core: inout PhoneCore, at now: Duration) {
        while true {
            let taken = sendOutboundBytes(&core, at: now)
            guard taken > 0 else { break }
            session?.removeOutbound(taken)
        }
        while let event = session?.nextEvent() {
            core.emit(event)
            if case .negotiationFailed(let failure) = event, !core.has(.waitsForSession) {
                core.giveUp(handle, .session, "\(failure)", at: now)
            }
        }
    }

    private mutating func sendOutboundBytes(_ core: inout PhoneCore, at now: Duration) -> Int {
        guard let bytes = session?.outboundBytes, !bytes.isEmpty else { return 0 }
        if case .open(let channel) = stream { return core.host.channels.write(bytes, to: channel, at: now) }
        return ppogatt.machine?.send(bytes) ?? 0
    }
}

// MARK: - Time

extension WatchLink {
    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? { [ppogatt.machine?.nextDeadline, session?.nextDeadline].compactMap { $0 }.min() }

    /// Lets the transport and the session do what is due.
    mutating func advance(to now: Duration) {
        ppogatt.machine?.advance(to: now)
        session?.advance(to: now)
    }
}
