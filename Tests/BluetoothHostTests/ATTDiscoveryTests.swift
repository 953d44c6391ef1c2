import BluetoothHost
import Testing

/// The server's side of finding attributes, on raw PDUs: Core 5.4, Vol 3, Part F, 3.4.3 and 3.4.4.9.
@Suite struct ATTDiscoveryTests {
    // MARK: Find Information

    @Test func findInformationLists16BitTypesUntilThePDUIsFull() throws {
        var rig = try ByteTable.rig()
        // 23 bytes hold opcode, format and five pairs.
        rig.expect("04 0100 ffff", "05 01 0100 0028 0200 0328 0300 002a 0400 0328 0500 012a")
        rig.expect("04 0600 0a00", "05 01 0600 0028 0700 0328 0800 052a 0900 0229 0a00 0028")
        rig.expect("04 0d00 0e00", "05 01 0d00 0229 0e00 0129")
    }

    @Test func findInformationPutsLongTypesIntoTheirOwnResponse() throws {
        var rig = try ByteTable.rig(mtu: 64)
        rig.expect("04 1000 ffff", "05 01 1000 0228 1100 0328", "ends in front of the 128-bit type")
        rig.expect("04 1200 ffff", "05 02 1200 000102030405060708090a0b0c0d0e0f")
        rig.expect("04 1300 ffff", "05 01 1300 0328 1400 aa2a")
    }

    @Test func findInformationErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("04 1500 ffff", "01 04 1500 0a", "Attribute Not Found")
        rig.expect("04 0000 ffff", "01 04 0000 01", "handle 0: Invalid Handle")
        rig.expect("04 0500 0400", "01 04 0500 01", "start behind end: Invalid Handle")
        rig.expect("04 ffff ffff", "01 04 ffff 0a")
        rig.expect("04 0100 ff", "01 04 0000 04", "short: Invalid PDU")
        rig.expect("04 0100 ffff 00", "01 04 0000 04", "long: Invalid PDU")
        rig.expect("04", "01 04 0000 04")
    }

    // MARK: Find By Type Value

    @Test func findByTypeValueFindsServicesByEitherFormOfTheirUUID() throws {
        var rig = try ByteTable.rig(mtu: 64)
        rig.expect("06 0100 ffff 0028 0f18", "07 0a00 0e00")
        rig.expect("06 0100 ffff 0028 fb349b5f80000080 00100000 0f180000", "07 0a00 0e00")
        rig.expect("06 0100 ffff 0028 ffeeddccbbaa99887766554433221100", "07 0f00 1400")
        rig.expect("06 0a00 0a00 0028 0f18", "07 0a00 0e00", "the group may end behind the range")
    }

    @Test func findByTypeValueComparesOtherValuesByteForByte() throws {
        var rig = try ByteTable.rig()
        rig.expect("06 0100 ffff 002a 436169726e", "07 0300 0300", "not a group: its own end")
        rig.expect("06 0100 ffff 002a 4361697266", "01 06 0100 0a")
        rig.expect("06 0100 ffff 002a 43616972", "01 06 0100 0a", "lengths differ")
        rig.expect("06 0100 ffff aa2a", "01 06 0100 0a", "a value that may not be read is not compared")
    }

    @Test func findByTypeValueFindsCharacteristicsWithTheirGroups() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .notify]) {
                    Descriptor(.characteristicUserDescription, value: "a")
                }
                Characteristic(.uuid16(0x2AAB), .read)
            }
            Service(.uuid16(0x1801), through: 0x0020) {
                Include("third")
                Characteristic(.uuid16(0x2AAC), .read)
            }
            Service(.uuid16(0x180F), name: "third")
        }
        var rig = GATTRig(database)
        rig.expect("06 0100 ffff 0328 12 0300 aa2a", "07 0200 0500", "its last descriptor")
        rig.expect("06 0100 ffff 0328 02 0700 ab2a", "07 0600 0700", "its value")
        rig.expect("06 0100 ffff 0328 02 0b00 ac2a", "07 0a00 0b00", "not the reserved handles of its service")
        rig.expect("06 0100 ffff 0028 0118", "07 0800 2000", "those are the service's")
        rig.expect("06 0100 ffff 0228 2100 2100 0f18", "07 0900 0900", "an include is no group")
    }

    @Test func findByTypeValueFindsWhatThisClientConfigured() throws {
        let database = try GATTDatabase {
            Service(.genericAttribute) {
                Characteristic(.uuid16(0x2AAA), .notify)
                Characteristic(.uuid16(0x2AAB), .notify)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(.uuid16(0x2AAD), .read, value: .askOwner)
            }
        }
        var rig = GATTRig(database)
        rig.expect("06 0100 ffff 0229 0000", "07 0400 0400 0700 0700")
        rig.expect("12 0700 0100", "13")
        rig.expect("06 0100 ffff 0229 0100", "07 0700 0700")
        rig.expect("06 0100 ffff 0229 0000", "07 0400 0400")
        rig.expect("06 0100 ffff 292b 00", "07 0900 0900")
        rig.expect("06 0100 ffff ad2a 00", "01 06 0100 0a", "what only the owner knows is not found")
        // Each client has its own.
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.layer.receive(hex("06 0100 ffff 0229 0100")[...], on: 0x0041, at: rig.now)
        var buffer: [UInt8] = []
        #expect(rig.layer.nextPDU(for: 0x0041, into: &buffer) == true)
        #expect(buffer == hex("01 06 0100 0a"))
    }

    @Test func findByTypeValueListsUntilThePDUIsFull() throws {
        let database = try GATTDatabase {
            for _ in 0..<7 { Service(.uuid16(0x180F)) }
        }
        var rig = GATTRig(database)
        rig.expect("06 0100 ffff 0028 0f18", "07 0100 0100 0200 0200 0300 0300 0400 0400 0500 0500")
        rig.expect("06 0600 ffff 0028 0f18", "07 0600 0600 0700 0700")
    }

    @Test func findByTypeValueErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("06 0b00 ffff 0028 0f18", "01 06 0b00 0a")
        rig.expect("06 0000 ffff 0028 0f18", "01 06 0000 01")
        rig.expect("06 0200 0100 0028 0f18", "01 06 0200 01")
        rig.expect("06 0100 ffff 00", "01 06 0000 04")
        rig.expect("06 0100 ffff 0028", "01 06 0100 0a", "no value is a value, of no bytes")
    }

    // MARK: Read By Group Type

    @Test func readByGroupTypeListsServicesOfOneUUIDSize() throws {
        var rig = try ByteTable.rig()
        rig.expect("10 0100 ffff 0028", "11 06 0100 0500 0018 0600 0900 0118 0a00 0e00 0f18")
        rig.expect("10 0f00 ffff 0028", "11 14 0f00 1400 ffeeddccbbaa99887766554433221100")
        rig.expect("10 0700 0a00 0028", "11 06 0a00 0e00 0f18", "only services that begin in the range")
    }

    @Test func readByGroupTypeEndsWhereThePDUDoes() throws {
        let database = try GATTDatabase {
            for _ in 0..<4 { Service(.uuid16(0x180F)) }
        }
        var rig = GATTRig(database)
        rig.expect("10 0100 ffff 0028", "11 06 0100 0100 0f18 0200 0200 0f18 0300 0300 0f18")
        rig.expect("10 0400 ffff 0028", "11 06 0400 0400 0f18")
    }

    @Test func readByGroupTypeTakesTheTypeInItsLongForm() throws {
        var rig = try ByteTable.rig()
        rig.expect("10 0a00 ffff fb349b5f80000080 00100000 00280000", "11 06 0a00 0e00 0f18")
    }

    @Test func readByGroupTypeFindsSecondaryServices() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1812))
            Service(.uuid16(0x180F), isPrimary: false) { Characteristic(.uuid16(0x2A19), .read) }
        }
        var rig = GATTRig(database)
        rig.expect("10 0100 ffff 0128", "11 06 0200 0400 0f18")
        rig.expect("10 0100 ffff 0028", "11 06 0100 0100 1218")
    }

    @Test func readByGroupTypeErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("10 1000 ffff 0028", "01 10 1000 0a", "Attribute Not Found")
        rig.expect("10 0100 ffff 0328", "01 10 0100 10", "characteristics: Unsupported Group Type")
        rig.expect("10 0100 ffff 002a", "01 10 0100 10")
        rig.expect("10 0100 ffff 0228", "01 10 0100 10")
        rig.expect("10 1000 ffff 0229", "01 10 1000 10", "whether there are any or not")
        rig.expect("10 0100 ffff 0f0e0d0c0b0a09080706050403020100", "01 10 0100 10")
        rig.expect("10 0000 ffff 0028", "01 10 0000 01")
        rig.expect("10 0200 0100 0028", "01 10 0200 01")
        rig.expect("10 0000 ffff 002a", "01 10 0000 01", "the range is looked at first")
        rig.expect("10 0100 ffff 00", "01 10 0000 04")
        rig.expect("10 0100 ffff 00280000", "01 10 0000 04", "32-bit UUIDs are none here")
    }

    // MARK: Read By Type, as discovery uses it

    @Test func characteristicDeclarationsAreListedByUUIDSize() throws {
        var rig = try ByteTable.rig(mtu: 48)
        rig.expect("08 0100 0500 0328", "09 07 0200 02 0300 002a 0400 0e 0500 012a")
        rig.expect("08 0f00 ffff 0328", "09 15 1100 0a 1200 000102030405060708090a0b0c0d0e0f")
        rig.expect("08 1200 ffff 0328", "09 07 1300 08 1400 aa2a")
    }

    @Test func includesAreListed() throws {
        var rig = try ByteTable.rig()
        rig.expect("08 0100 ffff 0228", "09 08 1000 0a00 0e00 0f18")
    }

    // MARK: The end of the PDU

    /// Eight services and nothing else. For each request, the bytes in front of the list, those of an entry, and
    /// how many entries the first MTU with room for them holds, one byte less being one entry too little.
    @Test(arguments: [
        (request: "04 0100 ffff", header: 2, entry: 4, count: 7),
        (request: "06 0100 ffff 0028 0f18", header: 1, entry: 4, count: 7),
        (request: "10 0100 ffff 0028", header: 2, entry: 6, count: 5),
        (request: "08 0100 ffff 0028", header: 2, entry: 4, count: 7),
    ])
    func listsFillThePDUToItsLastByte(request: String, header: Int, entry: Int, count: Int) throws {
        let database = try GATTDatabase {
            for _ in 0..<8 { Service(.uuid16(0x180F)) }
        }
        var rig = GATTRig(database, mtu: header + count * entry)
        #expect(rig.exchange(request).map { $0.count / 2 } == [header + count * entry])
        rig.raiseMTU(to: header + count * entry - 1)
        #expect(rig.exchange(request).map { $0.count / 2 } == [header + (count - 1) * entry])
    }

    @Test func unpublishedServicesAreNotThere() throws {
        var rig = try ByteTable.rig()
        _ = try rig.layer.setPublished(false, service: "battery")
        rig.expect("10 0100 ffff 0028", "11 06 0100 0500 0018 0600 0900 0118")
        rig.expect("04 0a00 0e00", "01 04 0a00 0a")
        rig.expect("0a 0c00", "01 0a 0c00 01")
        _ = try rig.layer.setPublished(true, service: "battery")
        rig.expect("0a 0c00", "0b 64")
    }
}
