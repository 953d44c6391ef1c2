import AirSimulator
import BluetoothHCI
import BluetoothHost
import Bundles
import Control
import HCIRuntime
import LinuxBluetooth
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Scenarios
import SeededRandomness

/// Runs a scenario in virtual time: the watch and the phone are in this process, on a simulated air. Everything follows from
/// the scenario and the seed.
public struct VirtualScenario {
    /// How long an order may take before the scenario is given up.
    private static let patience: Duration = .seconds(3600)
    /// 1 January 2025, 00:00 UTC: what the clocks show in the beginning.
    private static let startTime: UInt32 = 1_735_689_600
    private static let watchAddress = DeviceAddress(0xC011_2233_4455)
    private static let phoneAddress = DeviceAddress(0xC0FF_EE00_0001)

    private let scenario: Scenario
    private let seed: UInt64
    private var machine: ScenarioMachine
    private var simulation: Simulation
    private let watch: Simulation.HostID<WatchHost>
    private let phone: Simulation.HostID<PhoneHost>?
    private var watchHistory = EventHistory()
    private let packets = PacketTail()

    /// Prepares a run.
    /// - Parameters:
    ///   - seed: determines everything that is left to chance.
    ///   - defects: what the phone does wrong.
    ///   - watch: the watch by its settings; its clock is set by the scenario's.
    /// - Throws: `ProgramError` for a watch that cannot be made, or a phone that is none of Cairn's.
    package init(
        _ scenario: Scenario,
        seed: UInt64,
        defects: Set<PhoneDefect> = [],
        watch makeWatch: (LEAddress) -> WatchConfiguration
    ) throws(ProgramError) {
        guard scenario.phone.kind != .real else {
            throw ProgramError(
                .usage,
                "\(scenario.name) needs a real phone, and there is none on a virtual air",
                advice: "run a watch on an adapter, and name it: cairn scenario run --state DIR --phone real FILE"
            )
        }
        self.scenario = scenario
        self.seed = seed
        machine = ScenarioMachine(scenario)
        simulation = Simulation(seed: seed)
        var configuration = makeWatch(.random(Self.watchAddress))
        configuration.startTime = Self.startTime
        configuration.wallClock = .seconds(Int64(Self.startTime))
        do throws(GATTDatabaseError) {
            let firmware = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: seed &+ 1, SplitMix64.draw)
            )
            watch = simulation.add(WatchHost(firmware, store: nil))
            guard scenario.phone.kind == .cairn else {
                phone = nil
                return
            }
            let companion = try CommandedPhone(
                PhoneConfiguration(scenario.phone, defects: defects, address: Self.phoneAddress, at: Self.startTime),
                randomness: RandomSource(state: seed &+ 2, SplitMix64.draw)
            )
            phone = simulation.add(PhoneHost(companion, store: nil))
        } catch {
            throw ProgramError(.usage, "the scenario cannot begin: \(error)", advice: "choose other names")
        }
    }

    /// Runs to the end.
    /// - Parameter command: what runs it again in the same way, for a person.
    package mutating func run(command: String) -> ScenarioResult {
        simulation.observer = { [packets, watch] packet in
            if packet.controller == watch.controller { packets.note(packet) }
        }
        machine.start(at: simulation.now)
        while machine.outcome == nil {
            while let order = machine.nextOrder() { carryOut(order) }
            guard machine.outcome == nil else { break }
            pass()
        }
        var outcome = machine.outcome ?? .passed
        if case .failed(var failure) = outcome {
            failure.packets = packets.lines
            outcome = .failed(failure)
        }
        return ScenarioResult(
            scenario,
            outcome,
            seed: seed,
            duration: simulation.now,
            transcript: machine.transcript,
            command: command
        )
    }

    /// Lets time pass until something has happened, or something is due.
    private mutating func pass() {
        let due = machine.nextDeadline
        let end = due ?? simulation.now + Self.patience
        var told = Told()
        let ending = simulation.run(until: end) { [watch, phone] simulation in
            told.collect(&simulation, watch, phone)
            return !told.isEmpty
        }
        let now = simulation.now
        for event in told.watch {
            let text = event.storyLine.text
            if let event = watchHistory.record(event, text: text, at: now).flatMap({ ScenarioEvent(.watch, $0.values) })
            {
                machine.receive(event, at: now)
            }
        }
        for event in told.phone { takePhoneEvent(event, at: now) }
        switch ending {
        case .conditionMet: break
        case .timeIsUp where due == nil:
            machine.abort("nothing has ended for \(Self.patience.scenarioWords)", at: now)
        case .timeIsUp: break
        case .livelock: machine.abort("watch and phone exchange packets without end: one of them has a defect", at: now)
        }
        machine.advance(to: now)
    }

    private mutating func takePhoneEvent(_ event: PhoneHost.Event, at now: Duration) {
        switch event {
        case .story(let event):
            guard let told = PhoneControlEvent(event, text: event.storyLine.text, at: now),
                let event = ScenarioEvent(.phone, told.values)
            else { return }
            machine.receive(event, at: now)
        case .ended(let id, let result):
            let answer =
                switch result {
                case .success(let result): ControlAnswer(result, after: 0)
                case .failure(let error): ControlAnswer(error)
                }
            machine.finish(Int(clamping: id.rawValue), ScenarioMachine.Answer(answer), at: now)
        case .notStored: break
        }
    }

    // MARK: Orders

    private mutating func carryOut(_ order: ScenarioMachine.Order) {
        let now = simulation.now
        switch order {
        case .give(let command, let id):
            switch command.side {
            case .watch: machine.finish(id, ScenarioMachine.Answer(askWatch(command.line, at: now)), at: now)
            case .phone:
                if let answer = askPhone(command.line, id: id, at: now) {
                    machine.finish(id, ScenarioMachine.Answer(answer), at: now)
                }
            }
        case .fault(_, let id), .clear(_, let id):
            guard let request = order.faultRequest else { return }
            machine.finish(id, ScenarioMachine.Answer(askWatch(request, at: now)), at: now)
        case .tell(_, let id): machine.finish(id, .done([:]), at: now)
        }
    }

    private mutating func askWatch(_ line: String, at now: Duration) -> ControlAnswer {
        let request: ControlRequest
        do throws(ControlRequest.Invalid) {
            request = try ControlRequest(parsing: line.utf8)
        } catch {
            return ControlAnswer(failure: .badRequest, error.description)
        }
        let history = watchHistory
        let answer = simulation.withHost(watch) { host -> ControlAnswer in
            switch request {
            case .perform(let command):
                do throws(WatchCommandError) {
                    let result = try host.withWatch(at: now) { watch throws(WatchCommandError) in
                        try watch.perform(command, at: now)
                    }
                    return ControlAnswer(result, at: now)
                } catch {
                    return ControlAnswer(error)
                }
            case .status: return ControlAnswer(host.watch.status, at: now)
            case .look(let look): return ControlAnswer(look, of: host.watch, at: now)
            case .screenshot(let format): return ControlAnswer(host.watch.frame, as: format)
            case .messages(let direction, let app, let sequence):
                return ControlAnswer(direction, app: app, after: sequence, from: history)
            default:
                return ControlAnswer(failure: .notPermitted, "there is no process that could do that on a virtual air")
            }
        }
        return answer ?? ControlAnswer(failure: .notPermitted, "there is no watch")
    }

    /// - Returns: nil if the answer comes later.
    private mutating func askPhone(_ line: String, id: Int, at now: Duration) -> ControlAnswer? {
        guard let phone else { return ControlAnswer(phoneFailure: .notReady, "the scenario has no phone") }
        let request: PhoneControlRequest
        do throws(ControlRequest.Invalid) {
            request = try PhoneControlRequest(parsing: line.utf8)
        } catch {
            return ControlAnswer(phoneFailure: .badRequest, error.description)
        }
        switch request {
        case .perform(let command): return begin(command, id, on: phone, at: now)
        case .upload(let path, let name):
            do throws(SystemError) {
                let bytes = try FileReading.bytes(of: path, limit: PhoneSocket.fileLimit)
                return begin(.upload(bytes, name: name), id, on: phone, at: now)
            } catch {
                return ControlAnswer(phoneFailure: .badFile, "\(path) is not uploaded: \(error)")
            }
        case .install(let path):
            let platform = simulation.withHost(watch) { $0.watch.configuration.identity.hardware.appPlatform } ?? nil
            do throws(BundleError) {
                let package = try AppBundle.package(atPath: path, for: platform ?? .aplite)
                return begin(.install(PhoneApp(package)), id, on: phone, at: now)
            } catch {
                return ControlAnswer(phoneFailure: .badFile, "\(path) is not installed: \(error)")
            }
        case .status:
            let status = simulation.withHost(phone) { $0.phone.status }
            guard let status else { return ControlAnswer(phoneFailure: .notReady, "there is no phone") }
            return ControlAnswer(status)
        case .events: return ControlAnswer(phoneFailure: .badRequest, "a scenario has the events already")
        }
    }

    private mutating func begin(
        _ command: PhoneCommand,
        _ id: Int,
        on phone: Simulation.HostID<PhoneHost>,
        at now: Duration
    ) -> ControlAnswer? {
        simulation.withHost(phone) { $0.begin(command, as: PhoneRequestID(rawValue: UInt64(id)), at: now) }
        return nil
    }
}

/// What the two have told at one moment.
private struct Told {
    var watch: [WatchEvent] = []
    var phone: [PhoneHost.Event] = []

    /// Whether nothing was told that a scenario could be about.
    var isEmpty: Bool { watch.isEmpty && phone.isEmpty }

    mutating func collect(
        _ simulation: inout Simulation,
        _ watchID: Simulation.HostID<WatchHost>,
        _ phoneID: Simulation.HostID<PhoneHost>?
    ) {
        simulation.withHost(watchID) { host in
            while let event = host.nextEvent() {
                if !event.isForLogOnly { watch.append(event) }
            }
        }
        guard let phoneID else { return }
        simulation.withHost(phoneID) { host in
            while let event = host.nextEvent() { phone.append(event) }
        }
    }
}

/// The last packets between the watch and its controller, for the story of a failure.
private final class PacketTail {
    private static let limit = 12
    /// How many octets of a packet are shown.
    private static let shown = 24
    private var packets: [Simulation.Packet] = []

    func note(_ packet: Simulation.Packet) {
        if packets.count >= Self.limit { packets.removeFirst() }
        var packet = packet
        // The slice is of a buffer that is used again.
        packet.bytes = Array(packet.bytes)[...]
        packets.append(packet)
    }

    var lines: [String] {
        packets.map { packet in
            let bytes = packet.bytes.prefix(Self.shown).map {
                $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16)
            }
            let rest = packet.bytes.count > Self.shown ? " … \(packet.bytes.count) octets" : ""
            return
                "\(packet.time.scenarioWords) \(packet.isFromHost ? "→" : "←") \(bytes.joined(separator: " "))\(rest)"
        }
    }
}

extension ScenarioMachine.Answer {
    /// What a socket, or the watch itself, has answered.
    package init(_ answer: ControlAnswer) {
        self = answer.error.map { .refused(code: $0.code, $0.message) } ?? .done(answer.values)
    }
}

extension PhoneConfiguration {
    /// The phone of a scenario.
    package init(_ phone: ScenarioPhone, defects: Set<PhoneDefect>, address: DeviceAddress, at startTime: UInt32) {
        self.init(address: address, clock: PhoneClock(secondsAtOrigin: startTime))
        self.defects = defects
        isCompanion = phone.isCompanion
        remembersWatch = phone.remembersWatch
        pairing = phone.pairs ? .whenTold : .never
        switch phone.platform {
        case .android:
            system = .android
            transport = phone.isServer ? .forward : .reversed
        case .ios:
            system = .iOS
            transport = .forward
            version.platform = PhonePlatform(.iOS)
        }
        if phone.usesStream { transport = .stream }
    }
}
