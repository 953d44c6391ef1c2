import Glibc

/// An `errno` value: why the kernel refused something.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The `errno` value.
    public let code: Int32

    /// Wraps an `errno` value.
    public init(code: Int32) { self.code = code }

    /// What the last failed system call of this thread left behind. Ask at once: the next call overwrites it.
    public static var last: SystemError { SystemError(code: errno) }

    /// The C library's words for it, such as "Connection refused".
    public var description: String {
        guard let text = strerror(code) else { return "error \(code)" }
        return String(cString: text)
    }
}

extension SystemError {
    /// Whether a non-blocking call only has nothing to do at the moment.
    var isWouldBlock: Bool { code == EAGAIN || code == EWOULDBLOCK }
    /// Whether a signal came in between; the call is to be made again.
    var isInterrupted: Bool { code == EINTR }
}
