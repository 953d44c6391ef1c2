import AirSimulator
import BluetoothHCI
import Testing

/// A host that sends commands from a list, one after the other, and records the packets that it gets.
private struct ScriptedHost: HCIHost {
    var commands: [[UInt8]]
    var heard: [[UInt8]] = []
    var started: Duration?
    /// Says something once at this time, apart from its list.
    var alarm: (time: Duration, packet: [UInt8])?
    private var queue: [[UInt8]] = []
    private var next = 0

    init(_ commands: [String], alarm: (time: Duration, packet: String)? = nil) {
        self.commands = commands.map(bytes)
        self.alarm = alarm.map { ($0.time, bytes($0.packet)) }
    }

    var nextDeadline: Duration? { alarm?.time }

    mutating func start(at now: Duration) {
        started = now
        sendNext()
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        heard.append(Array(packet))
        // Command Complete and Command Status let the next command go.
        if packet.starts(with: [4, 0x0E]) || packet.starts(with: [4, 0x0F]) { sendNext() }
    }

    mutating func advance(to now: Duration) {
        guard let due = alarm, due.time <= now else { return }
        queue.append(due.packet)
        alarm = nil
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard !queue.isEmpty else { return false }
        buffer = queue.removeFirst()
        return true
    }

    private mutating func sendNext() {
        guard next < commands.count else { return }
        queue.append(commands[next])
        next += 1
    }
}

/// A host that answers everything it hears with the same command again.
private struct BabblingHost: HCIHost {
    var pending = 0
    var nextDeadline: Duration? { nil }
    mutating func start(at now: Duration) { pending = 1 }
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { pending += 1 }
    mutating func advance(to now: Duration) {}
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard pending > 0 else { return false }
        pending -= 1
        buffer = [1, 9, 0x10, 0]
        return true
    }
}

@Suite struct SimulationTests {
    private static let setUp = [
        "01 03 0c 00", "01 01 0c 08 ff ff ff ff ff ff ff 3f", "01 01 20 08 ff ff ff ff ff ff ff 7f",
    ]

    private func watch(alarm: (time: Duration, packet: String)? = nil) -> ScriptedHost {
        ScriptedHost(
            Self.setUp + ["01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00", "01 0a 20 01 01"],
            alarm: alarm
        )
    }

    private var configuration: ControllerConfiguration {
        var configuration = ControllerConfiguration.modern
        configuration.publicAddress = "C0:C0:C0:00:00:01".address
        return configuration
    }

    private let connect = "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00"

    @Test func hostsMeetInVirtualTime() throws {
        var simulation = Simulation(seed: 1)
        // The watch disconnects after 5 s.
        let watch = simulation.add(watch(alarm: (.seconds(5), "01 06 04 03 40 00 13")), configuration)
        let phone = simulation.add(ScriptedHost(Self.setUp + [connect]))
        let outcome = simulation.run(until: .seconds(60)) { simulation in
            simulation.withHost(phone) { $0.heard.last?.starts(with: [4, 5]) == true } == true
        }
        #expect(outcome == .conditionMet)
        #expect(simulation.now > .seconds(5) && simulation.now < .milliseconds(5100))
        let heard = simulation.withHost(phone) { $0.heard }
        #expect(heard?.last == bytes("04 05 04 00 50 00 13"))
        #expect(simulation.withHost(watch) { $0.started } == .zero)
        // No host has anything more to do.
        #expect(simulation.run(until: .seconds(100)) == .timeIsUp)
        #expect(simulation.now == .seconds(100))
    }

    @Test func whatAHostIsToldToDoInBetweenIsDone() throws {
        var simulation = Simulation(seed: 1)
        let watch = simulation.add(watch(), configuration)
        simulation.run(for: .seconds(1))
        simulation.withHost(watch) { $0.alarm = (.milliseconds(1500), bytes("01 0a 20 01 00")) }
        simulation.run(for: .seconds(1))
        #expect(simulation.withHost(watch) { $0.heard.last } == bytes("04 0e 04 01 0a 20 00"))
        #expect(simulation.now == .seconds(2))
    }

    @Test func theObserverSeesEveryPacketAndRunsAreRepeatable() throws {
        var runs: [[String]] = []
        for seed: UInt64 in [1, 1, 2] {
            var simulation = Simulation(seed: seed)
            _ = simulation.add(watch(), configuration)
            let phone = simulation.add(ScriptedHost(Self.setUp + [connect]))
            var seen: [String] = []
            simulation.observer = { packet in
                seen.append("\(packet.time) \(packet.controller) \(packet.isFromHost) \(hex(packet.bytes))")
            }
            simulation.run(until: .seconds(2))
            let heard = simulation.withHost(phone) { $0.heard.count } ?? 0
            #expect(seen.filter { $0.contains("controller 1 false") }.count == heard)
            #expect(seen.filter { $0.contains("controller 1 true") }.count == 4)
            #expect(seen.first == "0.0 seconds controller 0 true 01 03 0c 00")
            runs.append(seen)
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0] != runs[2])
    }

    @Test func hostsThatNeverRestAreFound() throws {
        var simulation = Simulation(seed: 1)
        _ = simulation.add(BabblingHost())
        #expect(simulation.run(until: .seconds(1)) == .livelock)
    }

    @Test func anEmptySimulationHasNothingToDo() throws {
        var simulation = Simulation(seed: 1)
        #expect(simulation.run(until: .seconds(1)) == .timeIsUp)
        #expect(simulation.now == .seconds(1))
    }

    @Test func idleConnectionsCostNothing() throws {
        var simulation = Simulation(seed: 1)
        _ = simulation.add(watch(), configuration)
        let phone = simulation.add(ScriptedHost(Self.setUp + [connect]))
        simulation.run(until: .seconds(1))
        #expect(simulation.air.nextDeadline == nil)
        let clock = ContinuousClock()
        let spent = clock.measure { _ = simulation.run(until: .seconds(3600 * 1000)) }
        // A thousand hours; without skipping, they would take minutes.
        #expect(spent < .seconds(5))
        // The radio was on nevertheless: 80 µs for each of 120 million events.
        let usage = simulation.air.radioUsage(of: phone.controller)
        #expect(abs(usage.total.transmitting / .microseconds(80) / 120_000_000 - 1) < 0.001)
        #expect(simulation.withHost(phone) { $0.heard.last?.starts(with: [4, 5]) } == false)
    }
}
