import Glibc

/// A part of one processor, which is all that processes started within it get together: a control group with a quota.
///
/// The kernel hands the part out in slices of a millisecond, so that what takes some milliseconds is slowed down evenly.
/// Needs the right to make control groups, which is root's.
final class ProcessorShare {
    private static let slice = 1_000  // microseconds

    private let folder: String
    /// The file, here and in the group that this process came from, that moves processes.
    private let entrance: String
    private let home: String

    /// One part of so many.
    /// - Returns: nil where such a group cannot be made.
    init?(oneOf parts: Int) {
        let period = Self.slice * parts
        // Version 2 has one tree for all controllers, version 1 one for each.
        if access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 {
            home = "/sys/fs/cgroup/cgroup.procs"
            folder = "/sys/fs/cgroup/cairn-bench-\(getpid())"
            entrance = folder + "/cgroup.procs"
            Self.write("+cpu", to: "/sys/fs/cgroup/cgroup.subtree_control")
            guard mkdir(folder, 0o755) == 0 else { return nil }
            guard Self.write("\(Self.slice) \(period)", to: folder + "/cpu.max") else { return nil }
        } else {
            home = "/sys/fs/cgroup/cpu/tasks"
            folder = "/sys/fs/cgroup/cpu/cairn-bench-\(getpid())"
            entrance = folder + "/tasks"
            guard mkdir(folder, 0o755) == 0 else { return nil }
            guard Self.write("\(period)", to: folder + "/cpu.cfs_period_us"),
                Self.write("\(Self.slice)", to: folder + "/cpu.cfs_quota_us")
            else { return nil }
        }
    }

    deinit { rmdir(folder) }

    /// Starts something that has this share and no more: what it starts stays in the group that this process leaves again.
    func start<Result: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        Self.write("\(getpid())", to: entrance)
        defer { Self.write("\(getpid())", to: home) }
        return try body()
    }

    @discardableResult
    private static func write(_ text: String, to path: String) -> Bool {
        let file = open(path, O_WRONLY)
        guard file >= 0 else { return false }
        defer { close(file) }
        return text.withCString { Glibc.write(file, $0, strlen($0)) } == text.utf8.count
    }
}
