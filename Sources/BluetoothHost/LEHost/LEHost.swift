import BluetoothHCI
import ByteCoding

/// A Bluetooth LE host: everything between a controller and a profile.
///
/// It does no I/O. Packets from the controller and the time come in; packets for the controller, events for the owner
/// and the next deadline are asked for. Every call that may send something or start a timer takes the time; one that is
/// earlier than a time that was handed in before counts as that one.
///
/// The host itself is what the Core calls the Generic Access Profile: advertising, scanning and connections. What runs on the
/// connections is in its three layers: `gatt`, `channels` and `security`. `LEHostEvent` says which events are requests, how each
/// is answered, and what happens to one that is not.
///
/// What is wanted on the air (advertising sets, scanning) survives a restart of the controller; connections do not.
public struct LEHost: HCIHost, Sendable {
    /// What encrypts, authenticates and agrees on keys.
    package let cryptography: LECryptography

    var core: HostCore
    var starter: ControllerStarter
    var advertising = AdvertisingManager()
    var scanner = Scanner()
    var initiator = ConnectionInitiator()
    var connectionManager: ConnectionManager
    var unknownEvents = UnknownEvents()

    /// A host that has not been started.
    /// - Parameters:
    ///   - configuration: what was chosen about the host.
    ///   - database: the attributes that it offers.
    ///   - bonds: those that the store has.
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys come from, and a random address if one has to be made up.
    public init(
        configuration: Configuration,
        database: GATTDatabase,
        bonds: [Bond] = [],
        cryptography: LECryptography,
        randomness: RandomSource
    ) {
        self.cryptography = cryptography
        // Numbers that go on the air must not be among those that keys are made of.
        var randomness = randomness
        let number = randomness.next()
        let keyRandomness = randomness
        core = HostCore(configuration, GATTLayer(database: database, configuration: configuration.gatt))
        starter = ControllerStarter(spareAddress: DeviceAddress(staticRandomFrom: number))
        connectionManager = ConnectionManager(
            // An address takes 48 bits.
            channels: ChannelManager(
                random: configuration.handsOutFirstSPSMs ? 0 : UInt16(truncatingIfNeeded: number >> 48)
            ),
            security: configuration.security.map {
                SecurityManager(configuration: $0, bonds: bonds, cryptography: cryptography, randomness: keyRandomness)
            }
        )
        listenForBearers()
    }

    /// Lets peers open enhanced ATT bearers, if they may have any.
    private mutating func listenForBearers() {
        guard core.gatt.enhancedBearers > 0 else { return }
        var listener = ChannelListener(
            requirement: .encrypted,
            parameters: core.gatt.bearerChannel,
            maximumChannels: core.gatt.enhancedBearers
        )
        listener.takesEnhancedOnly = true
        _ = try? connectionManager.channels.listen(listener, on: .enhancedATT)
    }

    /// What was chosen about the host.
    public var configuration: Configuration { core.configuration }

    /// Whether the controller has been started.
    public var isReady: Bool { core.isReady }

    /// What the controller said about itself when it was started last.
    public var capabilities: ControllerCapabilities { core.capabilities }

    /// The address that the host is known by; certain from `ready` on.
    public var ownAddress: LEAddress { core.ownAddress }

    /// How often something went wrong.
    package var counters: LEHostCounters { core.counters }

    /// How many events came that this host does not know. It changes nothing: it is `mutating` because a getter would be
    /// called on a copy of the host, with every packet.
    package mutating func countUnknownEvents() -> Int { core.counters.unknownEvents }

    /// Whether an event waits for the owner: a packet that has left may have led to one. It is `mutating` for the same reason.
    package mutating func hasEvents() -> Bool { core.hasEvents }
}

// MARK: - Layers

extension LEHost {
    /// The Generic Attribute Profile on all connections: values, answers to clients, requests to servers.
    public var gatt: GATTLayer {
        _read { yield core.gatt }
        _modify {
            core.gatt.time.tell(core.now)
            yield &core.gatt
        }
    }

    /// The credit-based channels on all connections.
    public var channels: ChannelManager {
        _read { yield connectionManager.channels }
        _modify {
            connectionManager.channels.time.tell(core.now)
            defer { connectionManager.passOnChannelEvents(&core) }
            yield &connectionManager.channels
        }
    }

    /// Pairing, bonds and encryption on all connections; nil if `Configuration.security` is: then this host does not pair.
    public var security: SecurityManager? {
        _read { yield connectionManager.security }
        _modify {
            connectionManager.security?.time.tell(core.now)
            yield &connectionManager.security
        }
    }
}

// MARK: - Packets and time

extension LEHost {
    public mutating func start(at now: Duration) {
        core.tell(now)
        closeEverything(.hardwareFailure)
        unknownEvents = UnknownEvents()
        starter.start(&core)
    }

    /// The controller is out of reach: all connections are gone. `start(at:)` begins again once it is back.
    public mutating func controllerLost(at now: Duration) {
        core.tell(now)
        guard case .off = core.state else {
            core.commands.removeAll()
            core.state = .off
            core.emit(.controllerLost)
            return closeEverything(.hardwareFailure)
        }
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        core.tell(now)
        do throws(ByteDecodingError) {
            switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
            case .acl: try connectionManager.receive(packet, &core)
            case .event: receive(try HCIEvent(body: packet.dropFirst()))
            case .command, .sco, .iso, nil:
                var reader = ByteReader(packet)
                throw ByteDecodingError("h4.type", .invalidValue(UInt64(try reader.readUInt8("h4.type"))))
            }
        } catch {
            core.counters.malformedPackets += 1
            core.report(.malformedPacket(error, PacketBeginning(packet)))
        }
    }

    public mutating func advance(to now: Duration) {
        core.tell(now)
        if let opcode = core.commands.expired(at: core.now), starter.commandTimedOut(opcode, &core) {
            restart(.commandTimeout(opcode))
        }
        starter.advance(&core)
        core.gatt.advance(to: core.now)
        connectionManager.advance(&core)
        connectionManager.serveBearers(&core)
    }

    public var nextDeadline: Duration? {
        var deadline = core.commands.nextDeadline
        deadline.lower(to: starter.nextDeadline(core.state))
        deadline.lower(to: core.gatt.nextDeadline)
        deadline.lower(to: connectionManager.nextDeadline)
        return deadline
    }

    /// Takes the next packet for the controller. This may cause events: a packet that leaves makes room.
    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        connectionManager.continueSecurity(&core)
        connectionManager.serveBearers(&core)
        return core.commands.nextPacket(into: &buffer, at: core.now)
            || connectionManager.nextACLPacket(into: &buffer, &core)
    }

    /// Takes the oldest event. The owner is done with the one that it took before.
    public mutating func nextEvent() -> LEHostEvent? {
        core.gatt.endTurn()
        connectionManager.continueSecurity(&core)
        return core.hasEvents ? core.nextEvent() : nil
    }

    // MARK: Starting again

    /// The controller is ready: what is wanted on the air goes there.
    mutating func controllerReady() {
        connectionManager.controllerReady(core.capabilities)
        advertising.controllerReady(&core)
        scanner.controllerReady(&core)
        initiator.begin(&core)
    }

    /// The controller is not what it was: everything starts again.
    mutating func restart(_ reason: RestartReason) {
        let rest = starter.restarting(reason, &core)
        closeEverything(.hardwareFailure)
        starter.restart(after: rest, &core)
    }

    /// All connections are gone, and nothing is on the air; what is wanted there is remembered.
    private mutating func closeEverything(_ reason: HCIStatus) {
        connectionManager.controllerLost(reason, &core)
        initiator.controllerLost(reason, &core)
        advertising.controllerLost()
        scanner.controllerLost()
    }
}
