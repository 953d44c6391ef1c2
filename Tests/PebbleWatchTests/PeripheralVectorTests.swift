import BluetoothHCI
import ByteCoding
import Foundation
import PebbleProtocol
import PebbleWatch
import Testing

/// The golden bytes of what the peripheral says, each by the name that it has in the vectors.
@Suite struct PeripheralVectorTests {
    private struct Vector: Decodable {
        let name: String
        let hex: String
    }

    /// The bytes by name.
    static let vectors: [String: [UInt8]] = {
        guard let url = Bundle.module.url(forResource: "Vectors/ble-watch", withExtension: "json"),
            let data = try? Data(contentsOf: url),
            let list = try? JSONDecoder().decode([Vector].self, from: data)
        else { return [:] }
        return Dictionary(list.map { ($0.name, [UInt8](hexadecimal: $0.hex) ?? []) }) { first, _ in first }
    }()

    private func vector(_ name: String) throws -> [UInt8] { try #require(Self.vectors[name], "\(name)") }

    private func identity() -> WatchIdentity {
        var identity = WatchIdentity(address: .random(DeviceAddress(0xC0DE_0000_1234)))
        identity.serialNumber = "2DQ0135B3424"
        identity.firmware = .init(major: 4, minor: 9, patch: 1)
        return identity
    }

    @Test func connectionParameters() throws {
        func status(_ isLong: Bool, _ interval: UInt16, _ latency: UInt16) -> [UInt8] {
            ConnectionParametersStatus(
                supportsLongPackets: isLong,
                interval: interval,
                latency: latency,
                supervisionTimeout: 600
            ).encoded
        }
        #expect(status(false, 12, 0) == (try vector("pps_connparams_notify_15ms")))
        #expect(status(true, 24, 3) == (try vector("pps_connparams_notify_ple_30ms")))

        func command(_ name: String) throws -> ConnectionParametersCommand {
            try ConnectionParametersCommand(try vector(name)[...])
        }
        func set(_ shortest: UInt16, _ longest: UInt16, _ latency: UInt16) -> ConnectionParametersCommand.ParameterSet {
            .init(intervalMinimum: shortest, intervalMaximum: longest, latency: latency, supervisionTimeout: 600)
        }
        #expect(try command("pps_connparams_write_remote_managed") == .manage(byPhone: true, nil))
        let sets = ConnectionParametersCommand.ParameterSets(
            slow: set(135, 161, 4),
            middle: set(135, 161, 2),
            fast: set(9, 17, 0)
        )
        #expect(try command("pps_connparams_write_sets") == .manage(byPhone: false, sets))
        #expect(try command("pps_connparams_write_fast") == .need(responseTime: 2))
        #expect(try command("pps_connparams_write_slow") == .need(responseTime: 0))
        #expect(try command("pps_connparams_write_ple") == .lengthenPackets(true))
        #expect(try command("pps_connparams_write_nosleep") == .stayAwake)
    }

    /// Each refusal has the code of the firmware.
    @Test(
        arguments: [
            ("", 0x0D), ("00", 0x0D), ("000006", 0x0D), ("0400", 0x80), ("0103", 0x81),
            ("0000 0500 00 00 c8 1800 00 00 c8 1800 00 00 c8", 0x82),
            ("0000 810c 00 00 c8 1800 00 00 c8 1800 00 00 c8", 0x83),
            ("0000 800c 01 00 c8 1800 00 00 c8 1800 00 00 c8", 0x84),
            ("0000 1800 00 00 03 1800 00 00 c8 1800 00 00 c8", 0x85),
            ("0000 1800 00 00 c8 1800 00 00 c8 1800 00 00", 0x0D),
        ] as [(String, UInt8)]
    )
    func connectionParametersRefused(_ hexadecimal: String, _ code: UInt8) throws {
        let value = try #require([UInt8](hexadecimal: hexadecimal))
        let refusal = try #require(ConnectionParametersCommand.Refusal(rawValue: code))
        #expect(throws: refusal) {
            try ConnectionParametersCommand(value[...])
        }
    }

    @Test func theNameFollowsFromTheAddress() {
        #expect(identity().name == "Pebble 1234")
    }

    @Test func discoveryAdvertisement() throws {
        let advertisement = Advertisement(for: .discovery, of: identity(), by: .pebble)
        #expect(advertisement.data.bytes == (try vector("adv_discovery_pebbleos")))
        #expect(advertisement.scanResponse.bytes == (try vector("scanrsp_pebbleos_asterix")))
    }

    @Test func scanResponsesOfOtherModels() throws {
        var obelix = identity()
        obelix.hardware = .obelixPVT
        obelix.color = .time2BlackGray
        #expect(
            Advertisement(for: .discovery, of: obelix, by: .pebble).scanResponse.bytes
                == (try vector("scanrsp_pebbleos_obelix"))
        )
        var silk = identity()
        silk.company = .pebble
        silk.hardware = .silk
        silk.color = .pebble2HRBlack
        silk.firmware = .init(major: 4, minor: 3, patch: 0)
        #expect(
            Advertisement(for: .discovery, of: silk, by: .pebble).scanResponse.bytes
                == (try vector("scanrsp_google_silk"))
        )
    }

    @Test func theReconnectionAdvertisementIsEmpty() throws {
        let advertisement = Advertisement(for: .reconnection, of: identity(), by: .pebble)
        #expect(advertisement.data.bytes == (try vector("adv_reconnect_plain")))
        #expect(advertisement.scanResponse.bytes.isEmpty)
    }

    @Test func aLongNameMovesTheTransmitPowerAwayAndNothingIsTooLong() {
        var identity = identity()
        for length in 1...WatchIdentity.maximumNameLength {
            identity.name = String(repeating: "n", count: length)
            let advertisement = Advertisement(for: .discovery, of: identity, by: .pebble)
            #expect(advertisement.data.encodedCount <= 31)
            #expect(advertisement.scanResponse.encodedCount <= 31)
            #expect(advertisement.data.localName == identity.name)
            #expect(advertisement.data.serviceUUIDs16 == [0xFED9])
            let power = [advertisement.data, advertisement.scanResponse].compactMap(\.txPowerLevelDBm)
            #expect(power == [0], "\(length)")
        }
    }

    @Test(arguments: [
        ("pps_conn_unpaired_fresh", ConnectivityStatus(isBonded: false, isEncrypted: false, hasGateway: false)),
        ("pps_conn_unpaired_other_gateway", ConnectivityStatus(isBonded: false, isEncrypted: false, hasGateway: true)),
        ("pps_conn_bonded_plain", ConnectivityStatus(isBonded: true, isEncrypted: false, hasGateway: true)),
        ("pps_conn_bonded_encrypted", ConnectivityStatus(isBonded: true, isEncrypted: true, hasGateway: true)),
        ("pps_conn_encrypted_not_bonded", ConnectivityStatus(isBonded: false, isEncrypted: true, hasGateway: false)),
        (
            "pps_conn_reversed_v1",
            ConnectivityStatus(isBonded: true, isEncrypted: true, hasGateway: true, isReversedPPoGATT: true)
        ),
        (
            "pps_conn_pairing_failed_numeric",
            ConnectivityStatus(isBonded: false, isEncrypted: false, hasGateway: false, lastPairingResult: 0x0C)
        ),
    ])
    func connectivity(name: String, status: ConnectivityStatus) throws {
        let bytes = try vector(name)
        #expect(status.encoded == bytes)
        #expect(try ConnectivityStatus(decoding: bytes[...]) == status)
    }

    @Test func aShortConnectivityValueIsAnError() {
        for length in 0..<4 {
            #expect(throws: ByteDecodingError.self) {
                _ = try ConnectivityStatus(decoding: ArraySlice(repeating: 0x11, count: length))
            }
        }
    }

    /// Table 3.5: which triggers are answered with a Security Request, on a plain and on an encrypted link.
    @Test(arguments: [
        ("pps_trigger_android_pin_nosec", false, false), ("pps_trigger_android_pin_force", true, true),
        ("pps_trigger_android_pin_nosec_reversed", false, false), ("pps_trigger_ios", true, true),
        ("pps_trigger_gadgetbridge", true, false), ("pps_trigger_gadgetbridge_clientonly", true, false),
    ])
    func triggers(name: String, onPlainLink: Bool, onEncryptedLink: Bool) throws {
        let trigger = PairingTrigger(rawValue: try #require(try vector(name).first))
        #expect(trigger.wantsSecurityRequest(isEncrypted: false) == onPlainLink)
        #expect(trigger.wantsSecurityRequest(isEncrypted: true) == onEncryptedLink)
    }

    @Test func identitiesThatNoCompanionAcceptsAreRefused() {
        var identity = identity()
        identity.name = ""
        #expect(throws: WatchIdentity.Invalid.nameLength(0)) { try identity.validate() }
        identity.name = String(repeating: "x", count: 20)
        #expect(throws: WatchIdentity.Invalid.nameLength(20)) { try identity.validate() }
        identity.name = "Pebble-LE 1234"
        #expect(throws: WatchIdentity.Invalid.nameReserved("Pebble-LE 1234")) { try identity.validate() }
        identity.name = "Pebble 1234"
        identity.serialNumber = "short"
        #expect(throws: WatchIdentity.Invalid.serialNumber("short")) { try identity.validate() }
        identity.serialNumber = "2DQ0135B3424"
        #expect(throws: Never.self) { try identity.validate() }
    }
}
