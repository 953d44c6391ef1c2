/// Where a controller of an Android emulator is: what people write after `netsim` or `android-emulator`.
public struct NetsimAddress: Hashable, Sendable {
    /// Which of the two services gives the controller.
    public enum Service: String, Sendable {
        /// Netsim, the radio that all emulators of a machine share.
        case netsim
        /// The older service, which each emulator has for itself.
        case emulator = "android-emulator"
    }

    /// A host and its TCP port.
    public struct Place: Hashable, Sendable, CustomStringConvertible {
        public let host: String
        public let port: UInt16

        public init(host: String, port: UInt16) {
            self.host = host
            self.port = port
        }

        public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// Where an emulator offers the older service unless it was told otherwise.
    public static let emulatorPlace = Place(host: "127.0.0.1", port: 8554)
    /// What the device is called that the watch is for netsim.
    public static let defaultName = "cairn"
    /// The longest name, in bytes of UTF-8.
    public static let longestName = 64

    public var service: Service
    /// Nil for netsim means the place that its file names.
    public var place: Place?
    /// What netsim calls the device.
    public var name: String?
    /// Which netsim of the machine, when it runs more than one; the first is 0.
    public var instance: UInt8?

    public init(_ service: Service, place: Place? = nil, name: String? = nil, instance: UInt8? = nil) {
        self.service = service
        self.place = place
        self.name = name
        self.instance = instance
    }
}

extension NetsimAddress: CustomStringConvertible {
    /// The transport string that reads as this address.
    public var description: String {
        var text = service.rawValue
        if let place { text += ":\(place)" }
        if let name { text += ",name=\(name)" }
        if let instance { text += ",instance=\(instance)" }
        return text
    }
}

extension NetsimAddress {
    /// Reads a transport string; nil if it begins with neither of the two services.
    init?(parsing text: String) throws(TransportAddressError) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let head = words.first else { return nil }
        let scheme = head.prefix { $0 != ":" }
        guard let service = Service(rawValue: String(scheme)) else { return nil }
        self.init(service)
        if scheme.endIndex < head.endIndex {
            let rest = head[head.index(after: scheme.endIndex)...]
            let found = try TransportAddress.tcp(rest, in: text, example: Self.example(service))
            guard case .tcp(let host, let port) = found else { return nil }
            place = Place(host: host, port: port)
        }
        for word in words.dropFirst() { try take(word, of: text) }
        if place != nil, instance != nil {
            throw .init(
                description: "“\(text)” names both a port and an instance, and the instance is there to find the port; "
                    + "leave one of them out"
            )
        }
    }

    private mutating func take(_ option: Substring, of text: String) throws(TransportAddressError) {
        let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard service == .netsim, parts.count == 2, parts[0] == "name" || parts[0] == "instance" else {
            throw .init(description: "“\(option)” in “\(text)” is no option; \(Self.example(service))")
        }
        let value = parts[1]
        if parts[0] == "name" {
            guard name == nil, !value.isEmpty, value.utf8.count <= Self.longestName,
                value.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
            else {
                throw .init(
                    description:
                        "“\(value)” in “\(text)” is no name of a device: it has 1 to \(Self.longestName) bytes, "
                        + "no spaces, and stands there once"
                )
            }
            name = String(value)
        } else {
            guard instance == nil, let number = UInt8(value) else {
                throw .init(
                    description: "“\(value)” in “\(text)” is no instance of netsim; write a number from 0 to 255, once"
                )
            }
            instance = number
        }
    }

    private static func example(_ service: Service) -> String {
        switch service {
        case .netsim: "write netsim, netsim:HOST:PORT, netsim,name=NAME or netsim,instance=NUMBER"
        case .emulator: "write android-emulator or android-emulator:HOST:PORT"
        }
    }
}
