import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@Suite("Advertising data")
struct AdvertisingDataTests {
    /// Captured or derived payloads of the Pebble firmware's own tests, and what they mean.
    static let golden: [(name: String, hexadecimal: String, structures: [ADStructure])] = [
        (
            "ad_element_local_name", "0c09506562626c652031323334", [.localName("Pebble 1234", .complete)]
        ),
        ("ad_element_uuid16_pair", "050300180118", [.uuids16([0x1800, 0x1801], .complete)]),
        ("ad_element_uuid32_pair", "09050067341201673412", [.uuids32([0x1234_6700, 0x1234_6701], .complete)]),
        ("ad_element_tx_power", "020ac9", [.txPowerLevel(dBm: -55)]),
        (
            "ad_element_manufacturer", "0eff341268656c6c6f20776f726c64",
            [.manufacturerSpecific(CompanyIdentifier(rawValue: 0x1234), Array("hello world".utf8)[...])]
        ),
        ("ad_element_flags", "020103", [.flags([.leLimitedDiscoverable, .leGeneralDiscoverable])]),
        (
            "ad_parse_lightblue", "02011a0303297b0a094c69676874426c7565",
            [
                .flags(AdvertisingFlags(rawValue: 0x1A)), .uuids16([0x7B29], .complete),
                .localName("LightBlue", .complete),
            ]
        ),
        (
            "adv_discovery_pebbleos", "0201060303d9fe0c09506562626c652031323334020a00",
            [
                .flags([.leGeneralDiscoverable, .brEDRNotSupported]), .uuids16([0xFED9], .complete),
                .localName("Pebble 1234", .complete), .txPowerLevel(dBm: 0),
            ]
        ),
        (
            "adv_discovery_pebbleos_hrm", "02010605030d18d9fe0c09506562626c652031323334020a00",
            [
                .flags([.leGeneralDiscoverable, .brEDRNotSupported]), .uuids16([0x180D, 0xFED9], .complete),
                .localName("Pebble 1234", .complete), .txPowerLevel(dBm: 0),
            ]
        ),
        (
            "adv_discovery_google", "0201020303d9fe0c09506562626c652031323334020a00",
            [
                .flags([.leGeneralDiscoverable]), .uuids16([0xFED9], .complete), .localName("Pebble 1234", .complete),
                .txPowerLevel(dBm: 0),
            ]
        ),
        (
            "adv_discovery_google_time", "0201020303d9fe1109506562626c652054696d652031323334020a00",
            [
                .flags([.leGeneralDiscoverable]), .uuids16([0xFED9], .complete),
                .localName("Pebble Time 1234", .complete), .txPowerLevel(dBm: 0),
            ]
        ),
        (
            "scanrsp_pebbleos_asterix", "16ffea0e003244513031333542333432340f2204090100",
            [manufacturer(0x0EEA, [0x00], "2DQ0135B3424", [15, 34, 4, 9, 1, 0])]
        ),
        (
            "scanrsp_pebbleos_obelix", "16ffea0e00324451303133354233343234122404090100",
            [manufacturer(0x0EEA, [0x00], "2DQ0135B3424", [18, 36, 4, 9, 1, 0])]
        ),
        (
            "scanrsp_google_silk", "16ff5401003244513031333542333432340e1904030000",
            [manufacturer(0x0154, [0x00], "2DQ0135B3424", [14, 25, 4, 3, 0, 0])]
        ),
        (
            "scanrsp_google_silk_prf", "16ff5401003244513031333542333432340e1904030001",
            [manufacturer(0x0154, [0x00], "2DQ0135B3424", [14, 25, 4, 3, 0, 1])]
        ),
        (
            "scanrsp_pre_v3_short", "10ff540100324451303133354233343234",
            [manufacturer(0x0154, [0x00], "2DQ0135B3424", [])]
        ),
        ("adv_reconnect_plain", "", []),
        (
            "adv_reconnect_hrm_pebbleos", "02010603030d18",
            [.flags([.leGeneralDiscoverable, .brEDRNotSupported]), .uuids16([0x180D], .complete)]
        ),
        (
            "adv_reconnect_hrm_google", "02010203030d18",
            [.flags([.leGeneralDiscoverable]), .uuids16([0x180D], .complete)]
        ),
    ]

    static func manufacturer(_ company: UInt16, _ head: [UInt8], _ text: String, _ tail: [UInt8]) -> ADStructure {
        .manufacturerSpecific(CompanyIdentifier(rawValue: company), (head + Array(text.utf8) + tail)[...])
    }

    @Test("Known payloads, both ways", arguments: golden.indices)
    func vectors(_ index: Int) throws {
        let vector = Self.golden[index]
        let bytes = try #require([UInt8](hexadecimal: vector.hexadecimal))
        let data = AdvertisingData(parsing: bytes)
        #expect(data.structures == vector.structures, "\(vector.name)")
        #expect(data.malformedTail.isEmpty, "\(vector.name)")
        #expect(AdvertisingData(vector.structures).bytes.hexadecimal == vector.hexadecimal, "\(vector.name)")
    }

    @Test("Each field of an advertisement can be read")
    func accessors() throws {
        let bytes = try #require([UInt8](hexadecimal: "0201060303d9fe0c09506562626c652031323334020ac9"))
        let data = AdvertisingData(parsing: bytes)
        #expect(data.flags == [.leGeneralDiscoverable, .brEDRNotSupported])
        #expect(data.localName == "Pebble 1234" && data.txPowerLevelDBm == -55)
        #expect(data.serviceUUIDs16 == [0xFED9] && data.serviceUUIDs128.isEmpty)
        #expect(data.manufacturerData(of: CompanyIdentifier(rawValue: 0x0154)) == nil)
        let both = AdvertisingData([.localName("Peb", .incomplete), .localName("Pebble", .complete)])
        #expect(both.localName == "Pebble")
        #expect(AdvertisingData([.localName("Peb", .incomplete)]).localName == "Peb")
        let nothing = AdvertisingData()
        #expect(nothing.flags == nil && nothing.localName == nil && nothing.txPowerLevelDBm == nil)
    }

    @Test("128-bit UUIDs travel least significant octet first")
    func uuids128() throws {
        let uuid: UInt128 = 0x0000_FED9_0000_1000_8000_0080_5F9B_34FB
        let bytes = AdvertisingData([.uuids128([uuid], .incomplete)]).bytes
        #expect(bytes.hexadecimal == "1106fb349b5f8000008000100000d9fe0000")
        #expect(AdvertisingData(parsing: bytes).serviceUUIDs128 == [uuid])
    }

    @Test("Hostile data: whole structures are read, the rest is reported")
    func hostile() {
        let overlong = AdvertisingData(parsing: [0x02, 0x01, 0x06, 0x1F, 0x09, 0x41])
        #expect(overlong.structures == [.flags([.leGeneralDiscoverable, .brEDRNotSupported])])
        #expect(overlong.malformedTail == [0x1F, 0x09, 0x41])
        let typeless = AdvertisingData(parsing: [0x01])
        #expect(typeless.structures.isEmpty && typeless.malformedTail == [0x01])
        let padded = AdvertisingData(parsing: [0x02, 0x0A, 0x00, 0x00, 0x02, 0x01, 0x06])
        #expect(padded.structures == [.txPowerLevel(dBm: 0)] && padded.malformedTail.isEmpty)
        // A structure whose data is wrong for its type keeps its bytes.
        for bytes: [UInt8] in [
            [0x01, 0x01], [0x03, 0x01, 0x06, 0x00], [0x02, 0x03, 0xD9], [0x03, 0x09, 0xC3, 0x28], [0x02, 0xFF, 0x01],
            [0x01, 0x0A], [0x03, 0x77, 0x01, 0x02],
        ] {
            let data = AdvertisingData(parsing: bytes)
            #expect(data.structures.count == 1 && data.malformedTail.isEmpty)
            if case .raw(let type, let content) = data.structures.first {
                #expect([UInt8(content.count + 1), type.rawValue] + content == bytes)
            } else {
                Issue.record("\(bytes) should be raw, is \(data.structures)")
            }
        }
    }

    @Test("Any bytes can be parsed, and the structures encode to the same bytes")
    func randomBytes() {
        for seed: UInt64 in 1...20_000 {
            var random = SplitMix64(seed: seed)
            let bytes = random.bytes(Int.random(in: 0...64, using: &random)).map { $0 % 24 }
            let data = AdvertisingData(parsing: bytes)
            let encoded = data.bytes
            #expect(bytes.starts(with: encoded), "seed \(seed)")
            let rest = bytes.dropFirst(encoded.count)
            #expect(rest.isEmpty || rest.first == 0 || rest == data.malformedTail, "seed \(seed)")
        }
    }

    @Test("A structure with more data than one can hold is cut off")
    func overlong() {
        let bytes = AdvertisingData([.localName(String(repeating: "x", count: 300), .complete), .txPowerLevel(dBm: 1)])
            .bytes
        #expect(bytes.count == 256 + 3)
        #expect(AdvertisingData(parsing: bytes).structures.count == 2)
    }
}
