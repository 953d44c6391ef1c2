import Glibc
import HCIRuntime
import Logging

/// Whether the journal reads what is written, which puts times beside lines itself, and takes the importance of a line from
/// its beginning.
///
/// Source: systemd.exec(5), JOURNAL_STREAM; sd-daemon(3).
public enum Journal {
    /// Whether standard error is the journal's stream, and not only that of the program that started this process.
    public static let readsStandardError: Bool = {
        guard let text = getenv("JOURNAL_STREAM") else { return false }
        return isStream(String(cString: text), STDERR_FILENO)
    }()

    static func isStream(_ text: String, _ descriptor: Int32) -> Bool {
        let parts = text.split(separator: ":").map { UInt64($0) }
        var status = stat()
        guard parts.count == 2, fstat(descriptor, &status) == 0 else { return false }
        return parts == [UInt64(status.st_dev), UInt64(status.st_ino)]
    }

    /// What a line of a level begins with: the numbers of syslog(3).
    public static func prefix(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "<7>"
        case .info: "<6>"
        case .notice: "<5>"
        case .warning: "<4>"
        case .error: "<3>"
        case .critical: "<2>"
        }
    }
}
