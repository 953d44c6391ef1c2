import BluetoothHCI
import BluetoothHost

/// Which service answers for which attribute.
struct ServicePlan: Sendable {
    /// A service, by its place in the set, and the raw name of one of its values.
    struct Owner: Hashable, Sendable {
        let service: Int
        let value: String
    }

    var owners: [AttributeHandle: Owner] = [:]
    var handles: [Owner: AttributeHandle] = [:]
    /// Which service listens on an SPSM.
    var listeners: [SPSM: Int] = [:]
}

/// Collects the declarations of all services. Each service's names get its number, so that two services can use the same ones.
struct ServiceLayout: ServiceVisitor {
    private(set) var services: [Service] = []
    private(set) var listeners: [(service: Int, listener: ChannelListener, spsm: SPSM?)] = []

    static func prefix(_ service: Int) -> String { "\(service)/" }

    /// The name of a service, by its place in the set.
    static func name(of service: Int) -> AttributeName { AttributeName(prefix(service)) }

    mutating func visit(_ service: inout some GATTService) {
        add(service.declaration)
    }

    mutating func visit(_ service: inout some ChannelService) {
        listeners.append((services.count, service.listener, service.wantedSPSM))
        add(service.declaration)
    }

    private mutating func add(_ declaration: Service) {
        var declaration = declaration
        if declaration.name == nil { declaration.name = "" }
        services.append(declaration.withNames(prefixed: Self.prefix(services.count)))
    }
}

/// Finds the handles of all values.
struct ServiceBinding: ServiceVisitor {
    private(set) var plan = ServicePlan()
    /// A value without a characteristic.
    private(set) var undeclared: String?
    private let database: GATTDatabase
    private var index = 0

    init(_ database: GATTDatabase) { self.database = database }

    mutating func visit(_ service: inout some GATTService) { bind(&service) }
    mutating func visit(_ service: inout some ChannelService) { bind(&service) }

    private mutating func bind<Bound: GATTService>(_ service: inout Bound) {
        var handles: [Bound.Value: AttributeHandle] = [:]
        for value in service.values {
            let name = AttributeName(ServiceLayout.prefix(index) + value.rawValue)
            guard let handle = database.handle(of: name) else {
                undeclared = undeclared ?? value.rawValue
                continue
            }
            let owner = ServicePlan.Owner(service: index, value: value.rawValue)
            plan.owners[handle] = owner
            plan.handles[owner] = handle
            handles[value] = handle
        }
        service.bound(to: handles)
        index += 1
    }
}

/// Tells the services that listen on which SPSM.
struct PublishedSPSMs: ServiceVisitor {
    private let spsms: [Int: SPSM]
    private var index = 0

    init(_ listeners: [SPSM: Int]) {
        var spsms: [Int: SPSM] = [:]
        for (spsm, service) in listeners { spsms[service] = spsm }
        self.spsms = spsms
    }

    mutating func visit(_ service: inout some GATTService) { index += 1 }

    mutating func visit(_ service: inout some ChannelService) {
        if let spsm = spsms[index] { service.listens(on: spsm) }
        index += 1
    }
}

/// Finds the earliest deadline of all services.
struct ServiceDeadline: ServiceVisitor {
    private(set) var earliest: Duration?

    mutating func visit(_ service: inout some GATTService) { consider(service.nextDeadline) }
    mutating func visit(_ service: inout some ChannelService) { consider(service.nextDeadline) }

    private mutating func consider(_ deadline: Duration?) {
        guard let deadline else { return }
        earliest = earliest.map { min($0, deadline) } ?? deadline
    }
}

/// What services are called for.
enum ServiceCall: Sendable {
    case read(String, Peer)
    case write(ArraySlice<UInt8>, String, Peer)
    case subscriptionChanged(String, Subscription, SubscriptionChange.Cause, Peer)
    case connected(Peer)
    case disconnected(Peer)
    case advance
    case opened(Channel, Peer)
    case received([UInt8], Channel.ID)
    case closed(Channel.ID, ChannelClosure)
}

/// Calls one service of a set, or all.
struct ServiceCaller: ServiceVisitor {
    struct Replies {
        var read: ReadReply?
        var write: WriteReply?
    }

    private(set) var replies = Replies()
    /// What the services want, with their places in the set.
    private(set) var actions: [(service: Int, action: ServiceAction)] = []
    private(set) var lastToken: UInt64
    private let call: ServiceCall
    private let target: Int?
    private let now: Duration
    private var index = 0

    init(_ call: ServiceCall, of target: Int?, at now: Duration, lastToken: UInt64) {
        self.call = call
        self.target = target
        self.now = now
        self.lastToken = lastToken
    }

    mutating func visit(_ service: inout some GATTService) {
        defer { index += 1 }
        guard target == nil || target == index else { return }
        perform(on: &service)
    }

    mutating func visit(_ service: inout some ChannelService) {
        defer { index += 1 }
        guard target == nil || target == index else { return }
        performOnChannels(of: &service)
    }

    private mutating func perform<Called: GATTService>(on service: inout Called) {
        var output = ServiceOutput<Called.Value>(now: now, lastToken: lastToken)
        switch call {
        case .read(let name, let peer):
            if let value = Called.Value(rawValue: name) { replies.read = service.read(value, by: peer, &output) }
        case .write(let bytes, let name, let peer):
            if let value = Called.Value(rawValue: name) {
                replies.write = service.write(bytes, to: value, by: peer, &output)
            }
        case .subscriptionChanged(let name, let subscription, let cause, let peer):
            if let value = Called.Value(rawValue: name) {
                service.subscriptionChanged(of: value, to: subscription, cause, by: peer, &output)
            }
        case .connected(let peer): service.connected(peer, &output)
        case .disconnected(let peer): service.disconnected(peer, &output)
        case .advance: service.advance(&output)
        case .opened, .received, .closed: break
        }
        take(output)
    }

    private mutating func performOnChannels<Called: ChannelService>(of service: inout Called) {
        var output = ServiceOutput<Called.Value>(now: now, lastToken: lastToken)
        switch call {
        case .opened(let channel, let peer): service.opened(channel, by: peer, &output)
        case .received(let bytes, let channel): service.received(bytes, on: channel, &output)
        case .closed(let channel, let closure): service.closed(channel, closure, &output)
        case .read, .write, .subscriptionChanged, .connected, .disconnected, .advance: return perform(on: &service)
        }
        take(output)
    }

    private mutating func take<Value>(_ output: ServiceOutput<Value>) {
        lastToken = output.lastToken
        for action in output.actions { actions.append((index, action)) }
    }
}
