import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import Faults

/// A phone that is told what to do, with all that it told.
struct ToldPhone: HostOwner {
    var host: CommandedPhone
    private(set) var results: [PhoneRequestID: Result<PhoneCommandResult, PhoneCommandError>] = [:]
    private(set) var story: [PhoneEvent] = []

    init(_ transport: PhoneTransport) throws {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0002),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        configuration.transport = transport
        configuration.pairing = .whenTold
        host = try CommandedPhone(configuration, randomness: RandomSource(state: 13, SplitMix64.draw))
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            story.append(event)
            if case .bonded(let bond) = event { host.bondStored(bond.identity, at: now) }
        }
        while let (id, result) = host.nextResult() { results[id] = result }
    }
}

/// A watch with faults and a companion that has a session with it.
final class SessionRig {
    var air: SimulatedPair<FaultOwner, ToldPhone>
    private var lastID = 0
    private var lastRequest: UInt64 = 0

    /// - Parameters:
    ///   - fault: one that is there before the phone connects.
    ///   - opens: whether the session is to be there.
    init(
        _ transport: PhoneTransport = .forward,
        with fault: String? = nil,
        opens: Bool = true,
        _ change: (inout WatchConfiguration) -> Void = { _ in }
    ) throws {
        let watch = try FaultOwner { configuration in
            configuration.defaultApp = EchoApp()
            configuration.builtInApps = []
            change(&configuration)
        }
        air = SimulatedPair(seed: 0x5E, watch: watch, phone: try ToldPhone(transport))
        air.run(for: .seconds(1))
        if let fault { try add(fault) }
        _ = tell(.connect(.known, within: .seconds(30)))
        _ = tell(.pair(.yes, within: .seconds(30)))
        guard opens else { return }
        let time = air.runUntilPhone(within: .seconds(30)) { $0.host.status.link?.hasSession == true }
        try #require(time != nil, "no session")
        run(10)
    }

    func run(_ seconds: Int) { air.run(for: .seconds(seconds)) }

    func add(_ text: String) throws {
        lastID += 1
        let (fault, id) = (try Fault(parsing: text), FaultID(rawValue: lastID))
        try air.onWatch { owner, now in try owner.host.add(fault, as: id, at: now) }
    }

    func clear() throws { try air.onWatch { owner, now in try owner.host.clear(nil, at: now) } }

    func phone<Value>(_ body: (inout ToldPhone) throws -> Value) rethrows -> Value {
        try air.onPhone { phone, _ in try body(&phone) }
    }

    func watch<Value>(_ body: (inout FaultOwner) throws -> Value) rethrows -> Value {
        try air.onWatch { owner, _ in try body(&owner) }
    }

    func firings(_ name: String) -> Int { watch { $0.firings(name).count } }

    /// Gives the phone a command.
    func begin(_ command: PhoneCommand) -> PhoneRequestID {
        lastRequest += 1
        let id = PhoneRequestID(rawValue: lastRequest)
        air.onPhone { phone, now in phone.host.begin(command, as: id, at: now) }
        return id
    }

    /// Gives the phone a command, and waits for its end; nil if it does not end in a minute and a half.
    func tell(_ command: PhoneCommand) -> Result<PhoneCommandResult, PhoneCommandError>? {
        let id = begin(command)
        air.runUntilPhone(within: .seconds(90)) { $0.results[id] != nil }
        return phone { $0.results[id] }
    }

    /// Whether the phone's command succeeds.
    func succeeds(_ command: PhoneCommand) -> Bool {
        if case .success? = tell(command) { true } else { false }
    }

    /// How many messages of an endpoint the phone has from the watch.
    func heard(_ endpoint: Endpoint) -> [PebbleMessage] {
        phone { phone in
            phone.story.compactMap { event in
                if case .message(.fromWatch, let message) = event, message.endpoint == endpoint { message } else { nil }
            }
        }
    }

    /// How often PPoGATT was opened.
    var openings: [PPoGATTSession] {
        phone { phone in
            phone.story.compactMap { event in
                if case .transportOpened(_, let session) = event { session } else { nil }
            }
        }
    }

    static let push = PhoneCommand.push(dictionary, to: nil)

    private static var dictionary: AppMessageDictionary {
        (try? AppMessageDictionary([AppMessageTuple(key: 1, value: .uint8(7))])) ?? .empty
    }
}
