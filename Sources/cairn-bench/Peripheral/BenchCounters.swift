import ByteCoding
import CAllocationCounter
import Glibc

/// What the bench profile's control characteristic says. Writing `02` makes all of it begin again; `01`, count (4) makes
/// the peripheral send that many bytes of notifications.
///
/// Layout: bytes received (8), µs from the first write to the last (4), µs of processor time (4), and, which other
/// implementations do not have, heap allocations (8).
struct BenchCounters {
    private var byteCount: UInt64 = 0
    private var firstWrite: Duration?
    private var lastWrite: Duration = .zero
    private let processorTime = Self.processorMicroseconds()
    private let allocations = allocation_counts().calls

    /// Bytes came in.
    mutating func took(_ count: Int, at now: Duration) {
        byteCount &+= UInt64(count)
        firstWrite = firstWrite ?? now
        lastWrite = now
    }

    /// The characteristic's value.
    var value: [UInt8] {
        let span = firstWrite.map { lastWrite - $0 } ?? .zero
        var value: [UInt8] = []
        value.appendLittleEndian(byteCount)
        value.appendLittleEndian(UInt32(clamping: Int64(span / .microseconds(1))))
        value.appendLittleEndian(UInt32(clamping: Self.processorMicroseconds() - processorTime))
        value.appendLittleEndian(allocation_counts().calls - allocations)
        return value
    }

    /// The processor time of this process, in user mode and in the kernel.
    private static func processorMicroseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
