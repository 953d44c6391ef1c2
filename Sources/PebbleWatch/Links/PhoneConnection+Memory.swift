import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What is remembered of a phone: given back when its bond encrypts the link, kept when it changes.

extension PhoneConnection {
    /// A bonded phone's link is encrypted: gives it back what it had, and finds out whether the database it knows is the
    /// present one.
    mutating func restore(_ core: inout WatchCore, _ database: inout PublishedDatabase, at now: Duration) {
        guard !record.isRestored, let phone = core.phones[identity] else { return }
        record.isRestored = true
        let isOutdated = phone.seenDatabaseHash.map { $0 != database.hash } ?? false
        var state = phone.client
        state.isChangeAware = !isOutdated
        // What the phone has set on this link already is newer than what is remembered.
        if let current = core.host.gatt.clientState(of: handle) {
            state.subscriptions.merge(current.subscriptions) { _, new in new }
            state.supportedFeatures |= current.supportedFeatures
        }
        do {
            try core.host.gatt.restore(state, on: handle)
        } catch {
            core.log(.warning, .gatt, "\(handle): subscriptions were not restored: \(error)")
        }
        if isOutdated {
            database.changes.isOutdated(handle, at: now)
        } else {
            rememberClient(&core, database)
        }
    }

    /// Keeps what a bonded phone has subscribed to, if that changed; the database it knows counts as the present one
    /// unless it has not heard of a change.
    func rememberClient(_ core: inout WatchCore, _ database: borrowing PublishedDatabase) {
        guard let state = core.host.gatt.clientState(of: handle) else { return }
        rememberClient(state, &core, database)
    }

    func rememberClient(_ state: GATTClientState, _ core: inout WatchCore, _ database: borrowing PublishedDatabase) {
        // Before a phone has proved by its key who it is, nothing that it does is kept under that name.
        guard record.isRestored, let change = core.phones.remember(state, database.hash, of: identity) else { return }
        core.store.append(change)
    }

    /// Keeps what is known of a bonded phone's services, if that changed.
    func rememberServices(_ core: inout WatchCore) {
        guard record.isRestored, core.phones.stored.contains(identity), let services = finder.memory,
            let change = core.phones.remember(services, of: identity)
        else { return }
        core.store.append(change)
        core.log(.debug, .gatt, "\(handle): the phone's services are remembered")
    }
}
