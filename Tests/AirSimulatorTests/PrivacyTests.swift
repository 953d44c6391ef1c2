import AirSimulator
import Testing

/// The controller's cipher, and the private addresses made with it.
@Suite struct PrivacyTests {
    /// Key and plaintext of FIPS 197, appendix C.1, and of B, least significant octet first as at the HCI.
    @Test(arguments: [
        (
            "0f 0e 0d 0c 0b 0a 09 08 07 06 05 04 03 02 01 00", "ff ee dd cc bb aa 99 88 77 66 55 44 33 22 11 00",
            "5a c5 b4 70 80 b7 cd d8 30 04 7b 6a d8 e0 c4 69"
        ),
        (
            "3c 4f cf 09 88 15 f7 ab a6 d2 ae 28 16 15 7e 2b", "34 07 37 e0 a2 98 31 31 8d 30 5a 88 a8 f6 43 32",
            "32 0b 6a 19 97 85 11 dc fb 09 dc 02 1d 84 25 39"
        ),
    ])
    func encryptMatchesThePublishedVectors(key: String, plaintext: String, ciphertext: String) throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        #expect(rig.ask("01 17 20 20 \(key) \(plaintext)", id) == ["04 0e 14 01 17 20 00 \(ciphertext)"])
    }

    @Test func randomNumbersDiffer() throws {
        var rig = Rig()
        let one = rig.add(address: 1)
        let other = rig.add(address: 2)
        let numbers = [rig.ask("01 18 20 00", one), rig.ask("01 18 20 00", one), rig.ask("01 18 20 00", other)]
        #expect(Set(numbers.joined()).count == 3)
        #expect(numbers.joined().allSatisfy { $0.hasPrefix("04 0e 0c 01 18 20 00") })
    }

    private let phoneIRK = "01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10"
    private let watchIRK = "a1 a2 a3 a4 a5 a6 a7 a8 a9 aa ab ac ad ae af b0"

    /// Each in the other's resolving list, with address resolution on.
    private func introduce(_ rig: inout Rig, watch: ControllerID, phone: ControllerID) {
        #expect(
            rig.ask("01 27 20 27 00 02 00 00 c0 c0 c0 \(phoneIRK) \(watchIRK)", watch) == ["04 0e 04 01 27 20 00"]
        )
        #expect(
            rig.ask("01 27 20 27 00 01 00 00 c0 c0 c0 \(watchIRK) \(phoneIRK)", phone) == ["04 0e 04 01 27 20 00"]
        )
        for id in [watch, phone] { #expect(rig.ask("01 2d 20 01 01", id) == ["04 0e 04 01 2d 20 00"]) }
    }

    @Test func privateAddressesAreMadeChangedAndRecognized() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        let stranger = rig.add(address: 3)
        introduce(&rig, watch: watch, phone: phone)
        // A new private address every 60 s; advertising with own address type 2 towards the phone.
        rig.send("01 2e 20 02 3c 00", watch)
        rig.send("01 06 20 0f a0 00 a0 00 00 02 00 02 00 00 c0 c0 c0 07 00", watch)
        rig.send("01 0a 20 01 01", watch)
        AdvertisingTests.startScan(&rig, phone, duplicates: "01")
        AdvertisingTests.startScan(&rig, stranger, duplicates: "01")
        rig.run(for: .seconds(200))
        // The phone knows who it is: public identity address. It takes them all for the same device.
        #expect(rig.take(phone, "04 3e").map { hex($0.bytes[6..<13]) } == ["02 01 00 00 c0 c0 c0"])
        // The stranger sees resolvable private addresses, another one each minute.
        let seen = rig.take(stranger, "04 3e").map(\.bytes)
        #expect(seen.count == 4)
        #expect(Set(seen.map { hex($0[7..<13]) }).count == 4)
        #expect(seen.allSatisfy { $0[6] == 1 && $0[12] >> 6 == 0b01 })
        // Each is hash and random part, where the hash is AES of the random part under the watch's key.
        for address in seen.map({ Array($0[7..<13]) }) {
            let plaintext = hex(address[3...]) + String(repeating: " 00", count: 13)
            let answer = rig.ask("01 17 20 20 \(watchIRK) \(plaintext)", stranger)
            #expect(hex(bytes(answer[0])[7..<10]) == hex(address[..<3]))
        }
    }

    @Test func connectionsTellIdentitiesAndPrivateAddresses() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        introduce(&rig, watch: watch, phone: phone)
        rig.send("01 06 20 0f a0 00 a0 00 00 02 00 02 00 00 c0 c0 c0 07 02", watch)
        // The filter accept list holds identities; the watch takes connections from it only.
        rig.send("01 11 20 07 00 02 00 00 c0 c0 c0", watch)
        rig.send("01 0a 20 01 01", watch)
        // The phone connects to the watch's identity with a private address of its own.
        rig.send("01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 02 18 00 18 00 00 00 c8 00 00 00 00 00", phone)
        let atPhone = try rig.wait(for: "04 3e 1f 0a 00", from: phone).bytes
        let atWatch = try rig.wait(for: "04 3e 1f 0a 00", from: watch).bytes
        #expect(hex(atPhone[8..<15]) == "02 01 00 00 c0 c0 c0")
        #expect(hex(atWatch[8..<15]) == "02 02 00 00 c0 c0 c0")
        // Local private address of one is the peer's of the other.
        #expect(atPhone[15..<21] == atWatch[21..<27])
        #expect(atPhone[21..<27] == atWatch[15..<21])
        #expect(atPhone[20] >> 6 == 0b01 && atWatch[20] >> 6 == 0b01)
        // LE Read Local and Peer Resolvable Address.
        #expect(
            rig.ask("01 2c 20 07 00 01 00 00 c0 c0 c0", phone) == ["04 0e 0a 01 2c 20 00 \(hex(atPhone[15..<21]))"]
        )
        #expect(
            rig.ask("01 2b 20 07 00 01 00 00 c0 c0 c0", phone) == ["04 0e 0a 01 2b 20 00 \(hex(atPhone[21..<27]))"]
        )
        #expect(rig.ask("01 2b 20 07 00 09 00 00 c0 c0 c0", phone) == ["04 0e 0a 01 2b 20 02 00 00 00 00 00 00"])
    }

    @Test func inNetworkPrivacyModeIdentityAddressesAreIgnored() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        introduce(&rig, watch: watch, phone: phone)
        // The watch shows its identity address, which a private device should not.
        AdvertisingTests.startLegacy(&rig, watch, slots: 160)
        AdvertisingTests.startScan(&rig, phone, duplicates: "01")
        rig.run(for: .seconds(1))
        #expect(rig.take(phone, "04 3e").isEmpty)
        rig.send("01 0c 20 02 00 00", phone)
        // LE Set Privacy Mode: device privacy.
        #expect(rig.ask("01 4e 20 08 00 01 00 00 c0 c0 c0 01", phone) == ["04 0e 04 01 4e 20 00"])
        rig.send("01 0c 20 02 01 01", phone)
        rig.run(for: .seconds(1))
        #expect(rig.take(phone, "04 3e").map { hex($0.bytes[6..<13]) } == ["00 01 00 00 c0 c0 c0"])
    }
}
