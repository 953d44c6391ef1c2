import AirSimulator
import BluetoothHCI
import BluetoothHost
import Bundles
import Control
import Faults
import FlightRecorder
import HCIRuntime
import LinuxBluetooth
import Logging
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Scenarios
import SeededRandomness

/// Runs a scenario in virtual time: the watch and the phone are in this process, on a virtual air, which gets the time from
/// here and not from a clock. Everything follows from the scenario and the seed.
package final class VirtualScenario {
    /// How long an order may take before the scenario is given up.
    private static let patience: Duration = .seconds(3600)
    /// How often the air may have something to do at one moment: beyond it, watch and phone exchange packets without end.
    private static let turnsPerMoment = 20_000
    /// 1 January 2025, 00:00 UTC: what the clocks show in the beginning.
    private static let startTime: UInt32 = 1_735_689_600
    private static let watchAddress = DeviceAddress(0xC011_2233_4455)
    private static let phoneAddress = DeviceAddress(0xC0FF_EE00_0001)

    /// What the two have told, in the order in which they did.
    private final class Inbox {
        enum Told {
            case watch(WatchEvent)
            case phone(PhoneHost.Event)
        }

        var told: [Told] = []
    }

    private let scenario: Scenario
    private let seed: UInt64
    private var machine: ScenarioMachine
    private let air: VirtualAir
    private let watch: HostRunner<WatchHost>
    private let phone: HostRunner<PhoneHost>?
    private let inbox: Inbox
    private let packets = PacketTail()
    private var watchHistory = EventHistory()
    private var now: Duration = .zero
    /// When something was to be done last.
    private var lastOrder: Duration = .zero
    private let desk: FaultDesk
    /// The faults that were added, by their numbers.
    private var faults: [FaultID: Fault] = [:]

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
        var configuration = makeWatch(.random(Self.watchAddress))
        configuration.startTime = Self.startTime
        configuration.wallClock = .seconds(Int64(Self.startTime))
        let log = Logger(label: "scenario") { _ in SwiftLogNoOpLogHandler() }
        let inbox = Inbox()
        self.inbox = inbox
        air = VirtualAir(Air(seed: seed), log: log)
        let numbers = DrawnNumbers(RandomSource(state: seed &+ 1, SplitMix64.draw))
        let firmware: Watch
        var companion: CommandedPhone?
        do throws(GATTDatabaseError) {
            firmware = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: numbers.randomness
            )
            if scenario.phone.kind == .cairn {
                companion = try CommandedPhone(
                    PhoneConfiguration(
                        scenario.phone,
                        defects: defects,
                        address: Self.phoneAddress,
                        at: Self.startTime
                    ),
                    randomness: RandomSource(state: seed &+ 2, SplitMix64.draw)
                )
            }
        } catch {
            throw ProgramError(.usage, "the scenario cannot begin: \(error)", advice: "choose other names")
        }
        let recorder = FlightRecorder(
            RecordingHeader(program: "scenario", circumstances: RecordingHeader.Circumstances(configuration)),
            numbers: numbers
        )
        watch = HostRunner(WatchHost(firmware, recorder: recorder, store: nil), log: log) { event, _ in
            if !event.isForLogOnly { inbox.told.append(.watch(event)) }
        }
        phone = companion.map { companion in
            HostRunner(PhoneHost(companion, store: nil), log: log) { event, _ in inbox.told.append(.phone(event)) }
        }
        desk = FaultDesk(watch: watch, hasStore: false, isAllowed: true)
        desk.air = air
        air.attach(watch, to: .modern)
        if let phone { air.attach(phone, to: .modern) }
        watch.packetListener = { [packets] packet, direction, now in packets.note(packet, direction, at: now) }
        watch.handleFiring = { firing, _ in inbox.told.append(.watch(.fault(firing))) }
        air.handleFiring = { firing, _ in inbox.told.append(.watch(.fault(firing))) }
        watch.handleFaultAction = { [air] action, _ in
            switch action {
            case .silence(let handle, let length): air.silence(handle, for: length)
            }
        }
    }

    /// Runs to the end.
    /// - Parameter command: what runs it again in the same way, for a person.
    package func run(command: String) -> ScenarioResult {
        start()
        machine.start(at: now)
        var turns = 0
        while machine.outcome == nil {
            while let order = machine.nextOrder() { carryOut(order) }
            settle()
            guard machine.outcome == nil, !machine.hasOrders else { continue }
            let moment = now
            pass()
            turns = now == moment ? turns + 1 : 0
            if turns > Self.turnsPerMoment {
                machine.abort("watch and phone exchange packets without end: one of them has a defect", at: now)
            }
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
            duration: now,
            transcript: machine.transcript,
            command: command
        )
    }

    /// Starts the controllers. The scenario begins when they are ready, as it does with a watch and a phone that run.
    private func start() {
        air.start(at: now)
        while air.moveOutput(at: now) {}
        while !isReady, let due = air.nextDeadline, due <= .seconds(10) {
            now = max(now, due)
            air.advance(to: now)
            while air.moveOutput(at: now) {}
        }
        inbox.told = []
    }

    private var isReady: Bool { watch.isReady && phone?.isReady ?? true }

    /// Moves what is to be moved at this moment, and tells the machine what has come of it.
    private func settle() {
        while air.moveOutput(at: now) {}
        tellEvents()
    }

    /// Tells the machine what has happened.
    private func tellEvents() {
        while !inbox.told.isEmpty {
            let told = inbox.told
            inbox.told = []
            for event in told {
                switch event {
                case .watch(let event): takeWatchEvent(event)
                case .phone(let event): takePhoneEvent(event)
                }
            }
        }
    }

    /// Lets time pass until the next thing is due.
    private func pass() {
        let due = machine.nextDeadline
        let limit = due ?? lastOrder + Self.patience
        now = max(now, min(air.nextDeadline ?? limit, limit))
        air.advance(to: now)
        settle()
        if due == nil, now >= limit {
            machine.abort("nothing has ended for \(Self.patience.scenarioWords)", at: now)
        }
        machine.advance(to: now)
    }

    private func takeWatchEvent(_ event: WatchEvent) {
        guard let told = watchHistory.record(event, text: event.storyLine.text, at: now),
            let event = ScenarioEvent(.watch, told.values)
        else { return }
        machine.receive(event, at: now)
    }

    private func takePhoneEvent(_ event: PhoneHost.Event) {
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

    private func carryOut(_ order: ScenarioMachine.Order) {
        lastOrder = now
        switch order {
        case .give(let command, let id):
            switch command.side {
            case .watch:
                let answer = askWatch(command.line)
                // What has happened by the command has happened before its answer, and before the next step.
                tellEvents()
                machine.finish(id, ScenarioMachine.Answer(answer), at: now)
            case .phone:
                if let answer = askPhone(command.line, id: id) {
                    machine.finish(id, ScenarioMachine.Answer(answer), at: now)
                }
            }
        case .fault(let fault, let id): machine.finish(id, begin(fault), at: now)
        case .clear(let name, let id):
            clear(name)
            machine.finish(id, .done([:]), at: now)
        case .tell(_, let id): machine.finish(id, .done([:]), at: now)
        }
    }

    private func begin(_ fault: Fault) -> ScenarioMachine.Answer {
        do throws(WatchCommandError) {
            faults[try desk.add(fault, at: now)] = fault
            return .done([:])
        } catch {
            return ScenarioMachine.Answer(ControlAnswer(error))
        }
    }

    /// Ends the faults of a name, or all.
    private func clear(_ name: String?) {
        for (id, fault) in faults.sorted(by: { $0.key < $1.key }) where name == nil || fault.name == name {
            faults[id] = nil
            // One that is over is not there any more.
            try? desk.clear(id, at: now)
        }
    }

    private func askWatch(_ line: String) -> ControlAnswer {
        let request: ControlRequest
        do throws(ControlRequest.Invalid) {
            request = try ControlRequest(parsing: line.utf8)
        } catch {
            return ControlAnswer(failure: .badRequest, error.description)
        }
        switch request {
        case .perform(let command):
            do throws(WatchCommandError) {
                return ControlAnswer(try watch.perform(command, at: now), at: now)
            } catch {
                return ControlAnswer(error)
            }
        case .status: return ControlAnswer(watch.look { $0.watch.status }, at: now)
        case .look(let look): return watch.look { ControlAnswer(look, of: $0.watch, at: now) }
        case .screenshot(let format): return ControlAnswer(watch.look { $0.watch.frame }, as: format)
        case .messages(let direction, let app, let sequence):
            return ControlAnswer(direction, app: app, after: sequence, from: watchHistory)
        default: return ControlAnswer(failure: .notPermitted, "there is no process that could do that on a virtual air")
        }
    }

    /// - Returns: nil if the answer comes later.
    private func askPhone(_ line: String, id: Int) -> ControlAnswer? {
        guard let phone else { return ControlAnswer(phoneFailure: .notReady, "the scenario has no phone") }
        let request: PhoneControlRequest
        do throws(ControlRequest.Invalid) {
            request = try PhoneControlRequest(parsing: line.utf8)
        } catch {
            return ControlAnswer(phoneFailure: .badRequest, error.description)
        }
        switch request {
        case .perform(let command): return begin(command, id, on: phone)
        case .upload(let path, let name):
            do throws(SystemError) {
                let bytes = try FileReading.bytes(of: path, limit: PhoneSocket.fileLimit)
                return begin(.upload(bytes, name: name), id, on: phone)
            } catch {
                return ControlAnswer(phoneFailure: .badFile, "\(path) is not uploaded: \(error)")
            }
        case .install(let path):
            let platform = watch.look { $0.watch.configuration.identity.hardware.appPlatform }
            do throws(BundleError) {
                let package = try AppBundle.package(atPath: path, for: platform ?? .aplite)
                return begin(.install(PhoneApp(package)), id, on: phone)
            } catch {
                return ControlAnswer(phoneFailure: .badFile, "\(path) is not installed: \(error)")
            }
        case .status: return ControlAnswer(phone.look { $0.phone.status })
        case .events: return ControlAnswer(phoneFailure: .badRequest, "a scenario has the events already")
        }
    }

    /// - Returns: nil, because the answer comes later.
    private func begin(_ command: PhoneCommand, _ id: Int, on phone: HostRunner<PhoneHost>) -> ControlAnswer? {
        phone.update(at: now) { $0.begin(command, as: PhoneRequestID(rawValue: UInt64(id)), at: now) }
        return nil
    }
}

/// The last packets between the watch and its controller, for the story of a failure.
private final class PacketTail {
    private static let limit = 12
    /// How many octets of a packet are shown.
    private static let shown = 24
    private var packets: [(bytes: [UInt8], direction: Btsnoop.Direction, time: Duration)] = []

    func note(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at now: Duration) {
        if packets.count >= Self.limit { packets.removeFirst() }
        packets.append((Array(packet), direction, now))
    }

    var lines: [String] {
        packets.map { packet in
            let octets = packet.bytes.prefix(Self.shown).map {
                $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16)
            }
            let rest = packet.bytes.count > Self.shown ? " … \(packet.bytes.count) octets" : ""
            let arrow = packet.direction == .sent ? "→" : "←"
            return "\(packet.time.scenarioWords) \(arrow) \(octets.joined(separator: " "))\(rest)"
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
