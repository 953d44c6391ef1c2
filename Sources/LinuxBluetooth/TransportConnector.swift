import Glibc

/// One attempt to reach a controller, without waiting.
///
/// Opening a device or a Unix socket ends at once. A TCP connection takes time: until `proceed` returns a stream, poll
/// `descriptor` for writing and call it again, or `giveUpWaiting` when it takes too long.
public final class TransportConnector {
    /// How long one address may take to answer.
    public static let patience: Duration = .seconds(5)

    /// Which controller.
    public let address: TransportAddress
    private var candidates: ArraySlice<SocketAddress>
    private var attempt: FileDescriptor?
    private var failure: TransportError.Cause?

    /// Begins an attempt. `address` is any but `.virtual`, which is in this process and needs no connection.
    public init(to address: TransportAddress) throws(TransportError) {
        self.address = address
        switch address {
        case .tcp(let host, let port):
            do {
                candidates = try SocketAddress.resolve(host: host, port: port)[...]
            } catch {
                throw TransportError(address: address, cause: .unknownHost(error))
            }
        case .unix(let path):
            candidates = [SocketAddress(unixPath: path)]
        case .serial, .virtual:
            candidates = []
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
    /// - Returns: the connection, or nil if `descriptor` has to become writable first.
    public func proceed() throws(TransportError) -> (any HCIConnection)? {
        if case .serial(let device, let rate) = address {
            do {
                return H4Stream(
                    owning: try SerialPort.open(device: device, rate: rate),
                    kind: .device,
                    peer: .controller
                )
            } catch {
                throw TransportError(address: address, cause: error)
            }
        }
        while true {
            if let socket = attempt.take() {
                switch Self.progress(of: socket) {
                case .connected: return try established(socket)
                case .underWay:
                    attempt = consume socket
                    return nil
                case .failed(let error): failure = .refused(error)
                }
            }
            try beginNext()
        }
    }

    /// Takes the address that is being tried as one that does not answer, and goes on with the next.
    public func giveUpWaiting() throws(TransportError) -> (any HCIConnection)? {
        attempt = nil
        failure = .noAnswer
        return try proceed()
    }

    private func beginNext() throws(TransportError) {
        guard let candidate = candidates.popFirst() else {
            throw TransportError(address: address, cause: failure ?? .noAnswer)
        }
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

    private func established(_ socket: consuming FileDescriptor) throws(TransportError) -> H4Stream {
        guard case .tcp = address else { return H4Stream(owning: socket, kind: .unixSocket, peer: .controller) }
        do {
            return try H4Stream(tcp: socket, peer: .controller)
        } catch {
            throw TransportError(address: address, cause: .refused(error))
        }
    }
}
