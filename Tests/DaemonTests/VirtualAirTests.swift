import AirSimulator
import Glibc
import SystemTestSupport
import Testing

@testable import Daemon
@testable import LinuxBluetooth
@testable import HCIRuntime

@Suite struct VirtualAirTests {
    private static let resetComplete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]

    private let recorder = LogRecorder()
    private let loop: EventLoop
    private let air: VirtualAir

    init() {
        loop = EventLoop(clock: MonotonicClock(), signals: nil, log: recorder.logger)
        air = VirtualAir(Air(seed: 1), log: recorder.logger)
        loop.add(air)
        loop.add(Watchdog())
    }

    @Test func aHostOfThisProcessHasAController() throws {
        var host = TinyHost()
        host.delays = [.milliseconds(3), .milliseconds(5), .milliseconds(30)]
        var events: [TinyHost.Event] = []
        var deadlines: [Duration] = []
        var times: [Duration] = []
        let runner = HostRunner(host, log: recorder.logger) { [loop] event, now in
            events.append(event)
            guard case .due(let deadline) = event else { return }
            deadlines.append(deadline)
            times.append(now)
            // However late the loop is, every deadline comes at its own time.
            if deadlines.count == 1 { usleep(10_000) }
            if deadlines.count == host.delays.count { loop.requestStop() }
        }
        air.attach(runner, to: .modern)
        #expect(try loop.run() == .stopped)
        #expect(events.contains(.received(Self.resetComplete)))
        #expect(deadlines.count == host.delays.count)
        #expect(times == deadlines)
        #expect(loop.turns < 30, "\(loop.turns) turns")
    }

    @Test func guestsMeetOnTheAir() throws {
        let port = try air.listen(on: 0)
        let advertiser = try RawSocket.connecting(port: port)
        let scanner = try RawSocket.connecting(port: port)
        // Reset; random address C0:00:00:00:00:01; non-connectable advertising every 20 ms from it; data "Hi"; enable.
        try advertiser.write(bytes("01030c00 01052006 0100000000c0"))
        try advertiser.write(bytes("0106200f 20002000 03 01 00 000000000000 07 00"))
        try advertiser.write(bytes("01082020 04 03094869") + [UInt8](repeating: 0, count: 27))
        try advertiser.write(bytes("010a2001 01"))
        // Reset; all events; passive scanning all the time; enable without filtering duplicates.
        try scanner.write(bytes("01030c00 01010c08 ffffffffffffffff"))
        try scanner.write(bytes("010b2007 00 1000 1000 00 00 010c2002 01 00"))
        // The scanner sees the advertisement: type 3, random address, "Hi".
        let report = bytes("043e 10 02 01 03 01 0100000000c0 04 03094869")
        var heard: [UInt8] = []
        loop.add(
            Reader(scanner) { received in
                heard += received
                if heard.contains(report) { loop.requestStop() }
            }
        )
        #expect(try loop.run() == .stopped)
        #expect(heard.starts(with: Self.resetComplete))
        #expect(recorder.lines.contains("info: guest 2 attached to controller 1"))
    }

    @Test func aGuestThatLeavesTakesItsControllerOffTheAir() throws {
        let port = try air.listen(on: 0)
        var guest: RawSocket? = try RawSocket.connecting(port: port)
        try guest?.write(bytes("01030c00 0103"))
        loop.beforeWaiting = {
            if recorder.lines.contains("info: guest 1 attached to controller 0") { guest = nil }
            if recorder.lines.contains(where: { $0.hasPrefix("info: guest 1 is gone: ") }) { loop.requestStop() }
        }
        #expect(try loop.run() == .stopped)
        #expect(guest == nil)
        let last = try #require(recorder.lines.last)
        // The kernel says "end" or "reset", as the answer to Reset was read by then or not.
        #expect(last.contains("of which 2 bytes had come") || last.contains("reset by peer"), "\(last)")
    }

    @Test func turnsAwayMoreGuestsThanItHasRoomFor() throws {
        let port = try air.listen(on: 0)
        // Connections that send no byte have no place, and so take none from others.
        let silent = try (0..<8).map { _ in try RawSocket.connecting(port: port) }
        defer { withExtendedLifetime(silent) {} }
        let guests = try (0...VirtualAir.guestLimit).map { _ in try RawSocket.connecting(port: port) }
        for guest in guests { try guest.write(bytes("01030c00")) }
        var received: [UInt8] = [1]
        loop.add(
            Reader(guests[VirtualAir.guestLimit]) {
                received = $0
                loop.requestStop()
            }
        )
        #expect(try loop.run() == .stopped)
        #expect(received.isEmpty, "its connection was closed")
        #expect(recorder.lines.contains("warning: guest 17 turned away: 16 hosts are attached already"))
        #expect(recorder.lines.contains("info: guest 16 attached to controller 15"))
    }

    @Test func anAdapterOfTheKernelMeetsAGuest() throws {
        let port = try air.listen(on: 0)
        let (descriptor, kernel) = try RawSocket.packetPair()
        air.attach(try VirtualAdapter.create(on: FileDescriptor(owning: descriptor)))
        #expect(try kernel.readPacket() == [0xFF, 0x00])
        var adapters: [String] = []
        air.adapterIsReady = { adapters.append("\($0) \($1)") }
        let scanner = try RawSocket.connecting(port: port)
        try scanner.write(bytes("01030c00 01010c08 ffffffffffffffff 010b2007 00 1000 1000 00 00 010c2002 01 00"))
        for packet in [
            "ff000300", "01030c00", "01052006 0100000000c0", "0106200f 20002000 03 01 00 000000000000 07 00",
            "01082020 04 03094869" + String(repeating: "00", count: 27), "010a2001 01",
        ] {
            try kernel.write(bytes(packet))
        }
        let report = bytes("043e 10 02 01 03 01 0100000000c0 04 03094869")
        var heard: [UInt8] = []
        loop.add(
            Reader(scanner) { received in
                heard += received
                if heard.contains(report) { loop.requestStop() }
            }
        )
        #expect(try loop.run() == .stopped)
        // The kernel reads one packet at a time: the answers to reset, address, parameters, data, enable.
        #expect(try kernel.readPacket() == Self.resetComplete)
        #expect(try kernel.readPacket() == bytes("040e04 01 0520 00"))
        #expect(try kernel.readPacket() == bytes("040e04 01 0620 00"))
        #expect(try kernel.readPacket() == bytes("040e04 01 0820 00"))
        #expect(try kernel.readPacket() == bytes("040e04 01 0a20 00"))
        let adapter = try #require(adapters.first)
        #expect(adapter.hasPrefix("hci3 00:A1:B2:"))
        #expect(
            recorder.lines.contains {
                $0.hasPrefix("notice: hci3 is an adapter of this machine, with the address 00:A1")
            }
        )
    }

    @Test func adaptersNeedTheDriver() throws {
        let error = try #require(throws: ProgramError.self) { try air.makeAdapters(1, path: "/dev/nothing/vhci") }
        #expect(error.status == .unavailable)
        #expect(error.advice.contains("modprobe hci_vhci"))
    }

    @Test func saysThatThePortIsBusy() throws {
        let (listener, port) = try RawSocket.listening()
        let error = try #require(throws: ProgramError.self) { try air.listen(on: port) }
        #expect(error.status == .unavailable)
        #expect(error.what == "cannot listen on port \(port) of 127.0.0.1: Address already in use")
        withExtendedLifetime(listener) {}
    }

    private func bytes(_ text: String) -> [UInt8] {
        let digits = text.filter { $0 != " " }
        return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
            UInt8(digits.dropFirst(offset).prefix(2), radix: 16)
        }
    }
}

/// Hands on the bytes from a socket.
private final class Reader: LoopMember {
    private let socket: RawSocket
    private let handle: ([UInt8]) -> Void
    private var token: PollSet.Token?

    init(_ socket: RawSocket, handle: @escaping ([UInt8]) -> Void) {
        self.socket = socket
        self.handle = handle
    }

    func addPollRequests(to set: inout PollSet) { token = set.add(socket.descriptor, reading: true, writing: false) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let token, set.isReadable(token) else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(socket.descriptor, &buffer, buffer.count)
        handle(Array(buffer.prefix(max(0, count))))
    }

    func start(at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    func advance(to now: Duration) {}
    var nextDeadline: Duration? { nil }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
