import BluetoothHCI

/// The Generic Attribute Profile on all connections: values, clients' requests, and requests to servers. What happens is told as
/// `LEHostEvent.gatt`.
extension LEHost {
    // MARK: Values

    /// Replaces a value that the database keeps. Clients are told by `notify` and `indicate`.
    public mutating func setValue(_ value: some Collection<UInt8>, of handle: AttributeHandle) throws(GATTError) {
        try gatt.setValue(value, of: handle)
    }

    /// Shows a service to clients or hides it. Every client is out of sync with the database until it learns of the
    /// change, for instance by an indication of Service Changed.
    /// - Returns: the range that has changed; nil when nothing did.
    public mutating func setPublished(
        _ isPublished: Bool,
        service name: AttributeName
    ) throws(GATTError) -> AttributeHandleRange? {
        try gatt.setPublished(isPublished, service: name)
    }

    /// Queues a notification of a characteristic value, cut off at the MTU less 3.
    ///
    /// The client must have subscribed, unless `evenIfNotSubscribed`, and the link must be as secure as subscribing
    /// requires. The characteristic must have a client characteristic configuration in any case: without one, the call
    /// throws `GATTError.notSubscribed`. `GATTError.queueFull` is followed by `GATTEvent.roomToSend`.
    public mutating func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        on connection: ConnectionHandle,
        evenIfNotSubscribed: Bool = false,
        at now: Duration
    ) throws(GATTError) {
        self.now = max(self.now, now)
        try gatt.notify(value, of: handle, on: connection, evenIfNotSubscribed: evenIfNotSubscribed, at: self.now)
    }

    /// Queues one notification of two values or more, all of which must fit into the MTU, for a client that said
    /// that it takes such.
    public mutating func notify(
        _ values: [HandleValue],
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        self.now = max(self.now, now)
        try gatt.notify(values, on: connection, at: self.now)
    }

    /// Queues an indication of a characteristic value, cut off at the MTU less 3. The client's confirmation is
    /// reported as `GATTEvent.indicationConfirmed`. `GATTError.queueFull` is not followed by `GATTEvent.roomToSend`.
    public mutating func indicate(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        self.now = max(self.now, now)
        try gatt.indicate(value, of: handle, on: connection, at: self.now)
    }

    /// What a client has subscribed to of a characteristic value.
    public func subscription(to handle: AttributeHandle, on connection: ConnectionHandle) -> Subscription {
        gatt.subscription(to: handle, on: connection)
    }

    /// The ATT_MTU in force on a connection, in octets; nil when there is no such connection.
    public func mtu(of connection: ConnectionHandle) -> Int? { gatt.mtu(of: connection) }

    /// Gives a bonded client back what `clientStateToKeep` said of it. Each subscription is reported as
    /// `GATTEvent.subscriptionChanged`; those to what the database no longer offers are dropped.
    public mutating func restore(_ state: GATTClientState, on connection: ConnectionHandle) throws(GATTError) {
        try gatt.restore(state, on: connection)
    }

    // MARK: Answers to clients' requests

    /// Answers a read with the whole value, of which the client gets what it asked for.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func respond(to request: ReadRequest, with value: ArraySlice<UInt8>, at now: Duration) -> Bool {
        self.now = max(self.now, now)
        return gatt.respond(to: request, with: value, at: self.now)
    }

    /// Accepts a write, or a change of a subscription.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func respond(to request: some GATTWriteRequest, at now: Duration) -> Bool {
        self.now = max(self.now, now)
        return gatt.respond(to: request, at: self.now)
    }

    /// Refuses a request.
    /// - Returns: false when the request has been answered, or its connection is gone.
    @discardableResult
    public mutating func refuse(_ request: some GATTRequest, with error: ATTError, at now: Duration) -> Bool {
        self.now = max(self.now, now)
        return gatt.refuse(request, with: error, at: self.now)
    }

    // MARK: Requests to servers

    /// Starts a procedure with the server at the other end, behind those that were started before.
    /// `GATTError.queueFull` is not followed by `GATTEvent.roomToSend`.
    /// - Returns: what the `GATTEvent.procedureEnded` will name.
    @discardableResult
    public mutating func start(
        _ procedure: GATTProcedure,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) -> GATTProcedureID {
        self.now = max(self.now, now)
        return try gatt.start(procedure, on: connection, at: self.now)
    }

    /// Queues a write command. `GATTError.queueFull` is followed by `GATTEvent.roomToSend`.
    public mutating func writeWithoutResponse(
        _ value: ArraySlice<UInt8>,
        to handle: AttributeHandle,
        on connection: ConnectionHandle,
        at now: Duration
    ) throws(GATTError) {
        self.now = max(self.now, now)
        try gatt.writeWithoutResponse(value, to: handle, on: connection, at: self.now)
    }
}
