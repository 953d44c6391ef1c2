import CLinux
import Glibc
import LinuxBluetooth

/// The descriptors that one turn of the loop waits for, and which of them are ready.
public struct PollSet: ~Copyable {
    /// Finds a request's answer again. Valid until the next turn.
    public struct Token: Sendable {
        fileprivate let index: Int
    }

    private var requests: [pollfd] = []

    package init() {}

    /// Finds the answers to several requests again. Valid until the next turn.
    package struct Tokens: Sendable {
        fileprivate var indices: Range<Int>

        /// No requests.
        package init() { indices = 0..<0 }
    }

    /// Forgets the last turn.
    package mutating func removeAll() { requests.removeAll(keepingCapacity: true) }

    /// Asks for one descriptor.
    public mutating func add(_ descriptor: Int32, reading: Bool, writing: Bool) -> Token {
        let events = (reading ? POLLIN : 0) | (writing ? POLLOUT : 0)
        requests.append(pollfd(fd: descriptor, events: Int16(events), revents: 0))
        return Token(index: requests.count - 1)
    }

    /// Asks whether nobody reads what is written to descriptors: for no event, since the kernel reports a closed other end all the same.
    package mutating func addReaders(of descriptors: [Int32]) -> Tokens {
        let start = requests.count
        for descriptor in descriptors { requests.append(pollfd(fd: descriptor, events: 0, revents: 0)) }
        var tokens = Tokens()
        tokens.indices = start..<requests.count
        return tokens
    }

    /// Whether the other end of one of the descriptors is closed.
    package func hasLostReader(_ tokens: Tokens) -> Bool {
        tokens.indices.contains { answer(Token(index: $0)) & (POLLHUP | POLLERR | POLLNVAL) != 0 }
    }

    /// Asks only whether the other side of a stream has closed it.
    public mutating func addHangUp(of descriptor: Int32) -> Token {
        requests.append(pollfd(fd: descriptor, events: Int16(POLLRDHUP), revents: 0))
        return Token(index: requests.count - 1)
    }

    /// Whether the other side has closed the stream, or it has failed.
    public func isHungUp(_ token: Token) -> Bool { answer(token) & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL) != 0 }

    /// Whether there is something to be read, the end of the stream or an error included.
    public func isReadable(_ token: Token) -> Bool { answer(token) & (POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0 }

    /// Whether something can be written, or an attempt to connect has come to its end.
    public func isWritable(_ token: Token) -> Bool { answer(token) & (POLLOUT | POLLHUP | POLLERR | POLLNVAL) != 0 }

    private func answer(_ token: Token) -> Int32 {
        requests.indices.contains(token.index) ? Int32(requests[token.index].revents) : 0
    }

    /// Waits until a descriptor is ready, a signal comes in or the time is over; nil waits for as long as it takes.
    package mutating func wait(atMost time: Duration?) {
        // A day is long enough, and fits any clock.
        let nanoseconds = Int(
            clamping: min(max(time ?? .seconds(86_400), .zero), .seconds(86_400)).attoseconds / 1_000_000_000
        )
        var limit = timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
        let result = requests.withUnsafeMutableBufferPointer { buffer in
            ppoll(buffer.baseAddress, nfds_t(buffer.count), &limit, nil)
        }
        if result < 0 {
            // Interrupted by a signal: nothing is known to be ready, and the loop asks again.
            for index in requests.indices { requests[index].revents = 0 }
        }
    }
}
