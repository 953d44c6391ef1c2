/// Six decimal digits that prove to two devices that the same person holds both.
public struct Passkey: Secret {
    /// 0...999,999.
    let number: UInt32

    /// How many passkeys there are.
    static let count: UInt32 = 1_000_000
    /// How many bits a passkey has, and so how many rounds LE Secure Connections takes to check one.
    static let bitCount = 20

    /// Nil unless the number has at most six digits.
    public init?(_ number: UInt32) {
        guard number < Self.count else { return nil }
        self.number = number
    }

    /// Reads up to six decimal digits; nil if the text is anything else.
    public init?(digits text: some StringProtocol) {
        guard (1...6).contains(text.utf8.count), text.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
        guard let number = UInt32(text) else { return nil }
        self.init(number)
    }

    /// A passkey that a peer cannot guess.
    init(from randomness: inout RandomSource) {
        number = UInt32.random(in: 0..<Self.count, using: &randomness)
    }

    /// All six digits, for the user's eyes only: nothing else prints them.
    public var digits: String { SixDigits.text(number) }

    /// The value that round `round` of the passkey protocol commits to: 0x80 or 0x81, for bits from the lowest up.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.6.
    func commitment(round: Int) -> UInt8 { 0x80 | UInt8((number >> UInt32(round)) & 1) }
}

/// The number that both users compare.
///
/// Source: Core 5.4, Vol 3, Part H, 2.2.9.
public struct NumericComparisonValue: Hashable, Sendable, CustomStringConvertible {
    /// 0...999,999.
    public let number: UInt32

    /// What to show for a result of *g2*.
    init(g2 result: UInt32) { number = result % Passkey.count }

    /// All six digits.
    public var digits: String { SixDigits.text(number) }

    public var description: String { digits }
}

private enum SixDigits {
    static func text(_ number: UInt32) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}

/// What a device tells another one out of band, ahead of LE Secure Connections pairing.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.6.4.
package struct OutOfBandData: Secret {
    /// The commitment to the public key that the device will send (LE Secure Connections Confirmation Value).
    package let confirm: UInt128
    /// What proves that this was received (LE Secure Connections Random Value).
    package let random: UInt128

    /// What came out of band: two numbers of 128 bits.
    package init(confirm: UInt128, random: UInt128) {
        self.confirm = confirm
        self.random = random
    }
}

/// What is known out of band about a peer.
package struct PeerOutOfBandData: Secret {
    /// For LE Secure Connections: what the peer told.
    package var secureConnections: OutOfBandData?
    /// For LE legacy pairing: the key that both share.
    package var temporaryKey: TemporaryKey?

    /// What is known for each kind of pairing; nil where that is nothing.
    package init(secureConnections: OutOfBandData? = nil, temporaryKey: TemporaryKey? = nil) {
        self.secureConnections = secureConnections
        self.temporaryKey = temporaryKey
    }
}
