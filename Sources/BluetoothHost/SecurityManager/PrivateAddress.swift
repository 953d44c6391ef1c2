import BluetoothHCI

/// Resolvable private addresses: 24 bits of hash below 24 bits of *prand*, whose two highest are 01.
///
/// Source: Core 5.4, Vol 6, Part B, 1.3.2.2 and 1.3.2.3.
extension DeviceAddress {
    /// The address that a key and a random number make.
    /// - Parameter random: of which 22 bits are taken; should they be all zeros or all ones, which the Core forbids,
    ///   the lowest is flipped.
    init(resolvableBy key: IdentityResolvingKey, random: UInt32, _ toolbox: CryptoToolbox) {
        let mask: UInt32 = 0x3F_FFFF
        var part = random & mask
        if part == 0 || part == mask { part ^= 1 }
        let prand = 0x40_0000 | part
        // Without a hash no peer resolves the address, and no peer learns from it whose it is.
        let hash = (try? toolbox.ah(key, prand: prand)) ?? 0
        self.init(UInt64(prand) << 24 | UInt64(hash))
    }

    /// Whether this is an address that the key made.
    func isResolvable(by key: IdentityResolvingKey, _ toolbox: CryptoToolbox) -> Bool {
        guard isResolvablePrivate else { return false }
        let prand = UInt32(truncatingIfNeeded: value >> 24)
        guard let hash = try? toolbox.ah(key, prand: prand) else { return false }
        return hash == UInt32(truncatingIfNeeded: value & 0xFF_FFFF)
    }
}

/// Tells whose address a private address is, and remembers the answers.
struct IdentityResolver: Sendable {
    /// The keys to try, oldest bond first.
    private var keys: [(identity: LEAddress, key: IdentityResolvingKey)] = []
    /// Answers that were worked out, misses included: an advertiser is heard many times with one address.
    private var answers: [DeviceAddress: LEAddress?] = [:]

    /// How many answers are remembered. When there are more, all are forgotten: it is only a cache.
    static let cacheSize = 256

    /// Knows no peer.
    init() {}

    /// Replaces all keys.
    mutating func setKeys(_ keys: [(identity: LEAddress, key: IdentityResolvingKey)]) {
        self.keys = keys
        answers.removeAll()
    }

    /// Who the device is that uses a random address; nil if no key explains the address.
    mutating func identity(of address: DeviceAddress, _ toolbox: CryptoToolbox) -> LEAddress? {
        guard address.isResolvablePrivate, !keys.isEmpty else { return nil }
        if let answer = answers[address] { return answer }
        let answer = keys.first { address.isResolvable(by: $0.key, toolbox) }?.identity
        if answers.count >= Self.cacheSize { answers.removeAll(keepingCapacity: true) }
        answers[address] = .some(answer)
        return answer
    }
}
