import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import Testing

/// BlueZ's GATT server cases against the same databases, built through the public declarations with the handles that they
/// have there (facts of BlueZ unit/test-gatt.c).
@Suite struct BlueZServerTests {
    struct Case: Decodable, CustomTestStringConvertible {
        let name: String
        let database: String
        /// What the client sends, or what the server does (`server:notify:HANDLE:VALUE`), and the PDU that follows.
        let exchanges: [[String?]]

        var testDescription: String { "\(name), \(database)" }
    }

    private struct File: Decodable {
        let cases: [Case]
    }

    static let cases: [Case] = {
        guard let url = Bundle.module.url(forResource: "gatt-server", withExtension: "json", subdirectory: "Vectors"),
            let data = try? Data(contentsOf: url),
            let file = try? JSONDecoder().decode(File.self, from: data)
        else { return [] }
        return file.cases
    }()

    @Test func allCasesAreThere() {
        // The 94th is the hash of a database, below.
        #expect(Self.cases.count == 93)
    }

    @Test(arguments: cases)
    func serverAnswersAsIsDue(_ test: Case) throws {
        let database = try #require(BlueZDatabase(rawValue: test.database)).make()
        var rig = GATTRig(database, configuration: .init(maximumMTU: 512))
        rig.expect("02 1700", "03 0002")
        for exchange in test.exchanges {
            let expected: [String] = exchange.dropFirst().compactMap { $0 }
            guard let action = exchange.first ?? nil else {
                Issue.record("an exchange without its beginning")
                return
            }
            if action.hasPrefix("server:") {
                let parts = action.split(separator: ":")
                let handle = AttributeHandle(rawValue: try #require(UInt16(parts[2], radix: 16)))
                if parts[1] == "notify" {
                    try rig.layer.notify(hex(String(parts[3]))[...], of: handle, on: GATTRig.connection, at: rig.now)
                } else {
                    try rig.layer.indicate(hex(String(parts[3]))[...], of: handle, on: GATTRig.connection, at: rig.now)
                }
                #expect(rig.sent() == expected, "\(action)")
            } else {
                #expect(rig.exchange(action) == expected, "\(action)")
            }
        }
    }

    /// Bumble's AES-CMAC of the attributes, written down by hand, is the same.
    @Test func aDatabaseThatEndsAtTheLastHandleHasItsHash() throws {
        let database = try BlueZDatabase.tail.make()
        let attributes: [String] = [
            "010000280a18", "030001280a18", "04000328b20500292a", "06000229", "07000129", "080000290100",
            "09000328220a00282a", "0b000229", "f7ff00280018", "f8ff0228030012000a18", "f9ff032802faff002a",
            "fbff032882fcffefcdab89674523010000000009b00000", "fdff00290100", "feff032802ffff012a",
        ]
        #expect(database.hashInput.hexadecimal == attributes.joined())
        #expect(database.hash(.swiftCrypto).hexadecimal == "56b8e5c671aebdff2678e5bc5f3194dd")
    }

    /// What a client finds: services of both kinds, includes, characteristics, and the descriptors behind each value.
    @Test(arguments: [
        (
            BlueZDatabase.services1,
            [
                "primary 1801 0x0001-0x0004", "characteristic 2A00 0x0002 0x0003", "descriptor 2901 0x0004",
                "primary 180D 0x0005-0x0008", "characteristic 2A29 0x0006 0x0007", "descriptor 2901 0x0008",
            ]
        ),
        (
            .services2,
            [
                "primary 1801 0x0001-0x0004", "characteristic 2A00 0x0002 0x0003", "descriptor 2901 0x0004",
                "primary 180D 0x0005-0x000A", "characteristic 2A29 0x0007 0x0008", "descriptor 2901 0x000A",
            ]
        ),
        (
            .services3,
            [
                "primary 1800 0x0100-0x0121", "characteristic 2A00 0x0110 0x0111", "characteristic 2A01 0x0120 0x0121",
                "primary 1801 0x0200-0x0200",
                "primary 180D 0x0300-0x0320", "characteristic 2A29 0x0310 0x0311", "descriptor 2902 0x0320",
            ]
        ),
        (
            .small,
            [
                "primary 1800 0xF010-0xF018", "include 180A 0x0001-0x0010 0xF011",
                "characteristic 2A00 0xF012 0xF013",
                "characteristic 0000B009-0000-0000-0123-456789ABCDEF 0xF014 0xF015", "descriptor 2900 0xF016",
                "characteristic 2A01 0xF017 0xF018",
                "primary 180A 0xFFFF-0xFFFF",
                "secondary 180A 0x0001-0x0010",
                "characteristic 2A29 0x0002 0x0003", "descriptor 2902 0x0004", "descriptor 2901 0x0005",
                "descriptor 2900 0x0006",
                "characteristic 2A28 0x0007 0x0008", "descriptor 2902 0x0009",
            ]
        ),
    ])
    func clientsFindEverything(_ database: BlueZDatabase, _ expected: [String]) throws {
        var pair = GATTPair(try database.make())
        guard case .services(let primary) = try pair.perform(.discoverAllPrimaryServices),
            case .services(let secondary) = try pair.perform(.discoverSecondaryServices)
        else {
            Issue.record("no services")
            return
        }
        var found: [String] = []
        for (kind, service) in primary.map({ ("primary", $0) }) + secondary.map({ ("secondary", $0) }) {
            found.append("\(kind) \(service.uuid) \(service.range)")
            if case .includedServices(let includes) = try pair.perform(.findIncludedServices(in: service.range)) {
                found += includes.map { "include \($0.service.uuid) \($0.service.range) \($0.handle)" }
            }
            guard
                case .characteristics(let all) = try pair.perform(.discoverCharacteristics(in: service.range))
            else { continue }
            for (index, characteristic) in all.enumerated() {
                let handles = "\(characteristic.declaration) \(characteristic.value)"
                found.append("characteristic \(characteristic.uuid) \(handles)")
                let end =
                    index + 1 < all.count
                    ? AttributeHandle(rawValue: all[index + 1].declaration.rawValue - 1) : service.range.end
                guard let start = characteristic.value.next, let range = AttributeHandleRange(start, end),
                    case .descriptors(let descriptors) = try pair.perform(.discoverDescriptors(in: range))
                else { continue }
                found += descriptors.map { "descriptor \($0.uuid) \($0.handle)" }
            }
        }
        #expect(found == expected)
    }

    @Test func secondaryServicesOfTheLargeDatabaseAreFound() throws {
        var pair = GATTPair(try BlueZDatabase.large.make())
        guard case .services(let secondary) = try pair.perform(.discoverSecondaryServices),
            case .includedServices(let includes) = try pair.perform(.findIncludedServices(in: .all))
        else {
            Issue.record("no services")
            return
        }
        #expect(secondary.map { "\($0.uuid) \($0.range)" } == ["A00D 0x0001-0x0006"])
        #expect(
            includes.map { "\($0.handle) \($0.service.uuid) \($0.service.range)" } == [
                "0x0002 A00B 0x0080-0x0086", "0x0021 A00D 0x0001-0x0006", "0x0091 A00D 0x0001-0x0006",
            ]
        )
    }
}
