import FlightRecorder
import Glibc
import HCIRuntime
import LinuxBluetooth

/// Reads recordings, and what goes into them, from files.
public enum RecordingInput {
    /// The most bytes of all parts of a recording together.
    private static let limit = 4_000_000_000

    /// Reads a recording with all its parts.
    /// - Parameter path: the name of the first part, which may be gone by now.
    public static func recording(at path: String) throws(ProgramError) -> Recording {
        var numbers = RecordingFile.laterParts(of: path)
        if access(path, F_OK) == 0 || numbers.isEmpty { numbers.insert(0, at: 0) }
        var parts: [[UInt8]] = []
        var left = limit
        for number in numbers {
            let part = try bytes(of: RecordingFile.name(of: path, part: number), limit: left, what: "recording")
            left -= part.count
            parts.append(part)
        }
        do throws(RecordingError) {
            return try Recording(parts: parts)
        } catch {
            let name =
                numbers.indices.contains(error.part) ? RecordingFile.name(of: path, part: numbers[error.part]) : path
            throw ProgramError(
                .inputOutput,
                "\(name) cannot be replayed, \(error)",
                advice: "name a file that cairn run --record or cairn recorder save has written"
            )
        }
    }

    /// Reads a whole file.
    /// - Parameters:
    ///   - limit: the most bytes that it may have.
    ///   - what: what it is, such as `recording`.
    public static func bytes(of path: String, limit: Int, what: String) throws(ProgramError) -> [UInt8] {
        // A named pipe would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(path, what, "\(SystemError.last)") }
        let file = FileDescriptor(owning: descriptor)
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            throw unreadable(path, what, isDirectory ? "it is a directory" : "it is not a file")
        }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = piece.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            guard count > 0 else {
                guard SystemError.last.code == EINTR else { throw unreadable(path, what, "\(SystemError.last)") }
                continue
            }
            guard bytes.count + count <= limit else { throw unreadable(path, what, "it is longer than \(limit) bytes") }
            bytes += piece[..<count]
        }
    }

    private static func unreadable(_ path: String, _ what: String, _ reason: String) -> ProgramError {
        ProgramError(
            .unavailable,
            "the \(what) \(path) cannot be read: \(reason)",
            advice: "name a file that is there and that you may read"
        )
    }
}
