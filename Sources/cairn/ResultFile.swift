import Glibc
import HCIRuntime
import LinuxBluetooth

/// A file that a person asked for.
enum ResultFile {
    /// Writes the whole file; one that is there is replaced.
    /// - Parameter what: what it is, such as `picture`.
    static func write(_ bytes: [UInt8], to path: String, what: String) throws(ProgramError) {
        let descriptor = try create(path, what: what)
        defer { close(descriptor) }
        guard append(bytes, to: descriptor) else { throw failure(.last, path, what) }
    }

    /// Makes an empty file to write to; one that is there is replaced. The caller closes it.
    static func create(_ path: String, what: String) throws(ProgramError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw failure(.last, path, what) }
        return descriptor
    }

    /// Writes more to a file.
    /// - Returns: false if it could not be written; `SystemError.last` says why.
    static func append(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }

    static func failure(_ error: SystemError, _ path: String, _ what: String) -> ProgramError {
        ProgramError(
            .cannotCreate,
            "cannot write the \(what) to \(path): \(error)",
            advice: "name a file in a directory that you may write to, on a disk with room"
        )
    }
}
