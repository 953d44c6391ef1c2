import LinuxBluetooth

/// Where the real firmware is that answers phones: the first serial port of its emulator, as a socket.
public struct FirmwareAddress: Hashable, Sendable, CustomStringConvertible {
    /// The socket.
    let socket: TransportAddress

    /// Why text names no such place, and what to write instead.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads `tcp:HOST:PORT` or `unix:PATH`.
    public init(parsing text: String) throws(Invalid) {
        do {
            switch try TransportAddress(parsing: text) {
            case .tcp(let host, let port): socket = .tcp(host: host, port: port)
            case .unix(let path): socket = .unix(path: path)
            case .virtual, .serial, .adapter, .netsim: throw Invalid(description: Self.advice(on: text))
            }
        } catch let error as TransportAddressError where text.hasPrefix("tcp:") || text.hasPrefix("unix:") {
            throw Invalid(description: error.description)
        } catch {
            throw Invalid(description: Self.advice(on: text))
        }
    }

    private static func advice(on text: String) -> String {
        "“\(text)” is no place of an emulator; write tcp:HOST:PORT, for example tcp:127.0.0.1:12344, or unix:PATH"
    }

    /// The text that reads as this place.
    public var description: String { socket.description }
}
