import BluetoothCentral
import BluetoothHCI
import BluetoothHost

/// A peripheral that a `RunningCentral` is connected to.
///
/// Characteristics are named by their UUID and that of their service: the first of both is meant. Its functions throw what those of
/// `RunningCentral` do.
public struct ConnectedPeripheral: Sendable {
    /// The connection, and the database that was found.
    public let remote: RemotePeripheral
    let central: RunningCentral

    /// The peripheral's address: its identity address if it is bonded.
    public var address: LEAddress { remote.address }

    /// Its primary services, in the order of their handles.
    public var services: [RemoteService] { remote.services }

    /// Reads a value of any length.
    public func read(_ uuid: BluetoothUUID, of service: BluetoothUUID) async throws -> [UInt8] {
        let characteristic = try remote.characteristic(uuid, of: service)
        let response = try await central.request { [id = remote.id] in $0.read(characteristic, of: id, at: $1) }
        guard case .value(let bytes) = response else { return [] }
        return bytes
    }

    /// Writes a value of any length, and waits for the peripheral to take it.
    public func write(_ bytes: [UInt8], to uuid: BluetoothUUID, of service: BluetoothUUID) async throws {
        let characteristic = try remote.characteristic(uuid, of: service)
        _ = try await central.request { [id = remote.id] in $0.write(bytes, to: characteristic, of: id, at: $1) }
    }

    /// Queues a Write Command, which gets no answer.
    /// - Throws: `CentralError.notStarted` if the value does not fit into the MTU, or too much waits to be sent.
    public func writeWithoutResponse(
        _ bytes: [UInt8],
        to uuid: BluetoothUUID,
        of service: BluetoothUUID
    ) async throws {
        let characteristic = try remote.characteristic(uuid, of: service)
        _ = try await central.request { [id = remote.id] in
            $0.writeWithoutResponse(bytes, to: characteristic, of: id, at: $1)
        }
    }

    /// Subscribes to a value: to notifications, or to indications if the characteristic has no others.
    /// - Returns: what the peripheral sends from now on; of values that are not taken, the latest 4096. It throws
    ///   `CentralError.disconnected` when the connection is gone. The task that ends its loop, or is cancelled, unsubscribes.
    public func subscribe(
        to uuid: BluetoothUUID,
        of service: BluetoothUUID
    ) async throws -> AsyncThrowingStream<[UInt8], any Error> {
        try await central.values(of: try remote.characteristic(uuid, of: service), of: remote.id)
    }

    /// Encrypts the link: with the bond's key if there is one, by pairing otherwise. `RunningCentral.events` has the prompts.
    /// - Throws: `CentralError.doesNotPair` unless the configuration has `security`.
    @discardableResult
    public func secure() async throws -> LinkSecurity {
        guard case .secured(let security) = try await central.request({ [id = remote.id] in $0.secure(id, at: $1) })
        else { return .none }
        return security
    }

    /// Ends the connection.
    public func disconnect() async throws {
        _ = try await central.request { [id = remote.id] in $0.disconnect(id, at: $1) }
    }
}
