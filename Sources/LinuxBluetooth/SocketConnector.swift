import Glibc

/// One attempt to reach a TCP port or a Unix socket, without waiting.
///
/// A TCP connection takes time: until `proceed` returns a socket, poll `descriptor` for writing and call it again. An address that
/// does not answer is passed over by `giveUpWaiting`.
public final class SocketConnector {
    /// How long a host may take to answer.
    public static let patience: Duration = .seconds(5)

    private var candidates: ArraySlice<SocketAddress>
    private var attempt: FileDescriptor?
    private var failure: TransportError.Cause?

    /// Begins an attempt; nil if the address is no socket's.
    public init?(to address: TransportAddress) throws(TransportError.Cause) {
        switch address {
        case .tcp(let host, let port):
            do {
                candidates = try SocketAddress.resolve(host: host, port: port)[...]
            } catch {
                throw .unknownHost(error)
            }
        case .unix(let path): candidates = [SocketAddress(unixPath: path)]
        case .serial, .adapter, .virtual, .netsim: return nil
        }
    }

    /// What to poll for writing while the attempt is under way.
    public var descriptor: Int32? {
        switch attempt {
        case .some(let socket): socket.number
        case nil: nil
        }
    }

    /// Goes on as far as is possible without waiting.
    /// - Returns: the connected socket, or nil if `descriptor` has to become writable first.
    public func proceed() throws(TransportError.Cause) -> FileDescriptor? {
        while true {
            if let socket = attempt.take() {
                switch Self.progress(of: socket) {
                case .connected: return socket
                case .underWay:
                    attempt = consume socket
                    return nil
                case .failed(let error): failure = .refused(error)
                }
            }
            try beginNext()
        }
    }

    /// Takes the address that is being tried as one that does not answer: `proceed` goes on with the next.
    public func giveUpWaiting() {
        attempt = nil
        failure = .noAnswer
    }

    private func beginNext() throws(TransportError.Cause) {
        guard let candidate = candidates.popFirst() else { throw failure ?? .noAnswer }
        do throws(SystemError) {
            let socket = try FileDescriptor.socket(candidate.family)
            if let error = candidate.connect(socket) { throw error }
            attempt = consume socket
        } catch {
            failure = .refused(error)
        }
    }

    private enum Progress {
        case connected, underWay
        case failed(SystemError)
    }

    private static func progress(of socket: borrowing FileDescriptor) -> Progress {
        var request = pollfd(fd: socket.number, events: Int16(POLLOUT), revents: 0)
        guard poll(&request, 1, 0) > 0 else { return .underWay }
        if let error = socket.pendingError() { return .failed(error) }
        return .connected
    }
}
