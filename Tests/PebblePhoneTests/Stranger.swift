import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import SeededRandomness

/// What a stranger does with a watch that is bonded to another phone.
enum StrangerHabit: String, CaseIterable {
    /// Connects and does nothing.
    case sitsIdle
    /// Connects and drops the link, again and again.
    case connectsAndDrops
    /// Discovers all services, over and over.
    case discovers
    /// Reads the same attribute for ever.
    case asksForEver
    /// Begins to pair after a while, and answers each question late.
    case pairsSlowly
    /// Begins to pair and does not go on.
    case stallsPairing
    /// Leaves the link at any moment, and comes back: somewhere between the first packet and a pairing.
    case leavesAtAnyMoment
    /// Connects and switches its radio off, again and again: it never acknowledges that the watch ends the link.
    case vanishes
}

/// A phone that is not the watch's: it listens all the time, connects whenever it can, and comes back under another address.
struct Stranger: HCIHost {
    private let habit: StrangerHabit
    private let watch: LEAddress
    private var random: SplitMix64
    private var host: LEHost
    private var handle: ConnectionHandle?
    /// Its next action, and when.
    private var nextAct: (time: Duration, act: Act)?
    private var prompt: PairingPrompt?
    private(set) var linkCount = 0
    /// How long its longest link was.
    private(set) var longestLink: Duration = .zero
    private var linkStart: Duration = .zero

    private enum Act { case drop, ask, pair, answer, vanish }

    init(_ habit: StrangerHabit, watch: LEAddress, seed: UInt64) throws {
        self.habit = habit
        self.watch = watch
        random = SplitMix64(seed: seed)
        host = try Self.makeHost(&random)
    }

    private static func makeHost(_ random: inout SplitMix64) throws -> LEHost {
        var security = SecurityManager.Configuration()
        security.ioCapability = .displayYesNo
        security.manInTheMiddleProtection = .requested
        let address = DeviceAddress(staticRandomFrom: random.next())
        var configuration = LEHost.Configuration(ownAddress: .random(address), security: security)
        configuration.connectScanInterval = .milliseconds(30)
        configuration.connectScanWindow = .milliseconds(30)
        let database = try GATTDatabase { Service(.uuid16(0x1800)) {} }
        return LEHost(
            configuration: configuration,
            database: database,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: random.next(), SplitMix64.draw)
        )
    }

    // MARK: HCIHost

    var nextDeadline: Duration? { [host.nextDeadline, nextAct?.time].compactMap(\.self).min() }

    mutating func start(at now: Duration) {
        host.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        if let next = nextAct, next.time <= now {
            nextAct = nil
            perform(next.act, at: now)
        }
        settle(at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    // MARK: What it does

    private mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .ready, .connectionFailed:
                connect(at: now)
            case .connected(let connection):
                handle = connection.handle
                linkCount += 1
                linkStart = now
                connected(at: now)
            case .disconnected:
                longestLink = max(longestLink, now - linkStart)
                becomeSomebodyElse(at: now)
            case .gatt(.procedureEnded):
                // As soon as it has its answer.
                if [.discovers, .asksForEver].contains(habit) { perform(.ask, at: now) }
            case .security(.prompt(let prompt)):
                self.prompt = prompt
                if habit == .pairsSlowly { nextAct = (now + .seconds(20), .answer) }
            default: break
            }
        }
    }

    /// Starts again with a reset controller and another address.
    private mutating func becomeSomebodyElse(at now: Duration) {
        handle = nil
        nextAct = nil
        guard let fresh = try? Self.makeHost(&random) else { return }
        host = fresh
        host.start(at: now)
    }

    private mutating func connect(at now: Duration) {
        host.connect(
            to: watch,
            ConnectionParameters(
                intervalMinimum: .milliseconds(8),
                intervalMaximum: .milliseconds(15),
                latency: 0,
                supervisionTimeout: .milliseconds(32_000)
            ),
            at: now
        )
    }

    private mutating func connected(at now: Duration) {
        switch habit {
        case .sitsIdle: break
        case .connectsAndDrops: perform(.drop, at: now)
        case .discovers, .asksForEver: perform(.ask, at: now)
        case .pairsSlowly: nextAct = (now + .seconds(10), .pair)
        case .stallsPairing: perform(.pair, at: now)
        case .leavesAtAnyMoment:
            perform(.pair, at: now)
            nextAct = (now + .microseconds(Int64.random(in: 0...1_500_000, using: &random)), .drop)
        case .vanishes: nextAct = (now + .milliseconds(100), .vanish)
        }
    }

    private mutating func perform(_ act: Act, at now: Duration) {
        guard let handle else { return }
        switch act {
        case .drop: host.disconnect(handle, at: now)
        case .vanish: becomeSomebodyElse(at: now)
        case .pair: try? host.security?.pair(handle, at: now)
        case .answer:
            if let prompt { _ = host.security?.answer(prompt.id, with: .accept, at: now) }
        case .ask:
            let procedure: GATTProcedure =
                habit == .discovers ? .discoverAllPrimaryServices : .read(AttributeHandle(rawValue: 3))
            _ = try? host.gatt.start(procedure, on: handle, at: now)
        }
    }
}
