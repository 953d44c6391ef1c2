import BluetoothHost
import ByteCoding
import Testing

@Suite struct GATTDatabaseTests {
    /// One service of each kind, with everything that a characteristic can have.
    private static func makeDatabase() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(0x2A00), .read, name: "device name", value: "Cairn")
            }
            Service(.uuid16(0x180F), name: "battery") {
                Characteristic(.uuid16(0x2A19), [.read, .notify, .reliableWrite], name: "level", value: [100]) {
                    Descriptor(.characteristicUserDescription, name: "level description", value: "Level")
                }
            }
            Service(.uuid128(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)) {
                Characteristic(
                    .uuid128(0x1112_1314_1516_1718_191A_1B1C_1D1E_1F20),
                    [.indicate, .write],
                    name: "control",
                    value: .askOwner
                )
                Include("battery")
            }
        }
    }

    /// Handles, types and declaration values, by hand from Core 5.4, Vol 3, Part G, 3.1 to 3.3.
    @Test func laysOutDeclarationsByTheProfile() throws {
        let database = try Self.makeDatabase()
        let expected: [(UInt16, String, String?)] = [
            (0x0001, "2800", "0018"),
            (0x0002, "2803", "02 0300 002a"),
            (0x0003, "2A00", "436169726e"),
            (0x0004, "2800", "0f18"),
            (0x0005, "2803", "92 0600 192a"),
            (0x0006, "2A19", "64"),
            (0x0007, "2902", nil),
            (0x0008, "2900", "0100"),
            (0x0009, "2901", "4c6576656c"),
            (0x000A, "2800", "100f0e0d0c0b0a090807060504030201"),
            (0x000B, "2802", "0400 0900 0f18"),
            (0x000C, "2803", "28 0d00 201f1e1d1c1b1a191817161514131211"),
            (0x000D, "11121314-1516-1718-191A-1B1C1D1E1F20", nil),
            (0x000E, "2902", nil),
        ]
        let attributes = Array(database.attributes(in: .all))
        #expect(attributes.count == expected.count)
        for (attribute, (handle, type, value)) in zip(attributes, expected) {
            #expect(attribute.handle == AttributeHandle(rawValue: handle))
            #expect(attribute.type.description == type)
            #expect(database.value(of: attribute.handle) == value.flatMap { [UInt8](hexadecimal: $0) }, "\(handle)")
        }
    }

    @Test func findsHandlesByName() throws {
        let database = try Self.makeDatabase()
        #expect(database.handle(of: "device name")?.rawValue == 0x0003)
        #expect(database.handle(of: "battery")?.rawValue == 0x0004)
        #expect(database.handle(of: "level description")?.rawValue == 0x0009)
        #expect(database.handle(of: "nothing") == nil)
        #expect(database.clientConfiguration(of: AttributeHandle(rawValue: 0x0006))?.rawValue == 0x0007)
        #expect(database.clientConfiguration(of: AttributeHandle(rawValue: 0x0003)) == nil)
        #expect(database.attribute(at: .none) == nil)
        #expect(database.attribute(at: AttributeHandle(rawValue: 0x000F)) == nil)
        #expect(database.attribute(at: .last) == nil)
    }

    @Test func includesNameOnlyShortUUIDs() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1812)) { Include("long") }
            Service(.uuid128(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10), name: "long", isPrimary: false)
        }
        #expect(database.value(of: AttributeHandle(rawValue: 2)) == [UInt8](hexadecimal: "0300 0300"))
        #expect(database.attribute(at: AttributeHandle(rawValue: 3))?.type == .secondaryService)
    }

    @Test func keepsHandlesAskedFor() throws {
        let database = try GATTDatabase {
            Service(.genericAccess) { Characteristic(.uuid16(0x2A00), .read, value: "Cairn") }
            Service(.uuid16(0xFED9), at: AttributeHandle(rawValue: 0xE000)) {
                Characteristic(.uuid16(0x2A01), .read, name: "far", value: [1, 2])
            }
        }
        #expect(database.handle(of: "far")?.rawValue == 0xE002)
        #expect(database.attribute(at: AttributeHandle(rawValue: 0xDFFF)) == nil)
        #expect(database.value(of: AttributeHandle(rawValue: 0xE002)) == [1, 2])
    }

    /// Every handle is given, in an order that is not theirs; nothing follows from the properties.
    @Test func putsEverythingWhereItIsAskedFor() throws {
        let database = try GATTDatabase {
            Service(.uuid128(1), name: "long", at: 0x0040, through: 0x004F) {
                Include("secondary", at: 0x0042)
                Characteristic(.uuid16(0x2AAA), [.read, .notify, .reliableWrite], at: 0x0044, valueAt: 0x0046) {
                    Descriptor(.characteristicUserDescription, at: 0x0047, value: "a")
                    Descriptor.characteristicExtendedProperties(at: 0x0048)
                    Descriptor.clientCharacteristicConfiguration(at: 0x004A, allowing: .indications)
                }
            }
            Service(.uuid16(0x1800), at: 0x0050) {
                Characteristic(.uuid16(0x2AAB), .notify, addsDescriptors: false)
                Characteristic(.uuid16(0x2AAC), .read) { Descriptor.clientCharacteristicConfiguration() }
            }
            Service(.uuid16(0x180F), name: "secondary", isPrimary: false, at: 0x0008)
            Service(.uuid16(0x180A))
        }
        let found = database.attributes(in: .all).map { attribute in
            [UInt8(attribute.handle.rawValue)].hexadecimal + " \(attribute.type) "
                + (database.value(of: attribute.handle)?.hexadecimal ?? "-")
        }
        #expect(
            found == [
                "08 2801 0f18", "09 2800 0a18",
                "40 2800 01000000000000000000000000000000", "42 2802 080008000f18", "44 2803 924600aa2a", "46 2AAA ",
                "47 2901 61", "48 2900 0100", "4a 2902 -",
                "50 2800 0018", "51 2803 105200ab2a", "52 2AAB ", "53 2803 025400ac2a", "54 2AAC ", "55 2902 -",
            ]
        )
        #expect(database.clientConfiguration(of: 0x0046) == 0x004A)
        #expect(database.clientConfiguration(of: 0x0052) == nil)
        #expect(database.clientConfiguration(of: 0x0054) == 0x0055)
        var rig = GATTRig(database)
        rig.expect("10 4000 4000 0028", "11 14 4000 4f00 01000000000000000000000000000000", "the whole range")
        rig.expect("12 4a00 0200", "13")
        rig.expect("12 4a00 0100", "01 12 4a00 fd", "the property does not matter")
        rig.expect("12 5500 0100", "01 12 5500 fd", "nothing to subscribe to")
        rig.expect("12 5500 0000", "13")
        try rig.layer.indicate([7], of: 0x0046, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d460007"])
        #expect(rig.layer.clientState(of: GATTRig.connection)?.subscriptions == [0x004A: .indications])
    }

    @Test func aServiceInFrontCanBeHidden() throws {
        var database = try GATTDatabase {
            Service(.uuid16(0x1801), name: "behind", at: 0x0010) { Characteristic(.uuid16(0x2AAA), .read, value: [1]) }
            Service(.uuid16(0x1800), name: "in front", at: 0x0001) {
                Characteristic(.uuid16(0x2AAB), .read, value: [2])
            }
        }
        #expect(try database.setPublished(false, service: "in front")?.description == "0x0001-0x0003")
        #expect(database.attributes(in: .all).map(\.handle.rawValue) == [0x10, 0x11, 0x12])
        #expect(database.attribute(at: 0x0012)?.type == .uuid16(0x2AAA))
    }

    @Test func refusesWhatIsNoDatabase() {
        let long = BluetoothUUID.uuid128(1)
        #expect(throws: GATTDatabaseError.serviceOutOfOrder(.uuid16(0x180A))) {
            try GATTDatabase(serviceOrder: .shortUUIDsFirst) {
                Service(long)
                Service(.uuid16(0x180A))
            }
        }
        #expect(throws: GATTDatabaseError.nameTaken("twice")) {
            try GATTDatabase {
                Service(.uuid16(0x1800), name: "twice")
                Service(.uuid16(0x1801), name: "twice")
            }
        }
        #expect(throws: GATTDatabaseError.unknownService("nowhere")) {
            try GATTDatabase { Service(.uuid16(0x1800)) { Include("nowhere") } }
        }
        #expect(throws: GATTDatabaseError.handleTaken(.first, .uuid16(0x1801))) {
            try GATTDatabase {
                Service(.uuid16(0x1800))
                Service(.uuid16(0x1801), at: .first)
            }
        }
        #expect(throws: GATTDatabaseError.handleTaken(.none, .uuid16(0x1801))) {
            try GATTDatabase { Service(.uuid16(0x1801), at: AttributeHandle.none) }
        }
        #expect(throws: GATTDatabaseError.handleTaken(4, .uuid16(0x1801)), "in the range of another") {
            try GATTDatabase {
                Service(.uuid16(0x1800), at: 1, through: 8)
                Service(.uuid16(0x1801), at: 4)
            }
        }
        #expect(throws: GATTDatabaseError.handleTaken(1, .uuid16(0x1801)), "it reaches into one behind it") {
            try GATTDatabase {
                Service(.uuid16(0x1800), at: 2)
                Service(.uuid16(0x1801), at: 1) { Characteristic(.uuid16(0x2A00), .read) }
            }
        }
        #expect(throws: GATTDatabaseError.handleTaken(3, .uuid16(0x2A01))) {
            try GATTDatabase {
                Service(.uuid16(0x1800), at: 1) {
                    Characteristic(.uuid16(0x2A00), .read)
                    Characteristic(.uuid16(0x2A01), .read, at: 4, valueAt: 3)
                }
            }
        }
        #expect(throws: GATTDatabaseError.rangeTooShort(2, .uuid16(0x1800))) {
            try GATTDatabase { Service(.uuid16(0x1800), through: 2) { Characteristic(.uuid16(0x2A00), .read) } }
        }
        #expect(throws: GATTDatabaseError.tooManyAttributes) {
            try GATTDatabase {
                Service(.uuid16(0x1800), through: .last)
                Service(.uuid16(0x1801))
            }
        }
        #expect(throws: GATTDatabaseError.valueTooLong(.uuid16(0x2A00))) {
            try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(.uuid16(0x2A00), .read, value: .fixedLength(Array(repeating: 0, count: 513)))
                }
            }
        }
        #expect(throws: GATTDatabaseError.automaticDescriptor(.clientCharacteristicConfiguration)) {
            try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(.uuid16(0x2A00), .notify) {
                        Descriptor(.clientCharacteristicConfiguration, value: [0, 0])
                    }
                }
            }
        }
        #expect(throws: GATTDatabaseError.descriptorTwice(.clientCharacteristicConfiguration)) {
            try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(.uuid16(0x2A00), .notify) {
                        Descriptor.clientCharacteristicConfiguration()
                        Descriptor.clientCharacteristicConfiguration()
                    }
                }
            }
        }
        #expect(throws: GATTDatabaseError.descriptorTwice(.characteristicExtendedProperties)) {
            try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(.uuid16(0x2A00), .reliableWrite) {
                        Descriptor.characteristicExtendedProperties()
                        Descriptor.characteristicExtendedProperties()
                    }
                }
            }
        }
        #expect(throws: GATTDatabaseError.tooManyAttributes) {
            try GATTDatabase {
                Service(.uuid16(0x1800), at: .last) { Characteristic(.uuid16(0x2A00), .read) }
            }
        }
    }

    @Test("Services that want the same handles cannot make more attributes than there are handles")
    func tooManyAttributesOnTheSameHandles() {
        let service = Service(.uuid16(0x1800), at: .first) {
            for _ in 0..<2000 { Characteristic(.uuid16(0x2A00), .read, value: "x") }
        }
        #expect(throws: GATTDatabaseError.tooManyAttributes) {
            try GATTDatabase(Array(repeating: service, count: 20))
        }
        // As long as there are few enough of them, it is the handles that are refused.
        #expect(throws: GATTDatabaseError.handleTaken(.first, .uuid16(0x1800))) {
            try GATTDatabase([service, service])
        }
    }

    @Test func setsOnlyValuesThatItKeeps() throws {
        var database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2A00), .read, name: "name", value: .bytes([], maximumLength: 4))
                Characteristic(.uuid16(0x2A01), .read, name: "fixed", value: .fixedLength([0, 0]))
                Characteristic(.uuid16(0x2A02), .read, name: "asked", value: .askOwner)
            }
        }
        let name = try #require(database.handle(of: "name"))
        let fixed = try #require(database.handle(of: "fixed"))
        let asked = try #require(database.handle(of: "asked"))
        try database.setValue([1, 2, 3, 4], of: name)
        #expect(database.value(of: name) == [1, 2, 3, 4])
        #expect(throws: GATTError.invalidValueLength(name, 5)) { try database.setValue([1, 2, 3, 4, 5], of: name) }
        #expect(throws: GATTError.invalidValueLength(fixed, 1)) { try database.setValue([1], of: fixed) }
        #expect(throws: GATTError.valueNotStored(asked)) { try database.setValue([1], of: asked) }
        #expect(throws: GATTError.valueNotStored(.first)) { try database.setValue([1], of: .first) }
        #expect(throws: GATTError.unknownAttribute(.none)) { try database.setValue([1], of: .none) }
        #expect(database.value(of: name) == [1, 2, 3, 4], "a refused value changes nothing")
    }

    @Test func hidesAndShowsServicesWithoutMovingOthers() throws {
        var database = try Self.makeDatabase()
        let level = try #require(database.handle(of: "level"))
        let changed = try database.setPublished(false, service: "battery")
        #expect(changed?.description == "0x0004-0x0009")
        #expect(database.attribute(at: level) == nil)
        #expect(database.attributes(in: .all).map(\.handle.rawValue) == [1, 2, 3, 10, 11, 12, 13, 14])
        try database.setValue([50], of: level)
        #expect(try database.setPublished(false, service: "battery") == nil, "nothing changes twice")
        #expect(try database.setPublished(true, service: "battery") != nil)
        #expect(database.value(of: level) == [50], "values can be prepared while hidden")
        #expect(throws: GATTError.unknownService("level")) { try database.setPublished(true, service: "level") }
    }
}
