import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import DequeModule
import PebbleProtocol

/// The watch's own PPoGATT service: the watch notifies packets, the phone writes them.
///
/// Packets do not come here: `Watch` gives them to the transport as they are.
struct ReversedPPoGATTService: GATTService {
    enum Value: String, CaseIterable {
        case data = "reversed data"
        case dataWrite = "reversed data write"
    }

    /// A phone's subscription to the packets.
    struct Change: Sendable {
        let connection: ConnectionHandle
        let subscription: Subscription
        let cause: SubscriptionChange.Cause
    }

    let declaration: Service
    private(set) var handles: [Value: AttributeHandle] = [:]
    private var changes: Deque<Change> = []

    init(_ version: Personality.ReversedTransport, _ configuration: WatchConfiguration) {
        switch version {
        case .v1:
            // Where Pebble 2 has it, far behind the rest. Nothing in it needs encryption; the watch ignores a plain link.
            declaration = Service(
                .uuid128(PebbleAttribute.reversedV1Service),
                at: AttributeHandle(rawValue: 0xE000)
            ) {
                Characteristic(
                    .uuid128(PebbleAttribute.reversedV1Data),
                    [.writeWithoutResponse, .notify],
                    of: Value.data
                )
                Characteristic(.uuid128(PebbleAttribute.reversedV1Meta), .read, value: [0xAA])
                Characteristic(
                    .uuid128(PebbleAttribute.reversedV1DataWrite),
                    .writeWithoutResponse,
                    of: Value.dataWrite
                )
            }
        case .v2:
            let permissions: AttributePermissions = configuration.linkSecurity == .required ? .encrypted : .open
            declaration = Service(.uuid128(PebbleAttribute.reversedService)) {
                Characteristic(
                    .uuid128(PebbleAttribute.reversedData),
                    .notify,
                    of: Value.data,
                    permissions: permissions
                )
                Characteristic(
                    .uuid128(PebbleAttribute.reversedDataWrite),
                    .writeWithoutResponse,
                    of: Value.dataWrite,
                    permissions: permissions
                )
            }
        }
    }

    mutating func bound(to handles: [Value: AttributeHandle]) { self.handles = handles }

    /// The next change of a phone's subscription.
    mutating func nextChange() -> Change? { changes.popFirst() }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .refused(.readNotPermitted) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.unlikelyError)
    }

    mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        by peer: Peer,
        _ output: inout Output
    ) {
        changes.append(Change(connection: peer.connection, subscription: subscription, cause: cause))
    }
}
