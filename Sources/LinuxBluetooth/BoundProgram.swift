import CLinux
import Glibc

/// A program that this process starts, and that ends with it, even if this process is killed.
///
/// What the program says on its standard output and error comes in lines, by `descriptor`. It has nothing to read, and a process
/// group of its own: what a terminal sends to this process is not for it.
public final class BoundProgram {
    /// How much is kept of a line.
    private static let longestLine = 1024

    private let process: pid_t
    private let output: FileDescriptor
    private var line: [UInt8] = []
    private var exitStatus: Int32?

    /// Starts a program.
    /// - Parameters:
    ///   - path: where the program is.
    ///   - additions: variables that it gets besides this process's own.
    ///   - directory: an open directory, which becomes its working directory.
    public init(
        _ path: String,
        _ arguments: [String],
        adding additions: [String: String] = [:],
        in directory: borrowing FileDescriptor
    ) throws(SystemError) {
        var pair: [Int32] = [0, 0]
        guard pipe2(&pair, O_CLOEXEC) == 0 else { throw .last }
        let output = FileDescriptor(owning: pair[0])
        let theirs = FileDescriptor(owning: pair[1])
        // The program may wait for its reader; its reader must not wait for the program.
        guard fcntl(output.number, F_SETFL, O_NONBLOCK) == 0 else { throw .last }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        var variables = Self.environment(adding: additions).map { strdup($0) }
        defer { for text in words + variables { free(text) } }
        words.append(nil)
        variables.append(nil)
        let result = start_bound_program(path, words, variables, directory.number, theirs.number)
        guard result > 0 else { throw SystemError(code: -result) }
        process = result
        self.output = output
    }

    deinit {
        guard exitStatus == nil else { return }
        kill(process, SIGKILL)
        reap(0)
    }

    /// What to poll for reading: what the program says, and the end of it.
    public var descriptor: Int32 { output.number }

    /// How it ended, in words; nil while it runs.
    public var end: String? {
        guard let status = exitStatus else { return nil }
        return status & 0x7F == 0 ? "ended with status \(status >> 8 & 0xFF)" : "was ended by signal \(status & 0x7F)"
    }

    /// Reads what the program has said, without waiting, and finds out whether it has ended.
    public func read(_ take: (String) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while exitStatus == nil {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(output.number, $0.baseAddress, $0.count) }
            if count > 0 {
                for byte in buffer.prefix(count) { add(byte, take) }
            } else if count == 0 {
                if !line.isEmpty { add(UInt8(ascii: "\n"), take) }
                // The output of a program is closed when it ends; one that closes it and goes on is of no use.
                kill(process, SIGKILL)
                reap(0)
            } else if !SystemError.last.isInterrupted {
                return
            }
        }
    }

    /// Asks it to end, or ends it.
    public func stop(force: Bool) {
        guard exitStatus == nil else { return }
        kill(process, force ? SIGKILL : SIGTERM)
    }

    private func add(_ byte: UInt8, _ take: (String) -> Void) {
        guard byte == UInt8(ascii: "\n") else {
            if line.count < Self.longestLine, byte >= 0x20 || byte == 0x09 { line.append(byte) }
            return
        }
        if !line.isEmpty { take(String(decoding: line, as: UTF8.self)) }
        line.removeAll(keepingCapacity: true)
    }

    private func reap(_ options: Int32) {
        var status: Int32 = 0
        while exitStatus == nil {
            let result = waitpid(process, &status, options)
            if result == process { exitStatus = status }
            if result >= 0 || !SystemError.last.isInterrupted { return }
        }
    }

    private static func environment(adding additions: [String: String]) -> [String] {
        var variables: [String] = []
        var next = environ
        while let text = next.pointee {
            let variable = String(cString: text)
            if additions[String(variable.prefix { $0 != "=" })] == nil { variables.append(variable) }
            next += 1
        }
        return variables + additions.map { "\($0.key)=\($0.value)" }.sorted()
    }

    /// Where a program is: at the path, if it has a slash, or else in `PATH`; nil if it is nowhere.
    public static func find(_ name: String) -> String? {
        guard !name.contains("/") else { return access(name, X_OK) == 0 ? name : nil }
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").lazy.map { "\($0)/\(name)" }.first { access($0, X_OK) == 0 }
    }
}
