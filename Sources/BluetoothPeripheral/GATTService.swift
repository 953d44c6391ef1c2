import BluetoothHCI
import BluetoothHost

/// A GATT service as a value: it declares what clients find, and answers for the values that only it knows.
///
///     struct Thermometer: GATTService {
///         enum Value: String, CaseIterable { case temperature }
///         var hundredths: UInt8 = 210
///
///         let declaration = Service(.uuid16(0x181A)) {
///             Characteristic(.uuid16(0x2A6E), [.read, .notify], of: Value.temperature)
///         }
///
///         func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
///             switch value {
///             case .temperature: .value([hundredths, 0])
///             }
///         }
///
///         func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
///             .refused(.writeNotPermitted)
///         }
///     }
///
/// A value that never changes, or that the database may keep, needs no answer and no name: it is declared with its bytes.
/// Reading and writing have no default: an answer that is forgotten does not compile.
public protocol GATTService: ServiceSet {
    /// The values that the service answers for, by names of its own.
    associatedtype Value: RawRepresentable, CaseIterable, Hashable, Sendable where Value.RawValue == String

    /// What clients find. It is asked for once, when the peripheral is made.
    var declaration: Service { get }

    /// The values that this service declares: all of them, unless it leaves some out.
    var values: [Value] { get }

    /// The values are at these handles. Called once, before any peer connects.
    mutating func bound(to handles: [Value: AttributeHandle])

    /// Answers a read of a value. The answer is the whole value; the layer takes the part that was asked for.
    mutating func read(_ value: Value, by peer: Peer, _ output: inout ServiceOutput<Value>) -> ReadReply

    /// Takes a new value. Long and queued writes arrive as one. Of a Write Command the reply is not sent.
    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout ServiceOutput<Value>
    ) -> WriteReply

    /// A client subscribed to a value, or unsubscribed: `subscription` is empty then. `cause` says whether it wrote so now, or
    /// what a bonded client had subscribed to before is restored.
    mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        by peer: Peer,
        _ output: inout ServiceOutput<Value>
    )

    /// A peer has connected.
    mutating func connected(_ peer: Peer, _ output: inout ServiceOutput<Value>)

    /// A peer has disconnected.
    mutating func disconnected(_ peer: Peer, _ output: inout ServiceOutput<Value>)

    /// When `advance` has something to do; nil for never.
    var nextDeadline: Duration? { get }

    /// Lets time pass, up to `output.now`.
    mutating func advance(_ output: inout ServiceOutput<Value>)
}

extension GATTService {
    /// What the service wants done.
    public typealias Output = ServiceOutput<Value>

    /// All of them.
    public var values: [Value] { Array(Value.allCases) }

    /// Does nothing.
    public mutating func bound(to handles: [Value: AttributeHandle]) {}

    /// Does nothing: a service that has nothing to begin need not know.
    public mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        by peer: Peer,
        _ output: inout ServiceOutput<Value>
    ) {}

    /// Does nothing.
    public mutating func connected(_ peer: Peer, _ output: inout ServiceOutput<Value>) {}

    /// Does nothing.
    public mutating func disconnected(_ peer: Peer, _ output: inout ServiceOutput<Value>) {}

    /// Never.
    public var nextDeadline: Duration? { nil }

    /// Does nothing.
    public mutating func advance(_ output: inout ServiceOutput<Value>) {}
}

extension Characteristic {
    /// A characteristic whose value a service answers for.
    /// - Parameters:
    ///   - uuid: the characteristic's UUID.
    ///   - properties: what clients are told that they can do with the value.
    ///   - value: the service's name for it.
    ///   - permissions: what clients can do with the value, and what each use requires of the link.
    ///   - maximumLength: the most bytes that may be written, up to 512.
    ///   - answersSubscriptions: whether a client that subscribes is answered after the service was called, so that what the
    ///     service sends then goes out in front of the answer.
    ///   - descriptors: those that do not follow from the properties, in their order.
    public init<Value: RawRepresentable>(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        of value: Value,
        permissions: AttributePermissions = .open,
        maximumLength: Int = ATT.maximumValueLength,
        answersSubscriptions: Bool = false,
        @DeclarationBuilder<Descriptor> descriptors: () -> [Descriptor] = { [] }
    ) where Value.RawValue == String {
        self.init(
            uuid,
            properties,
            name: AttributeName(value.rawValue),
            permissions: permissions,
            value: .askOwner(maximumLength: maximumLength),
            ownerAnswersSubscriptions: answersSubscriptions,
            descriptors: descriptors
        )
    }
}

extension Characteristic {
    /// A characteristic whose value the database keeps: reads are answered with it, and writes change it, if they are permitted,
    /// without the service. The service changes it by `ServiceOutput.set`.
    /// - Parameters:
    ///   - uuid: the characteristic's UUID.
    ///   - properties: what clients are told that they can do with the value.
    ///   - value: the service's name for it.
    ///   - permissions: what clients can do with the value, and what each use requires of the link.
    ///   - kept: what it is at first.
    public init<Value: RawRepresentable>(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        of value: Value,
        permissions: AttributePermissions = .open,
        keeping kept: AttributeValue
    ) where Value.RawValue == String {
        self.init(uuid, properties, name: AttributeName(value.rawValue), permissions: permissions, value: kept)
    }
}

/// Who is at the other end of a connection.
public struct Peer: Hashable, Sendable {
    /// The connection.
    public let connection: ConnectionHandle
    /// The peer's address: its identity address if it is bonded.
    public let address: LEAddress
    /// How the link is secured.
    public let security: LinkSecurity
    /// This side's address, as the peer knows it: the one that it connected to.
    public let ownAddress: LEAddress

    /// The peer of a connection.
    package init(_ connection: Connection) {
        self.connection = connection.handle
        address = connection.peer
        security = connection.security
        ownAddress = connection.ownAddress
    }
}

/// The answer to a read.
public enum ReadReply: Sendable {
    /// The whole value, of at most 512 bytes.
    case value([UInt8])
    /// The client gets this error.
    case refused(ATTError)
    /// `ServiceOutput.answer` or `refuse` follows. Without it the layer refuses, after `PeripheralConfiguration.answerTime`.
    case later(ReplyToken)
}

/// The answer to a write.
public enum WriteReply: Sendable {
    /// The value is taken.
    case done
    /// The client gets this error.
    case refused(ATTError)
    /// `ServiceOutput.accept` or `refuse` follows. Without it the layer refuses, after `PeripheralConfiguration.answerTime`.
    case later(ReplyToken)
}

/// Stands for a request that is answered later. `ServiceOutput.later()` makes one for each request.
public struct ReplyToken: Hashable, Sendable {
    let number: UInt64
}
