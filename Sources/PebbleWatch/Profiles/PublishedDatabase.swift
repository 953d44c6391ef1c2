import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral

/// The GATT database as phones know it: what is published, its hash, and the changes that they have to hear of.
struct PublishedDatabase: Sendable {
    /// The Database Hash of what is published now; 16 bytes.
    private(set) var hash: [UInt8] = []
    var changes: DatabaseChanges

    init(_ configuration: WatchConfiguration) {
        changes = DatabaseChanges(delay: configuration.serviceChangedDelay)
    }

    /// Computes the Database Hash of what is published now, and lets phones read it.
    mutating func updateHash(_ core: inout WatchCore, _ profiles: inout ServiceRouter<WatchProfiles>, at now: Duration)
    {
        let hash = core.host.gatt.database.hash(core.host.cryptography)
        self.hash = hash
        profiles.update(&core.host, at: now) { $0.attribute.setHash(hash) }
    }

    /// Changes services, and sends what is new to phones.
    mutating func update(
        _ profiles: inout ServiceRouter<WatchProfiles>,
        _ core: inout WatchCore,
        at now: Duration,
        _ change: (inout WatchProfiles) -> Void
    ) {
        profiles.update(&core.host, at: now, change)
        var hasChanged = false
        while let range = profiles.nextDatabaseChange() {
            changes.changed(range)
            hasChanged = true
        }
        if hasChanged { updateHash(&core, &profiles, at: now) }
    }

    /// Publishes a stream, which phones can open from now on, or withdraws it.
    mutating func publish(
        _ stream: WatchStream,
        _ isPublished: Bool,
        _ profiles: inout ServiceRouter<WatchProfiles>,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        guard let index = profiles.services.streams.firstIndex(where: { $0.stream == stream }) else { return }
        let published = profiles.services.streams[index].spsm
        var spsm: SPSM?
        if isPublished {
            guard published == nil else { return }
            let isOpen = core.configuration.linkSecurity == .insecureTestLink
            let listener = ChannelListener(requirement: isOpen ? .open : .encrypted, parameters: stream.parameters)
            do {
                spsm = try core.host.channels.listen(listener)
            } catch {
                return core.log(.error, .l2cap, "\(stream) cannot be published: \(error)")
            }
        } else {
            guard let published else { return }
            core.host.channels.stopListening(published, at: now)
        }
        update(&profiles, &core, at: now) { $0.streams[index].publish(spsm) }
        core.emit(.streamPublished(stream, spsm))
    }

    /// Sends the Service Changed indications that are due.
    mutating func indicateChanges(to links: inout PhoneLinks, _ core: inout WatchCore, at now: Duration) {
        while let indication = changes.nextIndication(at: now) {
            let connection = indication.connection
            // A phone that has read the hash knows already.
            if links[connection]?.record.isRestored == true,
                core.host.gatt.clientState(of: connection)?.isChangeAware == true
            {
                changes.isAware(connection)
                _ = changes.confirmed(connection)
                links[connection]?.rememberClient(&core, self)
                continue
            }
            do {
                let handle = core.handles.serviceChanged
                try core.host.gatt.indicate(indication.value[...], of: handle, on: connection, at: now)
                core.log(.info, .gatt, "\(connection): told that handles \(indication.range) changed")
            } catch {
                changes.wasNotSent(indication)
                core.log(.info, .gatt, "\(connection): not told yet that the database changed: \(error)")
            }
        }
    }
}
