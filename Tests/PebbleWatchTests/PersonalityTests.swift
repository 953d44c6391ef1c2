import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@testable import BluetoothHost
import BluetoothPeripheral
@testable import PebbleWatch

/// Each personality's whole database and advertisement, held against what watch-over-BLE says of that model
/// (sections 1.2, 1.3, 3.1 to 3.3, 3.8, 3.9 and 10.1). The texts are written by hand from there.
@Suite struct PersonalityTests {
    private static let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))

    private func configuration(_ personality: Personality) -> WatchConfiguration {
        var identity = WatchIdentity(address: Self.address, personality: personality)
        identity.serialNumber = "2DQ0135B3424"
        return WatchConfiguration(identity: identity, personality: personality)
    }

    /// One line an attribute: handle, type, and for a value what can be done with it and what it says.
    private func database(of personality: Personality) throws -> String {
        let services = ServiceRouter(WatchProfiles(configuration(personality))).declarations
        let database = try GATTDatabase(services, serviceOrder: WatchProfiles.serviceOrder)
        var properties = CharacteristicProperties()
        var lines: [String] = []
        for attribute in database.attributes(in: .all) {
            let stored = database.storedValue(of: attribute) ?? []
            switch attribute.type {
            case .primaryService:
                lines.append("\(attribute.handle) service \(name(stored))")
            case .characteristic:
                properties = CharacteristicProperties(rawValue: UInt16(stored.first ?? 0))
            case .clientCharacteristicConfiguration:
                lines.append("\(attribute.handle)   CCCD")
            default:
                let letters: [(CharacteristicProperties, String)] = [
                    (.read, "R"), (.write, "W"), (.writeWithoutResponse, "C"), (.notify, "N"), (.indicate, "I"),
                ]
                let allowed = letters.filter { properties.contains($0.0) }.map(\.1).joined()
                var line = "\(attribute.handle)   \(name(Array(attribute.type))) \(allowed)"
                if attribute.read == .encrypted || attribute.write == .encrypted { line += " encrypted" }
                if case .stored = attribute.content, properties.contains(.read) { line += " \(text(stored))" }
                lines.append(line)
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A UUID as its value has it: 16 bits as they are, 128 of the Pebble family by the first 32.
    private func name(_ bytes: [UInt8]) -> String {
        bytes.count == 16 ? bytes.suffix(4).reversed().hexadecimal : bytes.reversed().hexadecimal
    }

    private func text(_ bytes: [UInt8]) -> String {
        guard bytes.count > 2, bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return "[\(bytes.hexadecimal)]" }
        return "\"\(String(decoding: bytes, as: UTF8.self))\""
    }

    private func advertisement(of personality: Personality) -> String {
        let advertisement = Advertisement(
            for: .discovery,
            of: configuration(personality).identity,
            by: personality.advertising
        )
        return """
            data     \(advertisement.data.bytes.hexadecimal)
            response \(advertisement.scanResponse.bytes.hexadecimal)

            """
    }

    @Test func core() throws {
        #expect(
            try database(of: .core) == """
                0x0001 service 1800
                0x0003   2a00 R "Pebble 1234"
                0x0005   2a01 R [0000]
                0x0006 service 1801
                0x0008   2a05 I
                0x0009   CCCD
                0x000B   2b3a R [00]
                0x000D   2b29 RW
                0x000E service 180a
                0x0010   2a24 R "asterix"
                0x0012   2a25 R "2DQ0135B3424"
                0x0014   2a27 R []
                0x0016   2a26 R "v4.9.100"
                0x0018   2a28 R " 5.106"
                0x001A   2a29 R "Core Devices LLC"
                0x001C   2a23 R []
                0x001D service fed9
                0x001F   00000001 RN
                0x0020   CCCD
                0x0022   00000002 RW
                0x0023 service 180f
                0x0025   2a19 RN [64]
                0x0026   CCCD
                0x0027 service 40000000
                0x0029   40000001 N
                0x002A   CCCD
                0x002C   40000003 C encrypted

                """
        )
        #expect(
            advertisement(of: .core) == """
                data     0201060303d9fe0c09506562626c652031323334020a00
                response 16ffea0e003244513031333542333432340f2204096400

                """
        )
    }

    @Test func silk() throws {
        // The handles are those of the table in section 3.2, without the heart rate service, which is off.
        #expect(
            try database(of: .silk) == """
                0x0001 service 1800
                0x0003   2a00 R "Pebble 1234"
                0x0005   2a01 R [c000]
                0x0007   2a04 R [0600180004005802]
                0x0008 service 1801
                0x000A   2a05 I
                0x000B   CCCD
                0x000C service 180a
                0x000E   2a29 R "Pebble Technology"
                0x0010   2a24 R "silk"
                0x0012   2a25 R "2DQ0135B3424"
                0x0014   2a26 R "v4.3.0"
                0x0016   2a28 R " 5.106"
                0x0017 service fed9
                0x0019   00000001 RN
                0x001A   CCCD
                0x001C   00000002 RW
                0x001E   00000003 RWN
                0x001F   CCCD
                0x0021   00000005 RWN
                0x0022   CCCD
                0xE000 service 30000003
                0xE002   30000004 CN
                0xE003   CCCD
                0xE005   30000005 R [aa]
                0xE007   30000006 C

                """
        )
        #expect(
            advertisement(of: .silk) == """
                data     0201020303d9fe0c09506562626c652031323334020a00
                response 16ff5401003244513031333542333432340e1904030000

                """
        )
    }

    @Test func snowy() throws {
        #expect(
            try database(of: .snowy) == """
                0x0001 service 1800
                0x0003   2a00 R "Pebble Time 1234"
                0x0005   2a01 R [c000]
                0x0007   2a04 R [0600180004005802]
                0x0008 service 1801
                0x000A   2a05 I
                0x000B   CCCD
                0x000C service 180a
                0x000E   2a29 R "Pebble Technology"
                0x0010   2a24 R "snowy_s3"
                0x0012   2a25 R "2DQ0135B3424"
                0x0014   2a26 R "v4.3.0"
                0x0016   2a28 R " 5.106"
                0x0017 service fed9
                0x0019   00000001 RN
                0x001A   CCCD
                0x001C   00000002 RW
                0x001E   00000003 RWN
                0x001F   CCCD

                """
        )
        #expect(
            advertisement(of: .snowy) == """
                data     0201020303d9fe1109506562626c652054696d652031323334020a00
                response 16ff5401003244513031333542333432340a0c04030000

                """
        )
    }

    @Test func universal() throws {
        // The Database Hash is computed when everything else is in place.
        #expect(
            try database(of: .universal) == """
                0x0001 service 1800
                0x0003   2a00 R "Pebble 1234"
                0x0005   2a01 R [0000]
                0x0006 service 1801
                0x0008   2a05 I
                0x0009   CCCD
                0x000B   2b29 RW
                0x000D   2b2a R []
                0x000E service 180a
                0x0010   2a24 R "asterix"
                0x0012   2a25 R "2DQ0135B3424"
                0x0014   2a26 R "v4.9.100"
                0x0016   2a28 R " 5.106"
                0x0018   2a29 R "Core Devices LLC"
                0x0019 service fed9
                0x001B   00000001 RN
                0x001C   CCCD
                0x001E   00000002 RW
                0x0020   00000003 RWN
                0x0021   CCCD
                0x0023   00000005 RWN
                0x0024   CCCD
                0x0025 service 180f
                0x0027   2a19 RN [64]
                0x0028   CCCD
                0x0029 service 40000000
                0x002B   40000001 N
                0x002C   CCCD
                0x002E   40000003 C encrypted
                0x002F service 50000000
                0x0031   abdd3056 R encrypted [0000]

                """
        )
        #expect(
            advertisement(of: .universal) == """
                data     0201060303d9fe0c09506562626c652031323334020a00
                response 16ffea0e003244513031333542333432340f2204096400

                """
        )
    }

    /// The models that differ from another in who they are only: sections 1.3 to 1.5.
    @Test func modelsOfTheSameGeneration() throws {
        // Hardware, colour and version are bytes 15 to 19 of the scan response's value.
        let expected: [(Personality, like: Personality, board: String, response: String)] = [
            (.emery, .core, "obelix", "16ffea0e003244513031333542333432341224" + "04096400"),
            (.gabbro, .core, "getafix", "16ffea0e003244513031333542333432341428" + "04096400"),
            (.chalk, .snowy, "spalding", "16ff5401003244513031333542333432340b14" + "04030000"),
            (.aplite, .snowy, "v1_5", "16ff5401003244513031333542333432340501" + "030c0300"),
        ]
        for (model, like, board, response) in expected {
            #expect(model.generation == like.name && like.generation == like.name)
            let lines = try database(of: model).split(separator: "\n")
            let known = try database(of: like).split(separator: "\n")
            #expect(lines.count == known.count)
            for (line, known) in zip(lines, known) where line != known {
                let allowed = ["2a00 R \"Pebble 1234\"", "2a24 R \"\(board)\"", "2a26 R \"v3.12.3\""]
                #expect(allowed.contains { line.hasSuffix($0) }, "\(model.name): \(line)")
            }
            #expect(lines.contains { $0.hasSuffix("2a24 R \"\(board)\"") })
            let said = advertisement(of: model).split(separator: "\n")
            #expect(said.last == "response \(response)", "\(model.name)")
            let data = advertisement(of: model.name == "aplite" ? .silk : like).split(separator: "\n")
            #expect(said.first == data.first, "\(model.name)")
        }
    }

    /// Each kind of app has a model that runs it, whose colour is one of those of section 1.4; people name it by the kind too.
    @Test func everyKindOfAppHasAModel() {
        let colors: [AppPlatform: ClosedRange<UInt32>] = [
            .aplite: 1...10, .basalt: 11...16, .chalk: 17...23, .diorite: 24...30, .emery: 36...39, .flint: 34...35,
            .gabbro: 40...43,
        ]
        for platform in AppPlatform.allCases {
            let model = Personality(of: platform)
            #expect(model.hardware.appPlatform == platform)
            #expect(colors[platform]?.contains(model.color.rawValue) == true)
            #expect(([model.name] + model.otherNames).contains(platform.rawValue))
            #expect(Personality.all.contains { $0.name == model.name })
            #expect(model.boardName.utf8.count <= 9)
        }
        let names = Personality.all.flatMap { [$0.name] + $0.otherNames }
        #expect(Set(names).count == names.count)
    }

    /// Section 2.4 and 4.5: the largest MTU, and the receive windows that follow from it.
    @Test(arguments: [("core", 256, 17), ("silk", 339, 13), ("snowy", 158, 29)])
    func sizes(name: String, mtu: Int, window: Int) throws {
        let personality = try #require(Personality.all.first { $0.name == name })
        #expect(personality.maximumMTU == mtu)
        #expect(4500 / (personality.windowMTU - 3) == window)
    }

    /// Which clients each personality serves: sections 5.2 (the scan filter), 5.4 and 5.6, and the services of section 3.8.
    @Test func promises() {
        let promised = Dictionary(
            uniqueKeysWithValues: Personality.all.map { personality in
                (personality.name, CompanionClient.allCases.filter { personality.support(for: $0).isPromised })
            }
        )
        let forward: [CompanionClient] = [
            .libPebble3Android, .libPebble3AndroidForward, .libPebble3AndroidLegacy, .libPebble3IOS, .gadgetbridge,
            .pebbleKitIOS,
        ]
        #expect(promised["universal"] == forward)
        #expect(promised["core"] == forward)
        #expect(promised["silk"] == CompanionClient.allCases)
        #expect(promised["snowy"] == [.libPebble3IOS, .gadgetbridge, .pebbleKitIOS])
        for name in ["emery", "gabbro"] { #expect(promised[name] == forward) }
        for name in ["chalk", "aplite"] { #expect(promised[name] == promised["snowy"]) }
        // Section 5.3, step 3: which of them a Core Devices app on Android opens on a Pebble 2, by its settings.
        #expect(
            [.libPebble3Android, .libPebble3AndroidForward, .libPebble3AndroidLegacy].map {
                Personality.silk.support(for: $0).explanation
            } == [
                "over the phone's PPoGATT service", "over the phone's PPoGATT service",
                "over the watch's own PPoGATT service",
            ]
        )
    }

    @Test func everyPersonalityIsUsable() throws {
        #expect(Set(Personality.all.map(\.name)).count == Personality.all.count)
        for personality in Personality.all {
            let configuration = configuration(personality)
            #expect(throws: Never.self) { try configuration.identity.validate() }
            _ = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
        }
    }
}
