import BluetoothHost
import ByteCoding
import Testing

/// Prepared and executed writes, on raw PDUs: Core 5.4, Vol 3, Part F, 3.4.6.
@Suite struct ATTQueuedWriteTests {
    private static func written(_ rig: inout GATTRig) -> [String] {
        rig.events().compactMap { event in
            guard case .written(let write) = event else { return nil }
            return "\(write.handle) \(write.value.hexadecimal)"
        }
    }

    @Test func partsTakeEffectTogether() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 1200 0000 a0a1a2a3", "17 1200 0000 a0a1a2a3")
        rig.expect("16 1200 0400 b0b1", "17 1200 0400 b0b1")
        rig.expect("16 0500 0000 c0", "17 0500 0000 c0")
        rig.expect("0a 0500", "0b 0102", "nothing is written yet")
        #expect(Self.written(&rig).isEmpty)
        rig.expect("18 01", "19")
        rig.expect("0a 1200", "0b a0a1a2a3b0b1", "the value ends with what was written")
        rig.expect("0a 0500", "0b c0")
        #expect(Self.written(&rig) == ["0x0012 a0a1a2a3b0b1", "0x0005 c0"])
        rig.expect("18 01", "19", "the queue is empty again")
        #expect(Self.written(&rig).isEmpty)
    }

    @Test func offsetsAreHonoured() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 1200 0200 aabb", "17 1200 0200 aabb")
        rig.expect("18 01", "19")
        rig.expect("0a 1200", "0b 0001aabb")
        rig.expect("16 1200 0400 cc", "17 1200 0400 cc", "appended at the end")
        rig.expect("16 1200 0000 dd", "17 1200 0000 dd", "and in front")
        rig.expect("18 01", "19")
        rig.expect("0a 1200", "0b dd01aabbcc")
    }

    @Test func aLongValueIsWrittenInParts() throws {
        var rig = try ByteTable.rig(reliable: true)
        let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for offset in stride(from: 0, to: 512, by: 18) {
            let part = value[offset..<min(offset + 18, 512)]
            let place = [UInt8(offset & 0xFF), UInt8(offset >> 8)].hexadecimal
            rig.expect("16 1200 \(place) \(part.hexadecimal)", "17 1200 \(place) \(part.hexadecimal)")
        }
        rig.expect("18 01", "19")
        #expect(rig.layer.database.value(of: 0x0012) == value)
    }

    @Test func cancellingForgets() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0500 0000 ff", "17 0500 0000 ff")
        rig.expect("18 00", "19")
        rig.expect("18 01", "19")
        rig.expect("0a 0500", "0b 0102")
    }

    @Test func closingTheConnectionForgets() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0500 0000 ff", "17 0500 0000 ff")
        rig.layer.connectionClosed(GATTRig.connection)
        rig.layer.connectionOpened(GATTRig.connection, at: rig.now)
        rig.expect("18 01", "19")
        rig.expect("0a 0500", "0b 0102")
    }

    @Test func queuesAreApart() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.layer.receive(hex("16 0500 0000 ff")[...], on: 0x0041, at: rig.now)
        rig.expect("18 01", "19")
        rig.expect("0a 0500", "0b 0102")
    }

    @Test func whatPrepareRefuses() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0000 0000 00", "01 16 0000 01")
        rig.expect("16 1500 0000 00", "01 16 1500 01")
        rig.expect("16 0300 0000 00", "01 16 0300 03")
        rig.expect("16 0500 00", "01 16 0000 04")
        rig.expect("16 0500", "01 16 0000 04")
        rig.expect("16 0500 0000", "17 0500 0000", "a part may be empty")
        rig.expect("16 0500 ff00 00", "17 0500 ff00 00", "offsets are looked at later")
        rig.expect("18 00", "19")
        rig.expect("18 02", "01 18 0000 04", "no such flags")
        rig.expect("18", "01 18 0000 04")
        rig.expect("18 01 00", "01 18 0000 04")
    }

    @Test func aWrongOffsetRefusesEverything() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0500 0000 ff", "17 0500 0000 ff")
        rig.expect("16 1200 1f00 ee", "17 1200 1f00 ee")
        rig.expect("18 01", "01 18 1200 07", "Invalid Offset")
        rig.expect("0a 0500", "0b 0102", "the first part was not written either")
        #expect(Self.written(&rig).isEmpty)
        rig.expect("18 01", "19", "the queue is empty after the error")
    }

    @Test func aWrongLengthRefusesEverything() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 1200 0000 ee", "17 1200 0000 ee")
        rig.expect("16 0500 0200 aabb", "17 0500 0200 aabb", "4 bytes are allowed")
        rig.expect("16 0500 0400 cc", "17 0500 0400 cc", "5 are not")
        rig.expect("18 01", "01 18 0500 0d", "Invalid Attribute Value Length")
        rig.expect("0a 0500", "0b 0102")
        rig.expect("0a 1200", "0b 000102030405060708090a0b0c0d0e0f101112131415")
    }

    @Test func offsetsAreCheckedAgainstEarlierParts() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0500 0300 ff", "17 0500 0300 ff")
        rig.expect("18 01", "01 18 0500 07", "the value has two bytes")
        rig.expect("16 0500 0200 ee", "17 0500 0200 ee")
        rig.expect("16 0500 0300 ff", "17 0500 0300 ff")
        rig.expect("18 01", "19", "three, once the first part is counted")
        rig.expect("0a 0500", "0b 0102eeff")
    }

    @Test func fixedLengthsKeepTheirLength() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: .fixedLength([1, 2, 3, 4]))
            }
        }
        var rig = GATTRig(database)
        rig.expect("16 0300 0100 ff", "17 0300 0100 ff")
        rig.expect("18 01", "19")
        rig.expect("0a 0300", "0b 01ff0304")
        rig.expect("16 0300 0300 aabb", "17 0300 0300 aabb")
        rig.expect("18 01", "01 18 0300 0d")
    }

    @Test func theQueueHasAnEnd() throws {
        var rig = try ByteTable.rig(reliable: true)
        for _ in 0..<64 { rig.expect("16 0500 0000 ff", "17 0500 0000 ff") }
        rig.expect("16 0500 0000 ff", "01 16 0500 09", "Prepare Queue Full")
        rig.expect("18 01", "19", "what was queued is still good")
        rig.expect("16 0500 0000 ff", "17 0500 0000 ff")
        rig.expect("18 00", "19")

        rig.raiseMTU(to: 517)
        let part = Array(repeating: UInt8(0x77), count: 512).hexadecimal
        for _ in 0..<8 { rig.expect("16 1200 0000 \(part)", "17 1200 0000 \(part)") }
        rig.expect("16 1200 0000 00", "01 16 1200 09", "4096 bytes are the most")
    }

    @Test func permissionsAreCheckedAgainWhenExecuting() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write], permissions: .init(write: .encrypted), value: [1])
            }
        }
        var rig = GATTRig(database, security: LinkSecurity(isEncrypted: true, isBonded: true, keySize: 16))
        rig.expect("16 0300 0000 ff", "17 0300 0000 ff")
        rig.layer.securityChanged(GATTRig.connection, to: LinkSecurity(isBonded: true))
        rig.expect("18 01", "01 18 0300 0f")
        rig.expect("0a 0300", "0b 01")
    }

    @Test func configurationsCanBePrepared() throws {
        var rig = try ByteTable.rig(reliable: true)
        rig.expect("16 0d00 0000 01", "17 0d00 0000 01")
        rig.expect("16 0d00 0100 00", "17 0d00 0100 00")
        rig.expect("18 01", "19")
        #expect(rig.layer.subscribers(of: 0x000C) == [GATTRig.connection])
        rig.expect("16 0500 0000 ff", "17 0500 0000 ff")
        rig.expect("16 0d00 0000 0200", "17 0d00 0000 0200")
        rig.expect("18 01", "01 18 0d00 fd", "found out before anything is written")
        rig.expect("0a 0500", "0b 0102")
        rig.expect("0a 0d00", "0b 0100")
    }
}
