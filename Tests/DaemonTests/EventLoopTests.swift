import Glibc
import LinuxBluetooth
import SystemTestSupport
import Testing

@testable import Daemon
@testable import HCIRuntime

@Suite struct EventLoopTests {
    private let recorder = LogRecorder()

    private func makeLoop(stopPatience: Duration = .seconds(5), signals: StopSignals? = nil) -> EventLoop {
        EventLoop(clock: MonotonicClock(), signals: signals, stopPatience: stopPatience, log: recorder.logger)
    }

    /// A host on a connection to `socket`, whose events go to `handle`.
    private func attach(
        _ host: TinyHost,
        to loop: EventLoop,
        listener port: UInt16,
        handle: @escaping (TinyHost.Event, Duration) -> Void
    ) -> HostRunner<TinyHost> {
        let runner = HostRunner(host, log: recorder.logger, handleEvent: handle)
        loop.add(
            RemoteController(.tcp(host: "127.0.0.1", port: port), runner: runner, whenLost: .exit, log: recorder.logger)
        )
        return runner
    }

    @Test func carriesPacketsBothWaysAndKeepsDeadlines() throws {
        let (listener, port) = try RawSocket.listening()
        let loop = makeLoop()
        var host = TinyHost()
        host.delays = [.milliseconds(20), .milliseconds(40), .milliseconds(60)]
        var events: [TinyHost.Event] = []
        var deadlines: [Duration] = []
        var lateness: [Duration] = []
        let answer: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
        let runner = attach(host, to: loop, listener: port) { event, now in
            guard case .due(let deadline) = event else { return events.append(event) }
            deadlines.append(deadline)
            lateness.append(now - deadline)
            if deadlines.count == host.delays.count { loop.requestStop() }
        }
        var received: [UInt8] = []
        loop.add(
            Acceptor(listener) { peer in
                received += try peer.read(TinyHost.reset.count)
                try peer.write(answer)
            }
        )
        loop.add(Watchdog())
        #expect(try loop.run() == .stopped)
        #expect(received == TinyHost.reset)
        // Which comes first, the answer or a deadline, is the machine's matter: it may have been busy for that long.
        #expect(events == [.started, .received(answer), .leaving])
        #expect(deadlines.count == host.delays.count)
        #expect(deadlines == deadlines.sorted())
        #expect(lateness.allSatisfy { $0 >= .zero }, "no deadline comes early: \(lateness)")
        #expect(loop.turns < 30, "it sleeps between deadlines instead of spinning: \(loop.turns) turns")
        #expect(recorder.lines.contains("trace: > 01030c00"))
        #expect(recorder.lines.contains("trace: < 040e0401030c00"))
        withExtendedLifetime(runner) {}
    }

    @Test func doesNotSpinOnADeadlineThatDoesNotMove() throws {
        let loop = makeLoop()
        loop.add(Watchdog(after: .milliseconds(200)))
        loop.add(StuckMember())
        #expect(throws: ProgramError.self) { try loop.run() }
        #expect(loop.turns < 100, "\(loop.turns) turns in 200 ms")
        #expect(recorder.lines == ["warning: a deadline at 0.0 seconds has passed and does not move"])
    }

    @Test func stopsReadingAHostWhoseControllerDoesNotRead() throws {
        let (listener, port) = try RawSocket.listening(receiveBuffer: 4096)
        let loop = makeLoop()
        recorder.logLevel = .info
        var host = TinyHost()
        host.dataCount = 10_000
        host.deadlines = (1...2_000).map { .milliseconds($0 * 5) }
        var taken: [Int] = []
        var acceptor: Acceptor?
        var runner: HostRunner<TinyHost>?
        // Each knows a closure that knows both.
        defer { (acceptor, runner) = (nil, nil) }
        runner = attach(host, to: loop, listener: port) { event, _ in
            // Timers go on while the controller is stalled. When ten in a row have found that nothing more was taken
            // out of the host, every buffer on the way is full, and the controller begins to read.
            guard case .due = event, let count = runner?.host.takenCount, acceptor?.isReading == false else { return }
            taken.append(count)
            let last = taken.suffix(10)
            acceptor?.isReading = last.count == 10 && last.first == last.last
        }
        var received: [UInt8] = []
        let total = TinyHost.reset.count + host.dataCount * TinyHost.data(0).count
        let peer = Acceptor(listener) { peer in
            received += try peer.read(min(60_000, total - received.count))
            if received.count == total { loop.requestStop() }
        }
        peer.isReading = false
        acceptor = peer
        loop.add(peer)
        loop.add(Watchdog())
        #expect(try loop.run() == .stopped)
        let takenWhenStalled = try #require(taken.last)
        #expect(takenWhenStalled > 60 && takenWhenStalled < host.dataCount)
        let expected = (0..<host.dataCount).reduce(into: TinyHost.reset) { $0 += TinyHost.data($1) }
        #expect(received == expected)
    }

    @Test func aSignalEndsItCleanlyAndASecondOneAtOnce() throws {
        for (count, outcome) in [
            (1, EventLoop.Outcome.stopped), (2, .killed(StopSignals.Signal(number: SIGTERM))),
        ] {
            let (listener, port) = try RawSocket.listening()
            let loop = makeLoop(signals: try StopSignals())
            var host = TinyHost()
            host.leavesAtOnce = false
            var runner: HostRunner<TinyHost>?
            defer { runner = nil }
            var order: [TinyHost.Event] = []
            runner = attach(host, to: loop, listener: port) { event, _ in
                order.append(event)
                switch event {
                case .started: raise(SIGINT)
                case .leaving where count == 2: raise(SIGTERM)
                // The host ends when its controller has confirmed the disconnection.
                case .received: runner?.update(at: .zero) { $0.takeLeave() }
                default: break
                }
            }
            loop.add(
                Acceptor(listener) { peer in
                    _ = try peer.read(TinyHost.reset.count)
                    if count == 1 { try peer.write([0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x15]) }
                }
            )
            loop.add(Watchdog())
            #expect(try loop.run() == outcome)
            #expect(order.contains(.leaving))
            #expect(recorder.lines.contains("notice: SIGINT: ending; once more to end at once"))
        }
    }

    @Test func aHostThatDoesNotTakeLeaveIsLeft() throws {
        let (listener, port) = try RawSocket.listening()
        let loop = makeLoop(stopPatience: .milliseconds(50))
        var host = TinyHost()
        host.leavesAtOnce = false
        let runner = attach(host, to: loop, listener: port) { event, _ in
            if event == .started { loop.requestStop() }
        }
        loop.add(Watchdog())
        #expect(try loop.run() == .stopTimedOut)
        withExtendedLifetime((runner, listener)) {}
    }
}

/// A member that breaks the rule of deadlines.
private final class StuckMember: LoopMember {
    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    func advance(to now: Duration) {}
    var nextDeadline: Duration? { .zero }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
