import Glibc
import LinuxBluetooth
import PrivateFiles

/// A Unix socket that only this user's programs, or the group's too, can connect to: made when the process starts, gone when it
/// ends. No other user can put another one in its place.
///
/// A process that was killed leaves the file behind; no process answers there, and the next one replaces it.
package final class PrivateSocket {
    /// What programs come for.
    package enum Purpose {
        /// Commands for a watch.
        case commands
        /// Commands for a phone.
        case phoneCommands
        case controllers
    }

    private let path: String
    private var listener: StreamListener?
    /// Which file it is, so that a successor's is not removed.
    private let identity: (device: dev_t, inode: ino_t)?

    package init(path: String, access: ControlAccess, for purpose: Purpose) throws(ProgramError) {
        self.path = path
        do throws(PrivateFileError) {
            try PrivateDirectory.checkPlace(of: path)
        } catch {
            throw Self.explain(error, path, purpose)
        }
        do throws(SystemError) {
            try Self.removeStaleSocket(path)
            listener = try StreamListener(unixPath: path, forGroup: access == .group)
            identity = Self.identity(of: path)
        } catch {
            throw Self.explain(error, path, purpose)
        }
    }

    deinit { close() }

    /// What to poll for reading.
    package var descriptor: Int32 {
        switch listener {
        case .some(let listener): listener.descriptor
        case nil: -1
        }
    }

    /// Takes the next waiting connection; nil if none is waiting.
    package func accept() throws(SystemError) -> FileDescriptor? {
        switch listener {
        case .some(let listener): try listener.accept()
        case nil: nil
        }
    }

    /// Stops listening.
    package func close() {
        guard listener != nil else { return }
        listener = nil
        if let identity, let found = Self.identity(of: path), found == identity { unlink(path) }
    }

    /// Whether a process answers at a path.
    package static func isAnswered(_ path: String) -> Bool { (try? UnixConnection(path: path)) != nil }

    private static func removeStaleSocket(_ path: String) throws(SystemError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        // Anything but a socket is a user's file, and not ours to remove.
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw SystemError(code: EEXIST) }
        guard !isAnswered(path) else { throw SystemError(code: EADDRINUSE) }
        guard unlink(path) == 0 || errno == ENOENT else { throw .last }
    }

    private static func identity(of path: String) -> (device: dev_t, inode: ino_t)? {
        var status = stat()
        return lstat(path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
    }

    private static func explain(_ error: PrivateFileError, _ path: String, _ purpose: Purpose) -> ProgramError {
        // The attempt to make the socket reports a missing directory.
        guard let advice = error.advice else { return explain(SystemError(code: error.code), path, purpose) }
        return ProgramError(
            .cannotCreate,
            "\(purpose.failure) at \(path), since somebody else could put another socket there: \(error)",
            advice: "\(advice), or name another path with \(purpose.option)"
        )
    }

    private static func explain(_ error: SystemError, _ path: String, _ purpose: Purpose) -> ProgramError {
        switch error.code {
        case EADDRINUSE:
            ProgramError(
                .unavailable,
                purpose.rival(at: path),
                advice: "stop that one, or name another socket with \(purpose.option)"
            )
        case EEXIST:
            ProgramError(
                .cannotCreate,
                "\(purpose.failure) at \(path): there is a file that is no socket",
                advice: "name another path with \(purpose.option)"
            )
        case ENAMETOOLONG:
            ProgramError(
                .cannotCreate,
                "\(purpose.failure) at \(path): a socket's path has at most 107 bytes",
                advice: "name a shorter one with \(purpose.option)"
            )
        default:
            ProgramError(
                error.code == EACCES ? .notPermitted : .cannotCreate,
                "\(purpose.failure) at \(path): \(error)",
                advice: "name a path with \(purpose.option) where you may create files"
            )
        }
    }
}

extension PrivateSocket.Purpose {
    fileprivate var failure: String {
        switch self {
        case .commands, .phoneCommands: "cannot take commands"
        case .controllers: "cannot offer controllers"
        }
    }

    fileprivate func rival(at path: String) -> String {
        switch self {
        case .commands: "a watch runs already that takes commands at \(path)"
        case .phoneCommands: "a phone runs already that takes commands at \(path)"
        case .controllers: "an air runs already that offers controllers at \(path)"
        }
    }

    /// The option that names the socket.
    fileprivate var option: String {
        switch self {
        case .commands, .phoneCommands: "--control"
        case .controllers: "--air-socket, or --socket of cairn air"
        }
    }
}
