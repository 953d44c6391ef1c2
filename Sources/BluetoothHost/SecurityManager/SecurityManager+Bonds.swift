import BluetoothHCI
import DequeModule

/// Whom this device knows.
extension SecurityManager {
    /// All bonds, in the order in which they came.
    package var bonds: [Bond] { Array(bondList.bonds) }

    /// The bond with an identity.
    package func bond(with identity: LEAddress) -> Bond? { bondList[identity.withoutIdentityType] }

    /// The owner has the bond in its store, where a power cut does not reach it.
    ///
    /// Until then links with the peer can use its keys, but are not said to be bonded.
    package mutating func bondStored(_ identity: LEAddress) {
        bondList.markStored(identity.withoutIdentityType)
        refreshBondedLinks()
    }

    /// Forgets a peer. A link with it stays as it is; the next one has no keys.
    package mutating func deleteBond(_ identity: LEAddress) {
        let identity = identity.withoutIdentityType
        bondList.remove(identity)
        resolver.setKeys(bondList.identityResolvingKeys)
        for index in links.indices {
            if links[index].identity == identity { links[index].identity = nil }
            if links[index].provenIdentity == identity { links[index].provenIdentity = nil }
        }
        refreshBondedLinks()
    }

    /// Changes what the owner keeps with a bond. The owner stores it.
    package mutating func setMetadata(_ metadata: Bond.Metadata, of identity: LEAddress) {
        bondList.setMetadata(metadata, of: identity.withoutIdentityType)
    }

    /// Who uses an address: itself if it identifies a device, or the bonded device whose private address it is.
    /// - Returns: nil for a private address that no key explains.
    package mutating func identity(of address: LEAddress) -> LEAddress? {
        address.isIdentity ? address.withoutIdentityType : resolver.identity(of: address.address, toolbox)
    }

    /// A new resolvable private address of this device.
    /// - Returns: nil if the configuration has no identity to hide.
    package mutating func makePrivateAddress() -> DeviceAddress? {
        configuration.identity.map { identity in
            let random = UInt32(truncatingIfNeeded: randomness.next())
            return DeviceAddress(resolvableBy: identity.identityResolvingKey, random: random, toolbox)
        }
    }

    /// The bond with the peer of a link, if its keys may be used.
    func usableBond(of link: SecurityLink) -> Bond? {
        guard let bond = link.identity.flatMap({ bondList[$0] }), configuration.isSatisfied(by: bond) else {
            return nil
        }
        return bond
    }

    /// Whether a link's peer has a bond that is in the store and may be used. On an encrypted link that is so only if the
    /// bond's key encrypts it; before, it is what the peer's address says.
    func isBonded(_ link: SecurityLink, isEncrypted: Bool) -> Bool {
        guard let bond = usableBond(of: link), bondList.isStored(bond.identity) else { return false }
        return !isEncrypted || link.provenIdentity == bond.identity
    }

    /// Notes whether a link's peer is bonded now, and says so if it is news.
    mutating func refreshBonded(_ link: inout SecurityLink) {
        let isBonded = isBonded(link, isEncrypted: link.security.isEncrypted)
        guard isBonded != link.security.isBonded else { return }
        link.security.isBonded = isBonded
        events.append(.securityChanged(link.handle, link.security))
    }

    private mutating func refreshBondedLinks() {
        for index in links.indices {
            var link = links[index]
            refreshBonded(&link)
            links[index] = link
        }
    }

    // MARK: Out of band data

    /// How many peers there can be out of band data of.
    static let maximumOutOfBandPeers = 8

    /// What was learned about a peer out of band, to be used in the next pairing with it; nil forgets it.
    ///
    /// A pairing with it counts as protected against a man in the middle, so hand in only what came over a channel
    /// that no third party can listen to or write on. Of more than a few peers nothing is kept.
    /// - Parameter peer: the address that the peer will pair with.
    package mutating func setOutOfBandData(_ data: PeerOutOfBandData?, of peer: LEAddress) {
        let peer = peer.withoutIdentityType
        guard data == nil || peerOutOfBandData[peer] != nil || peerOutOfBandData.count < Self.maximumOutOfBandPeers
        else { return }
        peerOutOfBandData[peer] = data
    }

    /// Makes what this device can tell a peer out of band. It counts for pairings with LE Secure Connections until one
    /// that used it completes, or until this is called again.
    /// - Returns: nil if the source of randomness is broken, or the cryptographic library.
    package mutating func makeOutOfBandData() -> OutOfBandData? {
        guard let keyPair = P256KeyPair(from: &randomness, toolbox) else { return nil }
        let random = UInt128.random(in: 0...UInt128.max, using: &randomness)
        let x = keyPair.publicKey.x
        guard let confirm = try? toolbox.f4(x, x, random, 0) else { return nil }
        let data = OutOfBandData(confirm: confirm, random: random)
        localOutOfBand = (keyPair, data)
        return data
    }
}
