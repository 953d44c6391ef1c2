import CAllocationCounter

/// What the heap was asked for while something ran on this thread.
struct AllocationCount: Equatable {
    /// Calls of malloc and its relatives.
    var calls: UInt64
    /// The bytes that those calls asked for.
    var bytes: UInt64

    /// Counts what `body` allocates.
    @inline(never)
    static func of(_ body: () -> Void) -> AllocationCount {
        let before = allocation_counts()
        body()
        let after = allocation_counts()
        return AllocationCount(calls: after.calls - before.calls, bytes: after.bytes - before.bytes)
    }
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
