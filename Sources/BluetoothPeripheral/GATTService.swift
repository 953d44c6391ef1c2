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

    /// Answers a read of a value. The answer is the whole value; the layer takes the part that was asked for.
    mutating func read(_ value: Value, by peer: Peer, _ output: inout ServiceOutput<Value>) -> ReadReply

    /// Takes a new value. Long and queued writes arrive as one. Of a Write Command the reply is not sent.
    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout ServiceOutput<Value>
    ) -> WriteReply

    /// A client subscribed to a value, or unsubscribed: `subscription` is empty then.
    mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
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

    /// Does nothing: a service that has nothing to begin need not know.
    public mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
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
    ///   - value: the service's name for it.
    ///   - maximumLength: the most bytes that may be written, up to 512.
    public init<Value: RawRepresentable>(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        of value: Value,
        permissions: AttributePermissions = .open,
        maximumLength: Int = ATT.maximumValueLength,
        @DeclarationBuilder<Descriptor> descriptors: () -> [Descriptor] = { [] }
    ) where Value.RawValue == String {
        self.init(
            uuid,
            properties,
            name: AttributeName(value.rawValue),
            permissions: permissions,
            value: .askOwner(maximumLength: maximumLength),
            descriptors: descriptors
        )
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
