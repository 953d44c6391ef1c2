import LinuxBluetooth

/// Where the real firmware is that answers phones.
public enum FirmwareAddress: Hashable, Sendable, CustomStringConvertible {
    /// In an emulator that runs already.
    case port(EmulatorPlace)
    /// In one that Cairn starts.
    case images(EmulatorImages)

    /// Why text names no such place, and what to write instead.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads `tcp:HOST:PORT`, `unix:PATH`, `qemu:BOARD` or `qemu:DIRECTORY`.
    public init(parsing text: String) throws(Invalid) {
        guard text.hasPrefix("qemu:") else {
            self = .port(try EmulatorPlace(parsing: text, orElse: ", qemu:BOARD or qemu:DIRECTORY"))
            return
        }
        self = .images(try EmulatorImages(parsing: text.dropFirst("qemu:".count)))
    }

    /// The text that reads as this place.
    public var description: String {
        switch self {
        case .port(let place): place.description
        case .images(let images): images.description
        }
    }
}

/// A serial port of an emulator, as a socket.
public struct EmulatorPlace: Hashable, Sendable, CustomStringConvertible {
    /// The socket.
    let socket: TransportAddress
    /// What the place is called.
    public let description: String
    /// Whether Cairn itself starts what is there.
    let isOwn: Bool

    /// Reads `tcp:HOST:PORT` or `unix:PATH`.
    public init(parsing text: String) throws(FirmwareAddress.Invalid) { try self.init(parsing: text, orElse: "") }

    /// - Parameter alternatives: what else may be written there.
    init(parsing text: String, orElse alternatives: String) throws(FirmwareAddress.Invalid) {
        let advice =
            "“\(text)” is no place of an emulator; write tcp:HOST:PORT, for example tcp:127.0.0.1:12344, unix:PATH\(alternatives)"
        do {
            switch try TransportAddress(parsing: text) {
            case .tcp(let host, let port): socket = .tcp(host: host, port: port)
            case .unix(let path): socket = .unix(path: path)
            case .virtual, .serial, .adapter, .netsim: throw FirmwareAddress.Invalid(description: advice)
            }
        } catch let error as TransportAddressError where text.hasPrefix("tcp:") || text.hasPrefix("unix:") {
            throw FirmwareAddress.Invalid(description: error.description)
        } catch {
            throw FirmwareAddress.Invalid(description: advice)
        }
        description = socket.description
        isOwn = false
    }

    /// A socket of an emulator that Cairn starts.
    init(own path: String, called name: String) {
        socket = .unix(path: path)
        description = name
        isOwn = true
    }
}
