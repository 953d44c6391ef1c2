import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// Numbers that both ends of a test would have wrong alike, and limits that are part of what the host promises.
@Suite("LE host: numbers of the Core and limits") struct KnownValueTests {
    /// Core 5.4, Vol 3, Part H, 3.5.5, table 3.7.
    @Test func reasonsOfAFailedPairing() {
        let reasons: [PairingFailedReason] = [
            .passkeyEntryFailed, .outOfBandNotAvailable, .authenticationRequirements, .confirmValueFailed,
            .pairingNotSupported, .encryptionKeySize, .commandNotSupported, .unspecifiedReason, .repeatedAttempts,
            .invalidParameters, .dhKeyCheckFailed, .numericComparisonFailed,
        ]
        #expect(reasons.map(\.rawValue) == Array(0x01...0x0C))
        #expect(PairingFailedReason.keyRejected.rawValue == 0x0F)
    }

    /// Core 5.4, Vol 3, Part H, 3.5.1, figure 3.3.
    @Test func authenticationRequirementsBeyondTheFirst() {
        #expect(AuthenticationRequirements.secureConnections.rawValue == 0x08)
        #expect(AuthenticationRequirements.keypress.rawValue == 0x10)
        #expect(AuthenticationRequirements.ct2.rawValue == 0x20)
    }

    /// Core 5.4, Vol 3, Part A, 4.22 and 4.26.
    @Test func resultsOfAConnectionRequest() {
        #expect(ChannelResult.success.rawValue == 0)
        #expect(ChannelResult.pending.rawValue == 0x000D)
        #expect(ChannelResult.authenticationPending.rawValue == 0x000E)
        #expect(ChannelResult.authorizationPending.rawValue == 0x000F)
    }

    /// Bluetooth Assigned Numbers, 3.
    @Test func identifiersOfTheGenericServices() {
        #expect(BluetoothUUID.genericAccess == .uuid16(0x1800))
        #expect(BluetoothUUID.deviceName == .uuid16(0x2A00))
        #expect(BluetoothUUID.appearance == .uuid16(0x2A01))
    }

    @Test("A UUID on the base is short, and one beside it stays long")
    func shortestForms() {
        #expect(BluetoothUUID.uuid128(0x0000_180F_0000_1000_8000_0080_5F9B_34FB).shortened.byteCount == 2)
        guard case .uuid16(0x180F) = BluetoothUUID.uuid128(0x0000_180F_0000_1000_8000_0080_5F9B_34FB).shortened else {
            Issue.record("another number")
            return
        }
        #expect(BluetoothUUID.uuid128(0x0001_180F_0000_1000_8000_0080_5F9B_34FB).shortened.byteCount == 16)
        #expect(BluetoothUUID.uuid128(0x0000_180F_0000_1000_8000_0080_5F9B_34FC).shortened.byteCount == 16)
    }

    @Test("A number of a protocol is shown with all its digits")
    func spsmText() { #expect(SPSM(rawValue: 0x1234).description == "0x1234") }

    @Test("A link that is not subrated meets at every event")
    func noSubrating() {
        #expect(LinkSubrating.none.factor == 1)
        #expect(LinkSubrating.none.continuationNumber == 0)
    }

    @Test("A client of which nothing is known has no features, and eight channels are enough for a service")
    func defaults() {
        #expect(GATTClientState().supportedFeatures == 0)
        #expect(ChannelListener().maximumChannels == 8)
        #expect(SecurityManager.Configuration().maximumBondCount == 16)
        #expect(SecurityLink.maximumOutboundCount == 16)
        #expect(RepeatedAttempts.maximumRecords == 64)
        #expect(Service(.uuid16(0x180F)).isPublished)
    }

    @Test("No buffers are no free buffers")
    func noBuffers() {
        #expect(ACLBuffers().free == 0)
        #expect(ControllerCapabilities().aclDataLength == 0)
    }

    @Test("Requirements rise from open to authenticated, and none is below itself")
    func requirementsAreOrdered() {
        let rising: [AccessRequirement.Encryption] = [.none, .encrypted, .authenticated]
        for (place, requirement) in rising.enumerated() {
            #expect(rising.map { $0 < requirement } == (0..<3).map { $0 < place })
        }
    }

    @Test("The sources that chips without an address of their own show are no addresses")
    func placeholders() {
        let placeholders: [UInt64] = [
            0x4324_B300_0000, 0x4330_B100_0000, 0x4334_B000_0000, 0x4345_C500_1FAC, 0x4334_1B00_1FAC, 0x4343_A012_1FAC,
            0xAAAA_AAAA_AAAA,
        ]
        for placeholder in placeholders {
            #expect(ControllerQuirks.known.publicAddress(DeviceAddress(placeholder)) == nil, "\(placeholder)")
        }
        let own = DeviceAddress(0x4345_C500_1FAD)
        #expect(ControllerQuirks.known.publicAddress(own) == own)
    }

    @Test("Data of 31 octets fit into an advertising set, and of 32 do not")
    func advertisingDataLength() {
        for (count, isValid) in [(31, true), (32, false)] {
            let bytes = [UInt8](repeating: 0, count: count)
            #expect(LEHostAdvertisingTests.set(data: bytes).isValid == isValid)
            var set = LEHostAdvertisingTests.set()
            set.scanResponse = bytes
            #expect(set.isValid == isValid)
        }
    }

    /// Core 5.4, Vol 6, Part B, 1.3.2.2: the random part is neither all zeros nor all ones.
    @Test("A private address whose random part would be all zeros or all ones has its last bit changed")
    func privateAddressParts() {
        let toolbox = CryptoToolbox(.swiftCrypto)
        for (random, part) in [(0, 0x40_0001), (0x3F_FFFF, 0x7F_FFFE), (0x12_3456, 0x52_3456)] as [(UInt32, UInt64)] {
            let address = DeviceAddress(resolvableBy: IdentityResolvingKey(0x99), random: random, toolbox)
            #expect(address.value >> 24 == part)
        }
    }

    /// Of LE Secure Connections with everything: the bits in the order in which the stored form has them.
    @Test("The stored form of a bond announces what it holds by a bit each")
    func storedFlags() throws {
        let bare = Bond(identity: HostRig.peer, keys: .secureConnections(LongTermKey(1)), isAuthenticated: false)
        var signing = bare
        signing.peerSignatureKey = ConnectionSignatureResolvingKey(2)
        var private_ = bare
        private_.peerIdentityResolvingKey = IdentityResolvingKey(3)
        var authenticated = bare
        authenticated.isAuthenticated = true
        let flags = [bare, authenticated, private_, signing].map { bond -> UInt8 in
            var stored: [UInt8] = []
            bond.encode(to: &stored)
            return stored[8]
        }
        #expect(flags == [0x02, 0x03, 0x12, 0x22])
    }
}
