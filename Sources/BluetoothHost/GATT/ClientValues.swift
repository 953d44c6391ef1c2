import BluetoothHCI
import ByteCoding
import DequeModule

/// What each client has for itself: its client characteristic configurations, its Client Supported Features, and whether it
/// knows the database as it is (Core 5.4, Vol 3, Part G, 2.5.2.1, 3.3.3.3 and 7.2).
struct ClientValues: Sendable {
    /// The client characteristic configurations, in the order of the database's.
    private var subscriptions: [Subscription]
    /// The subscriptions that the owner has not accepted, oldest first. Each is in force in advance.
    private var anticipated: [AnticipatedSubscription] = []
    var awareness = ChangeAwareness()

    /// No client.
    init() { subscriptions = [] }

    /// A client that has subscribed to nothing and knows the database.
    init(_ database: GATTDatabase) {
        subscriptions = Array(repeating: [], count: database.clientConfigurations.count)
    }

    // MARK: Reading

    /// What the client has subscribed to with one of the database's client characteristic configurations.
    func subscription(in slot: Int) -> Subscription { subscriptions.indices.contains(slot) ? subscriptions[slot] : [] }

    /// The value of an attribute as this client reads it; nil when only the owner knows it.
    func value(of attribute: Attribute, _ database: GATTDatabase) -> ArraySlice<UInt8>? {
        switch attribute.content {
        case .constant, .stored:
            return database.storedValue(of: attribute)?[...]
        case .owner:
            return nil
        case .clientConfiguration(let slot):
            var value: [UInt8] = []
            value.appendLittleEndian(subscription(in: Int(slot)).rawValue)
            return value[...]
        case .clientSupportedFeatures:
            return [awareness.features]
        }
    }

    /// The attribute with a handle, if its value may be sent to this client now.
    func sendable(
        _ handle: AttributeHandle,
        _ needed: Subscription,
        over bearer: ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) -> Attribute {
        guard bearer.isOpen else { throw .notConnected(bearer.connection) }
        guard let attribute = database.attribute(at: handle) else { throw .unknownAttribute(handle) }
        guard let slot = attribute.subscription.map(Int.init), subscriptions.indices.contains(slot),
            database.clientConfigurations.indices.contains(slot),
            subscriptions[slot].isSuperset(of: needed)
        else { throw .notSubscribed(handle) }
        if let error = database.clientConfigurations[slot].requirement.refusal(of: bearer.security) {
            throw .insufficientSecurity(handle, error)
        }
        guard awareness.isInSync || attribute.type == .serviceChanged else { throw .clientOutOfSync(handle) }
        return attribute
    }

    // MARK: Writing

    /// Writes the client's supported features.
    mutating func setFeatures(
        _ value: ArraySlice<UInt8>,
        at handle: AttributeHandle
    ) throws(ATTRefusal) {
        do throws(ATTError) {
            try awareness.write(value)
        } catch {
            throw ATTRefusal(error, at: handle)
        }
    }

    /// Writes a client characteristic configuration.
    mutating func setSubscription(
        _ slot: Int,
        to value: ArraySlice<UInt8>,
        _ configuration: ClientConfiguration,
        _ connection: ConnectionHandle,
        _ ids: inout GATTRequestIDs
    ) throws(ATTRefusal) -> SubscriptionChange {
        let wanted = try configuration.subscription(from: value)
        let change = SubscriptionChange(
            connection: connection,
            id: ids.next(),
            handle: configuration.value,
            previous: subscriptions[slot],
            current: wanted,
            cause: configuration.ownerAnswers ? .requested : .written
        )
        if change.cause == .requested {
            anticipated.append(AnticipatedSubscription(id: change.id, slot: slot, previous: subscriptions[slot]))
        }
        subscriptions[slot] = wanted
        return change
    }

    /// The owner accepted a subscription, if the question was about one.
    mutating func accepted(_ question: GATTRequestID) {
        guard !anticipated.isEmpty else { return }
        anticipated.removeAll { $0.id == question }
    }

    /// Brings back what was in force before a subscription that the owner refused, if the question was about one. A later
    /// subscription of the same configuration stays in force, and that comes back should it be refused too.
    mutating func takeBack(_ question: GATTRequestID) {
        guard let index = anticipated.firstIndex(where: { $0.id == question }) else { return }
        let refused = anticipated.remove(at: index)
        if let later = anticipated[index...].firstIndex(where: { $0.slot == refused.slot }) {
            anticipated[later].previous = refused.previous
        } else if subscriptions.indices.contains(refused.slot) {
            subscriptions[refused.slot] = refused.previous
        }
    }

    // MARK: What bonds keep

    /// What is to be kept about the client if it is bonded: no subscription that the owner has not accepted.
    func state(_ database: GATTDatabase) -> GATTClientState {
        var subscriptions = subscriptions
        for change in anticipated.reversed() where subscriptions.indices.contains(change.slot) {
            subscriptions[change.slot] = change.previous
        }
        var state = GATTClientState(supportedFeatures: awareness.features, isChangeAware: awareness.isAware)
        for (configuration, subscription) in zip(database.clientConfigurations, subscriptions)
        where !subscription.isEmpty {
            state.subscriptions[configuration.handle] = subscription
        }
        return state
    }

    /// Takes back what was kept of a bonded client.
    mutating func restore(
        _ state: GATTClientState,
        _ connection: ConnectionHandle,
        _ database: GATTDatabase,
        _ ids: inout GATTRequestIDs,
        _ events: inout Deque<GATTEvent>
    ) {
        awareness.restore(features: state.supportedFeatures, isAware: state.isChangeAware)
        for (slot, configuration) in database.clientConfigurations.enumerated() {
            guard let kept = state.subscriptions[configuration.handle], subscriptions.indices.contains(slot) else {
                continue
            }
            let previous = subscriptions[slot]
            subscriptions[slot] = kept.intersection(configuration.allowed)
            guard subscriptions[slot] != previous else { continue }
            let change = SubscriptionChange(
                connection: connection,
                id: ids.next(),
                handle: configuration.value,
                previous: previous,
                current: subscriptions[slot],
                cause: .restored
            )
            events.append(.subscriptionChanged(change))
        }
    }
}

/// A subscription that the owner has not accepted.
private struct AnticipatedSubscription: Sendable {
    /// The question about it.
    let id: GATTRequestID
    /// Which of the database's client characteristic configurations it is.
    let slot: Int
    /// What was in force before.
    var previous: Subscription
}

extension ClientConfiguration {
    /// Reads what a client wrote to the configuration; its reserved bits are ignored (Core 5.4, Vol 3, Part G, 3.3.3.3).
    func subscription(from value: ArraySlice<UInt8>) throws(ATTRefusal) -> Subscription {
        var reader = ByteReader(value)
        guard value.count == 2, let bits: UInt16 = try? reader.readLittleEndian("configuration") else {
            throw ATTRefusal(.invalidAttributeValueLength, at: handle)
        }
        let wanted = Subscription(rawValue: bits).intersection(.known)
        guard wanted.isSubset(of: allowed) else { throw ATTRefusal(.clientConfigurationImproper, at: handle) }
        return wanted
    }
}
