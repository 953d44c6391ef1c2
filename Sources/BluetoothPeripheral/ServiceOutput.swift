import BluetoothHCI
import BluetoothHost

/// What a service wants done while it is called: values sent, requests answered. It is carried out when the call returns.
public struct ServiceOutput<Value: RawRepresentable & Sendable>: Sendable where Value.RawValue == String {
    /// The time.
    public let now: Duration
    var actions: [ServiceAction] = []
    var lastToken: UInt64

    init(now: Duration, lastToken: UInt64) {
        self.now = now
        self.lastToken = lastToken
    }

    /// Sends a value without confirmation, cut off at the MTU less 3, to a peer, or with nil to all that have subscribed to
    /// notifications.
    public mutating func notify(_ value: Value, _ bytes: [UInt8], to peer: Peer? = nil) {
        actions.append(.send(value.rawValue, bytes, isIndication: false, to: ServiceAction.Audience(peer)))
    }

    /// Sends a value that is to be confirmed, cut off at the MTU less 3, to a peer, or with nil to all that have subscribed to
    /// indications.
    public mutating func indicate(_ value: Value, _ bytes: [UInt8], to peer: Peer? = nil) {
        actions.append(.send(value.rawValue, bytes, isIndication: true, to: ServiceAction.Audience(peer)))
    }

    /// Sends a value without confirmation to one peer, even if it has not subscribed: as some devices do whose clients rely on
    /// it, although the specification has no such thing (Core 5.4, Vol 3, Part G, 4.10).
    package mutating func notify(
        _ value: Value,
        _ bytes: [UInt8],
        to connection: ConnectionHandle,
        evenIfNotSubscribed: Bool
    ) {
        let audience = ServiceAction.Audience.peer(connection, evenIfNotSubscribed: evenIfNotSubscribed)
        actions.append(.send(value.rawValue, bytes, isIndication: false, to: audience))
    }

    /// Changes a value that the database keeps. Peers are not told: see `notify`.
    public mutating func set(_ value: Value, _ bytes: [UInt8]) { actions.append(.set(value.rawValue, bytes)) }

    /// Shows the service to peers, or hides it. Its handles stay reserved. The owner of the host tells peers of the change.
    package mutating func show(_ isShown: Bool) { actions.append(.show(isShown)) }

    /// A token for the request that the service is called for, to be returned as `.later`.
    public mutating func later() -> ReplyToken {
        lastToken += 1
        return ReplyToken(number: lastToken)
    }

    /// Answers a read with the whole value. Nothing happens if the read was refused meanwhile, or its connection is gone.
    public mutating func answer(_ token: ReplyToken, with value: [UInt8]) { actions.append(.answer(token, value)) }

    /// Accepts a write. Nothing happens if the write was refused meanwhile, or its connection is gone.
    public mutating func accept(_ token: ReplyToken) { actions.append(.accept(token)) }

    /// Refuses a read or a write. Nothing happens if it was refused meanwhile, or its connection is gone.
    public mutating func refuse(_ token: ReplyToken, with error: ATTError) { actions.append(.refuse(token, error)) }

    /// Ends the connection to a peer.
    public mutating func disconnect(_ peer: Peer) { actions.append(.disconnect(peer.connection)) }
}

/// What a service asked for, by the raw names of its values.
enum ServiceAction: Sendable {
    /// Who gets a value.
    enum Audience: Sendable {
        case subscribers
        case peer(ConnectionHandle, evenIfNotSubscribed: Bool)

        /// A peer, or all who have subscribed.
        init(_ peer: Peer?) {
            self = peer.map { .peer($0.connection, evenIfNotSubscribed: false) } ?? .subscribers
        }
    }

    case send(String, [UInt8], isIndication: Bool, to: Audience)
    case set(String, [UInt8])
    case show(Bool)
    case answer(ReplyToken, [UInt8])
    case accept(ReplyToken)
    case refuse(ReplyToken, ATTError)
    case disconnect(ConnectionHandle)
    case write([UInt8], to: Channel.ID)
    case close(Channel.ID)
}
