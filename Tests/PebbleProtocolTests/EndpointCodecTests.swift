import ByteCoding
import PebbleProtocol
import Testing

/// Cases without a vector: prefixes, trailing bytes and refusals, as the description of each endpoint has them.
@Suite("Endpoint codecs, beyond the vectors")
struct EndpointCodecTests {
    private func payload(_ message: some EndpointMessage) -> [UInt8] { PebbleMessage(message).payload }

    @Test("A phone version of any length can be decoded")
    func shortPhoneVersions() throws {
        let whole = hex("01 ffffffff 80000000 00000032 02 030201 2100000001000000")
        for length in 1...whole.count {
            guard case .response(let version) = try PhoneVersionMessage(payload: whole[..<length]) else {
                Issue.record("\(length) bytes are no response")
                continue
            }
            #expect(version.protocolVersion == (length >= 5 ? 0xFFFF_FFFF : 0), "\(length)")
            #expect(version.sessionCapabilities == (length >= 9 ? 0x8000_0000 : 0), "\(length)")
            #expect(version.platform.operatingSystem == (length >= 13 ? .android : .unknown), "\(length)")
            #expect(
                version.appVersion == (length >= 17 ? .init(major: 3, minor: 2, bugfix: 1) : nil),
                "\(length)"
            )
            // The firmware looks at the low half, and takes it as soon as it is there.
            #expect(version.capabilities.contains(.appMessage8K) == (length >= 21), "\(length)")
            #expect(version.capabilities.rawValue >> 32 == (length >= 22 ? 1 : 0), "\(length)")
        }
    }

    @Test("A V1 body that comes twice is V1", arguments: ["ffffffff8000000000000032", "00000001000000000000000a"])
    func doubledPhoneVersion(body: String) throws {
        for doubled in ["01" + body + body, "01" + body + "01" + body] {
            guard case .response(let version) = try PhoneVersionMessage(payload: hex(doubled)) else {
                Issue.record("no response")
                continue
            }
            #expect(version.appVersion == nil)
            #expect(version.capabilities == [])
            #expect(payload(PhoneVersionMessage.response(version)) == hex("01" + body))
        }
    }

    @Test("Capabilities are little-endian, and cannot be sent without a version")
    func phoneCapabilities() throws {
        let withoutVersion = PhoneVersion(platform: PhonePlatform(.iOS), capabilities: .appRunState)
        #expect(payload(PhoneVersionMessage.response(withoutVersion)).count == 13)
        let whole = PhoneVersion(
            platform: PhonePlatform(.iOS),
            appVersion: .init(major: 1, minor: 0, bugfix: 0),
            capabilities: [.appRunState, .weatherDatabaseV4]
        )
        #expect(Array(payload(PhoneVersionMessage.response(whole)).suffix(8)) == hex("0100000100000000"))
    }

    @Test("Capability bits of both sides, as captured from real devices")
    func capabilityValues() {
        let always: Capabilities = [
            .appRunState, .infiniteLogDump, .extendedMusic, .extendedNotifications, .languagePack, .appMessage8K,
            .healthInsights, .voiceAPI, .notificationFiltering, .unreadCoreDump, .smoothFirmwareInstallProgress,
            .customVibePatterns, .firmwareUpdateAcrossDisconnection, .blobDBVersion, .weatherDatabaseV4,
        ]
        #expect(always.rawValue == 0x160_C6FF)
        let withApps = always.union([.sendText, .weatherApp, .remindersApp, .workoutApp])
        #expect(withApps.rawValue == 0x160_FFFF)
        #expect(Capabilities.qemuDefault.rawValue == 0xA3)
        #expect(Capabilities.javaScriptBytecodeVersion.rawValue == 0x1_0000)
        #expect(Capabilities([.imageFetch, .notificationImages, .settingsSync]).rawValue == 0x86_0000)
    }

    @Test("A platform field holds a system and features")
    func phonePlatform() {
        #expect(PhonePlatform(.android, [.telephony, .sms]).rawValue == 0x32)
        let word = PhonePlatform(rawValue: 0xFF2)
        #expect(word.operatingSystem == .android)
        #expect(
            word.features == [
                .telephony, .sms, .gps, .bluetoothLE, .rearCamera, .accelerometer, .gyroscope, .compass,
            ]
        )
        #expect(PhonePlatform(rawValue: 7).operatingSystem == .unknown)
    }

    @Test("A watch version shorter than its oldest form is refused; halves of later fields are not there")
    func watchVersionPrefixes() throws {
        let vector = try #require(EndpointVectorTests.packets.first { $0.name == "watch-version-response-full" })
        let whole = vector.bytes.dropFirst(4)
        #expect(throws: ByteDecodingError.self) { try WatchVersionMessage(payload: whole.prefix(149)) }
        for length in 150...160 {
            let bytes = whole.prefix(length) + [UInt8](repeating: 0xEE, count: max(0, length - 155))
            guard case .response(let version) = try WatchVersionMessage(payload: bytes) else {
                Issue.record("no response")
                continue
            }
            #expect(version.isUnfaithful == (length >= 151 ? false : nil))
            #expect(version.healthInsightsVersion == (length >= 153 ? 1 : nil))
            #expect(version.javaScriptBytecodeVersion == (length >= 155 ? 1 : nil))
        }
        for length in 0..<150 where length != 1 {
            #expect(throws: ByteDecodingError.self) { try WatchVersionMessage(payload: whole.prefix(length)) }
        }
    }

    @Test("Texts that do not fit: metadata's are blanked, others are cut between characters")
    func longTexts() throws {
        let metadata = FirmwareMetadata(
            timestamp: 0,
            versionTag: String(repeating: "v", count: 32),
            shortGitHash: "12345678",
            flags: [],
            hardwarePlatform: .silk
        )
        let version = WatchVersion(
            running: metadata,
            recovery: nil,
            bootLoaderVersion: 0,
            board: "boardname\u{e9}",
            serialNumber: "0123456789\u{e9}\u{e9}",
            bluetoothAddress: .init(rawValue: 0xC011_2233_4455),
            resourcesCRC: 0,
            resourcesTimestamp: 0,
            locale: "en_US_POSIX",
            languageVersion: 0,
            capabilities: [],
            isUnfaithful: nil,
            healthInsightsVersion: 1,
            javaScriptBytecodeVersion: 1
        )
        let bytes = payload(WatchVersionMessage.response(version))
        #expect(bytes.count == 150)
        guard case .response(let read) = try WatchVersionMessage(payload: bytes) else { return }
        #expect(read.running.versionTag == "" && read.running.shortGitHash == "")
        #expect(read.board == "boardname")
        #expect(read.serialNumber == "0123456789\u{e9}")
        #expect(read.locale == "en_US")
        #expect(bytes[139] == 0)
        #expect(read.bluetoothAddress.description == "C0:11:22:33:44:55")
        #expect(Array(bytes[120..<126]) == hex("5544332211c0"))
    }

    @Test("A time zone's name must have exactly the length that it says")
    func timeZoneName() throws {
        let good = hex("03 6553f100 003c 03 555443")
        #expect(
            try TimeMessage(payload: good)
                == .setUTC(.init(seconds: 1_700_000_000, offsetMinutes: 60, zoneName: "UTC"))
        )
        #expect(throws: ByteDecodingError("time.zone_name", .trailingBytes(1))) { try TimeMessage(payload: good + [0]) }
        #expect(throws: ByteDecodingError("time.zone_name", .truncated(needed: 3, available: 2))) {
            try TimeMessage(payload: good.dropLast())
        }
        let long = String(repeating: "\u{e9}", count: 200)
        let bytes = payload(TimeMessage.setUTC(.init(seconds: 0, offsetMinutes: 0, zoneName: long)))
        #expect(bytes[7] == 254 && bytes.count == 8 + 254)
    }

    @Test("Sizes of a firmware update are there from ten bytes on")
    func firmwareUpdateStart() throws {
        let whole = hex("0001 01000000 00350c00 ff")
        for length in 2...11 {
            let message = try SystemMessage(payload: whole.prefix(length))
            let sizes = SystemMessage.FirmwareTransferSizes(
                alreadyTransferredByteCount: 1,
                toTransferByteCount: 800_000
            )
            #expect(message == .firmwareUpdateStart(length >= 10 ? sizes : nil), "\(length)")
        }
        #expect(throws: ByteDecodingError("system_message.type", .invalidValue(5))) {
            try SystemMessage(payload: [0, 5])
        }
        #expect(try SystemMessage(payload: [1, 4]) == .firmwareUpToDate, "the first byte is not looked at")
        #expect(throws: ByteDecodingError("system_message.status", .invalidValue(4))) {
            try SystemMessage(payload: [0, 10, 4])
        }
    }

    @Test("The registry reads keys; what is malformed is an error, which the watch answers with failure")
    func registry() throws {
        #expect(try FactoryRegistryMessage(payload: hex("00 03 616263")) == .read(key: "abc"))
        #expect(throws: ByteDecodingError("factory_registry.key", .trailingBytes(1))) {
            try FactoryRegistryMessage(payload: hex("00 03 616263 00"))
        }
        #expect(throws: ByteDecodingError.self) { try FactoryRegistryMessage(payload: hex("00 04 616263")) }
        #expect(throws: ByteDecodingError.self) { try FactoryRegistryMessage(payload: hex("00")) }
        #expect(throws: ByteDecodingError("factory_registry.command", .invalidValue(2))) {
            try FactoryRegistryMessage(payload: hex("02 03 616263"))
        }
        #expect(payload(FactoryRegistryMessage.color(.duo2White)) == hex("01 04 00000023"))
    }

    @Test("Colours have the firmware's numbers")
    func colors() {
        let numbers: [(WatchColor, UInt32)] = [
            (.pebbleGray, 5), (.steelBlack, 7), (.pebblePink, 10), (.timeWhite, 11), (.timeRed, 13),
            (.timeSteelGold, 16), (.timeRoundRoseGold14, 21), (.pebble2SEBlack, 24), (.pebble2HRAqua, 30),
            (.originalTime2Gold, 33), (.duo2Black, 34), (.time2BlackGray, 36), (.time2SilverGray, 39),
            (.round2Black20, 40), (.round2Silver14, 43),
        ]
        for (color, number) in numbers { #expect(color.rawValue == number) }
        #expect(WatchColor.allCases.count == 44)
    }

    @Test("Hardware numbers and the apps that they run")
    func hardwarePlatforms() {
        let expected: [(AppPlatform, [UInt8])] = [
            (.aplite, [1, 2, 3, 4, 5, 6, 0xFE, 0xFF]), (.basalt, [7, 8, 10, 0xFC, 0xFD]), (.chalk, [9, 11, 0xFB]),
            (.diorite, [12, 14, 0xF8, 0xFA]), (.emery, [13, 16, 17, 18, 0xF3, 0xF4, 0xF5, 0xF7, 0xF9]),
            (.flint, [15, 0xF6]), (.gabbro, [19, 20, 21, 0xF2]),
        ]
        for number in UInt8.min...UInt8.max {
            let platform = expected.first { $0.1.contains(number) }?.0
            #expect(HardwarePlatform(rawValue: number).appPlatform == platform, "\(number)")
        }
        #expect(HardwarePlatform.obelixPVT.appPlatform == .emery)
    }

    @Test("A ping is answered with or without its idle byte")
    func ping() throws {
        #expect(try PingMessage(payload: hex("00 00000001")) == .ping(cookie: 1, isIdle: nil))
        #expect(try PingMessage(payload: hex("00 00000001 01")) == .ping(cookie: 1, isIdle: true))
        #expect(throws: ByteDecodingError("ping.idle", .trailingBytes(1))) {
            try PingMessage(payload: hex("00 00000001 01 ff"))
        }
        #expect(try PingMessage(payload: hex("01 00000001 00")) == .pong(cookie: 1))
        #expect(throws: ByteDecodingError("ping.cookie", .truncated(needed: 4, available: 3))) {
            try PingMessage(payload: hex("00 000000"))
        }
    }

    @Test("A start or stop without a whole UUID is ignored")
    func runState() {
        for command in [1, 2] as [UInt8] {
            #expect(throws: ByteDecodingError("app_run_state.uuid", .truncated(needed: 16, available: 15))) {
                try AppRunStateMessage(payload: [command] + [UInt8](repeating: 0, count: 15))
            }
        }
        #expect(throws: ByteDecodingError("app_run_state.command", .invalidValue(4))) {
            try AppRunStateMessage(payload: [4])
        }
    }

    @Test("The old launcher's commands are read in any width")
    func launcher() throws {
        let app = ExpectedMessages.specApp
        for (command, expected) in [
            (LauncherMessage(.run, application: app, transaction: 1), LauncherMessage.Command.run),
            (LauncherMessage(.kill, application: app, transaction: 1), .kill),
            (LauncherMessage(.fetchState, application: app, transaction: 1), .fetchState),
            (LauncherMessage(isRunning: true, application: app, transaction: 1), .run),
            (LauncherMessage(isRunning: false, application: app, transaction: 1), .kill),
        ] {
            #expect(try LauncherMessage(payload: payload(command)).commands == [expected])
        }
        #expect(LauncherMessage(.acknowledgement(1)).commands.isEmpty)
        let other = ExpectedAppMessages.push(1, [(3, .uint8(1))])
        #expect(LauncherMessage(other).commands.isEmpty)
    }

    @Test("A push shorter than 19 bytes is an error, an answer may be followed by anything")
    func shortAppMessages() throws {
        let push = hex("01 05 6b1f5c2e0f3a4d0e9b7a1c2d3e4f5a6b 00")
        #expect(push.count == AppMessageLimits.minimumPushLength)
        #expect(try AppMessage(payload: push) == ExpectedAppMessages.push(5, []))
        for length in 0..<push.count {
            #expect(throws: ByteDecodingError.self) { try AppMessage(payload: push.prefix(length)) }
        }
        #expect(try AppMessage(payload: hex("7f 05 6b1f")) == .negativeAcknowledgement(5))
        #expect(throws: ByteDecodingError("app_message.command", .invalidValue(3))) {
            try AppMessage(payload: [3, 0])
        }
        #expect(AppMessageTransactionID(rawValue: 255).next == 0)
    }

    @Test("Meta messages, app fetches and resets refuse unknown values")
    func refusals() {
        #expect(throws: ByteDecodingError("meta.code", .invalidValue(0xDE))) { try MetaMessage(payload: [0xDE]) }
        #expect(throws: ByteDecodingError("app_fetch.status", .invalidValue(5))) {
            try AppFetchResponse(payload: [1, 5])
        }
        #expect(throws: ByteDecodingError("app_fetch.command", .invalidValue(2))) {
            try AppFetchResponse(payload: [2, 1])
        }
        #expect(throws: ByteDecodingError("reset.command", .invalidValue(2))) { try ResetMessage(payload: [2]) }
        #expect(throws: ByteDecodingError("phone_version.command", .truncated(needed: 1, available: 0))) {
            try PhoneVersionMessage(payload: [] as [UInt8])
        }
    }
}
