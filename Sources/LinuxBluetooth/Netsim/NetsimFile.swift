import Glibc

/// The file in which a netsim tells its port: `netsim.ini`, and `netsim_N.ini` for another instance N of the same machine.
///
/// It has lines of the form `key=value`; the port is that of the key `grpc.port`. It is in the first of these directories that is
/// there: `$XDG_RUNTIME_DIR`, `$TMPDIR`, `/tmp`. Emulators and other programs look for it in the same way.
public struct NetsimFile: Hashable, Sendable {
    /// Why no port is known.
    public enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// There is no such file.
        case missing(name: String, directories: [String])
        /// The file cannot be read.
        case unreadable(path: String, SystemError)
        /// It is another user's, who could send the watch anywhere.
        case foreign(path: String)
        /// It names no port.
        case noPort(path: String)
        /// Nothing listens at the port that it names.
        case stale(path: String, port: UInt16)
        /// Another netsim is announced there, and runs.
        case taken(path: String, port: UInt16)

        public var description: String {
            switch self {
            case .missing(let name, let directories):
                "no netsim is announced: there is no \(name) in \(directories.joined(separator: " or "))"
            case .unreadable(let path, let error): "cannot use \(path): \(error)"
            case .foreign(let path): "\(path) is another user's, who could have put any port in it"
            case .noPort(let path): "\(path) names no port (grpc.port=NUMBER, 1 to 65535)"
            case .stale(let path, let port):
                "\(path) is stale: it names port \(port), and nothing listens there any more"
            case .taken(let path, let port): "another netsim runs at port \(port), and \(path) announces it"
            }
        }

        /// What a person can do about it.
        public var advice: String {
            switch self {
            case .missing: "start the emulator or netsim first, or name its place: netsim:HOST:PORT"
            case .unreadable: "check the file's permissions, or name the place: netsim:HOST:PORT"
            case .foreign: "start netsim as this user, or name the place: netsim:HOST:PORT"
            case .noPort: "remove the file and start the emulator again, or name the place: netsim:HOST:PORT"
            case .stale: "start the emulator again; a netsim that does not end cleanly leaves the file behind"
            case .taken: "end that one, or take another instance"
            }
        }
    }

    /// How much of a file is read.
    static let longest = 4096

    /// Which netsim of this machine.
    public let instance: UInt8
    /// Where the file is.
    public let path: String
    /// The port that it names.
    public let port: UInt16

    /// The file's name.
    public static func name(of instance: UInt8) -> String { instance == 0 ? "netsim.ini" : "netsim_\(instance).ini" }

    /// The directories where it may be, those that come first in force before the others.
    public static func directories(environment: (String) -> String? = Self.variable) -> [String] {
        var found: [String] = []
        for directory in [environment("XDG_RUNTIME_DIR"), environment("TMPDIR"), "/tmp"] {
            guard let directory, !directory.isEmpty, !found.contains(directory) else { continue }
            found.append(directory)
        }
        return found
    }

    /// A variable of this process's environment.
    public static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    /// Reads the file of an instance.
    public static func find(_ instance: UInt8, in directories: [String] = directories()) throws(Problem) -> NetsimFile {
        for directory in directories {
            let path = "\(directory)/\(name(of: instance))"
            var status = stat()
            guard stat(path, &status) == 0 else { continue }
            guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreign(path: path) }
            guard let port = port(in: try contents(of: path)) else { throw .noPort(path: path) }
            return NetsimFile(instance: instance, path: path, port: port)
        }
        throw .missing(name: name(of: instance), directories: directories)
    }

    /// The files of all instances, and what is wrong with those that are of no use.
    public static func all(
        in directories: [String] = directories()
    ) -> [(instance: UInt8, result: Result<NetsimFile, Problem>)] {
        (0...UInt8.max).compactMap { instance in
            do throws(Problem) {
                let file = try find(instance, in: directories)
                try file.check()
                return (instance, .success(file))
            } catch .missing {
                return nil
            } catch {
                return (instance, .failure(error))
            }
        }
    }

    /// Where this machine reaches it.
    public var place: NetsimAddress.Place { .init(host: "127.0.0.1", port: port) }

    /// Finds out whether anything listens at the port.
    public func check() throws(Problem) {
        guard Self.isAnswered(port) else { throw .stale(path: path, port: port) }
    }

    /// Announces a netsim of this process, in the first of the directories that is there.
    ///
    /// A stale file is replaced; one whose netsim runs is not.
    public static func announce(
        port: UInt16,
        instance: UInt8,
        in directories: [String] = directories()
    ) throws(Problem) -> NetsimFile {
        var status = stat()
        let directory = directories.first { stat($0, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR } ?? "/tmp"
        let path = "\(directory)/\(name(of: instance))"
        if let known = try? find(instance, in: [directory]), isAnswered(known.port), known.port != port {
            throw .taken(path: path, port: known.port)
        }
        // Whatever is there is removed, and not written into: it may be a link.
        unlink(path)
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard number >= 0 else { throw .unreadable(path: path, .last) }
        let file = FileDescriptor(owning: number)
        let text = Array("grpc.port=\(port)\n".utf8)
        guard write(file.number, text, text.count) == text.count else { throw .unreadable(path: path, .last) }
        return NetsimFile(instance: instance, path: path, port: port)
    }

    /// Takes the announcement back, unless another netsim has replaced it.
    public func remove() {
        guard let text = try? Self.contents(of: path), Self.port(in: text) == port else { return }
        unlink(path)
    }

    /// The port that a file's text names; nil for none.
    static func port(in text: [UInt8]) -> UInt16? {
        for line in String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline) {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, trimmed(parts[0]) == "grpc.port" else { continue }
            return UInt16(trimmed(parts[1])).flatMap { $0 == 0 ? nil : $0 }
        }
        return nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }

    private static func contents(of path: String) throws(Problem) -> [UInt8] {
        // A pipe without a writer would make a reader wait.
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw .unreadable(path: path, .last) }
        let file = FileDescriptor(owning: number)
        var bytes = [UInt8](repeating: 0, count: longest)
        let count = bytes.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw .unreadable(path: path, .last) }
        return Array(bytes.prefix(count))
    }

    /// Whether something listens at a port of this machine.
    private static func isAnswered(_ port: UInt16) -> Bool {
        guard let socket = try? FileDescriptor.socket(AF_INET) else { return false }
        if SocketAddress(loopbackPort: port).connect(socket) != nil { return false }
        // Loopback answers at once: either way the attempt is over when the call returns, or a moment later.
        var request = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, 250) > 0 && socket.pendingError() == nil
    }
}
