import BluetoothHCI
import ByteCoding
import Testing

@testable import PebblePhone

/// What a phone makes of advertisements. The bytes are those that watches of each generation send.
@Suite("A phone's scanner")
struct WatchScannerTests {
    private static let watch = LEAddress.random(DeviceAddress(0xC011_2233_4455))
    private static let advertisement = "020106 0303d9fe 0c0950656262 6c652034343535 020a00"
    private static let scanResponse = "16ffea0e 00 434149524e30303034343535 0f 22 04 09 64 00"

    private static func data(_ hexadecimal: String) throws -> AdvertisingData {
        AdvertisingData(parsing: try #require([UInt8](hexadecimal: hexadecimal)))
    }

    @Test("puts a watch together from its advertisement and its scan response, in either order")
    func bothParts() throws {
        for parts in [[Self.advertisement, Self.scanResponse], [Self.scanResponse, Self.advertisement]] {
            var scanner = WatchScanner(.any)
            scanner.receive(from: Self.watch, try Self.data(parts[0]), rssiDBm: -60, at: .zero)
            #expect(scanner.found(at: .zero) == nil)
            scanner.receive(from: Self.watch, try Self.data(parts[1]), rssiDBm: -47, at: .zero)
            let found = try #require(scanner.found(at: .zero))
            #expect(found.name == "Pebble 4455")
            #expect(found.rssiDBm == -47)
            let said = try #require(found.advertisement)
            #expect(said.company.rawValue == 0x0EEA)
            #expect(said.serialNumber == "CAIRN0004455")
            #expect(said.details?.hardware == .asterix)
            #expect(said.details?.color == .duo2Black)
            #expect(said.details?.firmware.description == "4.9.100")
            #expect(said.details?.isInRecovery == false)
        }
    }

    @Test("takes the scan response of firmware before 3.0, and of recovery firmware")
    func otherScanResponses() throws {
        var scanner = WatchScanner(.any)
        scanner.receive(from: Self.watch, try Self.data(Self.advertisement), rssiDBm: nil, at: .zero)
        scanner.receive(
            from: Self.watch,
            try Self.data("10ff5401 00 514843303132333435363738"),
            rssiDBm: nil,
            at: .zero
        )
        let old = try #require(scanner.found(at: .zero)?.advertisement)
        #expect(old.company.rawValue == 0x0154 && old.serialNumber == "QHC012345678" && old.details == nil)
        scanner.receive(
            from: Self.watch,
            try Self.data("16ffea0e 00 434149524e30303034343535 12 ff 04 04 02 01"),
            rssiDBm: nil,
            at: .zero
        )
        let recovering = try #require(scanner.found(at: .zero)?.advertisement?.details)
        #expect(recovering.isInRecovery && recovering.colorNumber == 255 && recovering.color == nil)
    }

    @Test("does not wait for ever for a scan response")
    func patience() throws {
        var scanner = WatchScanner(.any)
        #expect(scanner.nextDeadline == nil)
        scanner.receive(from: Self.watch, try Self.data(Self.advertisement), rssiDBm: nil, at: .seconds(5))
        #expect(scanner.nextDeadline == .seconds(7))
        #expect(scanner.found(at: .milliseconds(6999)) == nil)
        #expect(scanner.found(at: .seconds(7))?.name == "Pebble 4455")
        #expect(scanner.found(at: .seconds(7))?.advertisement == nil)
    }

    @Test(
        "ignores what is no watch",
        arguments: [
            // Another service; another company, another payload type, a manufacturer's data cut short.
            ["020106 03030f18", scanResponse],
            [scanResponse],
            ["020106"],
            [""],
        ]
    )
    func others(parts: [String]) throws {
        var scanner = WatchScanner(.any)
        for part in parts { scanner.receive(from: Self.watch, try Self.data(part), rssiDBm: nil, at: .zero) }
        #expect(scanner.found(at: .seconds(100)) == nil)
        #expect(scanner.nextDeadline == nil)
    }

    @Test(
        "does not take another's data for a watch's",
        arguments: [
            "16ff4c00 00 434149524e30303034343535 0f 22 04 09 64 00",
            "16ffea0e 01 434149524e30303034343535 0f 22 04 09 64 00",
            "0fffea0e 00 434149524e303030343435",
            "11ffea0e 00 434149524e30303034343535 0f",
            "ff",
        ]
    )
    func foreignData(scanResponse: String) throws {
        var scanner = WatchScanner(.any)
        scanner.receive(from: Self.watch, try Self.data(Self.advertisement), rssiDBm: nil, at: .zero)
        scanner.receive(from: Self.watch, try Self.data(scanResponse), rssiDBm: nil, at: .zero)
        #expect(scanner.found(at: .zero) == nil)
    }

    @Test("finds a watch among many devices")
    func crowd() throws {
        var scanner = WatchScanner(.any)
        for number in 0..<1000 as Range<UInt64> {
            let address = LEAddress.random(DeviceAddress(0xC000_0000_0000 + number))
            scanner.receive(from: address, try Self.data("020106"), rssiDBm: nil, at: .zero)
        }
        scanner.receive(from: Self.watch, try Self.data(Self.advertisement), rssiDBm: nil, at: .zero)
        #expect(scanner.found(at: .seconds(2))?.address == Self.watch)
    }

    @Test("remembers a limited number of devices that claim to be watches")
    func crowdOfWatches() throws {
        var scanner = WatchScanner(.name("the last of them"))
        for number in 0..<1000 as Range<UInt64> {
            let address = LEAddress.random(DeviceAddress(0xC000_0000_0000 + number))
            scanner.receive(from: address, try Self.data(Self.advertisement), rssiDBm: nil, at: .zero)
        }
        #expect(Mirror(reflecting: scanner).descendant("candidates").flatMap { $0 as? any Collection }?.count == 64)
    }

    @Test(
        "finds the watch that is wanted among any number of others",
        arguments: [WatchSelection.address(watch.address), .name("wanted")]
    )
    func wantedInACrowd(selection: WatchSelection) throws {
        var scanner = WatchScanner(selection)
        for number in 0..<1000 as Range<UInt64> {
            let address = LEAddress.random(DeviceAddress(0xC000_0000_0000 + number))
            scanner.receive(from: address, try Self.data(Self.advertisement), rssiDBm: nil, at: .zero)
        }
        // Complete local name: "wanted".
        let wanted = "020106 0303d9fe 0709 77616e746564"
        scanner.receive(from: Self.watch, try Self.data(wanted), rssiDBm: nil, at: .seconds(1))
        for number in 1000..<2000 as Range<UInt64> {
            let address = LEAddress.random(DeviceAddress(0xC000_0000_0000 + number))
            scanner.receive(from: address, try Self.data(Self.advertisement), rssiDBm: nil, at: .seconds(2))
        }
        #expect(scanner.found(at: .seconds(3))?.address == Self.watch)
    }

    @Test("takes the one that it heard first of several")
    func several() throws {
        for number in 0..<50 as Range<UInt64> {
            var scanner = WatchScanner(.any)
            let first = LEAddress.random(DeviceAddress(0xC000_0000_0000 + (number * 7919) % 50))
            scanner.receive(from: first, try Self.data(Self.advertisement), rssiDBm: -90, at: .zero)
            for other in 50..<60 as Range<UInt64> {
                let address = LEAddress.random(DeviceAddress(0xC000_0000_0000 + other))
                scanner.receive(from: address, try Self.data(Self.advertisement), rssiDBm: -40, at: .zero)
            }
            #expect(scanner.found(at: .seconds(2))?.address == first)
        }
    }
}
