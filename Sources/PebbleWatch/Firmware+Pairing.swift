import BluetoothHCI
import BluetoothHost

// The Pebble Pairing Service at run time: what phones read of it, and what they ask for by writing.

extension Firmware {
    /// The status as the phone on a link is to see it.
    func connectivity(on connection: ConnectionHandle) -> ConnectivityStatus {
        let security = host.connection(connection)?.security ?? .none
        return ConnectivityStatus(
            isBonded: security.isBonded,
            isEncrypted: security.isEncrypted,
            hasGateway: false
        )
    }

    /// Sends the status, as the real watch does when a link becomes encrypted.
    mutating func notifyConnectivity(on connection: ConnectionHandle) {
        let value = connectivity(on: connection).encoded
        do {
            try host.gatt.notify(
                value[...],
                of: handles.connectivityStatus,
                on: connection,
                evenIfNotSubscribed: true
            )
        } catch {
            log(.info, "pairing", "\(connection): connectivity was not notified: \(error)")
        }
    }

    mutating func answer(_ request: ReadRequest) {
        switch request.handle {
        case handles.connectivityStatus:
            host.gatt.respond(to: request, with: connectivity(on: request.connection).encoded[...])
        case handles.triggerPairing:
            // Old companions read it to have a Security Request sent; there is nothing to read.
            if connectivity(on: request.connection).isEncrypted {
                host.gatt.refuse(request, with: .unlikelyError)
            } else {
                host.gatt.respond(to: request, with: [])
            }
        default:
            host.gatt.refuse(request, with: .unlikelyError)
        }
    }

    mutating func answer(_ request: WriteRequest) {
        switch request.handle {
        case handles.triggerPairing:
            host.gatt.respond(to: request)
        default:
            host.gatt.refuse(request, with: .unlikelyError)
        }
    }
}
