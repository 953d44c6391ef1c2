import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// The Pebble Pairing Service at run time: what phones read of it, and what they ask for by writing.

extension Firmware {
    /// The status as the phone on a link is to see it.
    func connectivity(on connection: ConnectionHandle) -> ConnectivityStatus {
        let security = host.connection(connection)?.security ?? .none
        return ConnectivityStatus(
            isBonded: security.isBonded,
            isEncrypted: security.isEncrypted,
            hasGateway: !storedBonds.isEmpty,
            lastPairingResult: links[connection]?.lastPairingResult ?? 0
        )
    }

    /// Sends the status.
    /// - Parameter evenIfNotSubscribed: as the real watch does when a link becomes encrypted, since phones wait for it
    ///   whether or not they have come to subscribing.
    mutating func notifyConnectivity(on connection: ConnectionHandle, evenIfNotSubscribed: Bool) {
        let isSubscribed = !host.gatt.subscription(to: handles.connectivityStatus, on: connection).isEmpty
        guard isSubscribed || evenIfNotSubscribed else { return }
        do {
            try host.gatt.notify(
                connectivity(on: connection).encoded[...],
                of: handles.connectivityStatus,
                on: connection,
                evenIfNotSubscribed: evenIfNotSubscribed
            )
        } catch {
            log(.info, "pairing", "\(connection): connectivity was not notified: \(error)")
        }
    }

    mutating func answer(_ request: ReadRequest, at now: Duration) {
        switch request.handle {
        case handles.connectivityStatus:
            host.gatt.respond(to: request, with: connectivity(on: request.connection).encoded[...])
        case handles.triggerPairing:
            // Old companions read it to have a Security Request sent; there is nothing to read.
            if connectivity(on: request.connection).isEncrypted {
                host.gatt.refuse(request, with: .unlikelyError)
            } else {
                requestSecurity(on: request.connection, at: now)
                host.gatt.respond(to: request, with: [])
            }
        case handles.connectionParameters:
            let value = connectionParameters(on: request.connection)
            host.gatt.respond(to: request, with: value[...])
        default:
            host.gatt.refuse(request, with: .unlikelyError)
        }
    }

    mutating func answer(_ request: WriteRequest, at now: Duration) {
        if request.handle == handles.connectionParameters { return answerConnectionParameters(request, at: now) }
        guard request.handle == handles.triggerPairing else {
            host.gatt.refuse(request, with: .unlikelyError)
            return
        }
        let trigger = PairingTrigger(rawValue: request.value.first ?? 0)
        if trigger.wantsSecurityRequest(isEncrypted: connectivity(on: request.connection).isEncrypted) {
            requestSecurity(on: request.connection, at: now)
        }
        host.gatt.respond(to: request)
    }

    /// Asks the phone to encrypt or to pair; a refusal to ask is the log's affair, never the phone's.
    private mutating func requestSecurity(on connection: ConnectionHandle, at now: Duration) {
        do {
            try host.security?.sendSecurityRequest(connection, at: now)
        } catch {
            log(.info, "smp", "\(connection): no Security Request was sent: \(error)")
        }
    }
}
