import Glibc
import HCIRuntime

/// How long ago this process was made, in the kernel's measure of 10 ms: what a person waits for a watch includes the time
/// that it takes to load the program.
enum ProcessAge {
    /// nil where the kernel does not say.
    static var now: Duration? {
        guard let file = fopen("/proc/self/stat", "r") else { return nil }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = fread(&buffer, 1, buffer.count, file)
        return starting(stat: String(decoding: buffer.prefix(count), as: UTF8.self)).map { start in
            var now = timespec()
            clock_gettime(CLOCK_BOOTTIME, &now)
            return .seconds(now.tv_sec) + .milliseconds(now.tv_nsec / 1_000_000) - start
        }
    }

    /// When the process was made, since the machine was started: field 22 of proc_pid_stat(5). The name, field 2, stands in
    /// parentheses and may hold anything.
    static func starting(stat: String) -> Duration? {
        guard let end = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: end)...].split(separator: " ")
        let ticksPerSecond = sysconf(Int32(_SC_CLK_TCK))
        guard fields.count > 19, let ticks = Int64(fields[19]), ticksPerSecond > 0 else { return nil }
        return .milliseconds(ticks.multipliedReportingOverflow(by: 1000).partialValue / Int64(ticksPerSecond))
    }
}
