import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What an owner can get wrong, and declarations that are put together from parts.
@Suite("GATT: the owner's calls")
struct GATTOwnerLimitTests {
    /// 0003 (asks the owner).
    private static func askingRig() throws -> GATTRig {
        GATTRig(
            try GATTDatabase {
                Service(.uuid16(0x1812)) {
                    Characteristic(.uuid16(0x2AAA), [.read, .write], value: .askOwner)
                }
            }
        )
    }

    @Test(
        "A read that is accepted as if it were a write is refused with Unlikely Error",
        arguments: [
            ("0a 0300", "01 0a 0300 0e"), ("0c 0300 0000", "01 0c 0300 0e"), ("08 0100ffff aa2a", "01 08 0300 0e"),
            ("0e 0300 0300", "01 0e 0300 0e"),
        ]
    )
    func readAcceptedAsAWrite(request: String, response: String) throws {
        var rig = try Self.askingRig()
        #expect(rig.exchange(request) == [])
        let reads = rig.events().compactMap { if case .readRequested(let read) = $0 { read } else { nil } }
        let read = try #require(reads.first)
        let write = WriteRequest(connection: read.connection, id: read.id, handle: read.handle, value: [])
        #expect(rig.layer.respond(to: write, at: rig.now) == true)
        #expect(rig.sent() == [hex(response).hexadecimal])
        #expect(rig.layer.respond(to: read, with: [1], at: rig.now) == false, "it has been answered")
        #expect(rig.sent() == [])
    }

    @Test("A write that is answered with a value is refused with Unlikely Error")
    func writeAnsweredWithAValue() throws {
        var rig = try Self.askingRig()
        rig.expect("16 0300 0000 aa", "17 0300 0000 aa")
        for (request, response) in [("12 0300 aa", "01 12 0300 0e"), ("18 01", "01 18 0300 0e")] {
            #expect(rig.exchange(request) == [])
            let writes = rig.events().compactMap { if case .writeRequested(let write) = $0 { write } else { nil } }
            let write = try #require(writes.first)
            let read = ReadRequest(connection: write.connection, id: write.id, handle: write.handle, offset: 0)
            #expect(rig.layer.respond(to: read, with: [1], at: rig.now) == true)
            #expect(rig.sent() == [hex(response).hexadecimal])
            #expect(rig.layer.respond(to: write, at: rig.now) == false)
        }
    }

    @Test("What is asked of encryption has an order: none, any, authenticated")
    func requirements() {
        let all: [AccessRequirement.Encryption] = [.authenticated, .none, .encrypted]
        #expect(all.sorted() == [.none, .encrypted, .authenticated])
        #expect(max(.encrypted, AccessRequirement.Encryption.none) == .encrypted)
        #expect(!(AccessRequirement.Encryption.encrypted < .encrypted))
    }

    @Test("A prefix goes in front of all names of a service, also of descriptors and of the services that it includes")
    func prefix() throws {
        let battery = Service(.uuid16(0x180F), name: "battery", isPrimary: false) {
            Characteristic(.uuid16(0x2A19), .read, name: "level", value: [100]) {
                Descriptor(.characteristicUserDescription, name: "words", value: "Level")
                Descriptor(.uuid16(0x2904), value: [])
            }
            Characteristic(.uuid16(0x2A1A), .read, value: [1])
        }
        let owner = Service(.uuid16(0x1812), name: "owner") {
            Include("battery")
            Characteristic(.uuid16(0x2AAA), .read, name: "value", value: [2])
        }
        // Without a prefix, each name would be there twice.
        let database = try GATTDatabase {
            battery.withNames(prefixed: "a.")
            owner.withNames(prefixed: "a.")
            battery.withNames(prefixed: "b.")
            owner.withNames(prefixed: "b.")
        }
        let names = ["battery", "level", "words", "owner", "value"]
        #expect(
            names.map { database.handle(of: AttributeName("a." + $0)) } == [0x0001, 0x0003, 0x0004, 0x0008, 0x000B]
        )
        #expect(
            names.map { database.handle(of: AttributeName("b." + $0)) } == [0x000C, 0x000E, 0x000F, 0x0013, 0x0016]
        )
        #expect(names.allSatisfy { database.handle(of: AttributeName($0)) == nil })
        // Each owner includes the battery of its own prefix.
        #expect(database.value(of: 0x0009) == hex("0100 0700 0f18"))
        #expect(database.value(of: 0x0014) == hex("0c00 1200 0f18"))
    }
}
