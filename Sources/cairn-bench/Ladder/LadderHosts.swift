import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost

/// The database that both ends of the ladder know.
enum LadderDatabase {
    static let name: AttributeName = "sink"

    /// What the watch's channel is opened to.
    static let spsm = SPSM(rawValue: 0x0080)

    static func make() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0xFFF0)) {
                Characteristic(.uuid16(0xFFF1), [.write, .writeWithoutResponse], name: name, value: .askOwner)
            }
        }
    }
}

/// The watch's end: takes what it is sent, and counts it.
struct LadderWatch: HostOwner {
    static let address = DeviceAddress(0xC000_0000_0001)

    /// How many octets of application data have come.
    private(set) var received = 0
    var host: LEHost
    private var buffer: [UInt8] = []

    init(_ rung: Rung, randomness: RandomSource) throws {
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: .random(Self.address)),
            database: try LadderDatabase.make(),
            cryptography: .swiftCrypto,
            randomness: randomness
        )
        if case .channel(let mps) = rung.method {
            let parameters = ChannelParameters(mtu: rung.messageLength, mps: mps)
            _ = try host.channels.listen(
                ChannelListener(requirement: .open, parameters: parameters),
                on: LadderDatabase.spsm
            )
        }
        host.startAdvertising(
            AdvertisingSet(
                id: AdvertisingSetID(rawValue: 0),
                kind: .connectable,
                interval: .milliseconds(20),
                data: []
            ),
            at: .zero
        )
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .gatt(.written(let write)): received += write.value.count
            case .gatt(.writeRequested(let request)):
                received += request.value.count
                host.gatt.respond(to: request, at: now)
            case .channel(.readable(let channel)):
                buffer.removeAll(keepingCapacity: true)
                received += host.channels.read(from: channel, into: &buffer, at: now)
            default: break
            }
        }
    }
}

/// The phone's end: connects, arranges what the rung needs, and sends as the rung says.
struct LadderPhone: HostOwner {
    private enum Stage {
        case connecting
        case exchangingMTU
        case changingPHY
        case openingChannel
        case sending
    }

    /// What went wrong, if anything did.
    private(set) var failure: String?
    var host: LEHost
    private let rung: Rung
    private let phy: PHY
    private let target: AttributeHandle
    private let message: [UInt8]
    private var stage = Stage.connecting
    private var connection: ConnectionHandle?
    private var channel: Channel.ID?
    /// When the next message is due, of a phone that sends by the clock.
    private var nextMessage: Duration?

    init(_ rung: Rung, _ profile: DeviceProfile, randomness: RandomSource) throws {
        let database = try LadderDatabase.make()
        guard let target = database.handle(of: LadderDatabase.name) else { throw WorkloadFailure("nothing to write") }
        self.target = target
        self.rung = rung
        phy = profile.phy
        message = (0..<rung.messageLength).map { UInt8(truncatingIfNeeded: $0) }
        host = LEHost(
            configuration: LEHost.Configuration(
                ownAddress: .random(DeviceAddress(0xC000_0000_0002)),
                gatt: GATTLayer.Configuration(maximumMTU: rung.mtu)
            ),
            database: try GATTDatabase([]),
            cryptography: .swiftCrypto,
            randomness: randomness
        )
        host.connect(
            to: .random(LadderWatch.address),
            ConnectionParameters(
                intervalMinimum: rung.interval,
                intervalMaximum: rung.interval,
                latency: 0,
                supervisionTimeout: .milliseconds(5000)
            ),
            at: .zero
        )
    }

    /// Whether everything is arranged.
    var isSending: Bool { stage == .sending }

    var nextDeadline: Duration? { [host.nextDeadline, nextMessage].compactMap(\.self).min() }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        if let due = nextMessage, due <= now {
            nextMessage = due + rung.interval.duration
            _ = sendCommand(at: now)
        }
        settle(at: now)
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .connected(let new):
                connection = new.handle
                stage = .exchangingMTU
                start(.exchangeMTU, at: now)
            case .gatt(.procedureEnded(let ended)): procedureEnded(ended, at: now)
            case .gatt(.roomToSend) where rung.method == .writeCommands: fillQueue(at: now)
            case .channel(.opened): fillChannel(at: now)
            case .channel(.writable): fillChannel(at: now)
            case .channel(.closed(_, let why, _)): failure = "the channel was closed: \(why)"
            case .phyUpdated(_, let outcome):
                if outcome.value?.transmit != phy { failure = "the PHY did not change: \(outcome)" }
                beginSending(at: now)
            case .connectionFailed(_, let status): failure = "no connection: \(status)"
            case .disconnected(_, let reason): failure = "disconnected: \(reason)"
            default: break
            }
        }
    }

    private mutating func procedureEnded(_ ended: GATTProcedureResult, at now: Duration) {
        switch (stage, ended.result) {
        case (.exchangingMTU, .success):
            guard phy != .le1M, let connection else { return beginSending(at: now) }
            stage = .changingPHY
            let set: PHYSet = phy == .le2M ? .le2M : .leCoded
            host.setPHY(connection, PHYPreferences(transmit: set, receive: set), at: now)
        case (.sending, .success): sendRequest(at: now)
        case (_, .failure(let error)): failure = "\(error)"
        default: break
        }
    }

    private mutating func start(_ procedure: GATTProcedure, at now: Duration) {
        guard let connection else { return }
        do { try host.gatt.start(procedure, on: connection, at: now) } catch { failure = "\(error)" }
    }

    // MARK: Sending

    private mutating func beginSending(at now: Duration) {
        stage = .sending
        switch rung.method {
        case .writeRequests: sendRequest(at: now)
        case .writeCommandEachInterval: nextMessage = now + rung.interval.duration
        case .writeCommands: fillQueue(at: now)
        case .channel: openChannel(at: now)
        }
    }

    private mutating func openChannel(at now: Duration) {
        guard let connection else { return }
        stage = .openingChannel
        do {
            let parameters = ChannelParameters(face: .sdus)
            channel = try host.channels.open(to: LadderDatabase.spsm, on: connection, parameters, at: now)
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func fillChannel(at now: Duration) {
        guard let channel else { return }
        stage = .sending
        do {
            while true { try host.channels.writeSDU(message[...], to: channel, at: now) }
        } catch .full {
            // `writable` follows.
        } catch {
            failure = "\(error)"
        }
    }

    private mutating func sendRequest(at now: Duration) { start(.write(target, message[...]), at: now) }

    private mutating func fillQueue(at now: Duration) { while sendCommand(at: now) {} }

    /// - Returns: false if there is no room for it now.
    private mutating func sendCommand(at now: Duration) -> Bool {
        guard let connection else { return false }
        do {
            try host.gatt.writeWithoutResponse(message[...], to: target, on: connection, at: now)
            return true
        } catch .queueFull {
            return false
        } catch {
            failure = "\(error)"
            return false
        }
    }
}
