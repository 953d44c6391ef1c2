import BluetoothHCI
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

extension ServiceRig {
    /// The store answers the next change that waits for it.
    fileprivate mutating func finishChange(_ failure: WatchStoreError? = nil) throws {
        let next = system.nextChange()
        let change = try #require(next)
        system.changeFinished(for: change.owner, failure: failure, at: now)
    }

    /// A message of an endpoint, and the payloads that the watch answers with.
    fileprivate mutating func ask(_ endpoint: Endpoint, _ payload: [UInt8]) throws -> [[UInt8]] {
        var bytes: [UInt8] = []
        try MessageFramer.append(PebbleMessage(endpoint: endpoint, payload: payload), to: &bytes)
        return send(bytes).map(\.payload)
    }

    /// The lines for the reader of the log, since this was last asked.
    fileprivate mutating func takeLog() -> [String] {
        _ = drain()
        return events.compactMap { if case .diagnostic(let diagnostic) = $0 { diagnostic.message } else { nil } }
    }
}

@Suite("Services that have no room, no phone, or nothing of what they are asked for")
struct ServiceLimitsTests {
    private static let iPhone: ConnectionHandle = 0x40

    // MARK: What a store has that cannot be read

    @Test("A record that cannot be read is kept, and shows nothing")
    func unreadableRecords() throws {
        let key = PebbleUUID(upperHalf: 1, lowerHalf: 2).key
        let records = [BlobDBDatabase.apps, .pins, .notifications].map {
            StoredRecord(database: $0, key: key, record: BlobDatabases.Record(value: [1, 2, 3]))
        }
        let rig = ServiceRig(memory: ServiceMemory(records: records))
        let store = rig.system.services.store
        #expect(store.apps.all.isEmpty)
        #expect(store.databases.items(of: .pins).isEmpty && store.databases.items(of: .notifications).isEmpty)
        #expect(rig.system.services.memory.records.map(\.record.value) == [[1, 2, 3], [1, 2, 3], [1, 2, 3]])
    }

    /// An item of the timeline, in the far future.
    private func item(
        _ id: PebbleUUID,
        of kind: TimelineItem.Kind,
        parent: PebbleUUID = .system,
        layout: TimelineItem.Layout = .generic,
        flags: TimelineItem.Flags = [],
        attributes: [TimelineAttribute] = [TimelineAttribute(.title, "Ada")],
        actions: [TimelineItemAction] = []
    ) -> BlobDBRecord {
        var value: [UInt8] = []
        TimelineItem(
            id: id,
            parent: parent,
            timestamp: 0x7FFF_FFFF,
            durationMinutes: 0,
            kind: kind,
            flags: flags,
            layout: layout,
            attributes: attributes,
            actions: actions
        ).encode(to: &value)
        return BlobDBRecord(key: id.key[...], value: value[...])
    }

    private func status(_ command: BlobDBRequest.Command, _ rig: inout ServiceRig) throws -> BlobDBStatus? {
        try rig.send(BlobDBRequest(token: .none, command: command)).decoded(BlobDBResponse.self).first?.status
    }

    @Test("A reminder that cannot be read has no pin that could take it along")
    func unreadableReminder() throws {
        let pin = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let reminder = PebbleUUID(upperHalf: 3, lowerHalf: 4)
        let unreadable = StoredRecord(
            database: .reminders,
            key: reminder.key,
            record: BlobDatabases.Record(value: pin.key)
        )
        var rig = ServiceRig(memory: ServiceMemory(records: [unreadable]))
        #expect(try status(.insert(.pins, item(pin, of: .pin), timestamp: nil), &rig) == .success)
        #expect(try status(.delete(.pins, key: pin.key[...]), &rig) == .success)
        #expect(rig.changes.last == .recordRemoved(.pins, key: pin.key))
        #expect(rig.system.services.store.databases.keys(of: .reminders) == [reminder.key])
    }

    @Test("A notification takes the place of one that cannot be read")
    func unreadableNotification() throws {
        let id = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let unreadable = StoredRecord(
            database: .notifications,
            key: id.key,
            record: BlobDatabases.Record(value: [1, 2, 3])
        )
        var rig = ServiceRig(memory: ServiceMemory(records: [unreadable]))
        let record = item(id, of: .notification, layout: .notification)
        #expect(try status(.insert(.notifications, record, timestamp: nil), &rig) == .success)
        #expect(rig.system.services.store.databases.items(of: .notifications).map(\.id) == [id])
    }

    // MARK: A store that fails or is slow

    @Test("Whatever else fails in the store than its room is a failure of its own")
    func storeFails() throws {
        for (failure, status) in [
            (WatchStoreError.readOnly(path: "/state"), BlobDBStatus.generalFailure),
            (.full(path: "/state"), .databaseFull),
        ] {
            var rig = ServiceRig()
            rig.storeAnswers = false
            let token = BlobDBToken(rawValue: 7)
            try rig.send(BlobDBRequest(token: token, command: .clear(.pins)))
            try rig.finishChange(failure)
            #expect(rig.drain() == [PebbleMessage(BlobDBResponse(token: token, status: status))])
        }
    }

    @Test("Eight orders of the launcher wait for the store, and the ninth is to come later")
    func orders() throws {
        var rig = ServiceRig()
        rig.storeAnswers = false
        let uuids = (1...9).map { PebbleUUID(upperHalf: $0, lowerHalf: 0) }
        for uuid in uuids.prefix(8) { #expect(try rig.ask(.appOrder, [0x01, 1] + uuid.key) == []) }
        #expect(try rig.ask(.appOrder, [0x01, 1] + uuids[8].key) == [[0x04]])
        rig.storeAnswers = true
        #expect(rig.drain().map(\.payload) == [[UInt8]](repeating: [0x01], count: 8))
        #expect(rig.system.services.store.appOrder == [uuids[7]])
    }

    @Test("An image that the store cannot mark is not installed")
    func install() throws {
        var rig = ServiceRig()
        _ = try rig.ask(.systemMessage, [0x00, 0x01])
        let bytes: [UInt8] = [1, 2, 3, 4]
        let object = PutBytesObject(size: 4, kind: .systemResources, target: .bank(0, fileName: nil))
        let token = try #require(
            try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self).first?.token
        )
        try rig.send(PutBytesRequest.put(PutBytesPiece(token: token, data: bytes[...])))
        let crc = LegacyChecksum.checksum(of: bytes)
        #expect(
            try rig.send(PutBytesRequest.commit(token, crc: crc)).decoded(PutBytesResponse.self) == [
                .acknowledgement(token)
            ]
        )
        rig.storeWorks = false
        #expect(
            try rig.send(PutBytesRequest.install(token)).decoded(PutBytesResponse.self) == [
                .negativeAcknowledgement(.none)
            ]
        )
        #expect(rig.system.services.store.images[.systemResources]?.progress == .committed)
        // A new upload of it counts as incomplete.
        rig.storeWorks = true
        try rig.send(PutBytesRequest.begin(object))
        #expect(rig.changes.last == .updateProgress(.systemResources, .partial))
        // The phone gives all of it up.
        _ = rig.takeServiceEvents()
        _ = try rig.ask(.systemMessage, [0x00, 0x03])
        #expect(rig.takeServiceEvents().contains(.updateFailed(reason: "the phone gave it up")))
    }

    @Test("All images of an update that is given up are of no use")
    func discarded() throws {
        let update = Dictionary(
            uniqueKeysWithValues: FirmwarePart.allCases.map {
                ($0, StoredFirmwareImage(bytes: [1, 2], progress: .partial))
            }
        )
        var rig = ServiceRig(memory: ServiceMemory(update: update))
        _ = try rig.ask(.systemMessage, [0x00, 0x03])
        #expect(rig.changes == [.firmware, .recoveryFirmware, .systemResources].map { .updateDiscarded($0) })
        #expect(rig.system.services.store.images.isEmpty)
    }

    // MARK: Settings on their way back

    private static let phone = PhoneVersionMessage.response(
        PhoneVersion(
            platform: PhonePlatform(.iOS),
            appVersion: .init(major: 4, minor: 4, bugfix: 2),
            capabilities: [.appRunState, .settingsSync]
        )
    )

    private func change(_ name: String, to value: UInt8, _ rig: inout ServiceRig) {
        let isChanged = rig.system.withServices(at: rig.now) {
            $0.changeSetting(Array(name.utf8), to: [value], in: &$1)
        }
        #expect(isChanged == true)
    }

    @Test("A setting that changes after the first sync is written at once")
    func settingChanges() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        #expect(try rig.ask(.blobDB2, [0x07, 1, 0, 12]) == [[0x0A, 1, 0, 12], [0x87, 1, 0, 1]])
        change("mask", to: 9, &rig)
        let written = rig.drain().map(\.payload)
        #expect(written.map { $0.prefix(4) } == [[0x09, 2, 0, 12]] && written.first?.last == 9)
        // The phone does not take it: it stays as changed as it was.
        #expect(try rig.ask(.blobDB2, [0x89, 2, 0, 2]) == [])
        #expect(rig.system.services.store.databases[.settings, Array("mask".utf8)]?.isDirty == true)
    }

    @Test("A setting that the phone deletes while it is written is not written again")
    func settingDeleted() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        change("mask", to: 9, &rig)
        #expect(try rig.ask(.blobDB2, [0x07, 1, 0, 12]).count == 2)
        #expect(try status(.delete(.settings, key: Array("mask".utf8)[...]), &rig) == .success)
        #expect(rig.wait(.seconds(100)) == [])
    }

    // MARK: Calls, music, actions

    @Test(
        "The phone's list of calls has no lists in it, and a watch shows eight calls and remembers sixteen missed ones"
    )
    func calls() throws {
        var rig = ServiceRig()
        let incoming: [UInt8] = [0x04, 0, 0, 0, 1, 1, 0x31, 1, 0x41]
        let list: [UInt8] = [0x83, 2, 0x83, 0, UInt8(incoming.count)] + incoming
        #expect(try rig.ask(.phoneControl, list) == [])
        #expect(rig.system.services.phoneControl.calls.map(\.id.rawValue) == [1])
        for number: UInt8 in 2...9 { _ = try rig.ask(.phoneControl, [0x05, 0, 0, 0, number]) }
        #expect(rig.system.services.phoneControl.calls.map(\.id.rawValue) == [1, 2, 3, 4, 5, 6, 7, 8])
        for number: UInt8 in 1...17 {
            _ = try rig.ask(.phoneControl, [0x06, 0, 0, 0, 99, 1, 0x30 + number, 0])
        }
        let missed = rig.system.services.phoneControl.missed
        #expect(missed.count == 16 && missed.first?.number == "2" && missed.last?.number == "A")
        // One that the phone has missed is over.
        _ = try rig.ask(.phoneControl, [0x06, 0, 0, 0, 8, 0, 0])
        #expect(rig.system.services.phoneControl.calls.map(\.id.rawValue) == [1, 2, 3, 4, 5, 6, 7])
        _ = rig.takeLog()
        // They are none of an iPhone's notifications.
        let removed = ANCSClient.Event.removed(ANCSNotificationUID(rawValue: 1))
        _ = rig.system.withServices(at: rig.now) { $0.receive(removed, from: Self.iPhone, in: &$1) }
        #expect(rig.system.services.phoneControl.calls.count == 7)
        for command: UInt8 in [0x01, 0x02] { _ = try rig.ask(.phoneControl, [command, 0, 0, 0, 1]) }
        #expect(rig.takeLog().filter { $0.hasSuffix("the phone sent a watch's call command") }.count == 2)
    }

    @Test("Where a track is follows from the rate, and stands still while the player is paused")
    func position() throws {
        var rig = ServiceRig()
        #expect(rig.system.services.music.position(at: .seconds(5)) == nil)
        // Playing at twice the speed, from 1000 ms on.
        _ = try rig.ask(.music, [0x11, 1, 0xE8, 0x03, 0, 0, 200, 0, 0, 0, 0, 0])
        #expect(rig.system.services.music.position(at: .seconds(5)) == 11_000)
        _ = try rig.ask(.music, [0x11, 0, 0xE8, 0x03, 0, 0, 200, 0, 0, 0, 0, 0])
        #expect(rig.system.services.music.position(at: .seconds(5)) == 1000)
    }

    @Test("An iPhone's player has a name, an order and repetition, and is not asked for what it tells anyway")
    func player() {
        var rig = ServiceRig()
        for change in [AMSChange.playerName("Radio"), .shuffle(.on), .repetition(.all), .volume(40)] {
            _ = rig.system.withServices(at: rig.now) { $0.receive(.changed(change), from: Self.iPhone, in: &$1) }
        }
        let music = rig.system.services.music
        #expect(music.player == "Radio" && music.volume == 40)
        #expect(music.playState?.shuffle == .on && music.playState?.repetition == .all)
        var other = ServiceRig()
        _ = other.system.withServices(at: other.now) {
            $0.receive(.changed(.repetition(.one)), from: Self.iPhone, in: &$1)
        }
        #expect(other.system.services.music.playState?.repetition == .one)
        #expect(other.system.services.music.playState?.state == .unknown)
        let isAsked = rig.system.withServices(at: rig.now) { $0.send(.getAll, in: &$1) }
        let request = rig.system.nextPhoneRequest()
        #expect(isAsked == false && request == nil)
        // Everything that is known, once more.
        _ = rig.takeServiceEvents()
        rig.system.handle(at: rig.now) { system, context in system.services.music.repeatAll(in: &context) }
        #expect(rig.takeServiceEvents().contains(.volume(40)))
    }

    @Test(
        "An action of the phone's app's notification goes to the app, and nowhere while there is none",
        arguments: [true, false]
    )
    func actions(isFromANCS: Bool) throws {
        var rig = ServiceRig()
        let id = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let action = TimelineItemAction(id: 3, kind: .generic, attributes: [TimelineAttribute(.title, "Do")])
        let record = item(
            id,
            of: .notification,
            layout: .notification,
            flags: isFromANCS ? .fromANCS : [],
            actions: [action]
        )
        #expect(try status(.insert(.notifications, record, timestamp: nil), &rig) == .success)
        func act() -> Bool? { rig.system.withServices(at: rig.now) { $0.perform(3, of: id, text: "Yes", in: &$1) } }
        #expect(act() == true)
        // The item, the action, one attribute: a title of 3 bytes.
        let invocation: [UInt8] = [isFromANCS ? 0x03 : 0x02] + id.key + [3, 1, 1, 3, 0] + Array("Yes".utf8)
        #expect(rig.drain().map(\.payload) == [invocation])
        rig.closeSession()
        _ = rig.takeServiceEvents()
        #expect(act() == true)
        #expect(rig.takeServiceEvents() == [.actionNotSent(id, action: 3)])
    }

    @Test("Without a phone nobody can take a call, and there is none")
    func noCall() {
        var rig = ServiceRig()
        for isAccepted in [true, false] {
            let isDone = rig.system.withServices(at: rig.now) { $0.answerCall(isAccepted, in: &$1) }
            #expect(isDone == false)
        }
        #expect(rig.drain() == [])
    }

    @Test("A session that is over has nothing to say")
    func noSession() {
        var rig = ServiceRig()
        rig.closeSession()
        let bytes = rig.system.takeOutbound(of: rig.session, atMost: 1000, at: rig.now)
        #expect(bytes.isEmpty && rig.system.outboundByteCount(of: rig.session) == 0)
    }

    // MARK: Logs, files and data

    @Test("A phone and a tool that both want the lines of apps both get them")
    func appLogs() {
        var rig = AppRig()
        let phone = rig.open()
        let tool = rig.system.openSession(.reversedV2, over: .qemu, at: rig.now)
        _ = rig.take(tool)
        for session in [phone, tool] { rig.sendRaw([0, 1, 0x07, 0xD6, 1], on: session) }
        let line = LogLine(timestamp: 1, level: .info, line: 7, file: "app.c", message: "Hello")
        let record = AppLogRecord(application: AppRig.app, line: line)
        _ = rig.system.withApps(at: rig.now) { _, context in context.events.append(.appLogged(record)) }
        rig.drain()
        #expect(rig.take(phone) == [PebbleMessage(record)])
        #expect(rig.take(tool).filter { $0.endpoint == .appLog } == [PebbleMessage(record)])
    }

    @Test("A second log is not begun while one is sent, and a log of the phone's is nothing to the watch")
    func logDump() throws {
        var rig = ServiceRig()
        // Lines enough that they do not leave at once.
        for _ in 0..<200 { #expect(try rig.ask(.logDump, [0x81, 0, 0, 0, 9]) == []) }
        #expect(rig.takeLog().count { $0.hasSuffix("the phone sent a watch's log") } == 200)
        // Command, generation and cookie.
        var bytes: [UInt8] = []
        for cookie: UInt8 in [1, 2] {
            let request = PebbleMessage(endpoint: .logDump, payload: [0x10, 0, 0, 0, 0, cookie])
            try MessageFramer.append(request, to: &bytes)
        }
        let said = rig.send(bytes).filter { $0.endpoint == .logDump }.map(\.payload)
        #expect(said.count > 200 && said.last == [0x81, 0, 0, 0, 1])
        #expect(said.allSatisfy { $0[1..<5] == [0, 0, 0, 1] })
    }

    @Test("What is no request for bytes is refused as malformed, with what can be read of its number")
    func getBytes() throws {
        var rig = ServiceRig()
        let cases: [(request: [UInt8], status: UInt8)] = [
            ([0x09, 7], 1), ([0x03, 7, 0, 0], 1), ([0x01, 7, 0, 0, 0, 0, 0], 1), ([0x02, 7, 0, 0, 0, 0, 1], 1),
            ([0x00, 7], 3), ([0x05, 7], 3), ([0x04, 7, 0, 0, 0, 0, 0, 0, 0, 4], 3),
        ]
        for (request, status) in cases {
            #expect(try rig.ask(.getBytes, request) == [[0x01, 7, status, 0, 0, 0, 0]], "\(request)")
        }
        #expect(try rig.ask(.getBytes, [0x09]) == [[0x01, 0, 1, 0, 0, 0, 0]])
    }

    @Test("A core dump that is on its way is not begun once more, and ends with its session")
    func coreDump() throws {
        let bytes = [UInt8](repeating: 0xC0, count: 20_000)
        var rig = ServiceRig(memory: ServiceMemory(coreDump: CoreDump(bytes: bytes)))
        rig.system.receive([0, 2, 0x23, 0x28, 0x00, 1], on: rig.session, at: rig.now)
        rig.system.receive([0, 2, 0x23, 0x28, 0x00, 2], on: rig.session, at: rig.now)
        let said = rig.drain().map(\.payload)
        #expect(said.first == [0x01, 1, 0, 0, 0, 0x4E, 0x20] && said.contains([0x01, 2, 2, 0, 0, 0, 0]))
        #expect(said.filter { $0.starts(with: [0x02, 1]) }.map { $0.count - 6 }.reduce(0, +) == 20_000)
        rig.system.receive([0, 2, 0x23, 0x28, 0x00, 3], on: rig.session, at: rig.now)
        rig.reopen()
        let answers = try rig.ask(.getBytes, [0x00, 4])
        #expect(answers.first == [0x01, 4, 0, 0, 0, 0x4E, 0x20])
        #expect(answers.allSatisfy { $0[1] == 4 }, "and nothing of the one before")
    }

    private static func session(itemSize: UInt16) -> DataLoggingMessage.Session {
        DataLoggingMessage.Session(
            application: PebbleUUID(upperHalf: 1, lowerHalf: 2),
            timestamp: 0x0102_0304,
            tag: 7,
            itemType: .unsigned,
            itemSize: itemSize
        )
    }

    @Test("Items of a session that was not stored were not logged")
    func loggingWithoutSession() throws {
        var rig = ServiceRig()
        rig.storeAnswers = false
        let session = Self.session(itemSize: 4)
        let isLogged = rig.system.withServices(at: rig.now) { $0.log([1, 2, 3, 4], as: session, in: &$1) }
        #expect(isLogged == true)
        try rig.finishChange(.full(path: "/state"))
        try rig.finishChange()
        let id = LoggingSessionID(rawValue: 1)
        #expect(rig.takeServiceEvents() == [.dataNotLogged(id, reason: "its session was not stored")])
        #expect(rig.system.services.store.spools.isEmpty)
        // A session that there is not cannot end.
        rig.storeAnswers = true
        _ = rig.system.withServices(at: rig.now) { $0.finishLogging(id, in: &$1) }
        _ = rig.drain()
        #expect(!rig.changes.contains(.loggingFinished(id)))
    }

    @Test(
        "What a phone says of logging sessions that there are not changes nothing",
        arguments: [0x85, 0x86] as [UInt8]
    )
    func unknownLoggingSession(command: UInt8) throws {
        var rig = ServiceRig()
        let session = Self.session(itemSize: 4)
        _ = rig.system.withServices(at: rig.now) { $0.log([1, 2, 3, 4], as: session, in: &$1) }
        _ = rig.takeServiceEvents()
        #expect(try rig.ask(.dataLogging, [command, 9]).allSatisfy { $0 == [0x03, 9] })
        #expect(rig.takeServiceEvents() == [])
        #expect(rig.system.services.store.spools[LoggingSessionID(rawValue: 1)]?.bytes == [1, 2, 3, 4])
    }

    @Test("How many items wait follows from their size, also for one that cannot be")
    func itemCount() {
        let bytes: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        #expect(LoggingSpool(session: Self.session(itemSize: 4), bytes: bytes).itemCount == 2)
        #expect(LoggingSpool(session: Self.session(itemSize: 0), bytes: bytes).itemCount == 8)
    }

    // MARK: What databases do not take

    @Test("Layouts and preferences that no watch keeps are refused")
    func refusedRecords() throws {
        var rig = ServiceRig()
        let id = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let title = TimelineAttribute(.title, "Ada")
        let subtitle = TimelineAttribute(.subtitle, "8:00")
        func insert(_ layout: TimelineItem.Layout, _ attributes: [TimelineAttribute]) throws -> BlobDBStatus? {
            let record = item(id, of: .pin, layout: layout, attributes: attributes)
            return try status(.insert(.pins, record, timestamp: nil), &rig)
        }
        #expect(try insert(.alarm, [title]) == .invalidData)
        #expect(try insert(.alarm, [title, subtitle]) == .success)
        let weather = BlobDBRecord(key: Array("weatherApp".utf8)[...], value: [])
        #expect(try status(.insert(.watchAppPreferences, weather, timestamp: nil), &rig) == .invalidData)
        // The entry of an app, and far too much behind it.
        var value: [UInt8] = []
        AppMetadata(uuid: id, flags: [], majorVersion: 1, minorVersion: 0, sdk: .current, name: "Test").encode(
            to: &value
        )
        let entry = BlobDBRecord(key: id.key[...], value: value[...])
        let long = BlobDBRecord(key: id.key[...], value: (value + [UInt8](repeating: 0, count: 65_000))[...])
        #expect(try status(.insert(.apps, long, timestamp: nil), &rig) == .invalidData)
        #expect(try status(.insert(.apps, entry, timestamp: nil), &rig) == .success)
    }

    // MARK: Apps

    @Test(
        "A phone that does not bring an app says why",
        arguments: [
            (UInt8(2), "the phone is busy"), (3, "the phone does not know it"), (4, "the phone does not have it"),
        ]
    )
    func noApp(code: UInt8, reason: String) throws {
        let app = PebbleUUID(upperHalf: 0x1234, lowerHalf: 0x5678)
        var rig = ServiceRig()
        var value: [UInt8] = []
        AppMetadata(uuid: app, flags: [], majorVersion: 1, minorVersion: 0, sdk: .current, name: "Rig").encode(
            to: &value
        )
        let record = BlobDBRecord(key: app.key[...], value: value[...])
        #expect(try status(.insert(.apps, record, timestamp: nil), &rig) == .success)
        try rig.send(AppRunStateMessage.start(app))
        _ = rig.takeServiceEvents()
        _ = try rig.ask(.appFetch, [0x01, code])
        #expect(rig.takeServiceEvents().contains(.appFetchFailed(app, reason: reason)))
    }

    @Test("An app whose upload fails is refused, with the parts that are missing")
    func failedUpload() throws {
        let app = PebbleUUID(upperHalf: 0x1234, lowerHalf: 0x5678)
        var rig = ServiceRig()
        var value: [UInt8] = []
        AppMetadata(uuid: app, flags: [], majorVersion: 1, minorVersion: 0, sdk: .current, name: "Rig").encode(
            to: &value
        )
        let record = BlobDBRecord(key: app.key[...], value: value[...])
        #expect(try status(.insert(.apps, record, timestamp: nil), &rig) == .success)
        let request = try #require(try rig.send(AppRunStateMessage.start(app)).decoded(AppFetchRequest.self).first)
        func begin(_ kind: PutBytesObject.Kind) throws -> PutBytesToken {
            let object = PutBytesObject(size: 4, kind: kind, target: .app(request.appID))
            return try #require(try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self).first?.token)
        }
        let bytes: [UInt8] = [1, 2, 3, 4]
        let first = try begin(.appResources)
        try rig.send(PutBytesRequest.put(PutBytesPiece(token: first, data: bytes[...])))
        try rig.send(PutBytesRequest.commit(first, crc: LegacyChecksum.checksum(of: bytes)))
        let second = try begin(.appBinary)
        _ = rig.takeServiceEvents()
        try rig.send(PutBytesRequest.abort(second))
        #expect(
            rig.takeServiceEvents().contains(
                .appFetchFailed(app, reason: "an upload failed; the app is refused: its binary is missing")
            )
        )
    }
}
