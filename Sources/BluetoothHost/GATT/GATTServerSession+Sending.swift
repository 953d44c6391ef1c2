import BluetoothHCI
import ByteCoding
import DequeModule

/// Sending values without being asked (Core 5.4, Vol 3, Part F, 3.4.7).
///
/// Whether a value may be sent is asked twice: when the owner sends it, so that the owner learns at once, and when the PDU
/// leaves, since the client may have unsubscribed, the link may have lost its encryption, and the service may have been
/// hidden meanwhile.
extension GATTServerSession {
    /// Queues a notification, cut off at the MTU.
    func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        evenIfNotSubscribed: Bool,
        over bearer: inout ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) {
        let needed: Subscription = evenIfNotSubscribed ? [] : .notifications
        _ = try client.sendable(handle, needed, over: bearer, database)
        let longest = bearer.mtu - 3
        try bearer.sendUnanswered(.notification(evenIfNotSubscribed: evenIfNotSubscribed)) { buffer in
            buffer.append(handle)
            buffer.append(contentsOf: value.prefix(longest))
        }
    }

    /// Queues one notification of several values, which must fit into the MTU.
    func notify(
        _ values: [HandleValue],
        over bearer: inout ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) {
        guard values.count >= 2, client.awareness.takesMultipleNotifications else {
            throw .multipleNotificationsNotSupported
        }
        var length = 1
        for value in values {
            _ = try client.sendable(value.handle, .notifications, over: bearer, database)
            length += 4 + value.value.count
            guard length <= bearer.mtu else { throw .invalidValueLength(value.handle, value.value.count) }
        }
        try bearer.sendUnanswered(.multipleNotification) { buffer in
            for value in values { buffer.append(tuple: value) }
        }
    }

    /// Queues an indication, cut off at the MTU.
    mutating func indicate(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        over bearer: inout ATTBearer,
        _ database: GATTDatabase,
        at now: Duration
    ) throws(GATTError) {
        let attribute = try client.sendable(handle, .indications, over: bearer, database)
        let indication = IndicationQueue.Indication(
            value: HandleValue(handle, value),
            isServiceChanged: attribute.type == .serviceChanged
        )
        guard indications.append(indication, over: &bearer, at: now) else { throw .queueFull }
    }

    /// Takes a confirmation.
    mutating func receiveConfirmation(
        _ pdu: ArraySlice<UInt8>,
        over bearer: inout ATTBearer,
        _ events: inout Deque<GATTEvent>,
        at now: Duration
    ) {
        guard pdu.count == 1 else {
            let error = ByteDecodingError("pdu", .trailingBytes(pdu.count - 1))
            let opcode = ATTOpcode.handleValueConfirmation.rawValue
            events.append(.pduIgnored(bearer.connection, .malformed(opcode: opcode, error)))
            return
        }
        guard let confirmed = indications.confirm(over: &bearer, at: now) else {
            events.append(.pduIgnored(bearer.connection, .unexpectedConfirmation))
            return
        }
        if confirmed.isServiceChanged { client.awareness.serviceChangedConfirmed() }
        events.append(.indicationConfirmed(bearer.connection, confirmed.value.handle))
    }

    // MARK: When a PDU leaves

    /// A response leaves. One with values that was made for an encrypted link becomes an error if the link is not encrypted any more.
    func responseLeaves(_ buffer: inout [UInt8], over bearer: ATTBearer, _ events: inout Deque<GATTEvent>) {
        guard isResponseForEncryptedLink, !bearer.security.isEncrypted,
            let opcode = buffer.first.flatMap(ATTOpcode.init(rawValue:)), opcode.answersWithValues
        else { return }
        let refusal = ATTRefusal(.insufficientEncryption)
        buffer.removeAll(keepingCapacity: true)
        buffer.append(ATTOpcode.errorResponse)
        buffer.append(requestOpcode)
        buffer.append(refusal.handle)
        buffer.append(refusal.error.rawValue)
        events.append(.requestRefused(bearer.connection, refusal.response(to: requestOpcode)))
    }

    /// Whether the notification in `buffer` may leave. What may not is reported; of several values the others are kept.
    func mayLeave(
        _ kind: ATTBearer.Unanswered,
        _ buffer: inout [UInt8],
        over bearer: ATTBearer,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) -> Bool {
        var reader = ByteReader(buffer.dropFirst())
        switch kind {
        case .command:
            return true
        case .notification(let evenIfNotSubscribed):
            guard let handle = try? AttributeHandle(reading: &reader) else { return false }
            do throws(GATTError) {
                _ = try client.sendable(handle, evenIfNotSubscribed ? [] : .notifications, over: bearer, database)
                return true
            } catch {
                let value = HandleValue(handle, Array(reader.readRemaining())[...])
                events.append(.valueNotSent(UnsentValue(bearer.connection, value, isIndication: false, error)))
                return false
            }
        case .multipleNotification:
            var values: [HandleValue] = []
            var isWhole = true
            while let value = try? HandleValue(readingTupleFrom: &reader) {
                do throws(GATTError) {
                    _ = try client.sendable(value.handle, .notifications, over: bearer, database)
                    values.append(value)
                } catch {
                    let copy = HandleValue(value.handle, Array(value.value)[...])
                    events.append(.valueNotSent(UnsentValue(bearer.connection, copy, isIndication: false, error)))
                    isWhole = false
                }
            }
            if !isWhole { buffer = [UInt8](notificationOf: values) }
            return !values.isEmpty
        }
    }

    /// Whether the indication in flight may leave. If not, it is reported, and the next one takes its place.
    mutating func indicationMayLeave(
        over bearer: inout ATTBearer,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration
    ) -> Bool {
        guard let value = indications.inFlight?.value else { return false }
        do throws(GATTError) {
            _ = try client.sendable(value.handle, .indications, over: bearer, database)
            indications.indicationLeft(at: now)
            return true
        } catch {
            events.append(.valueNotSent(UnsentValue(bearer.connection, value, isIndication: true, error)))
            indications.dropInFlight(over: &bearer, at: now)
            return false
        }
    }
}

extension ATTOpcode {
    /// Whether it is a response that tells values, or what they are.
    fileprivate var answersWithValues: Bool {
        switch self {
        case .readResponse, .readBlobResponse, .readByTypeResponse, .readMultipleResponse,
            .readMultipleVariableResponse, .findByTypeValueResponse:
            true
        case .errorResponse, .exchangeMTURequest, .exchangeMTUResponse, .findInformationRequest,
            .findInformationResponse, .findByTypeValueRequest, .readByTypeRequest, .readRequest, .readBlobRequest,
            .readMultipleRequest, .readByGroupTypeRequest, .readByGroupTypeResponse, .writeRequest, .writeResponse,
            .prepareWriteRequest,
            .prepareWriteResponse, .executeWriteRequest, .executeWriteResponse, .readMultipleVariableRequest,
            .writeCommand, .signedWriteCommand, .handleValueNotification, .multipleHandleValueNotification,
            .handleValueIndication, .handleValueConfirmation:
            false
        }
    }
}

extension [UInt8] {
    /// One notification of what is left of several values. One alone has a PDU of its own kind
    /// (Core 5.4, Vol 3, Part F, 3.4.7.4).
    fileprivate init(notificationOf values: [HandleValue]) {
        self = []
        if values.count == 1, let value = values.first {
            append(ATTOpcode.handleValueNotification)
            append(value.handle)
            append(contentsOf: value.value)
        } else {
            append(ATTOpcode.multipleHandleValueNotification)
            for value in values { append(tuple: value) }
        }
    }

    /// Appends a handle, the value's length, and the value.
    fileprivate mutating func append(tuple value: HandleValue) {
        append(value.handle)
        appendLittleEndian(UInt16(clamping: value.value.count))
        append(contentsOf: value.value)
    }
}
