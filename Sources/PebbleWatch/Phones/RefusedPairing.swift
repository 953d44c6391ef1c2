import BluetoothHCI

/// A phone that wanted to pair and was refused, as the owner of the watch is told.
public struct RefusedPairing: Sendable, Equatable {
    /// Why.
    public enum Reason: String, Sendable, Equatable, CaseIterable {
        /// The watch knows another phone, and is closed to new ones.
        case closed
        /// It has the address of a phone that the watch knows, and has not proved by its key to be that phone: it has lost
        /// its key, or is another one.
        case keyLost = "key-lost"
        /// The new key of a known phone would protect less than the one that it has.
        case weaker
        /// The watch refuses every pairing.
        case rejected
    }

    /// The phone's identity if its address is a known one, else the address that it uses.
    public let phone: LEAddress
    /// Why it was refused, which decides the advice.
    public let reason: Reason
    /// When.
    public let time: Duration

    /// What to press, if the phone is to be let in.
    public var advice: String {
        switch reason {
        case .closed, .keyLost:
            "to let it in, hold select for 2 seconds or say cairn pair, and pair on the phone again"
        case .weaker:
            "to let it in all the same, say cairn forget \(phone.address), then cairn pair, and pair on the phone again"
        case .rejected:
            "to let phones in, start the watch with another --pairing"
        }
    }
}

extension RefusedPairing: CustomStringConvertible {
    public var description: String {
        let why =
            switch reason {
            case .closed: "wants to pair, and the watch is closed to new phones"
            case .keyLost: "has the address of a known phone but not its key"
            case .weaker: "wants a new key that would protect less than the one it has"
            case .rejected: "wants to pair, and the watch refuses every pairing"
            }
        return "\(phone) \(why)"
    }
}
