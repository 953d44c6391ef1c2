/// Where a Bluetooth controller is: what people write after `--controller`.
public enum TransportAddress: Hashable, Sendable {
    /// A simulated controller inside this process.
    case virtual
    /// H4 over a TCP connection.
    case tcp(host: String, port: UInt16)
    /// H4 over a Unix stream socket.
    case unix(path: String)
    /// H4 over a serial port.
    case serial(device: String, BaudRate, SerialFlowControl = .hardware)
    /// An adapter of this machine.
    case adapter(AdapterReference)
    /// A controller of an Android emulator.
    case netsim(NetsimAddress)
}

/// Why a transport string was not understood: what is wrong with it, and what to write instead.
public struct TransportAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String
}

extension TransportAddress {
    /// Reads a transport string.
    public init(parsing text: String) throws(TransportAddressError) {
        if let netsim = try NetsimAddress(parsing: text) {
            self = .netsim(netsim)
            return
        }
        let (scheme, rest) = Self.split(text, atFirst: ":")
        switch (scheme, rest) {
        case ("virtual", nil):
            self = .virtual
        case ("tcp", let place):
            self = try Self.tcp(place ?? "", in: text)
        case ("unix", let path):
            self = try Self.unix(path ?? "", in: text)
        case ("serial", let port):
            self = try Self.serial(port ?? "", in: text)
        default:
            guard let adapter = AdapterReference(parsing: text) else {
                throw .init(
                    description:
                        "“\(text)” is no way to reach a controller; write hci0 (cairn adapters lists what there is), "
                        + "virtual, netsim, android-emulator, tcp:HOST:PORT, unix:PATH or serial:DEVICE,BAUD"
                )
            }
            self = .adapter(adapter)
        }
    }

    /// Reads `HOST:PORT`.
    static func tcp(
        _ place: some StringProtocol,
        in text: String,
        example: String = "write tcp:HOST:PORT, for example tcp:127.0.0.1:6402 or tcp:[::1]:6402"
    ) throws(TransportAddressError) -> Self {
        guard let colon = place.lastIndex(of: ":") else {
            throw .init(description: "“\(text)” names no port; \(example)")
        }
        var host = place[..<colon]
        let digits = place[place.index(after: colon)...]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw .init(description: "“\(text)” has an IPv6 address without brackets; \(example)")
        }
        guard !host.isEmpty else { throw .init(description: "“\(text)” names no host; \(example)") }
        guard let port = UInt16(digits), port != 0 else {
            throw .init(description: "“\(digits)” in “\(text)” is no TCP port (1 to 65535); \(example)")
        }
        return .tcp(host: String(host), port: port)
    }

    private static func unix(_ path: some StringProtocol, in text: String) throws(TransportAddressError) -> Self {
        guard !path.isEmpty else {
            throw .init(
                description: "“\(text)” names no socket; write unix:PATH, for example unix:/run/controller.sock"
            )
        }
        guard path.utf8.count <= UnixSocketPath.longest else {
            throw .init(
                description: "the path in “\(text)” has \(path.utf8.count) bytes, "
                    + "and a Unix socket's may have \(UnixSocketPath.longest); use a shorter or a relative path"
            )
        }
        return .unix(path: String(path))
    }

    private static func serial(_ port: some StringProtocol, in text: String) throws(TransportAddressError) -> Self {
        let example = "write serial:DEVICE,BAUD, for example serial:/dev/ttyUSB0,115200"
        var words = port.split(separator: ",", omittingEmptySubsequences: false)
        let flow = words.last.flatMap { SerialFlowControl(rawValue: String($0)) }
        if flow != nil { words.removeLast() }
        guard words.count > 1, let digits = words.popLast() else {
            throw .init(description: "“\(text)” names no baud rate; \(example)")
        }
        let device = words.joined(separator: ",")
        guard !device.isEmpty else { throw .init(description: "“\(text)” names no device; \(example)") }
        guard let number = Int(digits), let rate = BaudRate(number) else {
            let rates = BaudRate.all.map(\.description).joined(separator: ", ")
            throw .init(description: "“\(digits)” in “\(text)” is no standard baud rate; use one of \(rates)")
        }
        return .serial(device: device, rate, flow ?? .hardware)
    }

    private static func split(_ text: String, atFirst mark: Character) -> (Substring, Substring?) {
        guard let position = text.firstIndex(of: mark) else { return (text[...], nil) }
        return (text[..<position], text[text.index(after: position)...])
    }
}

extension TransportAddress {
    /// Whether it is an adapter of this machine.
    public var isAdapter: Bool {
        if case .adapter = self { return true }
        return false
    }
}

extension TransportAddress: CustomStringConvertible {
    /// The transport string that reads as this address.
    public var description: String {
        switch self {
        case .virtual: "virtual"
        case .tcp(let host, let port) where host.contains(":"): "tcp:[\(host)]:\(port)"
        case .tcp(let host, let port): "tcp:\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        case .serial(let device, let rate, .hardware): "serial:\(device),\(rate)"
        case .serial(let device, let rate, let flow): "serial:\(device),\(rate),\(flow.rawValue)"
        case .adapter(let adapter): "\(adapter)"
        case .netsim(let netsim): "\(netsim)"
        }
    }
}
