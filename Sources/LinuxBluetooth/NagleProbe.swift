import Glibc

/// Finds out whether the other end of a TCP connection waits for acknowledgements before it sends more (Nagle's algorithm, RFC 9293,
/// 3.7.4). One that does has to be given each at once, by a system call of its own; most do not, and need none.
///
/// The proof: two small segments came in, and since before the first of them this side has sent nothing that could acknowledge it. An
/// attempt makes an end that does wait do so for up to 40 ms, so that there are few.
///
/// It decides, and its owner asks the kernel: a value that makes system calls is guarded each time while it does.
struct NagleProbe {
    /// Less than the largest segment of any connection (RFC 9293, 3.7.1): what is read at once and is smaller came in small segments.
    static let smallCount = 536
    /// How many attempts have to succeed: an acknowledgement that leaves in the moment between two looks is not seen.
    static let neededProofs = 2
    /// How many attempts may fail.
    static let failureLimit = 16
    /// How many may begin: each takes three system calls.
    static let attemptLimit = 256

    private enum Step {
        /// Nothing is tried.
        case none
        /// An attempt has begun, after this number of segments was sent. No small segment has come yet.
        case sent(UInt32?)
        /// The first small segment has been read; the second is still to come.
        case heard(UInt32?)
    }

    private var step = Step.none
    /// Whether nothing has been sent since the attempt began. It is asked before each read, since a read may acknowledge.
    private var isUnacknowledged = false
    /// Whether something was acknowledged at once since the last attempt: where each input is answered, there is nothing to be saved.
    private var isWorthIt = false
    private var proofs = 0
    private var failures = 0
    private var attempts = 0

    /// Whether the other end is known not to wait.
    var isPeerPrompt: Bool { proofs == Self.neededProofs }

    /// Whether what was read need not be acknowledged at once.
    var holdsBack: Bool {
        if case .none = step { return isPeerPrompt }
        return true
    }

    /// What was read has been acknowledged at once, by a system call.
    mutating func acknowledged() { isWorthIt = true }

    /// Bytes were sent, which acknowledge what was read before.
    /// - Returns: whether an attempt is worth it, which `begin` begins.
    mutating func sent() -> Bool {
        guard !isPeerPrompt else { return false }
        step = .none
        guard isWorthIt, failures < Self.failureLimit, attempts < Self.attemptLimit else { return false }
        isWorthIt = false
        attempts += 1
        return true
    }

    /// An attempt begins.
    /// - Parameter sentSegments: how many segments the socket has sent; nil if the kernel does not say.
    mutating func begin(sentSegments: UInt32?) { step = .sent(sentSegments) }

    /// Whether it wants to know before the next read how many segments the socket has sent.
    var wantsLook: Bool { if case .heard = step { true } else { false } }

    /// What has come is about to be read, which may acknowledge it.
    /// - Parameter sentSegments: how many segments the socket has sent; nil if the kernel does not say.
    mutating func willRead(sentSegments: UInt32?) {
        guard case .heard(let segments) = step else { return }
        isUnacknowledged = segments != nil && sentSegments == segments
    }

    /// Bytes have been read.
    /// - Parameter count: how many came in one read.
    mutating func read(_ count: Int) {
        switch step {
        case .none: return
        case .sent(let segments):
            step = count < Self.smallCount ? .heard(segments) : .none
            isUnacknowledged = false
        case .heard:
            step = .none
            guard count < Self.smallCount else { return }
            if isUnacknowledged { proofs += 1 } else { failures += 1 }
        }
    }

    /// How many segments a socket has sent, acknowledgements included; nil if the kernel does not say.
    static func sentSegments(of socket: borrowing FileDescriptor) -> UInt32? {
        // struct tcp_info of linux/tcp.h, of which the C library knows only the first fields: tcpi_segs_out is behind 136 octets.
        let offset = 136
        var info = [UInt8](repeating: 0, count: offset + MemoryLayout<UInt32>.size)
        var size = socklen_t(info.count)
        guard getsockopt(socket.number, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0, size == info.count else {
            return nil
        }
        return info.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }
}
