import Glibc

/// The program `cairn-netsim`, which speaks gRPC for a process that does not: the process starts it, and watches over it.
///
/// Its standard input is a socket whose end means that the process is gone. Its standard output says how it does, in lines:
///
/// | line | meaning |
/// |---|---|
/// | `ready` | the stream to netsim is open |
/// | `skipped COUNT BYTES` | COUNT bytes came that were no HCI packet; the first of them, in hexadecimal |
/// | `ended KIND TEXT` | it ends, and why: `KIND` is a `NetsimEnd.Kind` |
public final class NetsimHelper {
    /// The program's name.
    public static let program = "cairn-netsim"
    /// Where the program finds the socket that it is to listen with.
    public static let listenerDescriptor: Int32 = 3
    /// How long the program may take to end by itself, once nobody listens to it any more.
    private static let farewellPatience: Duration = .milliseconds(500)
    /// How much is kept of a line.
    private static let longestLine = 1024

    private let process: pid_t
    private let status: FileDescriptor
    /// The socket that is the program's standard input; given away when packets go over it.
    private var input: FileDescriptor?
    private var line: [UInt8] = []
    /// Whether the stream is open.
    public private(set) var isReady = false
    /// How it ended; nil while it runs.
    public private(set) var end: NetsimEnd?
    private var exitStatus: Int32?
    private var garbage = Garbage()

    /// Starts the program.
    /// - Parameters:
    ///   - listener: a socket that listens, which the program gets as `listenerDescriptor`; nil for none.
    ///   - path: where the program is; found beside this one or in `PATH` by default.
    public init(_ arguments: [String], listener: Int32? = nil, path: String? = NetsimHelper.path) throws(NetsimEnd) {
        guard let path else {
            throw NetsimEnd(.helperMissing, "there is no program \(Self.program) beside this one or in PATH")
        }
        do throws(SystemError) {
            let packets = try SocketPair()
            let lines = try SocketPair()
            var files = [(packets.theirs.number, Int32(0)), (lines.theirs.number, 1)]
            if let listener { files.append((listener, Self.listenerDescriptor)) }
            process = try Self.spawn(path, arguments, files: files)
            input = packets.takeOurs()
            status = lines.takeOurs()
        } catch {
            throw NetsimEnd(.helperMissing, "cannot start \(path): \(error)")
        }
    }

    deinit {
        // The end of its input asks it to end.
        input = nil
        if exitStatus == nil {
            var request = pollfd(fd: status.number, events: 0, revents: 0)
            _ = poll(&request, 1, Int32(Self.farewellPatience / .milliseconds(1)))
            if request.revents == 0 { kill(process, SIGKILL) }
            reap(0)
        }
    }

    /// Where the program is: beside this one, or in `PATH`; nil if it is in neither.
    public static var path: String? {
        var directories: [String] = []
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        if let slash = own.lastIndex(of: UInt8(ascii: "/")) {
            directories.append(String(decoding: own.prefix(slash), as: UTF8.self))
        }
        directories += (NetsimFile.variable("PATH") ?? "").split(separator: ":").map(String.init)
        return directories.lazy.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// What to poll for reading: its lines, and the end of them.
    public var descriptor: Int32 { status.number }

    /// The socket that packets go over, once.
    func takeInput() -> FileDescriptor? { input.take() }

    /// What has been skipped since the last call, nil for nothing.
    func takeGarbage() -> Garbage? {
        readLines()
        guard garbage.count > 0 else { return nil }
        defer { garbage = Garbage() }
        return garbage
    }

    /// Reads what the program has said, without waiting.
    public func readLines() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(status.number, $0.baseAddress, $0.count) }
            if count > 0 {
                for byte in buffer.prefix(count) {
                    if byte == UInt8(ascii: "\n") {
                        take(String(decoding: line, as: UTF8.self))
                        line.removeAll(keepingCapacity: true)
                    } else if line.count < Self.longestLine {
                        line.append(byte)
                    }
                }
            } else if count < 0, SystemError.last.isInterrupted {
                continue
            } else {
                if count == 0 { ended() }
                return
            }
        }
    }

    private func take(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 2)
        switch words.first {
        case "ready": isReady = true
        case "skipped" where words.count > 1:
            garbage.add(count: Int(words[1]) ?? 0, first: words.count > 2 ? [UInt8](hexadecimal: words[2]) : [])
        case "ended" where words.count == 3:
            guard end == nil else { return }
            end = NetsimEnd(NetsimEnd.Kind(rawValue: String(words[1])) ?? .lost, String(words[2]))
        default: break
        }
    }

    /// The program has closed its output: it is at its end.
    private func ended() {
        guard end == nil else { return }
        reap(0)
        let how =
            switch exitStatus {
            case let status? where status & 0x7F != 0: "was ended by signal \(status & 0x7F)"
            case let status?: "ended with status \(status >> 8 & 0xFF)"
            case nil: "ended"
            }
        end = NetsimEnd(.helperDied, "the program \(Self.program) \(how)")
    }

    private func reap(_ options: Int32) {
        guard exitStatus == nil else { return }
        var status: Int32 = 0
        while true {
            let result = waitpid(process, &status, options)
            if result == process { exitStatus = status }
            if result >= 0 || !SystemError.last.isInterrupted { return }
        }
    }

    /// Two sockets that are connected with each other, one for each process.
    private struct SocketPair: ~Copyable {
        let ours: FileDescriptor
        let theirs: FileDescriptor

        init() throws(SystemError) {
            var pair: [Int32] = [0, 0]
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw .last }
            ours = FileDescriptor(owning: pair[0])
            theirs = FileDescriptor(owning: pair[1])
        }

        /// Keeps this process's socket, and closes the other.
        consuming func takeOurs() -> FileDescriptor { ours }
    }

    /// Starts a program in a process group of its own: what a terminal sends to this program is not for it.
    private static func spawn(
        _ path: String,
        _ arguments: [String],
        files: [(Int32, Int32)]
    ) throws(SystemError) -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // This process catches signals by blocking them; its child must not inherit that.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (from, to) in files { posix_spawn_file_actions_adddup2(&actions, from, to) }
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var process: pid_t = 0
        let error = posix_spawn(&process, path, &actions, &attributes, words, environ)
        guard error == 0 else { throw SystemError(code: error) }
        return process
    }
}

/// How a stream to netsim came to its end, or why there never was one.
public struct NetsimEnd: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: String, Sendable {
        /// Nothing answers at its place.
        case unreachable
        /// What answers does not have the service: another version, or another program.
        case unknownService = "unknown-service"
        /// What answers does not speak the protocol.
        case notUnderstood = "not-understood"
        /// Netsim said why it gives no controller.
        case refused
        /// The other side ended the stream.
        case closed
        /// The connection broke.
        case lost
        /// The program that speaks to netsim is not there.
        case helperMissing = "helper-missing"
        /// The program that speaks to netsim is gone.
        case helperDied = "helper-died"
    }

    public let kind: Kind
    /// What happened.
    public let text: String

    public init(_ kind: Kind, _ text: String) {
        self.kind = kind
        self.text = text
    }

    public var description: String { text }

    /// What a person can do about it.
    public var advice: String {
        switch kind {
        case .unreachable: "start the emulator or netsim first, and check the port"
        case .unknownService: "check the port; that of the emulator itself, often 8554, is for android-emulator"
        case .notUnderstood: "check the port: another program has it"
        case .refused: "see what netsim says; each device may need a name of its own: netsim,name=NAME"
        case .closed, .lost: "see why the emulator or netsim ended"
        case .helperMissing: "install the package cairn-netsim, or put its program beside cairn"
        case .helperDied: "see the log before this line; the program is started again with the next attempt"
        }
    }
}

extension [UInt8] {
    /// Reads pairs of hexadecimal digits, as many as there are.
    init(hexadecimal text: some StringProtocol) {
        self = []
        var rest = text[...]
        while rest.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) {
            append(byte)
            rest = rest.dropFirst(2)
        }
    }
}
