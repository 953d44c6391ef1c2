import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What the GATT layer tells, and to whom in the firmware it is handed on; and the procedures that the firmware has run.

extension Firmware {
    mutating func handle(_ event: GATTEvent, at now: Duration) {
        if let connection = event.speaker { heard(on: connection, at: now) }
        switch event {
        case .mtuChanged(let connection, let mtu):
            mtuChanged(to: mtu, on: connection, at: now)
        case .written(let write) where [handles.reversedDataWrite, handles.reversedData].contains(write.handle):
            receive(write.value, over: .reversed, on: write.connection, at: now)
        case .written(let write) where write.handle == handles.clientSupportedFeatures:
            rememberClient(on: write.connection)
        case .valueReceived(let value):
            received(value, at: now)
        case .subscriptionChanged(let change):
            subscriptionChanged(change, at: now)
        case .indicationConfirmed(let connection, let handle):
            indicationConfirmed(handle, on: connection)
        case .valueNotSent(let unsent):
            notSent(unsent)
        case .readRequested(let request):
            if !answerIdentity(request, at: now) { answer(request, at: now) }
        case .writeRequested(let request):
            answer(request, at: now)
        case .procedureEnded(let result):
            procedureEnded(result, at: now)
        case .transactionTimedOut(let connection):
            log(.warning, .att, "\(connection): the phone did not answer; disconnecting")
            end(connection, because: .noResponse, at: now)
        case .pduIgnored(let connection, let pdu):
            log(.warning, .att, "\(connection): \(pdu)")
        case .requestRefused(let connection, let error):
            log(.debug, .att, "\(connection): \(error)")
        case .requestNotAnswered(let connection, let handle):
            log(.error, .gatt, "\(connection): no service of this watch answered a request about \(handle)")
        case .written, .roomToSend:
            break
        }
    }

    /// A phone unsubscribed, or its link changed, before a value left.
    private mutating func notSent(_ unsent: UnsentValue) {
        log(.debug, .gatt, "\(unsent.connection): \(unsent.reason)")
        if unsent.handle == handles.serviceChanged, unsent.isIndication {
            databaseChanges.wasNotSent(unsent.value, on: unsent.connection)
        }
    }

    private mutating func mtuChanged(to mtu: Int, on connection: ConnectionHandle, at now: Duration) {
        guard let carriers = links[connection]?.transports.keys else { return }
        links[connection]?.mtu = mtu
        emit(.link(connection, .mtu(mtu)))
        notifyPairingService(handles.pairingMTU, on: connection, at: now)
        for carrier in carriers { links[connection]?.transports[carrier]?.link.attMTU = mtu }
    }

    private mutating func subscriptionChanged(_ change: SubscriptionChange, at now: Duration) {
        switch change.handle {
        case handles.reversedData:
            reversedSubscriptionChanged(change, at: now)
        case handles.connectionParameters:
            notifyConnectionParameters(on: change.connection, at: now)
        case handles.serviceChanged where change.current.contains(.indications):
            databaseChanges.subscribed(change.connection, at: now)
        case handles.connectivityStatus where change.cause != .restored && change.current.isEmpty:
            connectivityUnsubscribed(on: change.connection, at: now)
        case handles.connectivityStatus where change.cause != .restored:
            connectivitySubscribed(on: change.connection)
        default:
            break
        }
        if change.cause == .requested {
            notifyPairingService(change.handle, on: change.connection, at: now)
            host.respond(to: change, at: now)
        }
        if change.cause != .restored { rememberClient(on: change.connection) }
    }

    private mutating func procedureEnded(_ ended: GATTProcedureResult, at now: Duration) {
        guard let purpose = links[ended.connection]?.procedures.removeValue(forKey: ended.id) else { return }
        switch (purpose, ended.result) {
        case (.finder, _):
            links[ended.connection]?.finder.finish(ended.result)
        case (.meta(let carrier), .success(.value(let value))):
            if let service = links[ended.connection]?.transports[carrier]?.service {
                links[ended.connection]?.finder.metaRead(value, of: service)
                rememberServices(on: ended.connection)
            }
            links[ended.connection]?.transports[carrier]?.link.receiveMeta(value, at: now)
        case (.meta(let carrier), _):
            links[ended.connection]?.transports[carrier]?.link.metaReadFailed(at: now)
        case (.subscription(let carrier), .success):
            links[ended.connection]?.transports[carrier]?.link.subscribed(at: now)
        case (.subscription(let carrier), .failure):
            links[ended.connection]?.transports[carrier]?.link.subscriptionRefused()
        case (.client(let kind), _):
            links[ended.connection]?.clients.finish(kind, ended.result, at: now)
            if case .failure(.refused(let refusal)) = ended.result, refusal.error.saysThatHandlesAreWrong {
                links[ended.connection]?.finder.refused(kind.service)
            }
        case (.waking, .failure(let error)):
            log(.debug, .session, "\(ended.connection): App Launch could not be read: \(error)")
        case (.waking, .success), (.farewell, _):
            break
        }
    }

    mutating func run(
        _ procedure: GATTProcedure,
        for purpose: PhoneLink.Purpose,
        on connection: ConnectionHandle,
        at now: Duration
    ) {
        do {
            let id = try host.start(procedure, on: connection, at: now)
            links[connection]?.procedures[id] = purpose
        } catch {
            log(.warning, .gatt, "\(connection): \(procedure) could not be started: \(error)")
            switch purpose {
            case .finder: links[connection]?.finder.finish(.failure(.disconnected))
            case .client(let kind): links[connection]?.clients.finish(kind, .failure(.disconnected), at: now)
            case .meta, .subscription, .farewell, .waking: break
            }
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
        case .transactionTimedOut, .roomToSend, .requestNotAnswered, .valueNotSent: nil
        }
    }
}
