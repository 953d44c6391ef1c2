/// Listens on a loopback TCP port for hosts that want a controller: each connection speaks H4.
public struct H4Server: ~Copyable, Sendable {
    private let listener: StreamListener
    /// The port that it listens on: the one asked for, or the one that the kernel chose for 0.
    public var port: UInt16 { listener.port }

    /// Starts to listen; port 0 lets the kernel choose a free one.
    public init(port: UInt16) throws(StreamListener.PortError) { listener = try StreamListener(loopbackPort: port) }

    /// What to poll for reading.
    public var descriptor: Int32 { listener.descriptor }

    /// Takes the next waiting connection; nil if none is waiting.
    public func accept() throws(SystemError) -> H4Stream? {
        guard let socket = try listener.accept() else { return nil }
        return try H4Stream(tcp: socket, peer: .host)
    }
}
