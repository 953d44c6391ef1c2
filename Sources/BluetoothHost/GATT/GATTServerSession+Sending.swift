import BluetoothHCI
import ByteCoding
import DequeModule

/// Indications of one connection: one in flight, the others behind it (Core 5.4, Vol 3, Part F, 3.4.7.2).
struct IndicationQueue: Sendable {
    private struct Indication: Sendable {
        let handle: AttributeHandle
        let value: ArraySlice<UInt8>
        let isServiceChanged: Bool
    }

    private var waiting = Deque<Indication>()
    private var inFlight: Indication?
    /// When the confirmation is due.
    private(set) var deadline: Duration?

    /// Queues an indication, which leaves at once if none is in flight.
    /// - Returns: false when the queue is full.
    mutating func append(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        isServiceChanged: Bool,
        over bearer: inout ATTBearer,
        at now: Duration
    ) -> Bool {
        guard waiting.count < GATTLimits.waitingIndications else { return false }
        waiting.append(Indication(handle: handle, value: value, isServiceChanged: isServiceChanged))
        sendNext(over: &bearer, at: now)
        return true
    }

    /// The indication has left: its 30 seconds begin.
    mutating func indicationLeft(at now: Duration) {
        if inFlight != nil { deadline = now + ATT.transactionTimeout }
    }

    /// A confirmation came.
    /// - Returns: the handle that it is about, and whether that is Service Changed; nil when none was due.
    mutating func confirm(
        over bearer: inout ATTBearer,
        at now: Duration
    ) -> (handle: AttributeHandle, isServiceChanged: Bool)? {
        guard let confirmed = inFlight else { return nil }
        inFlight = nil
        deadline = nil
        sendNext(over: &bearer, at: now)
        return (confirmed.handle, confirmed.isServiceChanged)
    }

    mutating func removeAll() { self = IndicationQueue() }

    private mutating func sendNext(over bearer: inout ATTBearer, at now: Duration) {
        guard inFlight == nil, let next = waiting.popFirst() else { return }
        inFlight = next
        deadline = now + ATT.transactionTimeout
        let longest = bearer.mtu - 3
        bearer.send(.handleValueIndication) { buffer in
            buffer.append(next.handle)
            buffer.append(contentsOf: next.value.prefix(longest))
        }
    }
}

/// Sending values without being asked (Core 5.4, Vol 3, Part F, 3.4.7).
extension GATTServerSession {
    /// Queues a notification, cut off at the MTU.
    mutating func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        evenIfNotSubscribed: Bool,
        over bearer: inout ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) {
        let needed: Subscription = evenIfNotSubscribed ? [] : .notifications
        _ = try sendable(handle, needed, over: bearer, database)
        let longest = bearer.mtu - 3
        try bearer.sendUnanswered(.handleValueNotification) { buffer in
            buffer.append(handle)
            buffer.append(contentsOf: value.prefix(longest))
        }
    }

    /// Queues one notification of several values, which must fit into the MTU.
    mutating func notify(
        _ values: [HandleValue],
        over bearer: inout ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) {
        guard values.count >= 2, awareness.takesMultipleNotifications else { throw .multipleNotificationsNotSupported }
        var length = 1
        for value in values {
            _ = try sendable(value.handle, .notifications, over: bearer, database)
            length += 4 + value.value.count
            guard length <= bearer.mtu else { throw .invalidValueLength(value.handle, value.value.count) }
        }
        try bearer.sendUnanswered(.multipleHandleValueNotification) { buffer in
            for value in values {
                buffer.append(value.handle)
                buffer.appendLittleEndian(UInt16(clamping: value.value.count))
                buffer.append(contentsOf: value.value)
            }
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
        let attribute = try sendable(handle, .indications, over: bearer, database)
        let isQueued = indications.append(
            value,
            of: handle,
            isServiceChanged: attribute.type == .serviceChanged,
            over: &bearer,
            at: now
        )
        guard isQueued else { throw .queueFull }
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
        if confirmed.isServiceChanged { awareness.serviceChangedConfirmed() }
        events.append(.indicationConfirmed(bearer.connection, confirmed.handle))
    }

    /// The attribute with a handle, if its value may be sent to this client now.
    private func sendable(
        _ handle: AttributeHandle,
        _ needed: Subscription,
        over bearer: ATTBearer,
        _ database: GATTDatabase
    ) throws(GATTError) -> Attribute {
        guard bearer.isOpen else { throw .notConnected(bearer.connection) }
        guard let attribute = database.attribute(at: handle) else { throw .unknownAttribute(handle) }
        guard let slot = attribute.subscription, subscriptions.indices.contains(slot),
            database.clientConfigurations.indices.contains(slot),
            subscriptions[slot].isSuperset(of: needed)
        else { throw .notSubscribed(handle) }
        if let error = database.clientConfigurations[slot].requirement.refusal(of: bearer.security) {
            throw .insufficientSecurity(handle, error)
        }
        guard awareness.isInSync || attribute.type == .serviceChanged else { throw .clientOutOfSync(handle) }
        return attribute
    }
}
