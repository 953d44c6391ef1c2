import CAllocationCounter

/// What the heap was asked for while something ran on this thread.
struct AllocationCount: Equatable {
    /// Calls of malloc and its relatives.
    var calls: UInt64
    /// The bytes that those calls asked for.
    var bytes: UInt64

    init(calls: UInt64, bytes: UInt64) {
        self.calls = calls
        self.bytes = bytes
    }

    /// How much is in use, as far as it is more than nothing.
    init(_ use: HeapUse) { self.init(calls: UInt64(clamping: use.blocks), bytes: UInt64(clamping: use.bytes)) }

    /// Counts what `body` allocates.
    @inline(never)
    static func of(_ body: () -> Void) -> AllocationCount {
        let before = allocation_counts()
        body()
        let after = allocation_counts()
        return AllocationCount(calls: after.calls - before.calls, bytes: after.bytes - before.bytes)
    }
}

/// What this thread has of the heap.
struct HeapUse: Equatable, CustomStringConvertible {
    /// How many blocks.
    var blocks: Int64
    /// How many bytes they have.
    var bytes: Int64

    /// The present use.
    static var now: HeapUse {
        let counts = allocation_counts()
        return HeapUse(blocks: counts.live_blocks, bytes: counts.live_bytes)
    }

    static func - (later: HeapUse, earlier: HeapUse) -> HeapUse {
        HeapUse(blocks: later.blocks - earlier.blocks, bytes: later.bytes - earlier.bytes)
    }

    var description: String { "\(blocks) blocks, \(bytes) bytes" }
}

/// Tries the counter on allocations whose number is known: a counter that counts nothing would call every benchmark
/// free of allocations.
enum AllocationCounterCheck {
    private final class Object {
        let value: Int
        init(_ value: Int) { self.value = value }
    }

    /// What was wrong with a count.
    struct Failure: Error, CustomStringConvertible {
        let what: String
        let expected: UInt64
        let counted: AllocationCount

        var description: String {
            "the allocation counter does not work here: \(what) made \(expected) allocations, \(counted.calls) were counted"
        }
    }

    static func run() throws(Failure) {
        try expect("the C library", 6, atLeastBytes: 6 * 1000) { _ = allocation_counter_exercise(1000) }
        try expect("nothing", 0) {}
        try expect("a Swift array", 1, atLeastBytes: 5000) { keep([UInt8](repeating: 1, count: 5000)) }
        var objects: [Object] = []
        objects.reserveCapacity(10)
        try expect("ten Swift objects", 10) { for value in 0..<10 { objects.append(Object(value)) } }
        keep(objects)
        let before = HeapUse.now
        _ = allocation_counter_exercise(1000)
        let after = HeapUse.now
        guard after == before else {
            throw Failure(what: "blocks that were given back", expected: 0, counted: AllocationCount(after - before))
        }
        let kept = [UInt8](repeating: 1, count: 5000)
        let grown = HeapUse.now - before
        keep(kept)
        guard grown.blocks == 1, grown.bytes >= 5000 else {
            throw Failure(what: "a block in use", expected: 1, counted: AllocationCount(grown))
        }
    }

    private static func expect(
        _ what: String,
        _ expected: UInt64,
        atLeastBytes: UInt64 = 0,
        _ body: () -> Void
    ) throws(Failure) {
        let counted = AllocationCount.of(body)
        guard counted.calls == expected, counted.bytes >= atLeastBytes else {
            throw Failure(what: what, expected: expected, counted: counted)
        }
    }
}

/// Makes the optimizer believe that a value is needed.
@inline(never)
@_optimize(none)
func keep<Value>(_ value: Value) {}
