import FuzzTargets
import Glibc

// What libFuzzer calls. It has the only `main`; `Tests/Fuzz/run` compiles and links both. Which target is run is said by the
// environment, since libFuzzer takes every argument for its own.

/// How many bytes have been allocated since the input began: what AddressSanitizer's allocator tells.
@_silgen_name("__sanitizer_install_malloc_and_free_hooks")
private func installHooks(
    _ malloc: @convention(c) (UnsafeRawPointer?, Int) -> Void,
    _ free: @convention(c) (UnsafeRawPointer?) -> Void
) -> Int32

@_silgen_name("__sanitizer_get_current_allocated_bytes")
private func heldBytes() -> Int

/// How many edges of our rooms this process has gone through.
@_silgen_name("cairn_fuzz_edges")
private func passedEdges() -> UInt64

/// A fuzzer has one thread.
nonisolated(unsafe) private var allocatedBytes = 0
nonisolated(unsafe) private var target: FuzzTarget?
/// Whether each input's cost is told.
nonisolated(unsafe) private var tellsCosts = false

private func say(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
}

private func end(_ finding: String) -> Never {
    say("FINDING: \(finding)")
    abort()
}

private func growsEachTime(_ target: FuzzTarget, _ input: [UInt8]) -> Bool {
    (0..<6).allSatisfy { _ in
        let before = heldBytes()
        _ = try? target.run(input[...])
        return heldBytes() > before
    }
}

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> Int32 {
    let name = getenv("CAIRN_FUZZ_TARGET").map { String(cString: $0) } ?? ""
    if name == "list" {
        for target in FuzzTarget.all {
            // Names of targets and rooms have no character that JSON writes in another way.
            print(
                "{\"name\": \"\(target.name)\", \"inputLimit\": \(target.inputLimit), \"weight\": \(target.weight), "
                    + "\"rooms\": \(target.rooms)}"
            )
        }
        fflush(nil)
        exit(0)
    }
    guard let chosen = FuzzTarget.named(name) else {
        say("CAIRN_FUZZ_TARGET is to be one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        exit(64)
    }
    target = chosen
    tellsCosts = getenv("CAIRN_FUZZ_COSTS") != nil
    _ = installHooks({ _, count in allocatedBytes += count }, { _ in })
    return 0
}

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    guard let target else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    // What is made once in a process is not counted as the first input's.
    if tellsCosts { _ = try? target.run(input[...]) }
    let heldBefore = heldBytes()
    allocatedBytes = 0
    do {
        let edgesBefore = passedEdges()
        let first = try target.run(input[...])
        let edges = Int(passedEdges() - edgesBefore)
        let allocated = allocatedBytes
        let (byteLimit, edgeLimit) = (target.budget.bytes(for: count), target.budget.edges(for: count))
        if tellsCosts { say("COST \(count) \(allocated) \(byteLimit) \(edges) \(edgeLimit)") }
        if allocated > byteLimit {
            end("\(target.name): \(count) bytes had \(allocated) allocated; the budget is \(byteLimit)")
        }
        if edges > edgeLimit {
            end("\(target.name): \(count) bytes went through \(edges) edges; the budget is \(edgeLimit)")
        }
        // One in eight inputs is run again, from another place: the same must come out.
        if first & 7 == 0, try target.run(([0xA5, 0x5A, 0xA5] + input)[3...]) != first {
            end("\(target.name): the same input came to two results")
        }
    } catch {
        end("\(target.name): \(error)")
    }
    // What an input leaves behind once is a cache's, or the runtime's. What it leaves behind each time is lost.
    if heldBytes() > heldBefore, growsEachTime(target, input) {
        end("\(target.name): an input of \(count) bytes leaves memory behind each time that it runs")
    }
    return 0
}
