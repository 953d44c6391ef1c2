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
    /// - Returns: nil where such a group cannot be made, or not be entered.
    init?(oneOf parts: Int) {
        let period = Self.slice * parts
        // Version 2 has one tree for all controllers, version 1 one for each.
        let isVersion2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0
        let tree = isVersion2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu"
        if isVersion2 { Self.write("+cpu", to: tree + "/cgroup.subtree_control") }
        folder = tree + "/cairn-bench-\(getpid())"
        home = tree + "/cgroup.procs"
        entrance = folder + "/cgroup.procs"
        guard mkdir(folder, 0o755) == 0 else { return nil }
        let isLimited =
            isVersion2
            ? Self.write("\(Self.slice) \(period)", to: folder + "/cpu.max")
            : Self.write("\(period)", to: folder + "/cpu.cfs_period_us")
                && Self.write("\(Self.slice)", to: folder + "/cpu.cfs_quota_us")
        guard isLimited, move(to: entrance), move(to: home) else {
            remove()
            return nil
        }
    }

    /// To be called when nothing runs in it any more.
    func remove() { rmdir(folder) }

    /// Starts something that has this share and no more: what it starts stays in the group that this process leaves again.
    func start<Result: ~Copyable, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        move(to: entrance)
        defer { move(to: home) }
        return try body()
    }

    /// Moves this process, with all of its threads: 0 stands for the process that writes it.
    @discardableResult
    private func move(to group: String) -> Bool { Self.write("0", to: group) }

    @discardableResult
    private static func write(_ text: String, to path: String) -> Bool {
        let file = open(path, O_WRONLY)
        guard file >= 0 else { return false }
        defer { close(file) }
        return text.withCString { Glibc.write(file, $0, strlen($0)) } == text.utf8.count
    }
}
