import BluetoothHCI
import ByteCoding
import DequeModule

/// The bearers of one connection: the one on the fixed channel, and the enhanced ones, each on a credit-based channel.
///
/// Each bearer has one request under way in each role, one indication, and its own MTU and queue of prepared writes. What a client
/// has for itself (its subscriptions, its features, what it knows of the database) is one for all bearers: it is lent to
/// the bearer that is at work.
///
/// Bearers have no order among each other, so that what must keep its order stays on one. Notifications and commands leave on the
/// fixed channel. Indications of one value leave on one bearer until they are confirmed. Of this side's procedures, those that
/// only read run side by side; one that may change something at the server runs alone, on the fixed channel.
///
/// Source: Core 5.4, Vol 3, Part F, 3.2.11 and 3.3.2; Part G, 5.3.
struct GATTConnection: ConnectionMachine {
    /// One bearer beside the fixed channel.
    private struct Enhanced: Sendable {
        let channel: Channel.ID
        var bearer: GATTBearer
        /// The procedure that runs on it. It begins once more on another bearer if this one goes.
        var procedure: GATTClientSession.Waiting?
    }

    /// The bearer on the fixed channel.
    private(set) var fixed: GATTBearer
    private var enhanced: [Enhanced] = []
    /// Where opening enhanced bearers stands.
    var opening = EnhancedBearerOpening()
    /// When time brings something to do: kept by each call that may change it, not worked out when it is asked for.
    private(set) var deadline: Duration?

    init(_ fixed: GATTBearer) { self.fixed = fixed }

    var handle: ConnectionHandle { fixed.bearer.connection }
    /// The bearer on the fixed channel, as far as it is not about a role.
    var bearer: ATTBearer { fixed.bearer }
    /// What the client has for itself.
    var clientValues: ClientValues { fixed.server.client }
    /// When the client last sent a request that it had not sent before; nil if it never has.
    var lastProgress: Duration? {
        var last = fixed.progress.last
        for each in enhanced {
            if let other = each.bearer.progress.last { last = max(last ?? other, other) }
        }
        return last
    }
    /// Whether the client has made a request whose response has not left.
    var hasRequestUnderWay: Bool {
        fixed.server.hasRequestUnderWay || enhanced.contains { $0.bearer.server.hasRequestUnderWay }
    }
    /// How many enhanced bearers there are.
    var enhancedCount: Int { enhanced.count }
    /// The channels of the enhanced bearers, oldest first.
    var channels: [Channel.ID] { enhanced.map { $0.channel } }

    private mutating func keepDeadline() {
        deadline = fixed.deadline
        deadline.lower(to: opening.deadline)
        for each in enhanced { deadline.lower(to: each.bearer.deadline) }
    }

    /// Lets a bearer work with what the client has for itself.
    private mutating func lend<Result>(to index: Int, _ work: (inout GATTBearer) -> Result) -> Result {
        swap(&fixed.server.client, &enhanced[index].bearer.server.client)
        defer { swap(&fixed.server.client, &enhanced[index].bearer.server.client) }
        return work(&enhanced[index].bearer)
    }
}

// MARK: - PDUs and time

extension GATTConnection {
    mutating func receive(
        _ pdu: ArraySlice<UInt8>,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        fixed.receive(pdu, &database, &events, ownMTU: ownMTU, at: now)
        distribute(&events, ownMTU: ownMTU, at: now)
    }

    /// Takes a PDU of an enhanced bearer.
    mutating func receive(
        _ pdu: ArraySlice<UInt8>,
        on channel: Channel.ID,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        guard let index = enhanced.firstIndex(where: { $0.channel == channel }) else { return }
        lend(to: index) { $0.receive(pdu, &database, &events, ownMTU: ownMTU, at: now) }
        distribute(&events, ownMTU: ownMTU, at: now)
    }

    /// Takes the next PDU of the fixed channel into `buffer`; what waited for it to leave goes on.
    mutating func nextPDU(
        into buffer: inout [UInt8],
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) -> Bool {
        defer { keepDeadline() }
        return fixed.nextPDU(into: &buffer, &database, &events, ownMTU: ownMTU, at: now)
    }

    /// Takes the next PDU of an enhanced bearer into `buffer`.
    mutating func nextPDU(
        on channel: Channel.ID,
        into buffer: inout [UInt8],
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) -> Bool {
        guard let index = enhanced.firstIndex(where: { $0.channel == channel }),
            enhanced[index].bearer.bearer.outbox.count > 0
        else { return false }
        defer { keepDeadline() }
        return lend(to: index) { $0.nextPDU(into: &buffer, &database, &events, ownMTU: ownMTU, at: now) }
    }

    /// - Returns: the questions that the owner did not answer in time, and the channels of the bearers that are given up.
    mutating func advance(
        to now: Duration,
        _ events: inout Deque<GATTEvent>
    ) -> (overdue: [GATTRequestID], givenUp: [Channel.ID]) {
        defer { keepDeadline() }
        var overdue = fixed.advance(to: now, &events)
        var givenUp: [Channel.ID] = []
        for index in enhanced.indices {
            overdue += lend(to: index) { $0.advance(to: now, &events) }
            if !enhanced[index].bearer.bearer.isOpen { givenUp.append(enhanced[index].channel) }
        }
        return (overdue, givenUp)
    }

    /// The connection has gone: its procedures end.
    mutating func closed(_ events: inout Deque<GATTEvent>) {
        opening = EnhancedBearerOpening()
        for index in enhanced.indices { lend(to: index) { $0.closed(&events) } }
        fixed.closed(&events)
    }
}

// MARK: - Enhanced bearers

extension GATTConnection {
    /// Whether an enhanced bearer has this channel.
    func hasBearer(on channel: Channel.ID) -> Bool { enhanced.contains { $0.channel == channel } }

    /// A channel is open, and a bearer with it.
    /// - Parameter session: tells its requests from those of any other bearer.
    mutating func bearerOpened(
        on channel: Channel.ID,
        mtu: Int,
        session: UInt32,
        answerLimit: Duration,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        let new = GATTBearer(
            bearer: ATTBearer(connection: handle, security: bearer.security, channelMTU: mtu),
            // It has no client of its own: this one's is lent to it.
            server: GATTServerSession(ClientValues(), number: session, answerLimit: answerLimit)
        )
        enhanced.append(Enhanced(channel: channel, bearer: new))
        fixed.server.client.awareness.bearerCount = enhanced.count + 1
        distribute(&events, ownMTU: ownMTU, at: now)
    }

    /// Both ends of a channel agreed on longer SDUs.
    mutating func bearerReconfigured(_ channel: Channel.ID, mtu: Int) {
        guard let index = enhanced.firstIndex(where: { $0.channel == channel }) else { return }
        enhanced[index].bearer.bearer.setChannelMTU(mtu)
    }

    /// A channel is closed, and its bearer is gone: what it was doing for this side goes on with another one.
    mutating func bearerClosed(
        on channel: Channel.ID,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) {
        guard let index = enhanced.firstIndex(where: { $0.channel == channel }) else { return }
        let indications = enhanced[index].bearer.server.indications.unconfirmed
        lend(to: index) { $0.server.giveUp() }
        let gone = enhanced.remove(at: index)
        fixed.server.client.awareness.bearerCount = enhanced.count + 1
        if gone.bearer.client.isRunning, let interrupted = gone.procedure { fixed.client.putBack(interrupted) }
        for indication in indications {
            guard fixed.server.indications.append(indication, over: &fixed.bearer, at: now) else {
                events.append(.valueNotSent(UnsentValue(handle, indication.value, isIndication: true, .queueFull)))
                continue
            }
        }
        fixed.keepDeadline()
        distribute(&events, ownMTU: ownMTU, at: now)
    }

    /// Gives procedures that wait to bearers that have none.
    private mutating func distribute(_ events: inout Deque<GATTEvent>, ownMTU: Int, at now: Duration) {
        defer { keepDeadline() }
        guard !enhanced.isEmpty || fixed.client.othersRun else { return }
        noteOthers()
        fixed.client.startNext(over: &fixed.bearer, &events, ownMTU: ownMTU, at: now)
        for index in enhanced.indices {
            while enhanced[index].bearer.bearer.isOpen, !enhanced[index].bearer.client.isRunning {
                guard let next = fixed.client.takeForAnotherBearer() else { break }
                enhanced[index].procedure = next
                let bearer = enhanced[index].bearer.bearer
                enhanced[index].bearer.run(next, &events, ownMTU: min(ownMTU, bearer.mtu), at: now)
            }
        }
        noteOthers()
        fixed.keepDeadline()
    }

    private mutating func noteOthers() {
        fixed.client.othersRun = enhanced.contains { $0.bearer.client.isRunning }
    }
}

// MARK: - The owner's calls

extension GATTConnection {
    mutating func notify(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        evenIfNotSubscribed: Bool,
        _ database: GATTDatabase
    ) throws(GATTError) {
        try fixed.notify(value, of: handle, evenIfNotSubscribed: evenIfNotSubscribed, database)
    }

    mutating func notify(_ values: [HandleValue], _ database: GATTDatabase) throws(GATTError) {
        try fixed.notify(values, database)
    }

    mutating func indicate(
        _ value: ArraySlice<UInt8>,
        of handle: AttributeHandle,
        _ database: GATTDatabase,
        at now: Duration
    ) throws(GATTError) {
        defer { keepDeadline() }
        guard let index = bearerToIndicate(handle) else {
            return try fixed.indicate(value, of: handle, database, at: now)
        }
        let result = lend(to: index) { bearer -> Result<Void, GATTError> in
            do throws(GATTError) {
                try bearer.indicate(value, of: handle, database, at: now)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// Which enhanced bearer an indication leaves on; nil for the fixed channel.
    private func bearerToIndicate(_ handle: AttributeHandle) -> Int? {
        guard !enhanced.isEmpty, !fixed.server.indications.contains(handle) else { return nil }
        if let same = enhanced.firstIndex(where: { $0.bearer.server.indications.contains(handle) }) { return same }
        guard fixed.server.indications.inFlight != nil else { return nil }
        return enhanced.firstIndex { $0.bearer.bearer.isOpen && $0.bearer.server.indications.inFlight == nil }
    }

    mutating func resume(
        _ id: GATTRequestID,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration,
        _ resume: GATTServerSession.Resumption
    ) -> Bool {
        defer { keepDeadline() }
        guard let index = enhanced.firstIndex(where: { $0.bearer.server.requestIDs.session == id.session }) else {
            return fixed.resume(id, &database, &events, at: now, resume)
        }
        return lend(to: index) { $0.resume(id, &database, &events, at: now, resume) }
    }

    /// - Parameter isOwn: whether the host starts it for itself.
    mutating func start(
        _ procedure: GATTProcedure,
        _ id: GATTProcedureID,
        isOwn: Bool = false,
        _ events: inout Deque<GATTEvent>,
        ownMTU: Int,
        at now: Duration
    ) throws(GATTError) {
        // It may end while it begins.
        if isOwn { fixed.client.expectOwn(id) }
        do throws(GATTError) {
            try fixed.start(procedure, id, &events, ownMTU: ownMTU, at: now)
        } catch {
            // The owner's next procedure gets the name that this one has not used.
            if isOwn { fixed.client.expectOwn(nil) }
            throw error
        }
        distribute(&events, ownMTU: ownMTU, at: now)
    }

    /// Takes the end of a procedure that the host started for itself.
    mutating func takeOwnResult() -> Result<GATTResponse, GATTProcedureError>? {
        if let result = fixed.client.takeOwnResult() { return result }
        return nil
    }

    mutating func writeWithoutResponse(_ value: ArraySlice<UInt8>, to handle: AttributeHandle) throws(GATTError) {
        try fixed.writeWithoutResponse(value, to: handle)
    }

    /// The link's encryption, or what is known about the peer, has changed.
    mutating func securityChanged(_ security: LinkSecurity) {
        fixed.bearer.security = security
        for index in enhanced.indices { enhanced[index].bearer.bearer.security = security }
    }

    /// When opening enhanced bearers goes on.
    mutating func openingChanged() { keepDeadline() }

    /// The attributes have changed: the client is out of sync with them until it learns of it.
    mutating func databaseChanged() { fixed.server.client.awareness.databaseChanged() }

    /// Gives a bonded client back what it had.
    mutating func restore(
        _ state: GATTClientState,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) {
        fixed.restore(state, database, &events)
    }
}
