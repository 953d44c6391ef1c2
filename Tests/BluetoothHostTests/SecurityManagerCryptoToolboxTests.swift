import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// The Core Specification's sample data, typed in as printed there: most significant octet first.
@Suite("Security Manager cryptographic toolbox")
struct SecurityManagerCryptoToolboxTests {
    private let toolbox = CryptoToolbox(.swiftCrypto)

    // MARK: AES

    @Test("e: FIPS-197 appendix C.1")
    func blockCipher() throws {
        let result = try toolbox.e(
            key: try number("000102030405060708090a0b0c0d0e0f"),
            try number("00112233445566778899aabbccddeeff")
        )
        #expect(result == (try number("69c4e0d86a7b0430d8cdb78070b4c55a")))
    }

    @Test("e: session key of Core Vol 6, Part C, 1")
    func sessionKey() throws {
        let result = try toolbox.e(
            key: try number("4c68384139f574d836bcf34e9dfb01bf"),
            try number("0213243546576879acbdcedfe0f10213")
        )
        #expect(result == (try number("99ad1b5226a37e3e058e3b8e27c2c666")))
    }

    @Test(
        "AES-CMAC: RFC 4493, as in Core Vol 3, Part H, D.1",
        arguments: [
            (0, "bb1d6929e95937287fa37d129b756746"),
            (16, "070a16b46b4d4144f79bdd9dd04a287c"),
            (40, "dfa66747de9ae63030ca32611497c827"),
            (64, "51f0bebf7e3b9d92fc49741779363cfe"),
        ]
    )
    func cmac(length: Int, expected: String) throws {
        let message = try #require(
            [UInt8](
                hexadecimal: """
                    6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710
                    """
            )
        )
        let key = try number("2b7e151628aed2a6abf7158809cf4f3c")
        #expect(try toolbox.aesCMAC(key: key, Array(message.prefix(length))) == (try number(expected)))
    }

    // MARK: LE legacy pairing (Core Vol 3, Part H, 2.2.3 and 2.2.4)

    @Test("c1")
    func confirmValue() throws {
        let confirm = try toolbox.c1(
            TemporaryKey(0),
            random: try number("5783D52156AD6F0E6388274EC6702EE0"),
            request: 0x07_0710_0000_0101,
            response: 0x05_0008_0000_0302,
            initiator: .random(DeviceAddress(0xA1A2_A3A4_A5A6)),
            responder: .public(DeviceAddress(0xB1B2_B3B4_B5B6))
        )
        #expect(confirm == (try number("1e1e3fef878988ead2a74dc5bef13b86")))
    }

    @Test("s1")
    func shortTermKey() throws {
        let key = try toolbox.s1(
            TemporaryKey(0),
            responderRandom: try number("000F0E0D0C0B0A091122334455667788"),
            initiatorRandom: try number("010203040506070899AABBCCDDEEFF00")
        )
        #expect(key.value == (try number("9a1fe1f0e8b0f49b5b4216ae796da062")))
    }

    // MARK: LE Secure Connections (Core Vol 3, Part H, D.2 to D.8)

    private let u = "20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6"
    private let v = "55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd"
    private let n1 = "d5cb8454d177733effffb2ec712baeab"
    private let n2 = "a6e8e7cc25a75f6e216583f7ff3dc4cf"
    private let w = "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698"
    private let macKey = "2965f176a1084a02fd3f6a20ce636e20"
    private let a1 = LEAddress.public(DeviceAddress(0x5612_3737_BFCE))
    private let a2 = LEAddress.public(DeviceAddress(0xA713_702D_CFC1))

    @Test("f4: D.2")
    func f4() throws {
        let confirm = try toolbox.f4(try wide(u), try wide(v), try number(n1), 0)
        #expect(confirm == (try number("f2c916f107a9bd1cf1eda1bea974872d")))
    }

    @Test("f5: D.3")
    func f5() throws {
        let keys = try toolbox.f5(
            DHKey(value: try wide(w)),
            try number(n1),
            try number(n2),
            initiator: a1,
            responder: a2
        )
        #expect(keys.longTermKey.value == (try number("6986791169d7cd23980522b594750a38")))
        #expect(keys.macKey.value == (try number(macKey)))
    }

    @Test("f5 and f6 take the type of an address that a controller resolved")
    func identityTypesCount() throws {
        let key = DHKey(value: try wide(w))
        let resolved = LEAddress(type: .publicIdentity, address: a1.address)
        let random = LEAddress(type: .random, address: a1.address)
        func longTermKey(_ address: LEAddress) throws -> LongTermKey {
            try toolbox.f5(key, try number(n1), try number(n2), initiator: address, responder: a2).longTermKey
        }
        #expect(try longTermKey(resolved) == longTermKey(a1))
        #expect(try longTermKey(random) != longTermKey(a1))
    }

    @Test("f6: D.4")
    func f6() throws {
        let check = try toolbox.f6(
            MacKey(try number(macKey)),
            try number(n1),
            try number(n2),
            try number("12a3343bb453bb5408da42d20c2d0fc8"),
            features: 0x01_01_02,
            sender: a1,
            receiver: a2
        )
        #expect(check == (try number("e3c473989cd0e8c5d26c0b09da958f61")))
    }

    @Test("g2: D.5")
    func g2() throws {
        let value = try toolbox.g2(try wide(u), try wide(v), try number(n1), try number(n2))
        #expect(value == 0x2F9E_D5BA)
    }

    @Test("h6: D.6")
    func h6() throws {
        let key = try toolbox.h6(try number("ec0234a357c8ad05341010a60a397d9b"), keyID: 0x6C65_6272)
        #expect(key == (try number("2d9ae102e76dc91ce8d3a9e280b16399")))
    }

    @Test("ah: D.7")
    func addressHash() throws {
        let key = IdentityResolvingKey(try number("ec0234a357c8ad05341010a60a397d9b"))
        #expect(try toolbox.ah(key, prand: 0x708194) == 0x0DFBAA)
    }

    @Test("h7: D.8")
    func h7() throws {
        let key = try toolbox.h7(
            salt: try number("000000000000000000000000746d7031"),
            try number("ec0234a357c8ad05341010a60a397d9b")
        )
        #expect(key == (try number("fb173597c6a3c0ecd2998c2a75a57011")))
    }

    // MARK: P-256 (Core Vol 2, Part G, 7.1.2)

    struct KeyAgreement: Sendable {
        let privateA, privateB, xA, yA, xB, yB, shared: String
    }

    static let samples = [
        KeyAgreement(
            privateA: "3f49f6d4a3c55f3874c9b3e3d2103f504aff607beb40b7995899b8a6cd3c1abd",
            privateB: "55188b3d32f6bb9a900afcfbeed4e72a59cb9ac2f19d7cfb6b4fdd49f47fc5fd",
            xA: "20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6",
            yA: "dc809c49652aeb6d63329abf5a52155c766345c28fed3024741c8ed01589d28b",
            xB: "1ea1f0f01faf1d9609592284f19e4c0047b58afd8615a69f559077b22faaa190",
            yB: "4c55f33e429dad377356703a9ab85160472d1130e28e36765f89aff915b1214a",
            shared: "ec0234a357c8ad05341010a60a397d9b99796b13b4f866f1868d34f373bfa698"
        ),
        KeyAgreement(
            privateA: "06a516693c9aa31a6084545d0c5db641b48572b97203ddffb7ac73f7d0457663",
            privateB: "529aa0670d72cd6497502ed473502b037e8803b5c60829a5a3caa219505530ba",
            xA: "2c31a47b5779809ef44cb5eaaf5c3e43d5f8faad4a8794cb987e9b03745c78dd",
            yA: "919512183898dfbecd52e2408e43871fd021109117bd3ed4eaf8437743715d4f",
            xB: "f465e43ff23d3f1b9dc7dfc04da8758184dbc966204796eccf0d6cf5e16500cc",
            yB: "0201d048bcbbd899eeefc424164e33c201c2b010ca6b4d43a8a155cad8ecb279",
            shared: "ab85843a2f6d883f62e5684b38e307335fe6e1945ecd19604105c6f23221eb69"
        ),
    ]

    @Test("P-256 key agreement", arguments: samples)
    func keyAgreement(sample: KeyAgreement) throws {
        let a = try #require(P256KeyPair(privateKey: wide(sample.privateA), toolbox))
        let b = try #require(P256KeyPair(privateKey: wide(sample.privateB), toolbox))
        #expect(a.publicKey == P256PublicKey(x: try wide(sample.xA), y: try wide(sample.yA)))
        #expect(b.publicKey == P256PublicKey(x: try wide(sample.xB), y: try wide(sample.yB)))
        #expect(a.sharedKey(with: b.publicKey, toolbox)?.value == (try wide(sample.shared)))
        #expect(b.sharedKey(with: a.publicKey, toolbox)?.value == (try wide(sample.shared)))
    }

    @Test("The debug key pair is the one that is printed in the Core")
    func debugKey() throws {
        let pair = try #require(P256KeyPair.debug(toolbox))
        #expect(pair.publicKey.x == (try wide(Self.samples[0].xA)))
        #expect(pair.publicKey.x == P256KeyPair.debugPublicKeyX)
    }

    @Test("Points that are not on the curve are refused")
    func invalidPoints() throws {
        let pair = try #require(P256KeyPair(privateKey: wide(Self.samples[0].privateB), toolbox))
        let good = P256PublicKey(x: try wide(Self.samples[0].xA), y: try wide(Self.samples[0].yA))
        let zero = UInt256(high: 0, low: 0)
        let all = UInt256(high: .max, low: .max)
        // p, x + p and the like are the same number modulo the prime, and no valid coordinate.
        let prime = try wide("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")
        #expect(pair.sharedKey(with: good, toolbox) != nil)
        let besides = P256PublicKey(x: good.x, y: UInt256(high: good.y.high, low: good.y.low ^ 1))
        #expect(pair.sharedKey(with: besides, toolbox) == nil)
        // The invalid-curve attack of CVE-2018-5383 sets y to zero.
        #expect(pair.sharedKey(with: P256PublicKey(x: good.x, y: zero), toolbox) == nil)
        #expect(pair.sharedKey(with: P256PublicKey(x: zero, y: zero), toolbox) == nil)
        #expect(pair.sharedKey(with: P256PublicKey(x: all, y: all), toolbox) == nil)
        #expect(pair.sharedKey(with: P256PublicKey(x: prime, y: good.y), toolbox) == nil)
        #expect(pair.sharedKey(with: P256PublicKey(x: good.y, y: good.x), toolbox) == nil)
    }

    @Test("Numbers outside the range of private keys are refused")
    func invalidPrivateKeys() throws {
        let order = try wide("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        #expect(P256KeyPair(privateKey: UInt256(high: 0, low: 0), toolbox) == nil)
        #expect(P256KeyPair(privateKey: order, toolbox) == nil)
        #expect(P256KeyPair(privateKey: UInt256(high: order.high, low: order.low - 1), toolbox) != nil)
        var broken = RandomSource { _ in 0 }
        #expect(P256KeyPair(from: &broken, toolbox) == nil)
    }

    // MARK: Keys

    @Test("A shortened key keeps its least significant octets (Core Vol 3, Part H, 2.3.4)")
    func masking() throws {
        let key = LongTermKey(0x1234_5678_9ABC_DEF0_1234_5678_9ABC_DEF0)
        #expect(key.masked(to: .minimum).value == 0x0034_5678_9ABC_DEF0)
        #expect(key.masked(to: .maximum) == key)
    }

    @Test("A key is sent least significant octet first")
    func keyBytes() throws {
        var bytes: [UInt8] = []
        LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10).encode(to: &bytes)
        #expect(bytes.hexadecimal == "100f0e0d0c0b0a090807060504030201")
        var reader = ByteReader(bytes)
        #expect(try LongTermKey(reading: &reader, "key").value == 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)
    }

    @Test("Nothing prints a secret")
    func redaction() throws {
        let value: UInt128 = 0xDEAD_BEEF_DEAD_BEEF_DEAD_BEEF_DEAD_BEEF
        struct Holder { let key: LongTermKey }
        let keyPair = try #require(P256KeyPair(privateKey: UInt256(high: value >> 1, low: value), toolbox))
        let keys: [any Secret] = [
            LongTermKey(value), IdentityResolvingKey(value), ConnectionSignatureResolvingKey(value),
            TemporaryKey(value), MacKey(value), DHKey(value: UInt256(high: value, low: value)), keyPair,
        ]
        for key in keys {
            var dumped = ""
            dump(key, to: &dumped)
            dump(["key": key], to: &dumped)
            for text in ["\(key)", String(reflecting: key), dumped, "\(String(describing: Optional(key)))"] {
                #expect(!text.lowercased().contains("deadbeef") && !text.contains("\(value)"), "\(type(of: key))")
                #expect(text.contains("<redacted>"))
            }
        }
        var dumped = ""
        dump(Holder(key: LongTermKey(value)), to: &dumped)
        #expect(!dumped.contains("\(value)"))
        #expect(!"\(Holder(key: LongTermKey(value)))".contains("\(value)"))
    }

    // MARK: Helpers

    private func number(_ text: String) throws -> UInt128 {
        try #require(UInt128(text, radix: 16))
    }

    private func wide(_ text: String) throws -> UInt256 {
        try #require(text.count == 64)
        return UInt256(high: try number(String(text.prefix(32))), low: try number(String(text.suffix(32))))
    }
}
