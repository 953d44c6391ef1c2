import CAllocationCounter
import Foundation
import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging

/// What the process around a host has of the kernel and of the heap: a host in the loop, with a controller at the other end of a
/// TCP connection.
///
/// The controller sends a burst of packets in one go, the host answers with several packets, and only then comes the next burst.
/// So the figures are the same in every run: one turn of the loop a burst.
enum LoopTrial {
    /// How many packets a burst has, and how many the host answers it with.
    static let burstSize = 8
    static let answerSize = 4

    /// What the loop's thread does for a burst.
    struct Counts {
        /// By name.
        var systemCalls: [String: Double]
        var allocations: Double
    }

    static func run(bursts: Int) throws -> Counts {
        let controller = try BurstController()
        let thread = Thread { controller.serve() }
        thread.start()
        let log = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        let loop = EventLoop(clock: MonotonicClock(), signals: nil, log: log)
        let runner = HostRunner(BurstHost(bursts: bursts), log: log) { [unowned loop] _, _ in loop.requestStop() }
        let address = TransportAddress.tcp(host: "127.0.0.1", port: controller.port)
        loop.add(RemoteController(address, runner: runner, whenLost: .exit, log: log))
        guard try loop.run() == .stopped, let counted = runner.host.counted else {
            throw WorkloadFailure("the loop did not come to its end")
        }
        let (calls, allocated) = (counted.systemCalls, counted.allocations)
        func average(_ count: UInt64) -> Double { (Double(count) / Double(bursts) * 100).rounded() / 100 }
        return Counts(
            systemCalls: [
                "reads": average(calls.reads), "waits": average(calls.waits), "sends": average(calls.sends),
                "options": average(calls.options),
            ],
            allocations: average(allocated)
        )
    }
}

/// A host that answers each burst, and counts system calls and allocations from one burst to another.
private struct BurstHost: LoopHost {
    /// It has counted.
    struct Event {}

    /// The bursts before these fill buffers.
    private static let firstCounted = 10

    private let bursts: Int
    private var packets = 0
    private var unsent = 0
    private var start: (calls: system_call_counts, allocations: UInt64)?
    private(set) var counted: (systemCalls: system_call_counts, allocations: UInt64)?
    private var hasTold = false
    private(set) var isShutDown = false

    init(bursts: Int) { self.bursts = bursts }

    mutating func start(at now: Duration) { unsent = LoopTrial.answerSize }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        packets += 1
        guard packets.isMultiple(of: LoopTrial.burstSize) else { return }
        unsent = LoopTrial.answerSize
        let burst = packets / LoopTrial.burstSize
        if burst == Self.firstCounted { start = (system_call_counts(), allocation_counts().calls) }
        guard burst == Self.firstCounted + bursts, let start else { return }
        let allocations = allocation_counts().calls - start.allocations
        var calls = system_call_counts()
        calls.reads -= start.calls.reads
        calls.waits -= start.calls.waits
        calls.sends -= start.calls.sends
        calls.options -= start.calls.options
        counted = (calls, allocations)
    }

    mutating func advance(to now: Duration) {}
    var nextDeadline: Duration? { nil }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard unsent > 0 else { return false }
        unsent -= 1
        buffer.removeAll(keepingCapacity: true)
        buffer += BurstController.packet
        return true
    }

    mutating func nextEvent() -> Event? {
        guard counted != nil, !hasTold else { return nil }
        hasTold = true
        return Event()
    }

    mutating func beginShutdown(at now: Duration) { isShutDown = true }
}

/// The other end, on a thread of its own: it sends a burst whenever it has a whole answer, until the connection ends.
private final class BurstController: @unchecked Sendable {
    /// ACL data of 251 octets.
    static let packet: [UInt8] = [0x02, 0x40, 0x20, 0xFB, 0x00] + [UInt8](repeating: 0x55, count: 251)

    let port: UInt16
    private let listener: FileDescriptor

    init() throws {
        listener = FileDescriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let number = listener.number
        let isListening = withUnsafeMutableBytes(of: &address) { bytes in
            let place = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
            return bind(number, place, size) == 0 && listen(number, 1) == 0 && getsockname(number, place, &size) == 0
        }
        guard isListening else { throw WorkloadFailure("there is no port on 127.0.0.1") }
        port = UInt16(bigEndian: address.sin_port)
    }

    func serve() {
        let peer = FileDescriptor(owning: accept(listener.number, nil, nil))
        let burst = (0..<LoopTrial.burstSize).flatMap { _ in Self.packet }
        var answer = [UInt8](repeating: 0, count: LoopTrial.answerSize * Self.packet.count)
        while receive(&answer, from: peer.number) {
            guard send(peer.number, burst, burst.count, Int32(MSG_NOSIGNAL)) == burst.count else { return }
        }
    }

    private func receive(_ bytes: inout [UInt8], from peer: Int32) -> Bool {
        let count = bytes.count
        return recv(peer, &bytes, count, Int32(MSG_WAITALL)) == count
    }
}
