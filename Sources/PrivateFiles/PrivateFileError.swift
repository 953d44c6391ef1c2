import Glibc

/// Why a file or a directory is not used for what only this user may read or change.
public struct PrivateFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Cause: Hashable, Sendable {
        /// The kernel refused; an `errno` value.
        case system(Int32)
        /// It is a link, and leads somewhere else.
        case link
        /// A file that has other names too, and is changed under all of them.
        case manyNames
        /// It belongs to another user.
        case owner(uid_t)
        /// Others may write to it; its mode.
        case writable(mode_t)
        /// It is neither a file nor what else was expected.
        case kind
        /// It is not the one any more that was checked.
        case replaced
    }

    /// What was looked at.
    public let path: String
    /// What is wrong with it.
    public let cause: Cause

    init(_ path: String, _ cause: Cause) {
        self.path = path
        self.cause = cause
    }

    static func last(_ path: String) -> PrivateFileError {
        let code = errno
        return PrivateFileError(path, code == ELOOP ? .link : .system(code))
    }

    /// The kernel's `errno` value; EPERM for what is refused here.
    public var code: Int32 {
        switch cause {
        case .system(let code): code
        case .link, .manyNames, .owner, .writable, .kind, .replaced: EPERM
        }
    }

    public var description: String { "\(path): \(reason)" }

    /// What is wrong, without the path.
    public var reason: String {
        switch cause {
        case .system(let code): strerror(code).map { String(cString: $0) } ?? "error \(code)"
        case .link: "it is a link"
        case .manyNames: "the file has other names too (hard links)"
        case .owner(let user): "it belongs to \(Self.name(of: user)), not to you"
        case .writable(let mode): "others may write to it (mode \(Self.octal(mode)))"
        case .kind: "it is not a file"
        case .replaced: "somebody replaces it"
        }
    }

    /// What a person can do about it; nil if that depends on what it was for.
    public var advice: String? {
        switch cause {
        case .system: nil
        case .link: "name what it leads to"
        case .manyNames: "remove it, or name another one"
        case .owner(let user):
            "name another one, remove it, or run cairn as \(Self.name(of: user))"
        case .writable: "chmod go-w \(path)"
        case .kind: "name another one"
        case .replaced: "name a place where only you may write"
        }
    }

    private static func octal(_ mode: mode_t) -> String {
        let digits = String(mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }

    private static func name(of user: uid_t) -> String {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "the user with the number \(user)"
    }
}
