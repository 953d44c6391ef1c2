import ByteCoding
import PebbleProtocol
import Testing

/// Numbers that both sides have to have alike. What one side writes and reads with a wrong number passes every round trip, so
/// here they stand a second time.
@Suite("Numbers that both sides know") struct KnownNumberTests {
    @Test func pulseProtocolsAreThoseOfTheFirmware() {
        let protocols: [PulseProtocol] = [.linkControl, .push, .trainControl, .trainCommand, .trainResponse]
        #expect(protocols.map(\.rawValue) == [0xC021, 0x5021, 0xBA33, 0x3A33, 0x3A35])
    }

    @Test func attributesOfTimelineItems() {
        let first: [TimelineAttribute.ID] = [
            .title, .subtitle, .body, .tinyIcon, .smallIcon, .largeIcon, .ancsAction, .cannedResponses, .shortTitle,
            .pinIcon, .location, .sender, .launchCode, .lastUpdated,
        ]
        #expect(first.map(\.rawValue) == Array(1...14))
        let later: [TimelineAttribute.ID] = [
            .headings, .paragraphs, .primaryColor, .backgroundColor, .secondaryColor, .appName,
        ]
        #expect(later.map(\.rawValue) == Array(25...30))
        #expect(TimelineAttribute.ID.iOSAppIdentifier.rawValue == 32)
        #expect(TimelineAttribute.ID.ancsID.rawValue == 34)
    }

    /// PebbleOS 4.35 refuses an item in which one of these has another length.
    @Test func attributesThatAreNumbersHaveTheLengthsThatTheFirmwareChecks() {
        let lengths = (0...255).map { TimelineAttribute.ID(rawValue: $0).numberLength }
        let bytes = lengths.indices.filter { lengths[$0] == 1 }
        #expect(bytes == [7, 23, 27, 28, 29, 31, 33, 35, 38, 40, 44, 45, 52])
        #expect(lengths.indices.filter { lengths[$0] == 4 } == [4, 5, 6, 10, 13, 14, 34, 37, 48, 50])
    }

    @Test func whatATimelineItemIs() {
        let flags: [TimelineItem.Flags] = [.visible, .floating, .allDay, .fromWatch, .fromANCS, .persistent]
        #expect(flags.map(\.rawValue) == [1, 2, 4, 8, 16, 32])
        let status: [TimelineItem.Status] = [.read, .deleted, .actioned, .reminded, .dismissed]
        #expect(status.map(\.rawValue) == [1, 2, 4, 8, 16])
        let layouts: [TimelineItem.Layout] = [
            .generic, .calendar, .reminder, .notification, .communication, .weather, .sports, .alarm, .health, .test,
        ]
        #expect(layouts.map(\.rawValue) == Array(1...9) + [11])
        #expect([TimelineItem.Kind.notification, .pin, .reminder].map(\.rawValue) == [1, 2, 3])
    }

    @Test func whatAnActionDoes() {
        let kinds: [TimelineItemAction.Kind] = [
            .ancsNegative, .generic, .response, .dismiss, .http, .snooze, .openWatchApp, .empty, .remove, .openPin,
            .ancsPositive, .ancsDial, .ancsDelete,
        ]
        #expect(kinds.map(\.rawValue) == Array(1...12) + [15])
    }

    /// What a tool may send to an emulator, and what one may say.
    @Test func protocolsOfTheEmulator() {
        let known = (0...UInt16.max).map { QEMUProtocol(rawValue: $0) }.filter(\.isKnown)
        #expect(known.map(\.rawValue) == Array(1...13) + [100])
        let ofWatches = known.filter(\.mayBeSentByWatch)
        #expect(ofWatches == [.spp, .accelerometer, .vibration, .rebbleTest])
        #expect(ofWatches.map(\.rawValue) == [1, 6, 7, 100])
    }

    @Test func whatAPhoneAsksOfPairing() {
        let triggers: [PairingTrigger] = [
            .shouldPinAddress, .noSecurityRequest, .forceSecurityRequest, .autoAcceptRepairing, .reversedPPoGATT,
        ]
        #expect(triggers.map(\.rawValue) == [1, 2, 4, 8, 16])
        // Asked for nothing, to be quiet, to insist, and both.
        let asked: [PairingTrigger] = [
            [], .noSecurityRequest, .forceSecurityRequest, [.noSecurityRequest, .forceSecurityRequest],
        ]
        #expect(asked.map { $0.wantsSecurityRequest(isEncrypted: false) } == [true, false, true, true])
        #expect(asked.map { $0.wantsSecurityRequest(isEncrypted: true) } == [false, false, true, true])
    }

    @Test func whatAPhoneReadsOfALink() {
        let status = ConnectivityStatus(isBonded: false, isEncrypted: false, hasGateway: false)
        #expect(status.encoded == [0x11, 0, 0, 0])
        #expect(status.description == "not encrypted, not bonded, the watch has no bond")
        var parameters = ConnectionParametersStatus(
            supportsLongPackets: false,
            interval: 0x0102,
            latency: 3,
            supervisionTimeout: 0x0405
        )
        #expect(parameters.encoded == [0, 2, 1, 3, 0, 5, 4])
        parameters.supportsLongPackets = true
        #expect(parameters.encoded.first == 1)
    }

    @Test func whatAPhoneSaysOfItsRadio() throws {
        let discoverable = try (0...2).map { try BLEControlMessage(payload: [4, UInt8($0), 0x2C, 0x01]) }
        #expect(discoverable.map(\.isDiscoverable) == [false, true, true])
        #expect(discoverable.map(\.durationSeconds) == [300, 300, 300])
        #expect(discoverable.map { PebbleMessage($0).payload[1] } == [0, 1, 1])
    }

    /// A piece that is cut within its token names what its bytes say, with zeros behind them.
    @Test(arguments: [("02", 0), ("0201", 0x0100_0000), ("0201020304", 0x0102_0304), ("0101020304", 0)])
    func tokensOfMessagesThatAreCut(payload: String, token: UInt32) {
        #expect(PutBytesRequest.token(of: hex(payload)).rawValue == token)
    }

    @Test func whichAppMessagesAreAnswers() {
        #expect((0...255).filter { AppMessage.isAnswer($0) } == [0x7F, 0xFF])
    }

    @Test func levelsOfLogs() {
        let levels: [LogLevel] = [.always, .error, .warning, .info, .debug, .verbose]
        #expect(levels.map(\.rawValue) == [0, 1, 50, 100, 200, 255])
    }

    @Test func whatAPhoneHas() {
        let features: [PhonePlatform.Features] = [
            .telephony, .sms, .gps, .bluetoothLE, .rearCamera, .accelerometer, .gyroscope, .compass,
        ]
        #expect(features.map(\.rawValue) == (4...11).map { 1 << $0 })
    }

    /// The board numbers of watches that were sold, and of those that came before them.
    @Test func boards() {
        let boards: [HardwarePlatform] = [
            .unknown, .tintinV15, .bianca, .snowyDVT, .snowyS3, .spalding, .robert, .silk, .asterix, .obelixDVT,
            .obelixPVT, .getafixDVT,
        ]
        #expect(boards.map(\.rawValue) == [0, 5, 6, 8, 10, 11, 13, 14, 15, 17, 18, 20])
    }

    @Test func whatAppsAndFirmwareAre() {
        let apps: [AppFlags] = [
            .watchFace, .hidden, .shownOnlyWhenCommunicating, .allowsJavaScript, .hasWorker, .rockyJS, .moddable,
        ]
        #expect(apps.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 1024])
        let firmware: [FirmwareMetadata.Flags] = [.recovery, .bleFirmware, .dualSlot, .slot0]
        #expect(firmware.map(\.rawValue) == [1, 2, 4, 8])
    }

    /// The whole family, as the first four bytes of each UUID.
    @Test func attributesOfPebbles() {
        let family: UInt128 = 0x328E_0FBB_C642_1AA6_699B_DADA
        let attributes: [(UInt128, UInt32)] = [
            (PebbleAttribute.connectivityStatus, 1), (PebbleAttribute.triggerPairing, 2),
            (PebbleAttribute.pairingMTU, 3), (PebbleAttribute.connectionParameters, 5),
            (PebbleAttribute.ppogattService, 0x1000_0000), (PebbleAttribute.ppogattData, 0x1000_0001),
            (PebbleAttribute.ppogattMeta, 0x1000_0002), (PebbleAttribute.appLaunchService, 0x2000_0000),
            (PebbleAttribute.appLaunch, 0x2000_0001), (PebbleAttribute.reversedV1Service, 0x3000_0003),
            (PebbleAttribute.reversedV1Data, 0x3000_0004), (PebbleAttribute.reversedV1Meta, 0x3000_0005),
            (PebbleAttribute.reversedV1DataWrite, 0x3000_0006), (PebbleAttribute.reversedService, 0x4000_0000),
            (PebbleAttribute.reversedData, 0x4000_0001), (PebbleAttribute.reversedDataWrite, 0x4000_0003),
            (PebbleAttribute.streamService, 0x5000_0000), (PebbleAttribute.loopbackService, 0x5100_0000),
        ]
        #expect(PebbleAttribute.dummy == 0xBADB_ADBA_DBAD_BADB_ADBA_BADB_ADBA_DBAD)
        for (uuid, number) in attributes {
            #expect(uuid == UInt128(number) << 96 | family, "\(String(number, radix: 16))")
        }
    }

    @Test func switchesAndCodesOfAnswers() {
        let enabled = [false, true].map { PebbleMessage(DataLoggingMessage.sendEnableState($0)).payload }
        #expect(enabled == [[0x0A, 0], [0x0A, 1]])
        let codes: [TimelineActionMessage.Response.Code] = [.acknowledgement, .negativeAcknowledgement]
        #expect(codes.map(\.rawValue) == [0, 1])
        #expect(LogLine.maximumMessageLength == 88)
        let statuses: [RemoteInputResponse.Status] = [.ok, .busy, .invalid]
        #expect(statuses.map(\.rawValue) == [0, 1, 2])
        let charging = [false, true].map { QEMUMessage.battery(percent: 50, isCharging: $0).frame.data }
        #expect(charging == [[50, 0], [50, 1]])
    }

    /// A command's first byte, which no round trip tells from another.
    @Test func actionsOfTimelineItems() {
        let item = PebbleUUID.system
        let response = TimelineActionMessage.Response(item: item, code: .acknowledgement, attributes: [])
        let invocation = TimelineActionMessage.Invocation(item: item, actionID: 7, attributes: [])
        let messages: [TimelineActionMessage] = [
            .invoke(invocation), .invokeANCS(invocation), .response(response), .responseWithActions(response, []),
        ]
        #expect(messages.map { PebbleMessage($0).payload.first } == [0x02, 0x03, 0x11, 0x12])
    }

    /// Each bit where it was sent, and no other.
    @Test func whatAPhoneCanDo() throws {
        let sent = hex("01 ffffffff 80000000 00000032 02 030201 2050000001000080")
        guard case .response(let phone) = try PhoneVersionMessage(payload: sent) else {
            Issue.record("no response")
            return
        }
        #expect(phone.capabilities.rawValue == 0x8000_0001_0000_5020)
    }

    /// An interval's spread is added to its shortest, up to Core's longest.
    @Test func parametersOfAConnection() throws {
        func set(_ minimum: UInt16, _ spread: UInt8) throws -> ConnectionParametersCommand {
            let one = [UInt8(truncatingIfNeeded: minimum), UInt8(minimum >> 8), spread, 4, 200]
            return try ConnectionParametersCommand(([0, 1] + one + one + one)[...])
        }
        guard case .manage(byPhone: true, let sets?) = try set(12, 3) else {
            Issue.record("not what was written")
            return
        }
        let expected = ConnectionParametersCommand.ParameterSet(
            intervalMinimum: 12,
            intervalMaximum: 15,
            latency: 4,
            supervisionTimeout: 600
        )
        #expect([sets.slow, sets.middle, sets.fast] == [expected, expected, expected])
        #expect(throws: Never.self) { try set(6, 0) }
        #expect(throws: ConnectionParametersCommand.Refusal.intervalMinimumTooShort) { try set(5, 255) }
        #expect(throws: Never.self) { try set(3199, 1) }
        #expect(throws: ConnectionParametersCommand.Refusal.intervalMaximumTooLong) { try set(3199, 2) }
        #expect(throws: Never.self) { try set(3200, 0) }
        #expect(throws: ConnectionParametersCommand.Refusal.intervalMinimumTooLong) { try set(3201, 0) }
    }

    @Test func commandsAboutAConnection() throws {
        #expect(try ConnectionParametersCommand([1, 2]) == .need(responseTime: 2))
        #expect(throws: ConnectionParametersCommand.Refusal.noSuchResponseTime) {
            try ConnectionParametersCommand([1, 3])
        }
        #expect(try ConnectionParametersCommand([2, 1]) == .lengthenPackets(true))
        #expect(try ConnectionParametersCommand([2, 2]) == .lengthenPackets(false))
        #expect(try ConnectionParametersCommand([3, 0]) == .stayAwake)
        #expect(throws: ConnectionParametersCommand.Refusal.unknownCommand) { try ConnectionParametersCommand([4, 0]) }
    }

    @Test func longestPacketsOfBothSides() {
        #expect(PPoGATTConfiguration.pebbleOSMaximumATTMTU == 256)
        #expect(PPoGATTConfiguration.phoneMaximumATTMTU == 339)
    }

    /// A watch's image ends with what it is; its time is little-endian there.
    @Test func whatAnImageSaysOfItself() {
        let metadata = FirmwareMetadata(
            timestamp: 0x0102_0304,
            versionTag: "v4.9",
            shortGitHash: "abcdef0",
            flags: .dualSlot,
            hardwarePlatform: .asterix
        )
        var image: [UInt8] = [1, 2, 3]
        FirmwareImage.append(metadata, to: &image)
        #expect(image.count == 3 + 47)
        #expect(Array(image[3..<7]) == [4, 3, 2, 1])
        #expect(FirmwareImage.metadata(of: image) == metadata)
        #expect(FirmwareImage.metadata(of: Array(image.suffix(46))) == nil)
        #expect(FirmwareImage.metadata(of: image + [0]) == nil, "of another version, by what its bytes say then")
    }

    /// Old companions ask for the first two generations by the command alone.
    @Test func generationsOfOldCompanions() throws {
        #expect(try LogDumpMessage(payload: hex("01 00000007")) == .legacyRequest(generation: 1, cookie: 7))
        #expect(throws: ByteDecodingError("log_dump.command", .invalidValue(2))) {
            try LogDumpMessage(payload: hex("02 00000007"))
        }
    }

    @Test func theShortestRecordIsARecord() throws {
        let message = try BlobDBRequest(payload: hex("01 0500 02 01 aa 0100 bb"))
        guard case .insert(_, let record, timestamp: nil) = message.command else {
            Issue.record("\(message.command)")
            return
        }
        #expect(record.key == [0xAA] && record.value == [0xBB])
    }

    /// The patience of both sides, as the firmware's and libpebble3's sources have it.
    @Test func patienceOfPPoGATT() {
        let watch = PPoGATTRules.pebbleOS
        #expect(watch.tick == .seconds(2))
        #expect([watch.resetCompleteTimeout, watch.acknowledgementTimeout] == [.seconds(6), .seconds(6)])
        #expect([watch.acknowledgementTimeoutLimit, watch.resetRequestLimit, watch.metaReadLimit] == [2, 4, 3])
        #expect(watch.disconnectionLimit == 2)
        #expect(watch.metaReadRetryDelay == .milliseconds(500))
        let original = PPoGATTRules.originalFirmware
        #expect([original.resetRequestLimit, original.metaReadLimit] == [9, 1])
        let phone = PPoGATTRules.companion
        #expect(phone.tick == .zero)
        #expect([phone.resetCompleteTimeout, phone.acknowledgementTimeout] == [.seconds(12), .seconds(10)])
        #expect([phone.acknowledgementTimeoutLimit, phone.resetRequestLimit, phone.metaReadLimit] == [3, 1, 1])
        #expect(phone.disconnectionLimit == nil)
    }

    @Test func aLinkThatIsNewHasDoneNothing() {
        let link = PPoGATTLink(.watch(.forward, serialNumber: ""), attMTU: 23)
        let numbers = Mirror(reflecting: link.statistics).children.map { $0.value as? UInt64 }
        #expect(numbers.count == 18)
        #expect(numbers.allSatisfy { $0 == 0 })
    }

    /// A header is unfinished from its last byte until its message is whole.
    @Test func aHeaderIsUnfinishedUntilItsMessageIsWhole() throws {
        var deframer = MessageDeframer()
        var seen: [Bool] = []
        for byte in hex("0002 07d1 abcd") {
            var bytes: ArraySlice<UInt8> = [byte]
            _ = deframer.next(from: &bytes)
            seen.append(deframer.unfinishedHeader != nil)
        }
        #expect(seen == [false, false, false, true, true, false])
    }

    /// The longest frame that the firmware sends has any footer; one that is a byte longer needs its own.
    @Test(arguments: [(2048, true), (2049, false)])
    func aFooterCountsBeyondTheLongestFrame(length: Int, isFrame: Bool) {
        var deframer = QEMUDeframer()
        let header: [UInt8] = [0xFE, 0xED, 0, 1, UInt8(length >> 8), UInt8(length & 0xFF)]
        deframer.receive((header + [UInt8](repeating: 7, count: length + 2))[...])
        #expect((deframer.nextFrame(at: .zero) != nil) == isFrame)
    }

    /// PebbleOS reads zeros behind what was cut off.
    @Test(arguments: [("", 0), ("01", 0x0100_0000), ("0102", 0x0102_0000), ("0102030405", 0x0102_0304)])
    func anAppsNumberMayBeCut(bytes: String, number: Int32) throws {
        guard case .begin(let object) = try PutBytesRequest(payload: hex("01 00000009 85" + bytes)) else {
            Issue.record("no beginning")
            return
        }
        #expect(object.target == .app(AppID(rawValue: number)))
    }
}
