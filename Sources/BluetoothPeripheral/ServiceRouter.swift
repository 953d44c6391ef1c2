import BluetoothHCI
import BluetoothHost
import ByteCoding
import DequeModule

/// Services on a host: gives each request to the service that answers for it, and carries out what the services want.
///
/// `Peripheral` is made of one; so can be another owner of a host, such as the watch.
package struct ServiceRouter<Services: ServiceSet>: Sendable {
    /// A request that a service answers later.
    private enum Pending: Sendable {
        case read(ReadRequest)
        case write(WriteRequest)

        var connection: ConnectionHandle {
            switch self {
            case .read(let request): request.connection
            case .write(let request): request.connection
            }
        }

        var handle: AttributeHandle {
            switch self {
            case .read(let request): request.handle
            case .write(let request): request.handle
            }
        }
    }

    /// The services. What changes in them is told by `update(_:at:_:)`.
    package var services: Services
    /// What the services declare, for the database; nothing once they are bound to it.
    package private(set) var declarations: [Service]
    private let listeners: [(service: Int, listener: ChannelListener, spsm: SPSM?)]
    private var plan = ServicePlan()
    private var peers: [ConnectionHandle: Peer] = [:]
    private var pending: [ReplyToken: Pending] = [:]
    private var lastToken: UInt64 = 0
    /// Which service each channel belongs to.
    private var channelOwners: [Channel.ID: Int] = [:]
    private var unsent: [Channel.ID: Deque<UInt8>] = [:]
    /// Channels that have bytes to be read, once what waits to be sent on them has become less.
    private var held: Set<Channel.ID> = []
    private var problems: Deque<ServiceProblem> = []
    private var changes: Deque<AttributeHandleRange> = []
    /// When `advance(to:_:)` has something to do.
    package private(set) var nextDeadline: Duration?

    /// Services that are not in a database yet.
    package init(_ services: Services) {
        var services = services
        var layout = ServiceLayout()
        services.visitServices(&layout)
        self.services = services
        declarations = layout.services
        listeners = layout.listeners
    }

    /// Finds the handles of all values.
    /// - Returns: a value of which its service's declaration has no characteristic; nil if there is none.
    @discardableResult
    package mutating func bind(to database: GATTDatabase) -> String? {
        var binding = ServiceBinding(database)
        services.visitServices(&binding)
        plan = binding.plan
        declarations = []
        findDeadline()
        return binding.undeclared
    }

    /// Listens for channels, and tells the services where.
    package mutating func listen(on host: inout LEHost) throws(PeripheralError) {
        do throws(ChannelError) {
            for wanted in listeners {
                plan.listeners[try host.channels.listen(wanted.listener, on: wanted.spsm)] = wanted.service
            }
        } catch {
            throw .channel(error)
        }
        var published = PublishedSPSMs(plan.listeners)
        services.visitServices(&published)
    }

    // MARK: Peers

    /// A peer has connected.
    package mutating func connected(_ peer: Peer, _ host: inout LEHost, at now: Duration) {
        peers[peer.connection] = peer
        call(.connected(peer), of: nil, &host, at: now)
    }

    /// A peer's address or security has changed.
    package mutating func changed(_ peer: Peer) { peers[peer.connection] = peer }

    /// A connection is gone.
    package mutating func disconnected(_ connection: ConnectionHandle, _ host: inout LEHost, at now: Duration) {
        guard let peer = peers.removeValue(forKey: connection) else { return }
        pending = pending.filter { $0.value.connection != connection }
        call(.disconnected(peer), of: nil, &host, at: now)
    }

    // MARK: What the host reports

    /// Gives an event to the service whose value it concerns.
    package mutating func handle(_ event: GATTEvent, _ host: inout LEHost, at now: Duration) {
        switch event {
        case .readRequested(let request): read(request, &host, at: now)
        case .writeRequested(let request): write(request, &host, at: now)
        case .written(let write):
            guard let owner = plan.owners[write.handle], let peer = peers[write.connection] else { return }
            call(.write(write.value, owner.value, peer), of: owner.service, &host, at: now)
        case .subscriptionChanged(let change):
            if let owner = plan.owners[change.handle], let peer = peers[change.connection] {
                call(
                    .subscriptionChanged(owner.value, change.current, change.cause, peer),
                    of: owner.service,
                    &host,
                    at: now
                )
            }
            // What the service has sent goes out in front of the answer.
            if change.cause == .requested { host.gatt.respond(to: change, at: now) }
        case .valueNotSent(let unsent): report(unsent.handle, unsent.connection, unsent.reason)
        case .requestNotAnswered(let connection, let handle):
            pending = pending.filter { $0.value.connection != connection || $0.value.handle != handle }
        case .mtuChanged, .transactionTimedOut, .roomToSend, .pduIgnored, .indicationConfirmed, .requestRefused,
            .procedureEnded, .valueReceived, .enhancedBearerOpened, .enhancedBearerClosed:
            break
        }
    }

    private mutating func read(_ request: ReadRequest, _ host: inout LEHost, at now: Duration) {
        var reply: ReadReply?
        if let owner = plan.owners[request.handle], let peer = peers[request.connection] {
            let (replies, actions) = ask(.read(owner.value, peer), of: owner.service, at: now)
            reply = replies.read
            if case .later(let token) = reply { pending[token] = .read(request) }
            perform(actions, &host, at: now)
        }
        switch reply {
        case .value(let value): host.gatt.respond(to: request, with: value[...], at: now)
        case .refused(let error): host.gatt.refuse(request, with: error, at: now)
        case .later: break
        case nil: host.gatt.refuse(request, with: .unlikelyError, at: now)
        }
    }

    private mutating func write(_ request: WriteRequest, _ host: inout LEHost, at now: Duration) {
        var reply: WriteReply?
        if let owner = plan.owners[request.handle], let peer = peers[request.connection] {
            let (replies, actions) = ask(.write(request.value, owner.value, peer), of: owner.service, at: now)
            reply = replies.write
            if case .later(let token) = reply { pending[token] = .write(request) }
            perform(actions, &host, at: now)
        }
        switch reply {
        case .done: host.gatt.respond(to: request, at: now)
        case .refused(let error): host.gatt.refuse(request, with: error, at: now)
        case .later: break
        case nil: host.gatt.refuse(request, with: .unlikelyError, at: now)
        }
    }

    /// Gives an event to the service whose channel it concerns.
    package mutating func handle(_ event: ChannelEvent, _ host: inout LEHost, at now: Duration) {
        switch event {
        case .opened(let channel):
            guard let service = plan.listeners[channel.spsm], let peer = peers[channel.id.connection] else { return }
            channelOwners[channel.id] = service
            call(.opened(channel, peer), of: service, &host, at: now)
        case .readable(let channel):
            guard let service = channelOwners[channel] else { return }
            receive(on: channel, for: service, &host, at: now)
        case .writable(let channel):
            flush(channel, &host, at: now)
            guard held.contains(channel), let service = channelOwners[channel] else { return }
            receive(on: channel, for: service, &host, at: now)
        case .closed(let channel, let closure, var data):
            guard let service = channelOwners.removeValue(forKey: channel) else { return }
            unsent[channel] = nil
            held.remove(channel)
            var bytes: [UInt8] = []
            data.read(into: &bytes)
            if !bytes.isEmpty { call(.received(bytes, channel), of: service, &host, at: now) }
            call(.closed(channel, closure), of: service, &host, at: now)
        case .reconfigured, .unsent: break
        }
    }

    /// Gives a service what has come in, unless too much waits to be sent: a peer that sends and never reads is held off by its
    /// credits, and cannot make a service that answers grow.
    private mutating func receive(
        on channel: Channel.ID,
        for service: Int,
        _ host: inout LEHost,
        at now: Duration
    ) {
        guard unsent[channel, default: []].count < PeripheralConfiguration.unsentLimit else {
            held.insert(channel)
            return
        }
        held.remove(channel)
        var bytes: [UInt8] = []
        host.channels.read(from: channel, into: &bytes, at: now)
        call(.received(bytes, channel), of: service, &host, at: now)
    }

    private mutating func flush(_ channel: Channel.ID, _ host: inout LEHost, at now: Duration) {
        guard var waiting = unsent[channel] else { return }
        let count = host.channels.write(Array(waiting)[...], to: channel, at: now)
        waiting.removeFirst(count)
        unsent[channel] = waiting.isEmpty ? nil : waiting
    }

    // MARK: Time and change

    /// Lets time pass.
    package mutating func advance(to now: Duration, _ host: inout LEHost) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        call(.advance, of: nil, &host, at: now)
    }

    /// Changes the services, from outside. All of them advance afterwards, so that what is new is told at once.
    @discardableResult
    package mutating func update<Result>(
        _ host: inout LEHost,
        at now: Duration,
        _ change: (inout Services) -> Result
    ) -> Result {
        let result = change(&services)
        call(.advance, of: nil, &host, at: now)
        return result
    }

    // MARK: Answers of the owner

    /// Answers what a service left to the owner of the host: a read with the value, a write with none.
    package mutating func accept(
        _ token: ReplyToken,
        with value: [UInt8] = [],
        _ host: inout LEHost,
        at now: Duration
    ) {
        switch pending.removeValue(forKey: token) {
        case .read(let request)?: host.gatt.respond(to: request, with: value[...], at: now)
        case .write(let request)?: host.gatt.respond(to: request, at: now)
        case nil: break
        }
    }

    /// Refuses what a service left to the owner of the host.
    package mutating func refuse(
        _ token: ReplyToken,
        with error: ATTError,
        _ host: inout LEHost,
        at now: Duration
    ) {
        switch pending.removeValue(forKey: token) {
        case .read(let request)?: host.gatt.refuse(request, with: error, at: now)
        case .write(let request)?: host.gatt.refuse(request, with: error, at: now)
        case nil: break
        }
    }

    // MARK: What the owner hears

    /// The oldest value that a service could not send or set.
    package mutating func nextProblem() -> ServiceProblem? { problems.popFirst() }

    /// The oldest change of the database by a service that was shown or hidden.
    package mutating func nextDatabaseChange() -> AttributeHandleRange? { changes.popFirst() }

    // MARK: What the services want

    /// Calls a service, or all of them.
    private mutating func ask(
        _ call: ServiceCall,
        of service: Int?,
        at now: Duration
    ) -> (ServiceCaller.Replies, [(service: Int, action: ServiceAction)]) {
        var caller = ServiceCaller(call, of: service, at: now, lastToken: lastToken)
        services.visitServices(&caller)
        lastToken = caller.lastToken
        findDeadline()
        return (caller.replies, caller.actions)
    }

    /// Calls a service, or all of them, and carries out what they want.
    private mutating func call(_ call: ServiceCall, of service: Int?, _ host: inout LEHost, at now: Duration) {
        let (_, actions) = ask(call, of: service, at: now)
        perform(actions, &host, at: now)
    }

    private mutating func findDeadline() {
        var deadline = ServiceDeadline()
        services.visitServices(&deadline)
        nextDeadline = deadline.earliest
    }

    private mutating func perform(
        _ actions: [(service: Int, action: ServiceAction)],
        _ host: inout LEHost,
        at now: Duration
    ) {
        for (service, action) in actions { perform(action, for: service, &host, at: now) }
    }

    private mutating func perform(_ action: ServiceAction, for service: Int, _ host: inout LEHost, at now: Duration) {
        switch action {
        case .send(let value, let bytes, let isIndication, let audience):
            guard let handle = plan.handles[ServicePlan.Owner(service: service, value: value)] else { return }
            send(bytes, of: handle, isIndication: isIndication, to: audience, &host, at: now)
        case .set(let value, let bytes):
            guard let handle = plan.handles[ServicePlan.Owner(service: service, value: value)] else { return }
            do throws(GATTError) {
                try host.gatt.setValue(bytes, of: handle)
            } catch {
                report(handle, nil, error)
            }
        case .answer(let token, let value):
            // Of another kind, it still waits for its answer.
            guard case .read(let request)? = pending[token] else { return }
            pending[token] = nil
            host.gatt.respond(to: request, with: value[...], at: now)
        case .accept(let token):
            guard case .write(let request)? = pending[token] else { return }
            pending[token] = nil
            host.gatt.respond(to: request, at: now)
        case .refuse(let token, let error): refuse(token, with: error, &host, at: now)
        case .disconnect(let connection): host.disconnect(connection, at: now)
        case .show(let isShown): show(service, isShown, &host)
        case .write(let bytes, let channel):
            guard channelOwners[channel] == service else { return }
            unsent[channel, default: []].append(contentsOf: bytes)
            flush(channel, &host, at: now)
        case .close(let channel):
            if channelOwners[channel] == service { host.channels.close(channel, at: now) }
        }
    }

    private mutating func show(_ service: Int, _ isShown: Bool, _ host: inout LEHost) {
        // Every service has a name, and was shown or hidden before: there is nothing that could be refused.
        if let range = try? host.gatt.setPublished(isShown, service: ServiceLayout.name(of: service)) {
            changes.append(range)
        }
    }

    private mutating func send(
        _ bytes: [UInt8],
        of handle: AttributeHandle,
        isIndication: Bool,
        to audience: ServiceAction.Audience,
        _ host: inout LEHost,
        at now: Duration
    ) {
        let wanted: Subscription = isIndication ? .indications : .notifications
        let connections: [ConnectionHandle]
        switch audience {
        case .subscribers:
            connections = host.gatt.subscribers(of: handle)
                .filter { host.gatt.subscription(to: handle, on: $0).contains(wanted) }
        case .peer(let connection, _): connections = [connection]
        }
        var isForced = false
        if case .peer(_, evenIfNotSubscribed: true) = audience { isForced = true }
        for connection in connections {
            do throws(GATTError) {
                if isIndication {
                    try host.gatt.indicate(bytes[...], of: handle, on: connection, at: now)
                } else {
                    try host.gatt.notify(
                        bytes[...],
                        of: handle,
                        on: connection,
                        evenIfNotSubscribed: isForced,
                        at: now
                    )
                }
            } catch {
                report(handle, connection, error)
            }
        }
    }

    private mutating func report(_ handle: AttributeHandle, _ connection: ConnectionHandle?, _ error: GATTError) {
        let name = plan.owners[handle]?.value ?? "\(handle)"
        problems.append(ServiceProblem(connection: connection, value: name, error: error))
    }
}

/// A value that could not be sent, or set.
package struct ServiceProblem: Hashable, Sendable {
    /// To whom it was to be sent; nil if it could not be set.
    package let connection: ConnectionHandle?
    /// The service's name for the value; its handle if no service answers for it.
    package let value: String
    package let error: GATTError
}
