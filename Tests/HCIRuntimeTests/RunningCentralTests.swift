import BluetoothCentral
import BluetoothHost
import HCIRuntime
import Testing

/// A central on a thread of its own, on a virtual controller with nothing else on the air.
@Suite struct RunningCentralTests {
    @Test(.timeLimit(.minutes(1)))
    func itStartsSearchesAndStops() async throws {
        let central = try RunningCentral(on: "virtual")
        var events = central.events.makeAsyncIterator()
        await #expect(throws: CentralError.notFound) {
            try await central.find(within: .milliseconds(300)) { _ in true }
        }
        await #expect(throws: CentralError.timedOut) {
            try await central.connect(to: .random(.zero), within: .milliseconds(300))
        }
        #expect(try await central.scan(for: .milliseconds(100)).isEmpty)
        while let event = await events.next() {
            if case .ready = event { break }
        }
        #expect(try await central.stop() == .stopped)
        while await events.next() != nil {}
        await #expect(throws: CancellationError.self) { try await central.scan(for: .seconds(1)) }
    }

    @Test(.timeLimit(.minutes(1)))
    func aCancelledTaskCancelsItsRequest() async throws {
        let central = try RunningCentral(on: "virtual")
        let search = Task { try await central.find(within: .seconds(3600)) { _ in true } }
        // One that is begun, or one that is about to be: either ends.
        search.cancel()
        await #expect(throws: CancellationError.self) { try await search.value }
        let connecting = Task { try await central.connect(to: .random(.zero), within: .seconds(3600)) }
        #expect(try await central.scan(for: .milliseconds(50)).isEmpty)
        connecting.cancel()
        await #expect(throws: CancellationError.self) { try await connecting.value }
        try await central.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func stoppingEndsWhatIsUnderWay() async throws {
        let central = try RunningCentral(on: "virtual")
        let search = Task { try await central.find(within: .seconds(3600)) { _ in true } }
        #expect(try await central.scan(for: .milliseconds(50)).isEmpty)
        try await central.stop()
        await #expect(throws: CancellationError.self) { try await search.value }
    }

    @Test func aControllerThatMeansNothingIsNamed() throws {
        let error = #expect(throws: ProgramError.self) { try RunningCentral(on: "bluetooth") }
        #expect(error?.status == .usage)
    }

    @Test(.timeLimit(.minutes(1)))
    func aControllerThatIsNotThereIsNamedByTheRequest() async throws {
        let central = try RunningCentral(on: "unix:/nowhere/controller")
        let error = await #expect(throws: ProgramError.self) {
            try await central.find(within: .seconds(10)) { _ in true }
        }
        #expect(error?.what.contains("/nowhere/controller") == true)
    }
}
