import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral

/// The GATT database as phones know it: its hash, and the changes that they have to hear of.
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
}
