import BluetoothHost

/// What the phone says of its own database: its hash, and whether it tells of changes.
struct PhoneDatabaseState: Sendable {
    /// The Database Hash, 16 bytes; nil if it has not been read, or the phone has none.
    private(set) var hash: [UInt8]?
    /// The phone's GATT service, once it is known.
    private(set) var genericAttribute: PhoneService?
    /// The value handle of the phone's Service Changed characteristic, once found.
    private var serviceChanged: AttributeHandle?
    /// Whether the phone has taken the subscription on this link.
    private(set) var isSubscribedToChanges = false
    /// Whether the phone was subscribed to on an earlier link already, so that it tells of what changed since.
    private(set) var hasPromisedChanges = false

    /// Where Service Changed is subscribed to; nil if it cannot be. Android has no configuration there and counts every client
    /// as subscribed.
    var configuration: AttributeHandle? { genericAttribute?[.serviceChanged]?.configuration }

    /// The GATT service as it is to be remembered. A phone that did not take the subscription has promised nothing; it is asked
    /// again.
    var remembered: PhoneService? { configuration != nil && !isSubscribedToChanges ? nil : genericAttribute }

    /// Whether a value that the phone sent is word of a change. While the characteristic is not found yet every indication
    /// is taken for one: Android counts everybody as subscribed, and its apps add services whenever they like.
    func isServiceChanged(_ value: ReceivedValue) -> Bool {
        serviceChanged.map { $0 == value.handle } ?? value.isIndication
    }

    /// The phone's Database Hash came, or it has none.
    mutating func received(hash value: ArraySlice<UInt8>?) {
        hash = value.flatMap { $0.count == PhoneServiceCache.hashLength ? Array($0) : nil }
    }

    /// The phone's GATT service was found.
    mutating func found(_ service: PhoneService) {
        genericAttribute = service
        if let changed = service[.serviceChanged] { serviceChanged = changed.value }
    }

    /// The phone has taken the subscription.
    mutating func subscribed() { isSubscribedToChanges = true }

    /// The GATT service is as it is remembered.
    /// - Parameter isProved: whether the Database Hash says so. A handle that is not proved would make the watch deaf to the
    ///   indication that says so.
    mutating func recall(_ memory: PhoneServiceCache, isProved: Bool) {
        genericAttribute = memory.genericAttribute
        hasPromisedChanges = memory.isPromised
        if isProved { serviceChanged = genericAttribute?[.serviceChanged]?.value }
    }

    /// What is known of the GATT service may be wrong. The hash was read on this link.
    mutating func forget() {
        genericAttribute = nil
        serviceChanged = nil
        hasPromisedChanges = false
        isSubscribedToChanges = false
    }
}
