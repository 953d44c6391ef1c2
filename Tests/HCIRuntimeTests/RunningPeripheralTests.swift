import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

/// A peripheral that counts.
private struct Counter: GATTService {
    enum Value: String, CaseIterable { case count }
    var count = 0
    /// How often time has passed.
    var advances = 0
    let declaration = Service(.uuid16(0xFF00)) { Characteristic(.uuid16(0xFF01), .read, of: Value.count) }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([UInt8(clamping: count)]) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func advance(_ output: inout Output) { advances += 1 }
}

/// A peripheral on a thread of its own, on a virtual controller.
@Suite struct RunningPeripheralTests {
    private func peripheral() throws -> Peripheral<Counter> {
        try Peripheral(Counter(), PeripheralConfiguration(name: "Counter", address: .staticRandom(1)))
    }

    @Test(.timeLimit(.minutes(1)))
    func itStartsChangesAndStops() async throws {
        let running = try RunningPeripheral(try peripheral(), on: "virtual")
        var events = running.events.makeAsyncIterator()
        while let event = await events.next() {
            if case .ready = event { break }
        }
        // Many at once: each is done once, on the loop's thread.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    try await running.update { counter in
                        counter.count += 1
                        return counter.count
                    }
                }
            }
            var seen: Set<Int> = []
            for try await count in group { seen.insert(count) }
            #expect(seen == Set(1...100))
        }
        let advances = try await running.update { $0.advances }
        #expect(advances >= 100, "what is new is told at once")
        let outcome = try await running.stop()
        #expect(outcome == .stopped)
        while await events.next() != nil {}
        await #expect(throws: CancellationError.self) { try await running.update { $0.count } }
    }

    @Test(arguments: ["", "bluetooth", "tcp:nowhere", "serial:"])
    func aControllerThatMeansNothingIsNamed(transport: String) throws {
        let error = #expect(throws: ProgramError.self) { try RunningPeripheral(try peripheral(), on: transport) }
        #expect(error?.status == .usage)
        #expect(error?.advice.contains("hci0") == true)
    }

    @Test func aControllerThatIsNotThereEndsIt() async throws {
        let running = try RunningPeripheral(try peripheral(), on: "unix:/nowhere/controller")
        let error = await #expect(throws: ProgramError.self) { try await running.outcome }
        #expect(error?.what.contains("/nowhere/controller") == true)
    }
}
