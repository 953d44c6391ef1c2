import AirSimulator
import BluetoothHCI
import Testing

/// How often hosts are asked for their deadlines.
private final class Questions {
    var count = 0
}

/// A host that says something at a beat, and counts how often it is asked when it is due.
private struct BeatingHost: HCIHost {
    let questions: Questions
    let beat: Duration
    var next: Duration?
    var beats = 0
    private var isReady = false

    init(_ questions: Questions, every beat: Duration) {
        self.questions = questions
        self.beat = beat
    }

    var nextDeadline: Duration? {
        questions.count += 1
        return next
    }

    mutating func start(at now: Duration) { next = now + beat }
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {}

    mutating func advance(to now: Duration) {
        beats += 1
        next = now + beat
        isReady = true
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard isReady else { return false }
        isReady = false
        // Read Local Version Information.
        buffer = [1, 0x01, 0x10, 0]
        return true
    }
}

/// What a step costs does not grow with the number of those who wait.
@Suite struct CrowdedSimulationTests {
    @Test func hostsThatWaitAreNotAsked() throws {
        let waiting = Questions()
        let busy = Questions()
        var simulation = Simulation(seed: 1)
        var ids: [Simulation.HostID<BeatingHost>] = []
        for _ in 0..<200 { ids.append(simulation.add(BeatingHost(waiting, every: .seconds(3600)))) }
        let talker = simulation.add(BeatingHost(busy, every: .milliseconds(10)))
        simulation.run(for: .seconds(1))
        let before = waiting.count
        simulation.run(for: .seconds(10))
        #expect(simulation.withHost(talker) { $0.beats } == 1100)
        #expect(waiting.count == before)
        // Before and after each beat, and after the answer to what it said.
        #expect(busy.count <= 3 * 1100 + 10)
        // Its owner has used it: it is asked again.
        let soon = simulation.now + .seconds(1)
        simulation.withHost(ids[7]) { $0.next = soon }
        #expect(simulation.nextDeadline.map { $0 <= .seconds(12) } == true)
        simulation.run(for: .seconds(2))
        #expect(simulation.withHost(ids[7]) { $0.beats } == 1)
        #expect(waiting.count <= before + 10)
    }

    @Test func hostsThatAreDueAtOneMomentAreServedInTheirOrder() throws {
        let questions = Questions()
        var simulation = Simulation(seed: 1)
        // The later ones have shorter beats: at a common multiple all are due.
        for number in 0..<20 {
            _ = simulation.add(BeatingHost(questions, every: .milliseconds(100 * (20 - number))))
        }
        var order: [Duration: [String]] = [:]
        simulation.observer = { packet in
            if packet.isFromHost { order[packet.time, default: []].append("\(packet.controller)") }
        }
        simulation.run(until: .seconds(60))
        #expect(order.count > 100)
        for names in order.values {
            #expect(names == names.sorted { Int($0.dropFirst(11)) ?? 0 < Int($1.dropFirst(11)) ?? 0 })
        }
        #expect(order.values.map(\.count).max() ?? 0 >= 6)
    }

    @Test func aControllerThatIsTakenAwayLeavesItsPlaceToAnotherHost() throws {
        let questions = Questions()
        var simulation = Simulation(seed: 1)
        let first = simulation.add(BeatingHost(questions, every: .seconds(1)))
        let second = simulation.add(BeatingHost(questions, every: .seconds(1)))
        simulation.run(for: .seconds(2))
        simulation.air.removeController(first.controller)
        let third = simulation.add(BeatingHost(questions, every: .seconds(1)))
        var answers: [ControllerID: Int] = [:]
        simulation.observer = { packet in
            if !packet.isFromHost { answers[packet.controller, default: 0] += 1 }
        }
        simulation.run(for: .seconds(10))
        #expect(answers == [second.controller: 10, third.controller: 10])
    }
}
