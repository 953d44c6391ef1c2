import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// The host starts procedures for itself, between those of the owner.
@Suite("GATT: the host's own procedures")
struct OwnProcedureTests {
    @Test("A procedure of the owner is reported, also after the host could not queue one of its own")
    func ownersProcedureIsReported() throws {
        var configuration = GATTLayer.Configuration()
        configuration.enhancedBearers = 2
        configuration.opensEnhancedBearers = true
        var rig = GATTRig(GATTDatabase(), configuration: configuration)
        // One runs, 32 wait: the queue is full.
        for _ in 0..<33 { try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now) }
        rig.layer.securityChanged(GATTRig.connection, to: LinkSecurity(isEncrypted: true, keySize: 16))
        for _ in 0..<33 {
            #expect(rig.sent() == ["0a0300"])
            rig.receive("0b 05")
        }
        #expect(rig.sent() == [])
        #expect(rig.events().count == 33)
        // The owner's next one has the name that the host's was to have.
        let id = try rig.layer.start(.read(7), on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["0a0700"])
        rig.receive("0b 07")
        let ends = rig.events().compactMap { if case .procedureEnded(let ended) = $0 { ended.id } else { nil } }
        #expect(ends == [id])
    }
}
