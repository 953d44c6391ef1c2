import BluetoothHCI
import ByteCoding

/// What the GATT layer has to tell its owner.
public enum GATTEvent: Sendable {
    /// The MTU of a connection's bearer changed.
    case mtuChanged(ConnectionHandle, mtu: Int)
    /// A procedure on the fixed channel timed out after 30 s: the bearer is dead, and only a new connection helps
    /// (Core 5.4, Vol 3, Part F, 3.3.3).
    case transactionTimedOut(ConnectionHandle)
    /// The connection's queue has room again for notifications and commands, after one was turned away.
    case roomToSend(ConnectionHandle)
    /// The peer sent something that got no answer, as the specification says.
    case pduIgnored(ConnectionHandle, IgnoredPDU)
    /// A connection has an enhanced bearer more, with this MTU; `count` is how many it has. Either side may have opened it.
    case enhancedBearerOpened(ConnectionHandle, mtu: Int, count: Int)
    /// A connection has an enhanced bearer less, or could not get one more; `count` is how many it has. The connection goes on with
    /// the others, and with the fixed channel.
    case enhancedBearerClosed(ConnectionHandle, ChannelClosure, wasOpen: Bool, count: Int)

    // MARK: As a server

    /// A client reads a value that only the owner knows: answer with `respond(to:with:)` or `refuse(_:with:)`.
    case readRequested(ReadRequest)
    /// A client writes a value that only the owner keeps: answer with `respond(to:)` or `refuse(_:with:)`.
    case writeRequested(WriteRequest)
    /// The owner did not answer a request about an attribute in time; the layer refused it with Unlikely Error
    /// (`GATTLayer.OwnerAnswers`). An answer that comes later does nothing.
    case requestNotAnswered(ConnectionHandle, AttributeHandle)
    /// A client wrote a value that the database keeps, or sent the owner a write command. There is no answer.
    case written(AttributeWrite)
    /// A client subscribed, unsubscribed, or had its subscription restored.
    case subscriptionChanged(SubscriptionChange)
    /// A client confirmed the indication of a value.
    case indicationConfirmed(ConnectionHandle, AttributeHandle)
    /// A value that waited to be sent may not be sent any more. What waits when the connection is closed, or its bearer given
    /// up (`transactionTimedOut`), is lost without an event of its own.
    case valueNotSent(UnsentValue)
    /// A client's request was refused. The end of a discovery (Attribute Not Found) is not reported.
    case requestRefused(ConnectionHandle, ATTErrorResponse)

    // MARK: As a client

    /// A procedure that was started on this side has ended.
    case procedureEnded(GATTProcedureResult)
    /// The server notified or indicated a value; indications have been confirmed.
    case valueReceived(ReceivedValue)
}

/// Why a PDU was not answered.
public enum IgnoredPDU: Equatable, Sendable {
    /// It had no opcode.
    case empty
    /// It was longer than the MTU in force.
    case tooLong(opcode: UInt8, length: Int)
    /// It could not be read.
    case malformed(opcode: UInt8, ByteDecodingError)
    /// A command that this server does not know, or a signed one, which it does not take.
    case unsupportedCommand(opcode: UInt8)
    /// A command that would have been refused, had it been a request.
    case refusedCommand(ATTErrorResponse)
    /// A request that came before the responses to several earlier ones.
    case requestOutOfTurn(opcode: UInt8)
    /// A response to nothing that was asked.
    case unexpectedResponse(opcode: UInt8)
    /// A confirmation of nothing that was indicated.
    case unexpectedConfirmation
    /// An indication that came before the one in front of it was confirmed.
    case indicationOutOfTurn(AttributeHandle)
}

extension IgnoredPDU: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "PDU without an opcode"
        case .tooLong(let opcode, let length): "PDU 0x\([opcode].hexadecimal) of \(length) bytes exceeds the MTU"
        case .malformed(let opcode, let error): "PDU 0x\([opcode].hexadecimal) is malformed: \(error)"
        case .unsupportedCommand(let opcode): "command 0x\([opcode].hexadecimal) is not supported"
        case .refusedCommand(let error): "command refused: \(error)"
        case .requestOutOfTurn(let opcode): "request 0x\([opcode].hexadecimal) did not wait for earlier responses"
        case .unexpectedResponse(let opcode): "response 0x\([opcode].hexadecimal) to no request"
        case .unexpectedConfirmation: "confirmation of no indication"
        case .indicationOutOfTurn(let handle): "indication of \(handle) did not wait for the last confirmation"
        }
    }
}

/// A value that a client wrote and that needs no answer.
public struct AttributeWrite: Hashable, Sendable {
    /// The connection of the client that wrote.
    public let connection: ConnectionHandle
    /// The attribute that was written: a characteristic value or a descriptor.
    public let handle: AttributeHandle
    /// What was written, in the storage of the PDU that brought it where there was only one.
    public let value: ArraySlice<UInt8>

    /// A write by the client of `connection`.
    package init(connection: ConnectionHandle, handle: AttributeHandle, value: ArraySlice<UInt8>) {
        self.connection = connection
        self.handle = handle
        self.value = value
    }
}

/// A notification or an indication that did not leave.
public struct UnsentValue: Hashable, Sendable {
    /// The connection of the client that does not get the value.
    public let connection: ConnectionHandle
    /// The characteristic value's handle.
    public let handle: AttributeHandle
    /// What was to be sent.
    public let value: ArraySlice<UInt8>
    /// Whether it was to be indicated, rather than notified.
    public let isIndication: Bool
    /// What `notify` or `indicate` would say to it now.
    public let reason: GATTError

    init(_ connection: ConnectionHandle, _ value: HandleValue, isIndication: Bool, _ reason: GATTError) {
        self.connection = connection
        handle = value.handle
        self.value = value.value
        self.isIndication = isIndication
        self.reason = reason
    }
}

/// A value that a server sent by itself.
public struct ReceivedValue: Hashable, Sendable {
    /// The connection to the server that sent the value.
    public let connection: ConnectionHandle
    /// The characteristic value's handle in the server's database.
    public let handle: AttributeHandle
    /// The value, in the storage of the PDU that brought it.
    public let value: ArraySlice<UInt8>
    /// Whether it was indicated, and so confirmed, rather than notified.
    public let isIndication: Bool

    /// A value from the server of `connection`.
    package init(
        connection: ConnectionHandle,
        handle: AttributeHandle,
        value: ArraySlice<UInt8>,
        isIndication: Bool
    ) {
        self.connection = connection
        self.handle = handle
        self.value = value
        self.isIndication = isIndication
    }
}

/// A client's request that waits for the owner's answer. Other PDUs pass it meanwhile. What the owner does not answer in
/// time is refused by the layer.
public protocol GATTRequest: Sendable {
    /// The client's connection.
    var connection: ConnectionHandle { get }
    /// Tells the request from every other.
    var id: GATTRequestID { get }
}

/// A request that is either accepted or refused.
public protocol GATTWriteRequest: GATTRequest {}

/// Tells one request from every other, also from those of an earlier connection with the same handle.
public struct GATTRequestID: Hashable, Sendable {
    let session: UInt32
    let number: UInt32
}

/// Numbers the requests of one session.
struct GATTRequestIDs: Sendable {
    let session: UInt32
    private var last: UInt32 = 0

    /// - Parameter session: tells this session's requests from those of any other.
    init(session: UInt32) { self.session = session }

    mutating func next() -> GATTRequestID {
        last &+= 1
        return GATTRequestID(session: session, number: last)
    }
}

/// A client reads a value that only the owner knows.
public struct ReadRequest: GATTRequest, Hashable {
    public let connection: ConnectionHandle
    public let id: GATTRequestID
    /// The attribute to be read: a characteristic value or a descriptor, declared with `AttributeValue.askOwner`.
    public let handle: AttributeHandle
    /// Where in the value the client goes on reading; the owner answers with the whole value all the same.
    public let offset: Int
}

/// A client writes a value that only the owner keeps, and waits for the result: with one Write Request, or with prepared
/// writes that it has executed. Of several values that are executed together, each is a request of its own, which comes when
/// the one in front of it was accepted; a refusal is the end of them.
public struct WriteRequest: GATTWriteRequest, Hashable {
    public let connection: ConnectionHandle
    public let id: GATTRequestID
    /// The attribute to be written: a characteristic value or a descriptor, declared with `AttributeValue.askOwner`.
    public let handle: AttributeHandle
    /// The whole new value, in the storage of the PDU that brought it where it was one.
    public let value: ArraySlice<UInt8>
}

/// What a client asks to be sent of a characteristic has been set.
public struct SubscriptionChange: GATTWriteRequest, Hashable {
    /// Why a subscription changed.
    public enum Cause: Hashable, Sendable {
        /// The client wrote its configuration; the answer has been given.
        case written
        /// The client wrote its configuration, in whichever way, and the owner answers: see
        /// `Characteristic.ownerAnswersSubscriptions`. The new subscription is in force already, so that a
        /// notification can go out in front of the answer; a refusal, or no answer, brings back the previous one. A client
        /// that sent a Write Command hears of neither.
        case requested
        /// The state of a bonded client was restored.
        case restored
    }

    public let connection: ConnectionHandle
    public let id: GATTRequestID
    /// The characteristic value.
    public let handle: AttributeHandle
    /// What the client was subscribed to before; empty if to nothing.
    package let previous: Subscription
    /// What the client is subscribed to now; empty if to nothing.
    public let current: Subscription
    /// Why the subscription changed. Only `requested` waits for an answer.
    public let cause: Cause
}
