import ByteCoding
import PebbleProtocol
import Testing

@Suite("Golden PPoGATT packets and meta values")
struct PPoGATTVectorTests {
    static let serial = "2DQ0135B3424"
    static let fragment = hex("0011223344556677")
    static let companionApp = PebbleUUID(upperHalf: 0xA483_2A0E_7454_4532, lowerHalf: 0xB2A2_4E6F_8F7B_686F)

    private static func number(_ number: Int) -> PPoGATTSequenceNumber { PPoGATTSequenceNumber(truncating: number) }

    static let packets: [String: PPoGATTPacket] = [
        "ppog_reset_request_v0": .resetRequest(PPoGATTResetRequest(version: .v0, serialNumber: serial)),
        "ppog_reset_request_v1": .resetRequest(PPoGATTResetRequest(version: .v1, serialNumber: serial)),
        "ppog_reset_request_bare": .resetRequest(PPoGATTResetRequest(payload: [])),
        "ppog_reset_request_libpebble3": .resetRequest(PPoGATTResetRequest(version: .v1)),
        "ppog_reset_complete_v0": .resetComplete(nil),
        "ppog_reset_complete_v1_phone": .resetComplete(PPoGATTWindows(receive: 25, transmit: 25)),
        "ppog_reset_complete_v1_pebbleos": .resetComplete(PPoGATTWindows(receive: 17, transmit: 4)),
        "ppog_reset_complete_v1_da1468x": .resetComplete(PPoGATTWindows(receive: 13, transmit: 4)),
        "ppog_reset_complete_v1_google158": .resetComplete(PPoGATTWindows(receive: 29, transmit: 4)),
        "ppog_reset_complete_v1_pebbleos_small_mtu": .resetComplete(PPoGATTWindows(receive: 17, transmit: 31)),
        "ppog_reset_complete_libpebble3_test": .resetComplete(PPoGATTWindows(receive: 19, transmit: 20)),
        "ppog_data_sn0": .data(number(0), fragment[...]),
        "ppog_data_sn1": .data(number(1), fragment[...]),
        "ppog_data_sn2": .data(number(2), fragment[...]),
        "ppog_data_sn3": .data(number(3), fragment[...]),
        "ppog_data_sn31": .data(number(31), fragment[...]),
        "ppog_ack_sn0": .acknowledgement(number(0)),
        "ppog_ack_sn1": .acknowledgement(number(1)),
        "ppog_ack_sn2": .acknowledgement(number(2)),
        "ppog_ack_sn3": .acknowledgement(number(3)),
        "ppog_ack_sn31": .acknowledgement(number(31)),
        "ppog_ack_out_of_range": .acknowledgement(number(16)),
    ]

    static let invalidPackets: [String: ByteDecodingError] = [
        "ppog_invalid_type": ByteDecodingError("ppogatt.type", .invalidValue(4)),
        "ppog_zero_length": ByteDecodingError("ppogatt.header", .truncated(needed: 1, available: 0)),
    ]

    struct ExpectedMeta: Sendable {
        let meta: PPoGATTMeta
        let version: PPoGATTVersion
        let kind: SessionKind
    }

    static let metas: [String: ExpectedMeta] = [
        "meta_v0_system_ppog0": ExpectedMeta(
            meta: PPoGATTMeta(minimumVersion: 0, maximumVersion: 0, application: .system, sessionType: nil),
            version: .v0,
            kind: .system
        ),
        "meta_v0_system_ppog1": ExpectedMeta(
            meta: PPoGATTMeta(minimumVersion: 0, maximumVersion: 1, application: .system, sessionType: nil),
            version: .v1,
            kind: .system
        ),
        "meta_v0_app_ppog0": ExpectedMeta(
            meta: PPoGATTMeta(minimumVersion: 0, maximumVersion: 0, application: companionApp, sessionType: nil),
            version: .v0,
            kind: .app
        ),
        "meta_v1_hybrid": ExpectedMeta(
            meta: PPoGATTMeta(minimumVersion: 0, maximumVersion: 0, application: .system, sessionType: .hybrid),
            version: .v0,
            kind: .hybrid
        ),
        "meta_v1_system_inferred": ExpectedMeta(
            meta: PPoGATTMeta(
                minimumVersion: 0,
                maximumVersion: 0,
                application: .system,
                sessionType: .inferredFromUUID
            ),
            version: .v0,
            kind: .system
        ),
        "meta_v1_app_inferred": ExpectedMeta(
            meta: PPoGATTMeta(
                minimumVersion: 0,
                maximumVersion: 0,
                application: companionApp,
                sessionType: .inferredFromUUID
            ),
            version: .v0,
            kind: .app
        ),
        "meta_phone_android": ExpectedMeta(
            meta: PPoGATTMeta(application: .system, sessionType: .hybrid),
            version: .v1,
            kind: .hybrid
        ),
        "meta_phone_ios": ExpectedMeta(
            meta: PPoGATTMeta(application: .system, sessionType: .inferredFromUUID),
            version: .v1,
            kind: .system
        ),
        "meta_emulated_da1468x": ExpectedMeta(
            meta: PPoGATTMeta(minimumVersion: 1, maximumVersion: 1, application: .system, sessionType: .hybrid),
            version: .v1,
            kind: .hybrid
        ),
    ]

    static let rejectedMetas: [String: PPoGATTMetaRejection] = [
        "meta_reject_too_short": .tooShort(17),
        "meta_reject_version": .unsupportedVersion(0xAA),
        "meta_reject_invalid_uuid": .invalidUUID,
    ]

    @Test("Every PPoGATT and meta vector is covered")
    func nothingIsMissing() {
        let covered =
            Set(Self.packets.keys).union(Self.invalidPackets.keys).union(Self.metas.keys)
            .union(Self.rejectedMetas.keys)
        let vectors = GoldenVector.bleWatch.map(\.name).filter { $0.hasPrefix("ppog_") || $0.hasPrefix("meta_") }
        #expect(covered == Set(vectors))
        #expect(vectors.count == 36)
    }

    @Test("Packets decode and encode")
    func packetVectors() throws {
        for vector in GoldenVector.bleWatch {
            if let expected = Self.packets[vector.name] {
                #expect(try PPoGATTPacket(vector.bytes[...]) == expected, "\(vector.name)")
                var encoded: [UInt8] = []
                expected.encode(to: &encoded)
                #expect(encoded == vector.bytes, "\(vector.name)")
            }
            if let error = Self.invalidPackets[vector.name] {
                #expect(throws: error, "\(vector.name)") { try PPoGATTPacket(vector.bytes[...]) }
            }
        }
    }

    @Test("Meta values decode and encode, and are judged as a watch judges them")
    func metaVectors() throws {
        for vector in GoldenVector.bleWatch {
            if let expected = Self.metas[vector.name] {
                let meta = try PPoGATTMeta(vector.bytes[...])
                #expect(meta == expected.meta, "\(vector.name)")
                #expect(meta.version == expected.version, "\(vector.name)")
                #expect(
                    meta.destination
                        == PPoGATTDestination(kind: expected.kind, application: expected.meta.application),
                    "\(vector.name)"
                )
                var encoded: [UInt8] = []
                expected.meta.encode(to: &encoded)
                #expect(encoded == vector.bytes, "\(vector.name)")
            }
            if let rejection = Self.rejectedMetas[vector.name] {
                #expect(throws: rejection, "\(vector.name)") { try PPoGATTMeta(vector.bytes[...]) }
            }
        }
    }

    @Test("Meta values without a vector")
    func otherMetas() throws {
        let hybrid = hex("0001 00000000000000000000000000000000 01")
        #expect(throws: PPoGATTMetaRejection.unsupportedSessionType(2)) {
            try PPoGATTMeta(hybrid.dropLast() + [2])
        }
        // More bytes than are known, and versions to come.
        #expect(try PPoGATTMeta(hybrid[...] + [0xFF]).sessionType == .hybrid)
        #expect(try PPoGATTMeta([1, 9] + hybrid.dropFirst(2)).version == .v1)
        #expect(throws: PPoGATTMetaRejection.unsupportedVersion(2)) { try PPoGATTMeta([2, 9] + hybrid.dropFirst(2)) }
        #expect(throws: PPoGATTMetaRejection.tooShort(0)) { try PPoGATTMeta([]) }
        // Recovery firmware.
        var companion: [UInt8] = []
        PPoGATTMeta(application: Self.companionApp, sessionType: nil).encode(to: &companion)
        #expect(try PPoGATTMeta(companion[...]).application == Self.companionApp)
        #expect(throws: PPoGATTMetaRejection.notTheSystemApp(Self.companionApp)) {
            try PPoGATTMeta(companion[...], inRecoveryFirmware: true)
        }
        #expect(try PPoGATTMeta(hybrid[...], inRecoveryFirmware: true).destination.kind == .hybrid)
    }

    @Test("Reset Requests say who asks")
    func resetRequests() {
        let watch = PPoGATTResetRequest(payload: hex("01 324451303133354233343234")[...])
        #expect(watch.version == .v1)
        #expect(watch.serialNumber == Self.serial)
        #expect(PPoGATTResetRequest(payload: []).version == nil)
        #expect(PPoGATTResetRequest(payload: [7]).version == nil)
        #expect(PPoGATTResetRequest(payload: [1]).serialNumber == nil)
    }

    @Test("Sequence numbers count modulo 32")
    func sequenceNumbers() {
        for first in 0..<32 {
            for count in 0..<32 {
                let number = PPoGATTSequenceNumber(truncating: first)
                #expect(number.advanced(by: count).rawValue == UInt8((first + count) % 32))
                #expect(number.distance(to: number.advanced(by: count)) == count)
                #expect(number.advanced(by: -count).advanced(by: count) == number)
            }
        }
        #expect(PPoGATTSequenceNumber(truncating: 31).next == .zero)
        #expect(PPoGATTSequenceNumber.zero.previous.rawValue == 31)
    }
}
