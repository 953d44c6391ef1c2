import Glibc

/// One attempt to reach a controller, without waiting.
///
/// Opening a device or a Unix socket ends at once. A TCP connection takes time: until `proceed` returns a stream, poll
/// `descriptor` for writing and call it again, or `giveUpWaiting` when `patience` is over. So does an adapter that the kernel
/// is not done with: there is nothing to poll then. A stream to netsim is polled for reading (`waitsToRead`).
public final class TransportConnector {
    /// How long to let the kernel go on with an adapter before it is asked again...
    private static let adapterPatience: Duration = .milliseconds(250)
    /// ...and how often: loading firmware takes seconds.
    private static let adapterAttempts = 60

    /// Which controller.
    public let address: TransportAddress
    /// The way to a socket; nil for everything else.
    private let sockets: SocketConnector?
    /// What carries the packets to netsim; nil for everything else.
    private var helper: NetsimHelper?
    private var adapterAttempts = 0
    /// The adapter that `proceed` has opened, as it was before.
    public private(set) var openedAdapter: Adapter?

    private let reclaims: Bool

    /// Begins an attempt. `address` is any but `.virtual`, which is in this process and needs no connection.
    /// - Parameter reclaims: it is an adapter that this process had before.
    public init(to address: TransportAddress, reclaims: Bool = false) throws(TransportError) {
        self.reclaims = reclaims
        self.address = address
        do {
            sockets = try SocketConnector(to: address)
        } catch {
            throw TransportError(address: address, cause: error)
        }
    }

    /// How long to wait before `giveUpWaiting`.
    public var patience: Duration {
        if case .adapter = address { return Self.adapterPatience }
        return SocketConnector.patience
    }

    /// What to poll for writing while the attempt is under way.
    public var descriptor: Int32? { helper?.descriptor ?? sockets?.descriptor }

    /// Whether `descriptor` is to be polled for reading, and not for writing.
    public var waitsToRead: Bool { helper != nil }

    /// Goes on as far as is possible without waiting.
    /// - Returns: the connection, or nil if `descriptor` has to become writable first.
    public func proceed() throws(TransportError) -> (any HCIConnection)? {
        switch address {
        case .serial(let device, let rate, let flow): return try openPort(device, rate, flow)
        case .adapter(let reference): return try open(reference)
        case .netsim(let netsim): return try open(netsim)
        case .tcp, .unix, .virtual: return try connect()
        }
    }

    private func open(_ netsim: NetsimAddress) throws(TransportError) -> NetsimConnection? {
        do throws(TransportError.Cause) {
            let helper: NetsimHelper
            if let running = self.helper { helper = running } else { helper = try start(netsim) }
            self.helper = helper
            helper.readLines()
            if let end = helper.end { throw .netsim(end) }
            guard helper.isReady, let input = helper.takeInput() else { return nil }
            self.helper = nil
            return NetsimConnection(helper, input: input)
        } catch {
            throw TransportError(address: address, cause: error)
        }
    }

    /// An emulator that was started again has another port: it is looked for with each attempt.
    private func start(_ netsim: NetsimAddress) throws(TransportError.Cause) -> NetsimHelper {
        let place: NetsimAddress.Place
        if let known = netsim.place {
            place = known
        } else if netsim.service == .emulator {
            place = NetsimAddress.emulatorPlace
        } else {
            do throws(NetsimFile.Problem) {
                let file = try NetsimFile.find(netsim.instance ?? 0)
                try file.check()
                place = file.place
            } catch {
                throw .undiscovered(error)
            }
        }
        let name = netsim.name ?? NetsimAddress.defaultName
        do throws(NetsimEnd) {
            return try NetsimHelper([
                "connect", "--service", netsim.service.rawValue, "--host", place.host, "--port", "\(place.port)",
                "--name=\(name)",
            ])
        } catch {
            throw .netsim(error)
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
        do throws(TransportError.Cause) {
            guard let socket = try sockets?.proceed() else { return nil }
            return try established(socket)
        } catch {
            throw TransportError(address: address, cause: error)
        }
    }

    /// Takes the host's address that is being tried as one that does not answer, and goes on with the next; asks for the
    /// adapter again.
    public func giveUpWaiting() throws(TransportError) -> (any HCIConnection)? {
        if helper != nil {
            helper = nil
            throw TransportError(address: address, cause: .noAnswer)
        }
        sockets?.giveUpWaiting()
        return try proceed()
    }

    private func established(_ socket: consuming FileDescriptor) throws(TransportError.Cause) -> H4Stream {
        guard case .tcp = address else { return H4Stream(owning: socket, kind: .unixSocket, peer: .controller) }
        do {
            return try H4Stream(tcp: socket, peer: .controller)
        } catch {
            throw .refused(error)
        }
    }
}
