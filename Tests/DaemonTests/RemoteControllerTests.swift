import Glibc
import Logging
import SystemTestSupport
import Testing

@testable import Daemon
@testable import LinuxBluetooth
@testable import HCIRuntime

@Suite struct RemoteControllerTests {
    private let recorder = LogRecorder()

    private func run(
        _ policy: RemoteController.LossPolicy,
        port: UInt16,
        host: TinyHost = TinyHost(),
        peer: (any LoopMember)?,
        handle: @escaping (EventLoop, TinyHost.Event, Duration) -> Void
    ) throws -> EventLoop.Outcome {
        let loop = EventLoop(clock: MonotonicClock(), signals: nil, log: recorder.logger)
        let runner = HostRunner(host, log: recorder.logger) { [unowned loop] in handle(loop, $0, $1) }
        loop.add(
            RemoteController(
                .tcp(host: "127.0.0.1", port: port),
                runner: runner,
                whenLost: policy,
                backOff: .milliseconds(5),
                log: recorder.logger
            )
        )
        if let peer { loop.add(peer) }
        loop.add(Watchdog())
        return try loop.run()
    }

    @Test func aControllerThatIsNotThereEndsTheProcess() throws {
        let port = try { try RawSocket.listening().port }()
        let error = try #require(throws: ProgramError.self) {
            try run(.exit, port: port, peer: nil) { _, _, _ in }
        }
        #expect(error.status == .unavailable)
        #expect(error.what == "cannot reach the controller at tcp:127.0.0.1:\(port): Connection refused")
        #expect(error.advice == "nothing listens there: start the controller first, and check the port")
    }

    @Test func aControllerThatGoesAwayEndsTheProcess() throws {
        let (listener, port) = try RawSocket.listening()
        var received: [[UInt8]] = []
        var acceptor: Acceptor?
        defer { acceptor = nil }
        acceptor = Acceptor(listener) { peer in
            _ = try peer.read(TinyHost.reset.count)
            try peer.write([0x04, 0x13, 0x01, 0x00, 0x02, 0x40])
            acceptor?.hangUp()
        }
        let error = try #require(throws: ProgramError.self) {
            try run(.exit, port: port, peer: acceptor) { _, event, _ in
                if case .received(let packet) = event { received.append(packet) }
            }
        }
        #expect(received == [[0x04, 0x13, 0x01, 0x00]], "the whole packet before the end counts")
        #expect(error.status == .inputOutput)
        #expect(
            error.what == "lost the controller at tcp:127.0.0.1:\(port): the other side closed the connection "
                + "in the middle of a packet, of which 2 bytes had come"
        )
    }

    @Test func aControllerThatComesBackIsStartedAgain() throws {
        let (listener, port) = try RawSocket.listening()
        var starts = 0
        var acceptor: Acceptor?
        defer { acceptor = nil }
        acceptor = Acceptor(listener) { peer in
            // Reset again, and nothing that was meant for the connection before.
            let first = try peer.read(TinyHost.reset.count)
            #expect(first == TinyHost.reset)
            acceptor?.hangUp()
        }
        var host = TinyHost()
        host.dataCount = 3_000
        let outcome = try run(.retry, port: port, host: host, peer: acceptor) { loop, event, _ in
            guard event == .started else { return }
            starts += 1
            if starts == 4 { loop.requestStop() }
        }
        #expect(outcome == .stopped)
        #expect(starts == 4)
        let losses = recorder.lines.filter { $0.hasPrefix("error: lost the controller") }
        // Nothing was received on any of the connections, so every wait is twice the last one.
        #expect(
            losses.prefix(3).map { $0.split(separator: ";").last ?? "" }
                == [" trying again in 0.005 seconds", " trying again in 0.01 seconds", " trying again in 0.02 seconds"]
        )
    }

    @Test func aControllerThatTheHostCannotUseIsGivenUp() throws {
        let broken: [UInt8] = [0x04, 0x10, 0x01, 0x42]
        for policy in RemoteController.LossPolicy.allCases {
            let (listener, port) = try RawSocket.listening()
            var acceptor: Acceptor?
            defer { acceptor = nil }
            acceptor = Acceptor(listener) { peer in
                if try peer.readWhatIsThere().isEmpty { acceptor?.hangUp() } else { try peer.write(broken) }
            }
            var starts = 0
            func run() throws -> EventLoop.Outcome {
                try self.run(policy, port: port, peer: acceptor) { loop, event, _ in
                    guard event == .started else { return }
                    starts += 1
                    if starts == 2 { loop.requestStop() }
                }
            }
            let what = "cannot use the controller at tcp:127.0.0.1:\(port): it said that it is broken"
            switch policy {
            case .exit, .reopen:
                let error = try #require(throws: ProgramError.self) { try run() }
                #expect(error.status == .unavailable)
                #expect(error.what == what)
            case .retry:
                #expect(try run() == .stopped)
                #expect(recorder.lines.contains("error: \(what); trying again in 0.005 seconds"))
            }
        }
    }

    /// One that has been there is waited for, and the host is told each time; one that never sent a packet is not.
    @Test(arguments: [true, false])
    func aControllerThatWasThereIsOpenedAgain(speaks: Bool) throws {
        let (listener, port) = try RawSocket.listening()
        var acceptor: Acceptor?
        defer { acceptor = nil }
        acceptor = Acceptor(listener) { peer in
            _ = try peer.read(TinyHost.reset.count)
            if speaks { try peer.write([0x04, 0x13, 0x01, 0x00]) }
            acceptor?.hangUp()
        }
        var story: [TinyHost.Event] = []
        func run() throws -> EventLoop.Outcome {
            try self.run(.reopen, port: port, peer: acceptor) { loop, event, _ in
                story.append(event)
                if story.count(where: { $0 == .started }) == 3 { loop.requestStop() }
            }
        }
        guard speaks else {
            let error = try #require(throws: ProgramError.self) { try run() }
            #expect(error.status == .inputOutput)
            #expect(story == [.started])
            return
        }
        #expect(try run() == .stopped)
        let packet: [TinyHost.Event] = [.started, .received([0x04, 0x13, 0x01, 0x00]), .lost]
        #expect(Array(story.prefix(6)) == packet + packet)
    }

    @Test func leavesTheControllerSilent() throws {
        let (listener, port) = try RawSocket.listening()
        var received: [UInt8] = []
        let acceptor = Acceptor(listener) { received += try $0.readWhatIsThere() }
        var host = TinyHost()
        host.dataCount = 1
        host.delays = [.milliseconds(5)]
        let outcome = try run(.exit, port: port, host: host, peer: acceptor) { loop, event, _ in
            if case .due = event { loop.requestStop() }
        }
        #expect(outcome == .stopped)
        let expected = TinyHost.reset + TinyHost.data(0) + TinyHost.reset
        received += try acceptor.rest()
        #expect(received == expected, "the last word is Reset")
    }

    @Test func waitsForAControllerThatIsNotThereYet() throws {
        let port = try { try RawSocket.listening().port }()
        var failures = 0
        let loop = EventLoop(clock: MonotonicClock(), signals: nil, log: recorder.logger)
        let runner = HostRunner(TinyHost(), log: recorder.logger) { _, _ in }
        loop.add(
            RemoteController(
                .tcp(host: "127.0.0.1", port: port),
                runner: runner,
                whenLost: .retry,
                backOff: .milliseconds(5),
                log: recorder.logger
            )
        )
        loop.beforeWaiting = {
            failures = recorder.lines.count { $0.contains("Connection refused") }
            if failures == 3 { loop.requestStop() }
        }
        loop.add(Watchdog())
        #expect(try loop.run() == .stopped)
        #expect(failures == 3)
    }

    @Test func capturesWhatGoesOverTheWire() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        let (listener, port) = try RawSocket.listening()
        let clock = MonotonicClock()
        let loop = EventLoop(clock: clock, signals: nil, log: recorder.logger)
        let capture = try PacketCapture(path: path, clock: clock, log: recorder.logger)
        var sizes: [Int] = []
        var sizeWhileWorkedOn = 0
        let runner = HostRunner(TinyHost(), capture: capture, log: recorder.logger) { event, _ in
            guard case .received = event else { return }
            sizeWhileWorkedOn = (try? contents(of: path).count) ?? 0
            loop.requestStop()
        }
        loop.beforeWaiting = {
            sizes.append((try? contents(of: path).count) ?? 0)
        }
        loop.add(
            RemoteController(.tcp(host: "127.0.0.1", port: port), runner: runner, whenLost: .exit, log: recorder.logger)
        )
        loop.add(
            Acceptor(listener) { peer in
                _ = try peer.read(TinyHost.reset.count)
                try peer.write([0x04, 0x13, 0x01, 0x00])
            }
        )
        loop.add(capture)
        loop.add(Watchdog())
        #expect(try loop.run() == .stopped)
        #expect(sizeWhileWorkedOn == 16 + 2 * (24 + 4), "a packet is in the file before the host works on it")
        let bytes = try contents(of: path)
        #expect(bytes.count == 16 + 2 * (24 + 4))
        #expect(Array(bytes[40..<44]) == TinyHost.reset)
        #expect(Array(bytes[68...]) == [0x04, 0x13, 0x01, 0x00])
        #expect(sizes.contains(16 + 24 + 4), "a packet is in the file before the loop waits for the next one: \(sizes)")
    }

    // MARK: Floods

    /// A vendor's event of the largest size.
    private static let vendorEvent: [UInt8] = [0x04, 0xFF, 0xFF] + [UInt8](repeating: 7, count: 255)

    /// Runs a host with a deadline that has passed by the time the first packet of a flood is worked on.
    /// - Parameter isEndless: whether more comes in each time the loop turns, and not only what the sockets hold.
    /// - Returns: how many packets had been sent, and how many the host had received, when its deadline came.
    private func deadlineInFlood(isEndless: Bool) throws -> (sent: Int, received: Int) {
        let (listener, port) = try RawSocket.listening()
        let clock = MonotonicClock()
        let loop = EventLoop(clock: clock, signals: nil, log: recorder.logger)
        var host = TinyHost()
        host.deadlines = [.milliseconds(300)]
        var controller: RawSocket?
        var unsent = Self.vendorEvent[...]
        var sent = 0
        var received = 0
        func send() {
            while let controller {
                let count = unsent.withUnsafeBytes {
                    Glibc.send(controller.descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
                }
                guard count > 0 else { return }
                unsent = unsent.dropFirst(count)
                guard unsent.isEmpty else { continue }
                sent += 1
                unsent = Self.vendorEvent[...]
            }
        }
        let runner = HostRunner(host, log: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }) { event, _ in
            switch event {
            case .received:
                received += 1
                while clock.now < .milliseconds(310) { usleep(1000) }
            case .due:
                controller = nil
                loop.requestStop()
            default: break
            }
        }
        if isEndless { loop.beforeWaiting = send }
        loop.add(
            RemoteController(.tcp(host: "127.0.0.1", port: port), runner: runner, whenLost: .exit, log: recorder.logger)
        )
        loop.add(
            Acceptor(listener) { peer in
                _ = try peer.read(TinyHost.reset.count)
                controller = peer
                send()
            }
        )
        loop.add(Watchdog())
        #expect(try loop.run() == .stopped)
        return (sent, received)
    }

    /// An answer that stands behind a flood is there in time, however long the flood takes.
    @Test func timePassesWhenEverythingIsRead() throws {
        let (sent, received) = try deadlineInFlood(isEndless: false)
        try #require(
            sent * Self.vendorEvent.count > 2 * ByteStream.receiveLimit,
            "the sockets hold more than one share"
        )
        #expect(received == sent)
    }

    /// A controller that sends without end does not make the host miss its deadlines.
    @Test func timePassesInAnEndlessFlood() throws {
        let (sent, received) = try deadlineInFlood(isEndless: true)
        #expect(received < sent)
        #expect(received * Self.vendorEvent.count > 60 * ByteStream.receiveLimit)
    }
}
