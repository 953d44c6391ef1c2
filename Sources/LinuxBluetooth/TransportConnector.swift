import Glibc

/// One attempt to reach a controller, without waiting.
///
/// Opening a device or a Unix socket ends at once. A TCP connection takes time: until `proceed` returns a stream, poll
/// `descriptor` for writing and call it again, or `giveUpWaiting` when `patience` is over. So does an adapter that the kernel
/// is not done with: there is nothing to poll then.
public final class TransportConnector {
    /// How long a host may take to answer.
    private static let hostPatience: Duration = .seconds(5)
    /// How long to let the kernel go on with an adapter before it is asked again...
    private static let adapterPatience: Duration = .milliseconds(250)
    /// ...and how often: loading firmware takes seconds.
    private static let adapterAttempts = 60

    /// Which controller.
    public let address: TransportAddress
    private var candidates: ArraySlice<SocketAddress>
    private var attempt: FileDescriptor?
    private var failure: TransportError.Cause?
    private var adapterAttempts = 0
    /// The adapter that `proceed` has opened, as it was before.
    public private(set) var openedAdapter: Adapter?

    private let reclaims: Bool

    /// Begins an attempt. `address` is any but `.virtual`, which is in this process and needs no connection.
    /// - Parameter reclaims: it is an adapter that this process had before.
    public init(to address: TransportAddress, reclaims: Bool = false) throws(TransportError) {
        self.reclaims = reclaims
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
        case .serial, .adapter, .virtual:
            candidates = []
        }
    }

    /// How long to wait before `giveUpWaiting`.
    public var patience: Duration {
        if case .adapter = address { return Self.adapterPatience }
        return Self.hostPatience
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
        switch address {
        case .serial(let device, let rate, let flow): return try openPort(device, rate, flow)
        case .adapter(let reference): return try open(reference)
        case .tcp, .unix, .virtual: return try connect()
        }
    }

    private func openPort(
        _ device: String,
        _ rate: BaudRate,
        _ flow: SerialFlowControl
    ) throws(TransportError) -> H4Stream {
        do {
            let port = try SerialPort.open(device: device, rate: rate, flow: flow)
            return H4Stream(owning: port, kind: .device, peer: .controller)
        } catch {
            throw TransportError(address: address, cause: error)
        }
    }

    private func open(_ reference: AdapterReference) throws(TransportError) -> PacketConnection? {
        do {
            let opened = try UserChannel.open(reference, reclaims: reclaims)
            openedAdapter = opened.adapter
            return opened.connection
        } catch {
            adapterAttempts += 1
            if error.isPassing, adapterAttempts < Self.adapterAttempts { return nil }
            throw TransportError(address: address, cause: .adapter(error))
        }
    }

    private func connect() throws(TransportError) -> H4Stream? {
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

    /// Takes the host's address that is being tried as one that does not answer, and goes on with the next; asks for the
    /// adapter again.
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
