import BluetoothHCI
import BluetoothHost

/// What a watch has on the air, why, and for how long: for status displays and logs.
public struct OnAir: Hashable, Sendable {
    /// What an advertisement is for.
    public enum Role: String, Hashable, Sendable {
        /// Phones that do not know the watch find and connect to it.
        case discovery
        /// The bonded phone finds and connects to it.
        case reconnection
        /// No phone connects to it: iPhones hear that they are near.
        case beacon
    }

    /// Where an advertisement is on its way to the air.
    public enum State: Hashable, Sendable {
        /// The controller sends it.
        case onAir
        /// The controller is being told.
        case starting
        /// Something else has its turn on the air.
        case waitingForTurn
        /// The controller refused it; it is offered again in a moment.
        case refused(HCIStatus)
    }

    /// One advertisement.
    public struct Entry: Hashable, Sendable {
        /// Who is to hear it, and whether they can connect.
        public let role: Role
        /// How often it is sent now.
        public let interval: AdvertisingInterval
        /// The address that it comes from.
        public let address: LEAddress
        /// AD structures in every advertising event.
        public let data: [UInt8]
        /// AD structures for peers that ask for them.
        public let scanResponse: [UInt8]
        /// What began the schedule that it is on.
        public let reason: AdvertisingReason
        /// When it began at this interval.
        public let since: Duration
        /// How much longer on the air it keeps this interval; nil for ever. Time that others have on the air is not
        /// counted.
        public let remaining: Duration?
        /// Which interval is next; nil for none.
        public let next: AdvertisingInterval?
        /// How long it is on the air before something else has its turn; nil if it does not share.
        public let turn: Duration?
        /// Whether the controller sends it at this moment.
        public let state: State

        /// What it tells those who hear it, in words.
        public var payload: String {
            guard !data.isEmpty else { return "empty" }
            return AdvertisingData(parsing: data).structures.map(\.summary).joined(separator: ", ")
        }
    }

    /// Why nothing is.
    public enum Silence: String, Hashable, Sendable {
        /// The controller is not there, or has not been started.
        case controllerNotReady
        /// A phone is connected, and no other is waited for beside it.
        case connected
        /// The watch is about to take another private address, and is silent for a moment in between.
        case changingAddress
    }

    /// What is on the air, or has its turns there; the one to connect to first.
    public let entries: [Entry]
    /// Why there are none; nil if there are some.
    public let silence: Silence?

    /// What a phone can connect to.
    public var connectable: Entry? { entries.first { $0.role != .beacon } }
    /// The beacon, while it is out.
    public var beacon: Entry? { entries.first { $0.role == .beacon } }
}

extension OnAir: CustomStringConvertible {
    /// One line, such as `reconnection every 20 ms for 30 s, then every 152.5 ms (the link was lost)`.
    public var description: String {
        if let silence {
            return switch silence {
            case .controllerNotReady: "nothing: the controller is not ready"
            case .connected: "nothing: a phone is connected"
            case .changingAddress: "nothing for a moment: the address changes"
            }
        }
        return entries.map { "\($0)" }.joined(separator: "; ")
    }
}

extension OnAir.Entry: CustomStringConvertible {
    public var description: String {
        var text = "\(role.rawValue) every \(interval.inMilliseconds)"
        if let turn { text += " in turns of \(turn.inSeconds)" }
        if let remaining { text += " for \(remaining.inSeconds)" }
        if let next { text += ", then every \(next.inMilliseconds)" }
        text += " (\(reason))"
        if case .refused(let status) = state { text += ", refused by the controller: \(status)" }
        return text
    }
}

extension ADStructure {
    fileprivate var summary: String {
        switch self {
        case .flags(let flags): "flags 0x\([flags.rawValue].hexadecimal)"
        case .localName(let name, _): "name \(name)"
        case .txPowerLevel(let dBm): "TX power \(dBm) dBm"
        case .manufacturerSpecific(let company, let data): "data of company \(company): \(data.hexadecimal)"
        case .uuids16, .uuids32, .uuids128: "services \(body.hexadecimal)"
        case .raw: "type 0x\([type.rawValue].hexadecimal): \(body.hexadecimal)"
        }
    }

    /// What stands after length and type.
    private var body: ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return bytes.dropFirst(2)
    }
}

extension Duration {
    /// Such as `30 s` or `1.5 s`, to a tenth.
    var inSeconds: String {
        let tenths = Int64((self / .milliseconds(100)).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
    }
}
