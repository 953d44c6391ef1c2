import BluetoothHCI

/// Whom this device knows.
extension SecurityManager {
    /// All bonds, in the order in which they came.
    public var bonds: [Bond] { Array(bondList.bonds) }

    /// The bond with an identity.
    package func bond(with identity: LEAddress) -> Bond? { bondList[identity.withoutIdentityType] }

    /// The owner has the bond in its store, where a power cut does not reach it.
    ///
    /// Until then links with the peer can use its keys, but are not said to be bonded.
    public mutating func bondStored(_ identity: LEAddress) {
        bondList.markStored(identity.withoutIdentityType)
        refreshBondedLinks()
    }

    /// Forgets a peer. A link with it stays as it is; the next one has no keys.
    public mutating func deleteBond(_ identity: LEAddress) {
        let identity = identity.withoutIdentityType
        bondList.remove(identity)
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
        address.isIdentity ? address.withoutIdentityType : bondList.identity(of: address.address, toolbox)
    }

    /// A new resolvable private address of this device.
    /// - Returns: nil if the configuration has no identity to hide.
    package mutating func makePrivateAddress() -> DeviceAddress? {
        configuration.identity.map { identity in
            let random = UInt32(truncatingIfNeeded: randomness.next())
            return DeviceAddress(resolvableBy: identity.identityResolvingKey, random: random, toolbox)
        }
    }

    private mutating func refreshBondedLinks() {
        for index in links.indices {
            var link = links[index]
            noteSecurity(link.security, of: &link)
            links[index] = link
        }
    }

    // MARK: Out of band data

    /// What was learned about a peer out of band, to be used in the next pairing with it; nil forgets it.
    ///
    /// A pairing with it counts as protected against a man in the middle, so hand in only what came over a channel
    /// that no third party can listen to or write on. Of more than a few peers nothing is kept.
    /// - Parameter peer: the address that the peer will pair with.
    package mutating func setOutOfBandData(_ data: PeerOutOfBandData?, of peer: LEAddress) {
        outOfBand.set(data, of: peer.withoutIdentityType)
    }

    /// Makes what this device can tell a peer out of band. It counts for pairings with LE Secure Connections until one
    /// that used it completes, or until this is called again.
    /// - Returns: nil if the source of randomness is broken, or the cryptographic library.
    package mutating func makeOutOfBandData() -> OutOfBandData? {
        outOfBand.makeOwn(&randomness, toolbox)
    }
}
