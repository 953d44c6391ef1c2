import Faults
import Foundation
import Testing

@testable import BluetoothHCI
@testable import BluetoothHost
@testable import Control
@testable import Daemon
@testable import PebbleProtocol
@testable import PebbleWatch

/// Each event has the facts of its sentence as values too, so that no program needs to read sentences.
@Suite struct EventFactsTests {
    private static let phone = LEAddress.random(DeviceAddress(0xE200_0000_0002))
    private static let app = PebbleUUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
    private static let item = PebbleUUID("7d1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0e77")
    private static let parameters = ConnectionParameters(
        intervalMinimum: ConnectionInterval(rawValue: 9),
        intervalMaximum: ConnectionInterval(rawValue: 21),
        latency: 3,
        supervisionTimeout: SupervisionTimeout(rawValue: 600)
    )

    private static func capabilities(_ buffers: Int) -> ControllerCapabilities {
        var capabilities = ControllerCapabilities()
        capabilities.aclPacketCount = buffers
        capabilities.aclDataLength = 251
        capabilities.advertisingSetCount = 5
        return capabilities
    }

    private static func onAir(_ milliseconds: Int, _ state: OnAir.State) -> OnAir {
        let entry = OnAir.Entry(
            role: .discovery,
            interval: AdvertisingInterval(rawValue: UInt32(milliseconds * 8 / 5)),
            address: phone,
            data: [],
            scanResponse: [],
            reason: .activity(.boot),
            since: .zero,
            remaining: .seconds(33),
            next: AdvertisingInterval(rawValue: 244),
            turn: .seconds(2.5),
            state: state
        )
        return OnAir(entries: [entry], silence: nil)
    }

    private static func difference(_ kind: MirrorDifference.Kind, delay: Duration?) -> MirrorDifference {
        let ping = MirroredMessage(PebbleMessage(endpoint: .ping, payload: [0]))
        let answer = MirroredMessage(PebbleMessage(endpoint: .ping, payload: [1]))
        return MirrorDifference(
            kind: kind,
            number: 7,
            session: SessionID(number: 1),
            question: ping,
            watch: [answer],
            firmware: kind == .late ? [answer] : [],
            asked: .seconds(4),
            delay: delay
        )
    }

    private static func ended(_ cause: Disconnection.Cause?, _ remedy: Disconnection.Remedy) -> Disconnection {
        var ended = Disconnection(
            phone: phone,
            reason: .connectionTimeout,
            cause: cause,
            time: .seconds(4),
            linkDuration: .seconds(12.5)
        )
        ended.remedy = remedy
        return ended
    }

    private static func paired(_ model: AssociationModel, secure: Bool, bonded: Bool) -> PairingSummary {
        PairingSummary(
            model: model,
            usesSecureConnections: secure,
            isAuthenticated: false,
            keySize: .maximum,
            bondedIdentity: bonded ? phone : nil,
            replacesKey: false,
            isAcknowledged: true
        )
    }

    private static let dictionary: AppMessageDictionary? = try? AppMessageDictionary([
        AppMessageTuple(key: 71, value: .uint8(72)), AppMessageTuple(key: 73, value: .string("seventy")),
    ])

    private static func recoveries(_ link: ConnectionHandle) -> [RecoveryEvent] {
        let plain: [RecoveryEvent] = [
            .phoneIsBack(phone, after: .seconds(7.5)), .controllerRestarting(.hardwareError(code: 0x42)),
            .controllerRestarting(.unexpectedReset), .controllerLost, .transportGivenUp(link, .resetTimeout),
            .transportGivenUp(link, .remoteReset), .transportStalled(link), .churning(true), .churning(false),
            .strangersTurnedAway, .strangersGone(turnedAway: 43),
        ]
        let endings: [(Disconnection.Cause?, Disconnection.Remedy)] = [
            (nil, .none), (.noResponse, .keepsOtherLinks), (.command, .awaitsController), (.forgotten, .none),
            (.replaced, .none), (.keyRejected, .none), (.tenure(.notEncrypted(after: .seconds(30))), .none),
            (.tenure(.noProgress(for: .seconds(60))), .none), (.tenure(.unencryptedFor(.seconds(45))), .none),
            (.tenure(.ownerIsHere), .none),
            (.transport(.resetTimeout), .none), (.transport(.remoteReset), .none), (.restart(.reboot), .none),
            (.switchedOff, .advertises(.reconnection, every: AdvertisingInterval(rawValue: 32))),
        ]
        return plain + endings.map { .linkEnded(ended($0, $1)) }
    }

    private static let links: [LinkEvent] = [
        .dataLength(transmit: DataLength(octets: 101, timeMicroseconds: 2000), receive: .maximum),
        .phys(LinkPHYs(transmit: .le2M, receive: .le1M)), .phys(.le1M), .phyRefused(.unsupportedRemoteFeature),
        .mtu(339),
        .parameters(
            interval: ConnectionInterval(rawValue: 9),
            latency: 4,
            supervisionTimeout: SupervisionTimeout(rawValue: 600),
            subrating: LinkSubrating(factor: 4, continuationNumber: 1)
        ),
        .responseTime(.fast, for: [.discovery, .pairing]), .responseTime(.slow, for: []),
        .requested(parameters, attempt: 2), .refused(.rejectedByPeer), .refused(.controller(.connectionTimeout)),
        .notRequested(parameters, .silenceTooLong), .notRequested(parameters, .latencyTooHigh(maximum: 2)),
        .gaveUp(.middle, attempts: 6), .phoneManages(true), .phoneManages(false),
    ]

    private static let readings: [SensorReading] = [
        .battery(percent: 42, isCharging: true), .battery(percent: 42, isCharging: false), .tap(.y, direction: -1),
        .tap(.z, direction: 1), .compass(heading: 0x4000, .refining), .compass(heading: 0x4000, .calibrated),
        .accelerometer([.init(x: 101, y: -102, z: 103)]), .phoneConnection(isConnected: true),
        .phoneConnection(isConnected: false), .timeFormat(is24Hour: true), .timeFormat(is24Hour: false),
        .timelinePeek(isShown: true), .timelinePeek(isShown: false), .contentSize(3), .health(.steps, value: 12_345),
        .health(.sleepSeconds, value: 12_345), .heartRate(beatsPerMinute: 61, quality: 5),
    ]

    private static func services(_ app: PebbleUUID, _ item: PebbleUUID) -> [ServiceEvent] {
        let spool = LoggingSessionID(rawValue: 87)
        let caller = PhoneControlMessage.Caller(number: "0123456", name: "Ada")
        let call = PhoneControlService.Call(id: .init(rawValue: 9), caller: caller, state: .incoming)
        let metadata = AppMetadata(
            uuid: app,
            flags: [],
            majorVersion: 1,
            minorVersion: 0,
            sdk: SDKVersion(major: 5, minor: 78),
            name: "Weather"
        )
        let note = TimelineItem(
            id: item,
            parent: app,
            timestamp: 0,
            durationMinutes: 0,
            kind: .notification,
            flags: [],
            layout: TimelineItem.Layout(rawValue: 1),
            attributes: [TimelineAttribute(.title, "The title"), TimelineAttribute(.body, "The body")],
            actions: []
        )
        return [
            .uploadBegan(.firmware, byteCount: 1001), .uploadBegan(.appBinary, byteCount: 1001),
            .uploaded(.file, byteCount: 1002), .uploadFailed(.appWorker, reason: "no room"),
            .uploadInstalled(.systemResources), .uploadInstalled(.recoveryFirmware), .uploadInstalled(.appResources),
            .updateBegan, .updateCompleted, .updateFailed(reason: "not whole"), .appInstalled(metadata),
            .appRemoved(app),
            .appFetchBegan(app, name: "Weather"), .appFetchFailed(app, reason: "busy"), .appOrderChanged([app, item]),
            .notificationShown(note), .notificationRemoved(item),
            .recordChanged(.pins, key: [1, 0xFE], value: Array(repeating: 0, count: 54)),
            .recordChanged(.settings, key: Array("units".utf8), value: [1]), .recordRemoved(.weather, key: [2, 0xFD]),
            .databaseCleared(.reminders), .databaseCleared(BlobDBDatabase(rawValue: 99)), .actionSent(item, action: 4),
            .actionNotSent(item, action: 5), .actionAnswered(item, action: 4, .acknowledgement, text: "Done"),
            .actionAnswered(item, action: nil, .init(rawValue: 17), text: nil),
            .nowPlaying(.init(artist: "The artist", album: "The album", title: "The track")),
            .playState(
                .init(state: .playing, positionMilliseconds: 1, ratePercent: 100, shuffle: .off, repetition: .off)
            ),
            .playState(
                .init(state: .paused, positionMilliseconds: 1, ratePercent: 100, shuffle: .off, repetition: .off)
            ),
            .volume(63), .call(call), .callEnded(call), .callMissed(caller), .appLogsWanted(true),
            .appLogsWanted(false),
            .screenshotTaken, .dataLogged(spool, byteCount: 501), .dataNotLogged(spool, reason: "no room"),
            .dataSent(spool, byteCount: 502), .dataDropped(spool, byteCount: 503), .healthSyncRequested,
        ]
    }

    /// At least one of each event, and several where an event has several meanings.
    private static func samples() throws -> [WatchEvent] {
        let link = try #require(ConnectionHandle(rawValue: 0x0043))
        let app = try #require(app)
        let item = try #require(item)
        let dictionary = try #require(dictionary)
        let session = SessionID(number: 31)
        var clock = WatchClock(seconds: 1_700_000_000, at: .zero)
        clock.setUTC(seconds: 1_700_000_000, zone: .init(offsetMinutes: 90, name: "Europe/Nowhere"), at: .zero)
        let numberPrompt = PairingPrompt(
            id: .init(connection: link, serial: 1),
            kind: .numericComparison(NumericComparisonValue(g2: 123_456))
        )
        let controller: [WatchEvent] = [
            .started(capabilities(8)), .started(capabilities(9)), .failed(.noDataBuffers),
            .failed(.commandFailed(LESetEventMask.opcode, .unknownHCICommand)),
            .advertising(onAir(20, .onAir)), .advertising(onAir(100, .refused(.memoryCapacityExceeded))),
            .advertising(OnAir(entries: [], silence: .connected)),
            .advertising(OnAir(entries: [], silence: .controllerNotReady)), .connected(link, phone),
            .connected(link, .public(phone.address)), .disconnected(link, reason: .remoteUserTerminatedConnection),
        ]
        let security: [WatchEvent] = [
            .pairable(true), .pairable(false), .pairingPrompt(numberPrompt),
            .pairingPrompt(PairingPrompt(id: numberPrompt.id, kind: .confirmPairing)),
            .pairingPrompt(PairingPrompt(id: numberPrompt.id, kind: .requestPasskey)),
            .paired(link, paired(.justWorks, secure: true, bonded: true)),
            .paired(link, paired(.numericComparison, secure: true, bonded: true)),
            .paired(link, paired(.passkeyEntry(displayedBy: .initiator), secure: false, bonded: false)),
            .paired(link, paired(.passkeyEntry(displayedBy: .responder), secure: false, bonded: false)),
            .paired(link, paired(.outOfBand, secure: true, bonded: true)), .pairingFailed(link, .timedOut),
            .pairingFailed(link, .disconnected), .keyReplaced(link, phone), .forgotten(phone),
            .securityChanged(link, LinkSecurity(isEncrypted: true, keySize: 16)),
            .securityChanged(link, LinkSecurity(isEncrypted: true, keySize: 7)), .securityChanged(link, .none),
        ]
        let refused: [WatchEvent] = RefusedPairing.Reason.allCases.map {
            .pairingRefused(link, RefusedPairing(phone: phone, reason: $0, time: .seconds(4)))
        }
        let sessions: [WatchEvent] = [
            .phoneService(link, .began(.notifications)), .phoneService(link, .ended(.media)),
            .phoneService(link, .problem(.media(.tooManyCommands))),
            .streamPublished(.pebble, SPSM(rawValue: 0xF8)), .streamPublished(.pebble, nil),
            .streamOpened(link, .pebble),
            .streamClosed(link, .pebble, .byPeer), .streamClosed(link, .pebble, .withdrawn),
            .sessionOpened(session, .system, .forwardPPoGATT), .sessionOpened(session, .app, .stream),
            .sessionMoved(session, to: .stream), .sessionClosed(session, reason: "it was stopped"),
            .message(session, .fromPhone, PebbleMessage(endpoint: .ping, payload: Array(repeating: 1, count: 5))),
            .message(session, .toPhone, PebbleMessage(endpoint: .ping, payload: Array(repeating: 1, count: 5))),
            .appLaunched(app, name: "Weather"), .appMessageReceived(app, dictionary),
            .appMessageSent(app, dictionary, .ok), .appMessageSent(app, dictionary, .sendTimeout), .clockSet(clock),
            .clockSet(WatchClock(seconds: 5, at: .zero)), .buttonPressed(.up, .short), .buttonPressed(.up, .long),
            .diagnostic(Diagnostic(severity: .warning, layer: .gap, message: "for the log only")),
            .mirrorDiffers(difference(.answer, delay: nil)), .mirrorDiffers(difference(.late, delay: .seconds(2))),
            .fault(
                FaultFiring(
                    RunningFault(FaultID(rawValue: 7), Fault(.hci(.attNever)), at: .zero),
                    on: link,
                    "no answer"
                )
            ),
        ]
        let causes: [RestartCause] = [.reboot, .coreDump, .factoryReset, .recovery, .firmwareUpdate]
        let levels: [LogLevel] = [.error, .warning, .info, .debug]
        let logged: [WatchEvent] = levels.map {
            let line = LogLine(timestamp: 1, level: $0, line: 88, file: "main.c", message: "it rains")
            return .appLogged(AppLogRecord(application: app, line: line))
        }
        var all = controller + security + refused + sessions + logged
        all += causes.map { WatchEvent.restarting($0) }
        all += recoveries(link).map { WatchEvent.recovery($0) }
        all += links.map { WatchEvent.link(link, $0) }
        all += readings.map { WatchEvent.sensed($0) }
        all += services(app, item).map { WatchEvent.service($0) }
        return all
    }

    /// Every name is said by a sample, so that a new event needs one.
    @Test func everyEventIsTried() throws {
        let names = Set(try Self.samples().compactMap { ControlEvent($0, text: "", at: .zero)?.name })
        #expect(names == Set(ControlEventName.allCases).subtracting([.lost]))
    }

    @Test func everyNumberAndNameOfTheTextIsAValue() throws {
        for event in try Self.samples() {
            let text = event.storyLine.text
            guard let line = ControlEvent(event, text: text, at: .seconds(9)) else { continue }
            let fields = try Self.leaves(of: line)
            // UUIDs in the words are cut short, addresses and numbers are not.
            let pattern =
                #/[0-9A-F]{2}(:[0-9A-F]{2}){5}|[0-9a-f]{8}(-[0-9a-f-]{27})?|0x[0-9A-Fa-f]+|-?[0-9]+(\.[0-9]+)?/#
            for word in text.matches(of: pattern) {
                let word = String(word.output.0)
                #expect(Self.knows(word, fields), "\(line.name): “\(word)” of “\(text)” is in none of \(fields)")
            }
            for fact in ["Weather", "Europe/Nowhere", "it rains", "main.c", "The title", "The body", "Ada", "seventy"]
            where text.contains(fact) {
                #expect(fields.contains(fact), "\(line.name): “\(fact)” is in none of \(fields)")
            }
        }
    }

    /// An event has the same words for programs, in the log and in a recording.
    @Test func everyEventHasTheSameWordsEverywhere() throws {
        for event in try Self.samples() {
            let text = event.storyLine.text
            if let told = ControlEvent(event, text: text, at: .zero) { #expect(told.text == text) }
            if let recorded = event.recordedText(withoutSecrets: false) { #expect(recorded == text) }
        }
    }

    /// What a program reads is what was said, in the type that the event's declaration has.
    @Test func everyEventIsReadBack() throws {
        for event in try Self.samples() {
            guard let said = ControlEvent(event, text: event.storyLine.text, at: .seconds(9)) else { continue }
            let read = try #require(ControlEventLine(parsing: said.line))
            #expect((read.event, read.at, read.text) == (said.name.rawValue, said.at, said.text))
            let fields = try #require(read.fields, "\(said)")
            #expect(fields.values == said.fields)
            let told = try #require(event.control(at: .seconds(9)))
            let declared = try #require(told.name.declaration.type(variant: told.variant))
            #expect(type(of: told.fields) == declared && type(of: fields.fields) == declared, "\(said.name)")
        }
    }

    /// Two events of a name that are told in different words have different values.
    @Test func noWordMakesADifferenceThatNoValueMakes() throws {
        let lines = try Self.samples().compactMap { ControlEvent($0, text: $0.storyLine.text, at: .seconds(9)) }
        for (index, line) in lines.enumerated() {
            for other in lines[(index + 1)...] where other.name == line.name && other.text != line.text {
                #expect(other.fields != line.fields, "“\(line.text)” and “\(other.text)” have the same values")
            }
        }
    }

    private static func knows(_ word: String, _ fields: [String]) -> Bool {
        if fields.contains(where: { $0.contains(word) }) { return true }
        guard let number = word.hasPrefix("0x") ? Int(word.dropFirst(2), radix: 16).map(Double.init) : Double(word)
        else {
            return false
        }
        // Seconds in words are milliseconds in one field or another.
        return fields.compactMap(Double.init).contains { [$0, $0 / 1000].contains(number) }
    }

    /// Every value of an event but its words, as text, and the names of its fields.
    private static func leaves(of event: ControlEvent) throws -> [String] {
        func leaves(_ value: ControlValue) -> [String] {
            switch value {
            case .flag(let flag): ["\(flag)"]
            case .integer(let integer): ["\(integer)"]
            case .number(let number): ["\(number)"]
            case .text(let text): [text]
            case .list(let values): values.flatMap(leaves)
            case .object(let fields): fields.values.flatMap(leaves)
            }
        }
        // A flag's name says what its value is about: is24Hour.
        return event.fields.values.flatMap(leaves) + event.fields.keys
    }
}
