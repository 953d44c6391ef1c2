import BluetoothHCI
import BluetoothHost

// Changes of the GATT database at run time, and word of them to phones: the one way for both.

extension Firmware {
    /// Shows a service to phones, or hides it, and sees to it that they hear of it. A watch that is not bondable has promised
    /// that its database never changes.
    mutating func publish(_ service: AttributeName, _ isPublished: Bool) {
        guard configuration.isBondable else {
            log(.warning, .gatt, "\(service): the database of a watch that is not bondable does not change")
            return
        }
        do {
            guard let range = try host.setPublished(isPublished, service: service) else { return }
            databaseChanges.changed(range)
            updateDatabaseHash()
        } catch {
            log(.error, .gatt, "\(error)")
        }
    }

    /// Computes the Database Hash of what is published now, and lets phones read it.
    mutating func updateDatabaseHash() {
        databaseHash = host.gatt.database.hash(host.cryptography)
        guard handles.databaseHash != .none else { return }
        do {
            try host.setValue(databaseHash, of: handles.databaseHash)
        } catch {
            log(.error, .gatt, "the database hash was not updated: \(error)")
        }
    }

    /// Sends the Service Changed indications that are due.
    mutating func indicateDatabaseChanges(at now: Duration) {
        while let indication = databaseChanges.nextIndication(at: now) {
            // A phone that has read the hash knows already.
            if links[indication.connection]?.isRestored == true,
                host.gatt.clientState(of: indication.connection)?.isChangeAware == true
            {
                databaseChanges.isAware(indication.connection)
                _ = databaseChanges.confirmed(indication.connection)
                rememberClient(on: indication.connection)
                continue
            }
            do {
                try host.indicate(
                    indication.value[...],
                    of: handles.serviceChanged,
                    on: indication.connection,
                    at: now
                )
                log(.info, .gatt, "\(indication.connection): told that handles \(indication.range) changed")
            } catch {
                databaseChanges.wasNotSent(indication)
                log(.info, .gatt, "\(indication.connection): not told yet that the database changed: \(error)")
            }
        }
    }

    /// A phone has confirmed an indication.
    mutating func indicationConfirmed(_ handle: AttributeHandle, on connection: ConnectionHandle) {
        guard handle == handles.serviceChanged, databaseChanges.confirmed(connection) else { return }
        rememberClient(on: connection)
    }
}
