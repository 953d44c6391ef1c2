import BluetoothHCI
import BluetoothHost
import ByteCoding
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
            isReversedPPoGATT: configuration.personality.reversedTransport == .v1
                && links[connection]?.transports[.reversed] != nil,
            lastPairingResult: links[connection]?.lastPairingResult ?? 0
        )
    }

    /// Sends the status.
    /// - Parameter evenIfNotSubscribed: as the real watch does when a link becomes encrypted, since phones wait for it
    ///   whether or not they have come to subscribing. The same when the bond is stored: an iPhone waits for both.
    mutating func notifyConnectivity(on connection: ConnectionHandle, evenIfNotSubscribed: Bool, at now: Duration) {
        let isSubscribed = !host.gatt.subscription(to: handles.connectivityStatus, on: connection).isEmpty
        guard isSubscribed || evenIfNotSubscribed else { return }
        do {
            try host.notify(
                connectivity(on: connection).encoded[...],
                of: handles.connectivityStatus,
                on: connection,
                evenIfNotSubscribed: evenIfNotSubscribed,
                at: now
            )
        } catch {
            log(.info, .gatt, "\(connection): connectivity was not notified: \(error)")
        }
    }

    mutating func answer(_ request: ReadRequest, at now: Duration) {
        switch request.handle {
        case handles.connectivityStatus:
            host.respond(to: request, with: connectivity(on: request.connection).encoded[...], at: now)
        case handles.pairingMTU:
            let value = pairingServiceValue(of: request.handle, on: request.connection)
            host.respond(to: request, with: value[...], at: now)
        case handles.triggerPairing:
            // Old companions read it to have a Security Request sent; there is nothing to read.
            if connectivity(on: request.connection).isEncrypted {
                host.refuse(request, with: .unlikelyError, at: now)
            } else {
                requestSecurity(on: request.connection, at: now)
                host.respond(to: request, with: [], at: now)
            }
        case handles.connectionParameters:
            let value = connectionParameters(on: request.connection)
            host.respond(to: request, with: value[...], at: now)
        default:
            host.refuse(request, with: .unlikelyError, at: now)
        }
    }

    mutating func answer(_ request: WriteRequest, at now: Duration) {
        if request.handle == handles.connectionParameters { return answerConnectionParameters(request, at: now) }
        do throws(ATTError) {
            switch request.handle {
            case handles.triggerPairing: triggerPairing(request, at: now)
            case handles.pairingMTU: try exchangeMTU(request, at: now)
            default: throw .unlikelyError
            }
            host.respond(to: request, at: now)
        } catch {
            host.refuse(request, with: error, at: now)
        }
    }

    private mutating func triggerPairing(_ request: WriteRequest, at now: Duration) {
        let trigger = PairingTrigger(rawValue: request.value.first ?? 0)
        if trigger.wantsSecurityRequest(isEncrypted: connectivity(on: request.connection).isEncrypted) {
            requestSecurity(on: request.connection, at: now)
        }
    }

    /// The phone writes any value to GATT MTU: the watch is to ask for its largest. That can be done once in a connection,
    /// and is done by itself sooner or later.
    private mutating func exchangeMTU(_ request: WriteRequest, at now: Duration) throws(ATTError) {
        guard request.value.count == 2 else { throw .invalidAttributeValueLength }
        do {
            _ = try host.start(.exchangeMTU, on: request.connection, at: now)
        } catch {
            log(.debug, .gatt, "\(request.connection): the MTU is not exchanged once more: \(error)")
        }
    }

    /// What the pairing service's own characteristics say to the phone on a link.
    private func pairingServiceValue(of handle: AttributeHandle, on connection: ConnectionHandle) -> [UInt8] {
        switch handle {
        case handles.connectivityStatus:
            connectivity(on: connection).encoded
        case handles.pairingMTU:
            Self.littleEndian(UInt16(clamping: links[connection]?.mtu ?? ATT.defaultMTU))
        default:
            []
        }
    }

    private static func littleEndian(_ value: UInt16) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(value)
        return bytes
    }

    /// Tells a phone that has subscribed one of the service's values that belong here; any other handle has none.
    mutating func notifyPairingService(_ handle: AttributeHandle, on connection: ConnectionHandle, at now: Duration) {
        guard handle != .none, !host.gatt.subscription(to: handle, on: connection).isEmpty else { return }
        let value = pairingServiceValue(of: handle, on: connection)
        guard !value.isEmpty else { return }
        do {
            try host.notify(value[...], of: handle, on: connection, at: now)
        } catch {
            log(.info, .gatt, "\(connection): \(handle) was not notified: \(error)")
        }
    }

    /// Asks the phone to encrypt or to pair; a refusal to ask is logged, and the phone is never told.
    private mutating func requestSecurity(on connection: ConnectionHandle, at now: Duration) {
        do throws(SecurityRefusal) {
            try host.sendSecurityRequest(connection, at: now)
        } catch {
            if error == .notPairable { return pairingIsClosed(on: connection, at: now) }
            log(.info, .smp, "\(connection): no Security Request was sent: \(error)")
        }
    }
}
