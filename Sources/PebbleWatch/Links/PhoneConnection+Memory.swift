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
        guard record.isRestored, var phone = core.phones[identity], core.phones.stored.contains(identity) else {
            return
        }
        phone.client = state
        if state.isChangeAware { phone.seenDatabaseHash = database.hash }
        guard phone != core.phones[identity] else { return }
        core.phones[identity] = phone
        core.store.append(.client(identity, phone.client, seenDatabaseHash: phone.seenDatabaseHash))
    }

    /// Keeps what is known of a bonded phone's services, if that changed.
    func rememberServices(_ core: inout WatchCore) {
        guard record.isRestored, core.phones.stored.contains(identity), let services = finder.memory,
            core.phones[identity]?.services != services
        else { return }
        core.phones[identity]?.services = services
        core.store.append(.phoneServices(identity, services))
        core.log(.debug, .gatt, "\(handle): the phone's services are remembered")
    }

    /// A service that was remembered has not led to a session: the next link looks for the phone's services afresh.
    mutating func distrustMemory(of service: PPoGATTService, _ core: inout WatchCore) {
        guard finder.distrustMemory(of: service.service), core.phones[identity]?.services != nil else { return }
        core.phones[identity]?.services = nil
        core.store.append(.phoneServices(identity, PhoneServiceCache()))
    }
}
