import Glibc
import NIOConcurrencyHelpers
import PrivateFiles

/// What a client may do.
public enum Permission: Sendable, Equatable {
    /// Everything.
    case change
    /// Only look: no command that changes something, and nothing with keys in it.
    case look
}

/// The secrets by which clients are known: two tokens in files, tokens that count once, and the sessions that those begin.
public final class Tokens: Sendable {
    /// Who sends a request.
    struct Client: Sendable {
        let permission: Permission
        /// What tells its sessions apart.
        let id: String
        /// Whether a cookie says so, which a browser sends for other pages too.
        let isByCookie: Bool
    }

    /// How many sessions there are at most; the oldest makes way.
    private static let sessionLimit = 64
    /// How long a session lasts, in seconds.
    static let sessionSeconds = 30 * 24 * 3600
    /// How long a token that counts once does.
    private static let oneTimeLife: Duration = .seconds(24 * 3600)
    /// How many of those wait at most.
    private static let oneTimeLimit = 16
    /// The length of a token, in bytes of randomness.
    private static let length = 32

    private struct Session {
        let permission: Permission
        let end: ContinuousClock.Instant
        let number: Int
    }

    private struct State {
        var sessions: [String: Session] = [:]
        var oneTime: [String: (permission: Permission, end: ContinuousClock.Instant)] = [:]
        var lastNumber = 0
    }

    private let full: [UInt8]
    private let readOnly: [UInt8]
    private let state = NIOLockedValueBox(State())

    /// The tokens of two files, each made if it is not there.
    /// - Parameter path: the file of the token that may do everything; that of the other is beside it, `PATH.read-only`.
    /// - Throws: `WebError` if a file cannot be read or made, or is not this user's alone.
    public init(path: String) throws(WebError) {
        full = try Self.token(at: path)
        readOnly = try Self.token(at: path + ".read-only")
        guard full != readOnly else {
            throw WebError(
                .file,
                "\(path) and \(path).read-only hold the same token",
                advice: "remove one of them: it is made again"
            )
        }
    }

    /// A token that begins one session, in a browser.
    public func makeOneTimeToken(_ permission: Permission) -> String {
        let token = Self.random()
        let now = ContinuousClock.now
        state.withLockedValue { state in
            state.oneTime = state.oneTime.filter { $0.value.end > now }
            if state.oneTime.count >= Self.oneTimeLimit,
                let oldest = state.oneTime.min(by: { $0.value.end < $1.value.end })
            {
                state.oneTime[oldest.key] = nil
            }
            state.oneTime[token] = (permission, now + Self.oneTimeLife)
        }
        return token
    }

    /// Begins a session.
    /// - Returns: its secret, for a cookie; nil if the token does not count, or not any more.
    func beginSession(oneTime token: String) -> String? {
        let now = ContinuousClock.now
        return state.withLockedValue { state in
            guard let found = state.oneTime.removeValue(forKey: token), found.end > now else { return nil }
            if state.sessions.count >= Self.sessionLimit,
                let oldest = state.sessions.min(by: { $0.value.number < $1.value.number })
            {
                state.sessions[oldest.key] = nil
            }
            state.lastNumber += 1
            let secret = Self.random()
            let end = now + .seconds(Self.sessionSeconds)
            state.sessions[secret] = Session(permission: found.permission, end: end, number: state.lastNumber)
            return secret
        }
    }

    /// The client that a token in a header names; nil for none.
    func client(bearer token: String, from address: String) -> Client? {
        let token = Array(token.utf8)
        // Both are compared, whichever it is: the time says nothing.
        let isFull = Self.isEqual(token, full)
        let isReadOnly = Self.isEqual(token, readOnly)
        guard isFull || isReadOnly else { return nil }
        return Client(
            permission: isFull ? .change : .look,
            id: (isFull ? "token " : "read-only token ") + address,
            isByCookie: false
        )
    }

    /// The client that a session's cookie names; nil for none.
    func client(session secret: String) -> Client? {
        let session = state.withLockedValue { $0.sessions[secret] }
        guard let session, session.end > .now else { return nil }
        return Client(permission: session.permission, id: "session \(session.number)", isByCookie: true)
    }

    /// In a time that depends on the lengths alone.
    private static func isEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: (0..<length).flatMap { _ in
                let byte = UInt8.random(in: .min ... .max, using: &generator)
                return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            },
            as: UTF8.self
        )
    }

    private static func token(at path: String) throws(WebError) -> [UInt8] {
        if access(path, F_OK) == 0 { return try read(path) }
        do {
            let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
            // Where only this user may put files: otherwise another one's token could be waiting there.
            if !folder.isEmpty { _ = try PrivateDirectory(folder) }
            let token = Array(random().utf8)
            let file = try PrivateFile.create(path)
            defer { close(file) }
            let line = token + [UInt8(ascii: "\n")]
            guard write(file, line, line.count) == line.count else {
                throw WebError(
                    .file,
                    "\(path) cannot be written: \(String(cString: strerror(errno)))",
                    advice: "see whether the disk is full, or name another file with --token-file"
                )
            }
            return token
        } catch let error as WebError {
            throw error
        } catch let error as PrivateFileError {
            throw WebError(
                .file,
                "the token cannot be kept: \(error)",
                advice: error.advice ?? "name a file of yours with --token-file"
            )
        } catch {
            throw WebError(.file, "the token cannot be kept: \(error)", advice: "name another file with --token-file")
        }
    }

    private static func read(_ path: String) throws(WebError) -> [UInt8] {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw WebError(.file, "\(path) is no file", advice: "name another with --token-file")
        }
        guard TrustedUsers.numbers().contains(status.st_uid), status.st_mode & 0o077 == 0 else {
            throw WebError(
                .file,
                "\(path) is not yours alone, so that others may know the token",
                advice: "remove it: a new one is made, with mode 0600"
            )
        }
        guard let contents = Resources.contents(of: path) else {
            throw WebError(.file, "\(path) cannot be read", advice: "see its mode, or name another with --token-file")
        }
        let token = Array(contents.readableBytesView).filter { !" \t\r\n".utf8.contains($0) }
        guard token.count >= length, token.count <= 1024, token.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw WebError(
                .file,
                "\(path) holds no token: it is one word of at least \(length) characters",
                advice: "remove it: a new one is made"
            )
        }
        return token
    }
}
