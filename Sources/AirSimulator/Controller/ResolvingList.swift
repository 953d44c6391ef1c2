import BluetoothHCI

/// The devices whose private addresses a controller can make and recognize.
///
/// Source: Core 5.4, Vol 6, Part B, 6.
struct ResolvingList: Sendable {
    /// A device, and the keys of its private addresses and of our own towards it.
    struct Entry: Sendable {
        let peer: LEAddress
        let peerIRK: UInt128
        let localIRK: UInt128
        var mode = PrivacyMode.network
        /// The private address that the peer was last heard with.
        var peerAddress: DeviceAddress?
        fileprivate var peerCipher: AES128
        fileprivate var localCipher: AES128
        /// Our own private address towards the peer, and when it was made.
        fileprivate var local: (address: DeviceAddress, made: Microseconds)?
    }

    /// How long a private address is used unless the host says otherwise.
    static let initialTimeout = Microseconds(900_000_000)

    private(set) var entries: [Entry] = []
    var isEnabled = false
    var timeout = Self.initialTimeout

    private func index(of peer: LEAddress) -> Int? {
        entries.firstIndex { $0.peer.address == peer.address && $0.peer.type == peer.type.withoutIdentity }
    }

    /// Whether a device is listed, by its identity address.
    func contains(_ peer: LEAddress) -> Bool { index(of: peer) != nil }

    mutating func add(_ peer: LEAddress, peerIRK: UInt128, localIRK: UInt128) {
        entries.append(
            Entry(
                peer: LEAddress(type: peer.type.withoutIdentity, address: peer.address),
                peerIRK: peerIRK,
                localIRK: localIRK,
                peerCipher: AES128(key: peerIRK),
                localCipher: AES128(key: localIRK)
            )
        )
    }

    mutating func remove(_ peer: LEAddress) {
        if let index = index(of: peer) { entries.remove(at: index) }
    }

    mutating func removeAll() { entries.removeAll() }

    mutating func setMode(_ mode: PrivacyMode, of peer: LEAddress) {
        if let index = index(of: peer) { entries[index].mode = mode }
    }

    /// Our private address towards a device; nil if there is none to be made.
    mutating func localAddress(
        towards peer: LEAddress,
        at now: Microseconds,
        random: inout SeededRandom
    ) -> DeviceAddress? {
        guard isEnabled, let index = index(of: peer), entries[index].localIRK != 0 else { return nil }
        if let local = entries[index].local, now - local.made < timeout { return local.address }
        let address = Self.makeAddress(entries[index].localCipher, random: &random)
        entries[index].local = (address, now)
        return address
    }

    /// The private address that a device was last heard with.
    func peerAddress(of peer: LEAddress) -> DeviceAddress? { index(of: peer).flatMap { entries[$0].peerAddress } }

    /// The identity of a sender, if its address is private and of a listed device.
    mutating func identity(of sender: LEAddress) -> LEAddress? {
        guard isEnabled, sender.type == .random, sender.address.isResolvablePrivate else { return nil }
        for index in entries.indices where entries[index].peerIRK != 0 {
            guard entries[index].peerAddress == sender.address || resolves(sender.address, index) else { continue }
            entries[index].peerAddress = sender.address
            let type: AddressType = entries[index].peer.type == .public ? .publicIdentity : .randomIdentity
            return LEAddress(type: type, address: entries[index].peer.address)
        }
        return nil
    }

    /// Whether a device that is heard under its identity address has to be ignored, since it should hide it.
    func mustIgnore(identityAddress sender: LEAddress) -> Bool {
        guard isEnabled, let index = index(of: sender) else { return false }
        return entries[index].peerIRK != 0 && entries[index].mode == .network
    }

    private func resolves(_ address: DeviceAddress, _ index: Int) -> Bool {
        Self.hash(of: address.value >> 24, entries[index].peerCipher) == address.value & 0xFF_FFFF
    }

    private static func makeAddress(_ cipher: AES128, random: inout SeededRandom) -> DeviceAddress {
        let part = random.next() & 0x3F_FFFF | 0x40_0000
        return DeviceAddress(part << 24 | hash(of: part, cipher))
    }

    /// The random address hash function ah (Core 5.4, Vol 3, Part H, 2.2.2).
    private static func hash(of random: UInt64, _ cipher: AES128) -> UInt64 {
        UInt64(truncatingIfNeeded: cipher.encrypt(UInt128(random))) & 0xFF_FFFF
    }
}
