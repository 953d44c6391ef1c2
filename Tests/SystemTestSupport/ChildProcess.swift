import Glibc

/// A program that was built with the tests, run as a person or a service manager would.
public final class ChildProcess {
    /// How it ended.
    public enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)
    }

    /// Its process id.
    public let id: pid_t
    private let output: RawSocket
    private let errors: RawSocket
    private var outputBytes: [UInt8] = []
    private var errorBytes: [UInt8] = []
    private var isOutputOpen = true
    private var isErrorOpen = true
    private var end: End?

    /// Starts a program of the build folder that this test runs from.
    public convenience init(_ program: String, _ arguments: [String]) throws {
        try self.init(path: try Self.buildFolder() + "/" + program, arguments)
    }

    /// Starts a program by its path.
    public init(path: String, _ arguments: [String]) throws {
        let outputs = try Self.pipe()
        let errorOutputs = try Self.pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, outputs.write, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, errorOutputs.write, STDERR_FILENO)
        // A test that raises signals may have them blocked in this thread: the child begins with none blocked.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        var id: pid_t = 0
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        let status = posix_spawn(&id, path, &actions, &attributes, &words, environ)
        for word in words { free(word) }
        close(outputs.write)
        close(errorOutputs.write)
        output = RawSocket(outputs.read)
        errors = RawSocket(errorOutputs.read)
        self.id = id
        guard status == 0 else { throw TestSetupError("cannot run \(path): \(String(cString: strerror(status)))") }
    }

    deinit {
        guard end == nil else { return }
        kill(id, SIGKILL)
        waitpid(id, nil, 0)
    }

    /// What it has written to standard output so far.
    public var outputText: String { String(decoding: outputBytes, as: UTF8.self) }

    /// What it has written to standard error so far.
    public var errorText: String { String(decoding: errorBytes, as: UTF8.self) }

    /// Sends it a signal.
    public func send(_ signal: Int32) { kill(id, signal) }

    /// Reads what it writes until `condition` holds.
    public func waitUntil(_ what: String, _ condition: (ChildProcess) -> Bool) throws {
        while !condition(self) {
            guard isOutputOpen || isErrorOpen else {
                throw TestSetupError("ended without \(what):\n\(outputText)\n\(errorText)")
            }
            try readSome()
        }
    }

    /// Reads the rest of what it writes, and waits for its end.
    public func wait() throws -> End {
        while isOutputOpen || isErrorOpen { try readSome() }
        var status: Int32 = 0
        guard waitpid(id, &status, 0) == id else { throw TestSetupError("waitpid") }
        // As the macros of wait(2) do it.
        let signal = status & 0x7F
        let end = signal == 0 ? End.exited((status >> 8) & 0xFF) : .killed(by: signal)
        self.end = end
        return end
    }

    private func readSome() throws {
        var requests = [
            pollfd(fd: isOutputOpen ? output.descriptor : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: isErrorOpen ? errors.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&requests, 2, patienceMilliseconds) > 0 else {
            throw TestSetupError("wrote nothing for \(patienceMilliseconds) ms:\n\(outputText)\n\(errorText)")
        }
        if requests[0].revents != 0 {
            let bytes = try output.readWhatIsThere()
            outputBytes += bytes
            isOutputOpen = !bytes.isEmpty
        }
        if requests[1].revents != 0 {
            let bytes = try errors.readWhatIsThere()
            errorBytes += bytes
            isErrorOpen = !bytes.isEmpty
        }
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw TestSetupError("pipe") }
        // Children that are started at the same time must not hold each other's pipes open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Where the programs are that were built with this test.
    public static func buildFolder() throws -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        guard count > 0 else { throw TestSetupError("readlink") }
        let whole = String(decoding: path.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        return whole.split(separator: "/").dropLast().map { "/" + $0 }.joined()
    }
}
