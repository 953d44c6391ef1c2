import BluetoothHCI
import Logging
import Testing

@testable import HCIRuntime

/// A host at rest is left alone by its runner, and no other.
@Suite struct HostRunnerTests {
    /// Counts how often it is asked for packets and told the time.
    private struct RestingHost: LoopHost {
        var packets: [UInt8] = []
        var events: [Int] = []
        /// What a packet says when it has left.
        var eventOfPacket: Int?
        var nextDeadline: Duration?
        var rests = true
        private(set) var asked = 0
        private(set) var told = 0

        mutating func isAtRest() -> Bool { rests }
        mutating func start(at now: Duration) { packets.append(0) }
        mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { packets.append(1) }
        mutating func advance(to now: Duration) {
            told += 1
            guard let deadline = nextDeadline, deadline <= now else { return }
            nextDeadline = nil
            packets.append(2)
        }
        mutating func controllerLost(at now: Duration) { packets.append(3) }
        mutating func beginShutdown(at now: Duration) { packets.append(4) }
        mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
            asked += 1
            guard !packets.isEmpty else { return false }
            buffer = [packets.removeFirst()]
            if let event = eventOfPacket {
                events.append(event)
                eventOfPacket = nil
            }
            return true
        }
        mutating func nextEvent() -> Int? { events.isEmpty ? nil : events.removeFirst() }
        var isShutDown: Bool { packets.isEmpty }
    }

    private static func drain(_ runner: HostRunner<RestingHost>, at now: Duration = .zero) -> [UInt8] {
        var all: [UInt8] = []
        var buffer: [UInt8] = []
        while runner.nextPacket(into: &buffer, at: now) { all += buffer }
        return all
    }

    private static func runner(_ host: RestingHost = RestingHost()) -> HostRunner<RestingHost> {
        HostRunner(host, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { _, _ in }
    }

    @Test func atRestItIsAskedAgainOnlyWhenSomethingHasHappened() throws {
        let runner = Self.runner()
        runner.start(at: .zero)
        #expect(Self.drain(runner) == [0])
        let asked = runner.host.asked
        for time in 1...5 {
            runner.advance(to: .seconds(time))
            #expect(Self.drain(runner).isEmpty)
        }
        #expect(runner.host.asked == asked && runner.host.told == 0)
        // Whatever happens to it ends its rest.
        runner.receive([4][...], at: .seconds(6))
        #expect(Self.drain(runner) == [1])
        runner.update(at: .seconds(6)) { $0.packets.append(9) }
        #expect(Self.drain(runner) == [9])
        runner.controllerLost(at: .seconds(6))
        #expect(Self.drain(runner) == [3])
        runner.beginShutdown(at: .seconds(6))
        #expect(Self.drain(runner) == [4])
        runner.start(at: .seconds(6))
        #expect(Self.drain(runner) == [0])
    }

    @Test func itsDeadlineIsKept() {
        let runner = Self.runner()
        runner.start(at: .zero)
        _ = Self.drain(runner)
        runner.update(at: .zero) { $0.nextDeadline = .seconds(3) }
        _ = Self.drain(runner)
        runner.advance(to: .milliseconds(2999))
        #expect(Self.drain(runner).isEmpty && runner.host.told == 0)
        runner.advance(to: .seconds(3))
        #expect(Self.drain(runner) == [2] && runner.host.told == 1)
    }

    @Test func oneThatDoesNotRestIsAskedEachTime() {
        var host = RestingHost()
        host.rests = false
        let runner = Self.runner(host)
        runner.start(at: .zero)
        _ = Self.drain(runner)
        let asked = runner.host.asked
        for time in 1...5 {
            runner.advance(to: .seconds(time))
            _ = Self.drain(runner)
        }
        #expect(runner.host.asked == asked + 5 && runner.host.told == 5)
    }

    /// A packet that has left may make an event, and what is done about it another packet: both are there at once.
    @Test func whatALeavingPacketLeadsToLeavesWithIt() {
        var host = RestingHost()
        host.eventOfPacket = 7
        var told: [Int] = []
        var update: () -> Void = {}
        let runner = HostRunner(host, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }) { event, _ in
            told.append(event)
            update()
        }
        update = { [unowned runner] in runner.update(at: .zero) { $0.packets.append(8) } }
        runner.start(at: .zero)
        #expect(Self.drain(runner) == [0, 8])
        #expect(told == [7])
    }
}
