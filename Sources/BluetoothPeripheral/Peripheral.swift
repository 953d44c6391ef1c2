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
    private struct Link: Sendable {
        var peer: Peer
        /// Whether the state of a bonded client has been given to it.
        var isRestored = false
    }

    private var services: ServiceRouter<Services>
    private var host: LEHost
    private let configuration: PeripheralConfiguration
    private var links: [ConnectionHandle: Link] = [:]
    /// Whether it has been asked to take leave: the end of its last connection does not make it advertise.
    private var isLeaving = false
    /// What bonded clients have subscribed to.
    private var clients: [LEAddress: GATTClientState] = [:]
    private var events: Deque<PeripheralEvent> = []

    /// The set that phones connect to.
    public static var advertisingSet: AdvertisingSetID { AdvertisingSetID(rawValue: 0) }

    /// A peripheral that has not been started.
    /// - Parameters:
    ///   - services: its GATT services.
    ///   - configuration: its name and address, what it advertises, who may pair, and the bonds that the store has.
    ///   - cryptography: what pairing is made of. `HCIRuntime` has an initializer that needs neither.
    ///   - randomness: where keys come from: a cryptographically secure generator, outside of tests.
    public init(
        _ services: Services,
        _ configuration: PeripheralConfiguration,
        cryptography: LECryptography,
        randomness: RandomSource
    ) throws(PeripheralError) {
        var services = ServiceRouter(services)
        let declarations = Self.standardServices(configuration) + services.declarations
        var database: GATTDatabase
        do throws(GATTDatabaseError) {
            database = try GATTDatabase(declarations)
        } catch {
            throw .database(error)
        }
        if let value = services.bind(to: database) { throw .valueNotDeclared(value) }
        var host = LEHost(
            configuration: Self.hostConfiguration(configuration),
            database: database,
            bonds: configuration.bonds,
            cryptography: cryptography,
            randomness: randomness
        )
        do throws(GATTError) {
            if let handle = database.handle(of: Self.databaseHash) {
                try host.gatt.setValue(database.hash(cryptography), of: handle)
            }
        } catch {
            throw .value(error)
        }
        try services.listen(on: &host)
        self.services = services
        self.host = host
        self.configuration = configuration
    }

    // MARK: HCIHost

    public mutating func start(at now: Duration) {
        isLeaving = false
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
        services.advance(to: now, &host)
        settle(at: now)
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    public var nextDeadline: Duration? {
        guard let host = host.nextDeadline else { return services.nextDeadline }
        return services.nextDeadline.map { min($0, host) } ?? host
    }

    // MARK: The application

    /// Takes the oldest event.
    public mutating func nextEvent() -> PeripheralEvent? { events.popFirst() }

    /// The peers that are connected.
    public var peers: [Peer] { links.keys.sorted().compactMap { links[$0]?.peer } }

    /// Changes the services, from outside. All of them advance afterwards, so that what is new is told at once.
    public mutating func update<Result>(at now: Duration, _ change: (inout Services) -> Result) -> Result {
        host.advance(to: now)
        let result = services.update(&host, at: now, change)
        settle(at: now)
        return result
    }

    /// Answers a prompt.
    /// - Returns: false if it stands no more.
    @discardableResult
    public mutating func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        host.advance(to: now)
        let isTaken = host.security?.answer(prompt, with: answer, at: now) ?? false
        settle(at: now)
        return isTaken
    }

    /// A bond has been stored: it counts from now on.
    public mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        host.advance(to: now)
        host.security?.bondStored(identity)
        settle(at: now)
    }

    /// Stops advertising and disconnects every peer, before the process ends.
    public mutating func beginShutdown(at now: Duration) {
        host.advance(to: now)
        isLeaving = true
        host.stopAdvertising(Self.advertisingSet, at: now)
        for beacon in configuration.beacons { host.stopAdvertising(beacon.id, at: now) }
        for connection in links.keys { host.disconnect(connection, at: now) }
        settle(at: now)
    }

    /// Whether no peer is connected.
    public var isShutDown: Bool { links.isEmpty }

    /// Whether the controller has been started.
    public var isReady: Bool { host.isReady }

    /// How many ACL packets the controller has and has not completed.
    public var outstandingPacketCount: Int { host.outstandingPacketCount }
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
        if let advertising = configuration.advertising, links.isEmpty, !isLeaving {
            host.startAdvertising(advertising.set(named: configuration.name, as: Self.advertisingSet), at: now)
        }
    }
}

// MARK: - What the host reports

extension Peripheral {
    private mutating func settle(at now: Duration) {
        while let event = host.nextEvent() { handle(event, at: now) }
        while let problem = services.nextProblem() {
            if let connection = problem.connection {
                events.append(.notSent(connection, problem.error))
            } else {
                events.append(.notSet(problem.value, problem.error))
            }
        }
    }

    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities):
            events.append(.ready(capabilities))
            advertise(at: now)
            if !isLeaving { for beacon in configuration.beacons { host.startAdvertising(beacon, at: now) } }
        case .failed(let failure): events.append(.failed(failure))
        case .advertisingFailed(let id, let status): events.append(.advertisingFailed(id, status))
        case .connected(let connection): connected(connection, at: now)
        case .disconnected(let connection, let reason): disconnected(connection, reason, at: now)
        case .clientStateToKeep(let connection, let state): keep(state, of: connection)
        case .securityChanged(let connection, let security): securityChanged(connection, security)
        case .security(let event): handle(event, at: now)
        case .gatt(let event): services.handle(event, &host, at: now)
        case .channel(let event): services.handle(event, &host, at: now)
        case .notice(let notice): events.append(.notice(notice))
        case .restarting, .controllerLost, .advertisingStarted, .advertisingEnded, .advertisingNotStopped,
            .scanningStarted,
            .scanningFailed, .scanningEnded, .advertisingReport, .connectionFailed, .remoteFeaturesRead,
            .parametersUpdated,
            .parametersUpdateFailed, .phyUpdated, .dataLengthUpdated, .rssi:
            break
        }
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        let peer = Peer(connection)
        links[connection.handle] = Link(peer: peer)
        events.append(.connected(peer))
        services.connected(peer, &host, at: now)
    }

    private mutating func disconnected(_ connection: ConnectionHandle, _ reason: HCIStatus, at now: Duration) {
        guard let link = links.removeValue(forKey: connection) else { return }
        events.append(.disconnected(link.peer, reason))
        services.disconnected(connection, &host, at: now)
        advertise(at: now)
    }

    private mutating func keep(_ state: GATTClientState, of connection: ConnectionHandle) {
        guard let peer = links[connection]?.peer, peer.security.isBonded else { return }
        clients[peer.address] = state
    }

    private mutating func securityChanged(_ connection: ConnectionHandle, _ security: LinkSecurity) {
        guard let peer = host.connection(connection).map(Peer.init) else { return }
        links[connection]?.peer = peer
        services.changed(peer)
        guard security.isEncrypted, security.isBonded, links[connection]?.isRestored == false else { return }
        links[connection]?.isRestored = true
        if let state = clients[peer.address] { try? host.gatt.restore(state, on: connection) }
    }

    private mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt):
            guard configuration.pairing == .anyone else { return events.append(.prompt(prompt)) }
            _ = host.security?.answer(prompt.id, with: .acceptUnseen, at: now)
        case .pairingCompleted(let connection, let summary):
            if let peer = links[connection]?.peer { events.append(.paired(peer, summary)) }
        case .pairingFailed(let connection, let failure): events.append(.pairingFailed(connection, failure))
        case .bonded(_, let bond):
            events.append(.bonded(bond))
            clients[bond.identity] = nil
            if !configuration.storesBonds { host.security?.bondStored(bond.identity) }
        case .securityRequested, .encryptionFailed, .securityChanged: break
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
