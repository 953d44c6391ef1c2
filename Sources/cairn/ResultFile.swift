import Glibc
import HCIRuntime
import LinuxBluetooth

/// A file that a person asked for.
enum ResultFile {
    /// Writes the whole file; one that is there is replaced.
    /// - Parameter what: what it is, such as `picture`.
    static func write(_ bytes: [UInt8], to path: String, what: String) throws(ProgramError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure(.last, path, what) }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw failure(.last, path, what) }
            rest = rest.dropFirst(max(0, count))
        }
    }

    private static func failure(_ error: SystemError, _ path: String, _ what: String) -> ProgramError {
        ProgramError(
            .cannotCreate,
            "cannot write the \(what) to \(path): \(error)",
            advice: "name a file in a directory that you may write to, on a disk with room"
        )
    }
}
