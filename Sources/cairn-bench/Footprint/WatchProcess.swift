import Glibc
import LinuxBluetooth

/// A program that runs a watch, as the kernel sees it.
struct WatchProcess: ~Copyable {
    /// What the kernel says about a process at a moment.
    struct Usage {
        /// Bytes of its memory that are in RAM: all of them, and those that are no file's.
        var resident = 0
        var anonymous = 0
        /// How often it went to sleep by itself, each of which is a wakeup.
        var sleeps = 0
        /// Processor time, its start included.
        var processor = Duration.zero
    }

    private let id: pid_t

    /// Starts a program, whose standard error goes to a file.
    init(_ program: String, _ arguments: [String], log: String) throws(SystemError) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The bench catches signals by blocking them; its child must not inherit that.
        var mask = sigset_t()
        sigemptyset(&mask)
        posix_spawnattr_setsigmask(&attributes, &mask)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)

        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) }
        defer { for word in words { free(word) } }
        words.append(nil)
        var id: pid_t = 0
        let error = posix_spawn(&id, program, &actions, &attributes, words, environ)
        guard error == 0 else { throw SystemError(code: error) }
        self.id = id
    }

    /// What it uses now; nil once it has ended.
    var usage: Usage? {
        guard let status = Self.contents(of: "/proc/\(id)/status"), let resident = Self.kilobytes("VmRSS", in: status)
        else { return nil }
        var usage = Usage()
        usage.resident = resident
        usage.anonymous = Self.kilobytes("RssAnon", in: status) ?? 0
        // Other threads are few and idle; those of the loop are counted like these.
        usage.sleeps = Self.number("voluntary_ctxt_switches", in: status) ?? 0
        if let schedule = Self.contents(of: "/proc/\(id)/schedstat"),
            let nanoseconds = schedule.split(separator: " ").first.flatMap({ Int64($0) })
        {
            usage.processor = .nanoseconds(nanoseconds)
        }
        return usage
    }

    /// Ends it at once and waits until it is gone.
    consuming func kill() {
        Glibc.kill(id, SIGKILL)
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
    }

    private static func kilobytes(_ field: String, in status: String) -> Int? {
        number(field, in: status).map { $0 * 1024 }
    }

    private static func number(_ field: String, in status: String) -> Int? {
        for line in status.split(separator: "\n") where line.hasPrefix(field + ":") {
            return line.dropFirst(field.count + 1).split(whereSeparator: { $0 == " " || $0 == "\t" }).first.flatMap {
                Int($0)
            }
        }
        return nil
    }

    private static func contents(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 8192)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
