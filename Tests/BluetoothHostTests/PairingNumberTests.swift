import BluetoothHost
import Testing

/// Bits as the Core prints them: a test in which both sides use our names for them would not notice a wrong one.
@Suite("Security Manager: numbers of the Core") struct PairingNumberTests {
    /// Core 5.4, Vol 3, Part H, figure 3.11.
    @Test func distributedKeysHaveTheirBits() {
        #expect(DistributedKeys.encryptionKey.rawValue == 0x01)
        #expect(DistributedKeys.identityKey.rawValue == 0x02)
        #expect(DistributedKeys.signatureKey.rawValue == 0x04)
        #expect(DistributedKeys.linkKey.rawValue == 0x08)
    }

    /// Core 5.4, Vol 3, Part H, 3.5.1, figure 3.3.
    @Test func authenticationRequirementsHaveTheirBits() {
        #expect(AuthenticationRequirements.bonding.rawValue == 0x01)
        #expect(AuthenticationRequirements.mitm.rawValue == 0x04)
    }
}
