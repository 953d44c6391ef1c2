import Glibc
import LinuxBluetooth

/// Who may give a watch commands.
public enum ControlAccess: String, CaseIterable, Sendable {
    /// The user who started it.
    case user
    /// Also whoever is in that user's group.
    case group
}

/// The file that a control socket listens on: made when the watch starts, gone when it ends.
///
/// A watch that was killed leaves the file behind; nobody answers there, and the next watch replaces it.
final class ControlListener {
    /// The file's name within the state directory.
    static let fileName = "control.sock"

    private let path: String
    private var listener: StreamListener?
    /// Which file it is, so that a successor's is not removed.
    private let identity: (device: dev_t, inode: ino_t)?

    init(path: String, access: ControlAccess) throws(DaemonError) {
        self.path = path
        do throws(SystemError) {
            try Self.removeStaleSocket(path)
            listener = try StreamListener(unixPath: path, forGroup: access == .group)
            identity = Self.identity(of: path)
        } catch {
            throw Self.explain(error, path)
        }
    }

    deinit { close() }

    /// What to poll for reading.
    var descriptor: Int32 {
        switch listener {
        case .some(let listener): listener.descriptor
        case nil: -1
        }
    }

    /// Takes the next waiting connection; nil if none is waiting.
    func accept(outboundLimit: Int) throws(SystemError) -> ByteStream? {
        switch listener {
        case .some(let listener):
            guard let socket = try listener.accept() else { return nil }
            return ByteStream(owning: socket, kind: .unixSocket, outboundLimit: outboundLimit)
        case nil: return nil
        }
    }

    /// Stops listening.
    func close() {
        guard listener != nil else { return }
        listener = nil
        if let identity, let found = Self.identity(of: path), found == identity { unlink(path) }
    }

    /// Whether a watch answers at a path.
    static func isAnswered(_ path: String) -> Bool { (try? UnixConnection(path: path)) != nil }

    private static func removeStaleSocket(_ path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        // Anything but a socket is somebody's file, and not ours to remove.
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError(code: EEXIST) }
        guard !isAnswered(path) else { throw SystemError(code: EADDRINUSE) }
        guard unlink(path) == 0 || errno == ENOENT else { throw .last }
    }

    private static func identity(of path: String) -> (device: dev_t, inode: ino_t)? {
        var status = stat()
        return lstat(path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
    }

    private static func explain(_ error: SystemError, _ path: String) -> DaemonError {
        switch error.code {
        case EADDRINUSE:
            DaemonError(
                .unavailable,
                "a watch runs already that takes commands at \(path)",
                advice: "stop that one, or name another socket with --control"
            )
        case EEXIST:
            DaemonError(
                .cannotCreate,
                "cannot take commands at \(path): there is a file that is no socket",
                advice: "name another path with --control"
            )
        case ENAMETOOLONG:
            DaemonError(
                .cannotCreate,
                "cannot take commands at \(path): a socket's path has at most 107 bytes",
                advice: "name a shorter one with --control"
            )
        default:
            DaemonError(
                error.code == EACCES ? .notPermitted : .cannotCreate,
                "cannot take commands at \(path): \(error)",
                advice: "name a path with --control where you may create files"
            )
        }
    }
}
