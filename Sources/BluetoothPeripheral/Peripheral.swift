import BluetoothHCI
import BluetoothHost
import ByteCoding
import DequeModule

/// A Bluetooth LE peripheral: services, advertising, pairing and channels on one host.
///
/// It does no I/O. Packets from the controller and the time come in; packets for the controller, events for the application and
/// the next deadline are asked for. `HCIRuntime` runs it on a controller, `AirSimulator` in virtual time.
///
///     var peripheral = try Peripheral(
///         Thermometer(),
///         PeripheralConfiguration(name: "Kitchen", address: .staticRandom(0x1234)),
///         cryptography: .swiftCrypto,
///         randomness: .system
///     )
public struct Peripheral<Services: ServiceSet>: HCIHost {
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

    private struct Link: Sendable {
        var peer: Peer
        /// Whether the state of a bonded client has been given to it.
        var isRestored = false
    }

    private var services: Services
    private var host: LEHost
    private let configuration: PeripheralConfiguration
    private let plan: ServicePlan
    private var links: [ConnectionHandle: Link] = [:]
    private var pending: [ReplyToken: Pending] = [:]
    private var lastToken: UInt64 = 0
    /// Which service each channel belongs to.
    private var channelOwners: [Channel.ID: Int] = [:]
    private var unsent: [Channel.ID: Deque<UInt8>] = [:]
    /// Channels that have bytes to be read, once what waits to be sent on them has become less.
    private var held: Set<Channel.ID> = []
    /// What bonded clients have subscribed to.
    private var clients: [LEAddress: GATTClientState] = [:]
    private var events: Deque<PeripheralEvent> = []

    /// The set that phones connect to.
    public static var advertisingSet: AdvertisingSetID { AdvertisingSetID(rawValue: 0) }

    /// A peripheral that has not been started.
    /// - Parameters:
    ///   - cryptography: what pairing is made of. `HCIRuntime` has an initializer that needs neither.
    ///   - randomness: where keys come from: a cryptographically secure generator, outside of tests.
    public init(
        _ services: Services,
        _ configuration: PeripheralConfiguration,
        cryptography: LECryptography,
        randomness: RandomSource
    ) throws(PeripheralError) {
        var services = services
        var layout = ServiceLayout()
        services.visitServices(&layout)
        let declarations = Self.standardServices(configuration) + layout.services
        var database: GATTDatabase
        do throws(GATTDatabaseError) {
            database = try GATTDatabase(declarations)
        } catch {
            throw .database(error)
        }
        var binding = ServiceBinding(database)
        services.visitServices(&binding)
        if let value = binding.undeclared { throw .valueNotDeclared(value) }
        var host = LEHost(
            configuration: Self.hostConfiguration(configuration),
            database: database,
            bonds: configuration.bonds,
            cryptography: cryptography,
            randomness: randomness
        )
        do throws(GATTError) {
            if let handle = database.handle(of: Self.databaseHash) {
                try host.setValue(database.hash(cryptography), of: handle)
            }
        } catch {
            throw .value(error)
        }
        var plan = binding.plan
        do throws(ChannelError) {
            for wanted in layout.listeners {
                plan.listeners[try host.listen(wanted.listener, on: wanted.spsm)] = wanted.service
            }
        } catch {
            throw .channel(error)
        }
        var published = PublishedSPSMs(plan.listeners)
        services.visitServices(&published)
        self.services = services
        self.host = host
        self.configuration = configuration
        self.plan = plan
    }

    // MARK: HCIHost

    public mutating func start(at now: Duration) {
        host.start(at: now)
        settle(at: now)
    }

    /// The controller is out of reach: all connections are gone. `start(at:)` begins again once it is back.
    public mutating func controllerLost(at now: Duration) {
        host.controllerLost(at: now)
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        host.advance(to: now)
        if let deadline = servicesDeadline, deadline <= now { call(.advance, of: nil, at: now) }
        settle(at: now)
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    public var nextDeadline: Duration? {
        let services = servicesDeadline
        guard let host = host.nextDeadline else { return services }
        return services.map { min($0, host) } ?? host
    }

    private var servicesDeadline: Duration? {
        var deadline = ServiceDeadline()
        // Visiting takes a variable, although nothing changes.
        var services = services
        services.visitServices(&deadline)
        return deadline.earliest
    }

    // MARK: The application

    /// Takes the oldest event.
    public mutating func nextEvent() -> PeripheralEvent? { events.popFirst() }

    /// The peers that are connected.
    public var peers: [Peer] { links.keys.sorted().compactMap { links[$0]?.peer } }

    /// Changes the services, from outside. All of them advance afterwards, so that what is new is told at once.
    public mutating func update<Result>(at now: Duration, _ change: (inout Services) -> Result) -> Result {
        host.advance(to: now)
        let result = change(&services)
        call(.advance, of: nil, at: now)
        settle(at: now)
        return result
    }

    /// Answers a prompt.
    /// - Returns: false if it stands no more.
    @discardableResult
    public mutating func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        host.advance(to: now)
        let isTaken = host.answer(prompt, with: answer, at: now)
        settle(at: now)
        return isTaken
    }

    /// A bond has been stored: it counts from now on.
    public mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        host.advance(to: now)
        host.bondStored(identity)
        settle(at: now)
    }

    /// Stops advertising and disconnects every peer, before the process ends.
    public mutating func beginShutdown(at now: Duration) {
        host.advance(to: now)
        host.stopAdvertising(Self.advertisingSet, at: now)
        for beacon in configuration.beacons { host.stopAdvertising(beacon.id, at: now) }
        for connection in links.keys { host.disconnect(connection, at: now) }
        settle(at: now)
    }

    /// Whether no peer is connected.
    public var isShutDown: Bool { links.isEmpty }

    /// Whether the controller has been started.
    public var isReady: Bool { host.isReady }
}

// MARK: - What it is made of

extension Peripheral {
    private static var databaseHash: AttributeName { "peripheral: database hash" }

    private static func standardServices(_ configuration: PeripheralConfiguration) -> [Service] {
        var appearance: [UInt8] = []
        appearance.appendLittleEndian(configuration.appearance)
        let access = Service(.genericAccess) {
            Characteristic(.deviceName, .read, value: .text(configuration.name))
            Characteristic(.appearance, .read, value: .bytes(appearance))
        }
        let attribute = Service(.genericAttribute) {
            // A client that can bond may remember the database for good, so it must be able to ask for its hash.
            if configuration.pairing != .none {
                Characteristic(.serviceChanged, .indicate)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(.databaseHash, .read, name: databaseHash)
            }
        }
        return [access, attribute]
    }

    private static func hostConfiguration(_ configuration: PeripheralConfiguration) -> LEHost.Configuration {
        var security: SecurityManager.Configuration?
        switch configuration.pairing {
        case .none: break
        case .anyone:
            security = SecurityManager.Configuration()
            security?.confirmsJustWorks = false
        case .person(let capability):
            security = SecurityManager.Configuration()
            security?.ioCapability = capability
        }
        return LEHost.Configuration(
            ownAddress: configuration.address,
            gatt: GATTLayer.Configuration(ownerAnswers: .within(configuration.answerTime)),
            security: security
        )
    }

    private mutating func advertise(at now: Duration) {
        if let advertising = configuration.advertising, links.isEmpty {
            host.startAdvertising(advertising.set(named: configuration.name, as: Self.advertisingSet), at: now)
        }
    }
}

// MARK: - What the host reports

extension Peripheral {
    private mutating func settle(at now: Duration) {
        while let event = host.nextEvent() { handle(event, at: now) }
    }

    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities):
            events.append(.ready(capabilities))
            advertise(at: now)
            for beacon in configuration.beacons { host.startAdvertising(beacon, at: now) }
        case .failed(let failure): events.append(.failed(failure))
        case .advertisingFailed(let id, let status): events.append(.advertisingFailed(id, status))
        case .connected(let connection): connected(connection, at: now)
        case .disconnected(let connection, let reason): disconnected(connection, reason, at: now)
        case .clientStateToKeep(let connection, let state): keep(state, of: connection)
        case .securityChanged(let connection, let security): securityChanged(connection, security)
        case .security(let event): handle(event, at: now)
        case .gatt(let event): handle(event, at: now)
        case .channel(let event): handle(event, at: now)
        case .diagnostic(let diagnostic): events.append(.diagnostic(diagnostic))
        case .restarting, .controllerLost, .advertisingStarted, .advertisingEnded, .advertisingNotStopped,
            .scanningStarted,
            .scanningFailed, .scanningEnded, .advertisingReport, .connectionFailed, .remoteFeaturesRead,
            .parametersUpdated,
            .parametersUpdateFailed, .phyUpdated, .dataLengthUpdated, .rssi:
            break
        }
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        let peer = Peer(connection: connection.handle, address: connection.peer, security: connection.security)
        links[connection.handle] = Link(peer: peer)
        events.append(.connected(peer))
        call(.connected(peer), of: nil, at: now)
    }

    private mutating func disconnected(_ connection: ConnectionHandle, _ reason: HCIStatus, at now: Duration) {
        guard let link = links.removeValue(forKey: connection) else { return }
        pending = pending.filter { $0.value.connection != connection }
        events.append(.disconnected(link.peer, reason))
        call(.disconnected(link.peer), of: nil, at: now)
        advertise(at: now)
    }

    private mutating func keep(_ state: GATTClientState, of connection: ConnectionHandle) {
        guard let peer = links[connection]?.peer, peer.security.isBonded else { return }
        clients[peer.address] = state
    }

    private mutating func securityChanged(_ connection: ConnectionHandle, _ security: LinkSecurity) {
        guard let address = host.connection(connection)?.peer else { return }
        links[connection]?.peer = Peer(connection: connection, address: address, security: security)
        guard security.isEncrypted, security.isBonded, links[connection]?.isRestored == false else { return }
        links[connection]?.isRestored = true
        if let state = clients[address] { try? host.restore(state, on: connection) }
    }

    private mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            guard configuration.pairing == .anyone else { return events.append(.prompt(prompt)) }
            _ = host.answer(prompt.id, with: .acceptUnseen, at: now)
        case .pairingCompleted(let connection, let summary):
            if let peer = links[connection]?.peer { events.append(.paired(peer, summary)) }
        case .pairingFailed(let connection, let failure): events.append(.pairingFailed(connection, failure))
        case .bonded(_, let bond):
            events.append(.bonded(bond))
            clients[bond.identity] = nil
            if !configuration.storesBonds { host.bondStored(bond.identity) }
        case .securityRequested, .encryptionFailed, .securityChanged: break
        }
    }

    private mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .readRequested(let request):
            guard let owner = plan.owners[request.handle], let peer = links[request.connection]?.peer else {
                host.refuse(request, with: .unlikelyError, at: now)
                return
            }
            let replies = call(.read(owner.value, peer), of: owner.service, at: now)
            switch replies.read {
            case .value(let value): host.respond(to: request, with: value[...], at: now)
            case .refused(let error): host.refuse(request, with: error, at: now)
            case .later(let token): pending[token] = .read(request)
            case nil: host.refuse(request, with: .unlikelyError, at: now)
            }
        case .writeRequested(let request):
            guard let owner = plan.owners[request.handle], let peer = links[request.connection]?.peer else {
                host.refuse(request, with: .unlikelyError, at: now)
                return
            }
            let replies = call(.write(request.value, owner.value, peer), of: owner.service, at: now)
            switch replies.write {
            case .done: host.respond(to: request, at: now)
            case .refused(let error): host.refuse(request, with: error, at: now)
            case .later(let token): pending[token] = .write(request)
            case nil: host.refuse(request, with: .unlikelyError, at: now)
            }
        case .written(let write):
            guard let owner = plan.owners[write.handle], let peer = links[write.connection]?.peer else { return }
            call(.write(write.value, owner.value, peer), of: owner.service, at: now)
        case .subscriptionChanged(let change):
            guard let owner = plan.owners[change.handle], let peer = links[change.connection]?.peer else { return }
            call(.subscriptionChanged(owner.value, change.current, peer), of: owner.service, at: now)
        case .valueNotSent(let unsent): events.append(.notSent(unsent.connection, unsent.reason))
        case .requestNotAnswered(let connection, let handle):
            pending = pending.filter { $0.value.connection != connection || $0.value.handle != handle }
        case .mtuChanged, .transactionTimedOut, .roomToSend, .pduIgnored, .indicationConfirmed, .requestRefused,
            .procedureEnded, .valueReceived:
            break
        }
    }

    private mutating func handle(_ event: ChannelEvent, at now: Duration) {
        switch event {
        case .opened(let channel):
            guard let service = plan.listeners[channel.spsm], let peer = links[channel.id.connection]?.peer else {
                return
            }
            channelOwners[channel.id] = service
            call(.opened(channel, peer), of: service, at: now)
        case .readable(let channel):
            guard let service = channelOwners[channel] else { return }
            receive(on: channel, for: service, at: now)
        case .writable(let channel):
            flush(channel, at: now)
            guard held.contains(channel), let service = channelOwners[channel] else { return }
            receive(on: channel, for: service, at: now)
        case .closed(let channel, let closure, var data):
            guard let service = channelOwners.removeValue(forKey: channel) else { return }
            unsent[channel] = nil
            held.remove(channel)
            var bytes: [UInt8] = []
            data.read(into: &bytes)
            if !bytes.isEmpty { call(.received(bytes, channel), of: service, at: now) }
            call(.closed(channel, closure), of: service, at: now)
        case .reconfigured, .unsent: break
        }
    }

    /// Gives a service what has come in, unless too much waits to be sent: a peer that sends and never reads is held off by its
    /// credits, and cannot make a service that answers grow.
    private mutating func receive(on channel: Channel.ID, for service: Int, at now: Duration) {
        guard unsent[channel, default: []].count < PeripheralConfiguration.unsentLimit else {
            held.insert(channel)
            return
        }
        held.remove(channel)
        var bytes: [UInt8] = []
        host.read(from: channel, into: &bytes, at: now)
        call(.received(bytes, channel), of: service, at: now)
    }

    private mutating func flush(_ channel: Channel.ID, at now: Duration) {
        guard var waiting = unsent[channel] else { return }
        let count = host.write(Array(waiting)[...], to: channel, at: now)
        waiting.removeFirst(count)
        unsent[channel] = waiting.isEmpty ? nil : waiting
    }
}

// MARK: - What the services want

extension Peripheral {
    /// Calls a service, or all of them, and carries out what they want.
    @discardableResult
    private mutating func call(_ call: ServiceCall, of service: Int?, at now: Duration) -> ServiceCaller.Replies {
        var caller = ServiceCaller(call, of: service, at: now, lastToken: lastToken)
        services.visitServices(&caller)
        lastToken = caller.lastToken
        for (service, action) in caller.actions { perform(action, for: service, at: now) }
        return caller.replies
    }

    private mutating func perform(_ action: ServiceAction, for service: Int, at now: Duration) {
        switch action {
        case .send(let value, let bytes, let isIndication, let connection):
            guard let handle = plan.handles[ServicePlan.Owner(service: service, value: value)] else { return }
            send(bytes, of: handle, isIndication: isIndication, to: connection, at: now)
        case .answer(let token, let value):
            guard case .read(let request)? = pending.removeValue(forKey: token) else { return }
            host.respond(to: request, with: value[...], at: now)
        case .accept(let token):
            guard case .write(let request)? = pending.removeValue(forKey: token) else { return }
            host.respond(to: request, at: now)
        case .refuse(let token, let error):
            switch pending.removeValue(forKey: token) {
            case .read(let request)?: host.refuse(request, with: error, at: now)
            case .write(let request)?: host.refuse(request, with: error, at: now)
            case nil: return
            }
        case .disconnect(let connection): host.disconnect(connection, at: now)
        case .write(let bytes, let channel):
            guard channelOwners[channel] == service else { return }
            unsent[channel, default: []].append(contentsOf: bytes)
            flush(channel, at: now)
        case .close(let channel):
            if channelOwners[channel] == service { host.close(channel, at: now) }
        }
    }

    private mutating func send(
        _ bytes: [UInt8],
        of handle: AttributeHandle,
        isIndication: Bool,
        to connection: ConnectionHandle?,
        at now: Duration
    ) {
        let wanted: Subscription = isIndication ? .indications : .notifications
        let all = host.gatt.subscribers(of: handle).filter {
            host.gatt.subscription(to: handle, on: $0).contains(wanted)
        }
        for connection in connection.map({ [$0] }) ?? all {
            do throws(GATTError) {
                if isIndication {
                    try host.indicate(bytes[...], of: handle, on: connection, at: now)
                } else {
                    try host.notify(bytes[...], of: handle, on: connection, at: now)
                }
            } catch {
                events.append(.notSent(connection, error))
            }
        }
    }
}

extension PeripheralConfiguration.Advertising {
    /// The set that peers connect to: flags and services in the advertisement, the name and more in the scan response.
    func set(named name: String, as id: AdvertisingSetID) -> AdvertisingSet {
        var short: [UInt16] = []
        var long: [UInt128] = []
        for service in services {
            switch service {
            case .uuid16(let uuid): short.append(uuid)
            case .uuid128(let uuid): long.append(uuid)
            }
        }
        var data: [ADStructure] = [.flags([.leGeneralDiscoverable, .brEDRNotSupported])]
        if !short.isEmpty { data.append(.uuids16(short, .complete)) }
        if !long.isEmpty { data.append(.uuids128(long, .complete)) }
        return AdvertisingSet(
            id: id,
            kind: .connectable,
            interval: interval,
            data: AdvertisingData(data).bytes,
            scanResponse: AdvertisingData([.localName(name, .complete)] + more).bytes
        )
    }
}

/// Why a peripheral cannot be made.
public enum PeripheralError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The services do not make a database.
    case database(GATTDatabaseError)
    /// A service names a value of which its declaration has no characteristic.
    case valueNotDeclared(String)
    /// A value could not be set.
    case value(GATTError)
    /// A channel cannot be listened for.
    case channel(ChannelError)

    public var description: String {
        switch self {
        case .database(let error): error.description
        case .valueNotDeclared(let value): "the value '\(value)' has no characteristic in its service's declaration"
        case .value(let error): "\(error)"
        case .channel(let error): "\(error)"
        }
    }
}
