import ByteCoding
import PebbleProtocol

/// The typed value of each vector of the services that upload, store, log and control, by the vector's name.
enum ExpectedServiceMessages {
    static let byName: [String: ExpectedMessage] = [putBytes, databases, logs, media, timeline]
        .reduce(into: [:]) { all, part in all.merge(part) { first, _ in first } }

    private static func only(_ messages: [String: any EndpointMessage]) -> [String: ExpectedMessage] {
        messages.mapValues { ExpectedMessage(message: $0) }
    }

    /// The object that the upload of ten steps carries, from the checksum vector of the same name.
    static let uploadedObject =
        GoldenVector.pebbleProtocol.first { $0.name == "crc-stm32-putbytes-object-2501" }?.bytes ?? []

    static let putBytes: [String: ExpectedMessage] = {
        let token = PutBytesToken(rawValue: 0x3F2A_1B0C)
        let acknowledgement = PutBytesResponse.acknowledgement(token)
        func begin(
            _ size: UInt32,
            _ kind: PutBytesObject.Kind,
            _ target: PutBytesObject.Target,
            resumeOffset: UInt32? = nil
        ) -> PutBytesRequest {
            .begin(PutBytesObject(size: size, kind: kind, target: target, resumeOffset: resumeOffset))
        }
        func app(_ id: Int32) -> PutBytesObject.Target { .app(AppID(rawValue: id)) }
        return only([
            "putbytes-1-init-app-binary": begin(2501, .appBinary, app(1)),
            "putbytes-2-init-ack": acknowledgement,
            "putbytes-3-put-first-2000": PutBytesRequest.put(
                PutBytesPiece(token: token, data: uploadedObject.prefix(2000))
            ),
            "putbytes-4-put-ack": acknowledgement,
            "putbytes-5-put-last-501": PutBytesRequest.put(
                PutBytesPiece(token: token, data: uploadedObject.suffix(501))
            ),
            "putbytes-6-put-ack": acknowledgement,
            "putbytes-7-commit": PutBytesRequest.commit(token, crc: 115_542_211),
            "putbytes-8-commit-ack": acknowledgement,
            "putbytes-9-install": PutBytesRequest.install(token),
            "putbytes-10-install-ack": acknowledgement,
            "putbytes-install-ack-token-zero": PutBytesResponse.acknowledgement(.none),
            "putbytes-nack": PutBytesResponse.negativeAcknowledgement(token),
            "putbytes-nack-init": PutBytesResponse.negativeAcknowledgement(.none),
            "putbytes-abort": PutBytesRequest.abort(token),
            "putbytes-init-app-resources": begin(6429, .appResources, app(1)),
            "putbytes-init-worker": begin(900, .appWorker, app(258)),
            "putbytes-init-firmware": begin(5003, .firmware, .bank(0, fileName: "")),
            "putbytes-init-system-resources": begin(3001, .systemResources, .bank(0, fileName: "")),
            "putbytes-init-file-lang": begin(1234, .file, .bank(0, fileName: "lang")),
            "putbytes-init-firmware-no-filename": begin(5003, .firmware, .bank(0, fileName: nil)),
            "putbytes-init-resume": begin(3003, .firmware, .bank(0, fileName: nil), resumeOffset: 2000),
            "putbytes-init-gadgetbridge-firmware": begin(5003, .firmware, app(0)),
        ])
    }()

    static let item = PebbleUUID(upperHalf: 0x1111_1111_2222_3333, lowerHalf: 0x4444_5555_5555_5555)

    static let appMetadata = AppMetadata(
        uuid: ExpectedMessages.specApp,
        flags: [.allowsJavaScript, AppFlags(rawValue: 0x80)],
        majorVersion: 1,
        minorVersion: 2,
        sdk: SDKVersion(major: 5, minor: 0x6A),
        name: "Spec Test"
    )

    static let pin = TimelineItem(
        id: item,
        parent: ExpectedMessages.specApp,
        timestamp: 1_700_000_000,
        durationMinutes: 30,
        kind: .pin,
        flags: .visible,
        layout: .generic,
        attributes: [TimelineAttribute(.title, "Title"), TimelineAttribute(.tinyIcon, 0x8000_0001)],
        actions: [TimelineItemAction(id: 0, kind: .remove, attributes: [TimelineAttribute(.title, "Remove")])]
    )

    static let notification = TimelineItem(
        id: item,
        parent: .system,
        timestamp: 1_700_000_000,
        durationMinutes: 0,
        kind: .notification,
        flags: .visible,
        layout: .generic,
        attributes: [TimelineAttribute(.title, "Alice"), TimelineAttribute(.body, "Hello from the phone")],
        actions: [TimelineItemAction(id: 0, kind: .dismiss, attributes: [TimelineAttribute(.title, "Dismiss")])]
    )

    static func bytes(_ encode: (inout [UInt8]) -> Void) -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        encode(&bytes)
        return bytes[...]
    }

    static let databases: [String: ExpectedMessage] = {
        let token = BlobDBToken(rawValue: 0x1234)
        func insert(
            _ database: BlobDBDatabase,
            _ key: ArraySlice<UInt8>,
            _ value: ArraySlice<UInt8>,
            timestamp: UInt32? = nil
        ) -> BlobDBRequest {
            BlobDBRequest(
                token: token,
                command: .insert(database, BlobDBRecord(key: key, value: value), timestamp: timestamp)
            )
        }
        let appKey = bytes { ExpectedMessages.specApp.encode(to: &$0) }
        let itemKey = bytes { item.encode(to: &$0) }
        let setting = BlobDBRecord(key: Array("clock24h".utf8)[...], value: [1])
        func message(_ token: UInt16, _ body: BlobDB2Message.Body) -> BlobDB2Message {
            BlobDB2Message(token: BlobDBToken(rawValue: token), body)
        }
        var messages = only([
            "blobdb-insert-app": insert(.apps, appKey, bytes { appMetadata.encode(to: &$0) }),
            "blobdb-delete-app": BlobDBRequest(token: token, command: .delete(.apps, key: appKey)),
            "blobdb-clear-apps": BlobDBRequest(token: token, command: .clear(.apps)),
            "blobdb-insert-pin": insert(.pins, itemKey, bytes { pin.encode(to: &$0) }),
            "blobdb-insert-notification": insert(.notifications, itemKey, bytes { notification.encode(to: &$0) }),
            "blobdb-insert-app-glance": insert(
                .appGlances,
                appKey,
                hex("0100f1536517000003300400030000802f0200486925040000000000")[...]
            ),
            "blobdb-insert-pref-activity": insert(
                .healthPreferences,
                Array("activityPreferences".utf8)[...],
                hex("a406a81b01000a1e00")[...]
            ),
            "blobdb-insert-with-timestamp": insert(
                .settings,
                setting.key,
                setting.value,
                timestamp: 1_700_000_000
            ),
            "blobdb2-version-request": message(1, .version),
            "blobdb2-version-response": message(1, .response(to: 0x0B, .success, .version(1))),
            "blobdb2-dirty-dbs-request": message(2, .dirtyDatabases),
            "blobdb2-dirty-dbs-response": message(2, .response(to: 0x06, .success, .databases([.settings]))),
            "blobdb2-start-sync": message(3, .startSync(.settings)),
            "blobdb2-start-sync-response": message(3, .response(to: 0x07, .success, .none)),
            "blobdb2-writeback": message(
                1,
                .writeBack(.init(database: .settings, timestamp: 1_700_000_000, record: setting))
            ),
            "blobdb2-writeback-response": message(1, .response(to: 0x09, .success, .none)),
            "blobdb2-sync-done": message(2, .syncDone(.settings)),
            "blobdb2-sync-done-response": message(2, .response(to: 0x0A, .success, .none)),
            "blobdb2-mark-all-dirty": message(4, .markAllDirty(.settings)),
            "blobdb2-mark-all-dirty-response": message(4, .response(to: 0x0C, .success, .none)),
            "app-reorder-two": AppOrderRequest(
                applications: [
                    ExpectedMessages.specApp,
                    PebbleUUID(upperHalf: 0x0011_2233_4455_6677, lowerHalf: 0x8899_AABB_CCDD_EEFF),
                ]
            ),
            "app-reorder-response-success": AppOrderResponse.success,
        ])
        let statuses: [(String, BlobDBStatus)] = [
            ("01-Success", .success), ("02-GeneralFailure", .generalFailure),
            ("03-InvalidOperation", .invalidOperation), ("04-InvalidDatabaseID", .invalidDatabase),
            ("05-InvalidData", .invalidData), ("06-KeyDoesNotExist", .keyDoesNotExist),
            ("07-DatabaseFull", .databaseFull), ("08-DataStale", .dataStale), ("09-NotSupported", .notSupported),
            ("0a-Locked", .locked), ("0b-TryLater", .tryLater),
        ]
        for (name, status) in statuses {
            messages["blobdb-response-\(name)"] = ExpectedMessage(
                message: BlobDBResponse(token: token, status: status)
            )
        }
        return messages
    }()

    static let logs: [String: ExpectedMessage] = {
        let cookie: UInt32 = 0x0102_0304
        let session = DataLoggingMessage.SessionID(rawValue: 5)
        func bytesOfPattern(_ text: String) -> ArraySlice<UInt8> { hex(text)[...] }
        return only([
            "app-logs-enable": AppLogControl(isEnabled: true),
            "app-logs-disable": AppLogControl(isEnabled: false),
            "app-log-message": AppLogRecord(
                application: ExpectedMessages.specApp,
                line: LogLine(
                    timestamp: 1_700_000_000,
                    level: .info,
                    line: 42,
                    file: "main.c",
                    message: "hello log"
                )
            ),
            "log-dump-request": LogDumpMessage.request(generation: 0, cookie: cookie),
            "log-dump-line": LogDumpMessage.line(
                cookie: cookie,
                LogLine(timestamp: 1_700_000_000, level: .info, line: 7, file: "boot.c", message: "up")
            ),
            "log-dump-done": LogDumpMessage.done(cookie: cookie),
            "log-dump-none": LogDumpMessage.noLogs(cookie: cookie),
            "screenshot-request": ScreenshotRequest(),
            "screenshot-first-packet-1bpp-16x2": ScreenshotHeader(
                status: .ok,
                format: .oneBit,
                width: 16,
                height: 2,
                pixels: bytesOfPattern("aa550ff0")
            ),
            "screenshot-first-packet-8bpp-4x2": ScreenshotHeader(
                status: .ok,
                format: .eightBits,
                width: 4,
                height: 2,
                pixels: bytesOfPattern("c0fff0ccc3fccff3")
            ),
            "screenshot-continuation": ScreenshotContinuation(pixels: [0, 1, 2, 3]),
            "screenshot-error-in-progress": ScreenshotHeader(failure: .alreadyInProgress),
            "datalog-open": DataLoggingMessage.open(
                session,
                .init(
                    application: ExpectedMessages.specApp,
                    timestamp: 1_700_000_000,
                    tag: 4660,
                    itemType: .unsigned,
                    itemSize: 4
                )
            ),
            "datalog-data": DataLoggingMessage.data(
                session,
                itemsLeft: DataLoggingMessage.unknownItemsLeft,
                crc: 2_505_761_789,
                bytesOfPattern("01000000020000000300000004000000")
            ),
            "datalog-data-7-bytes": DataLoggingMessage.data(
                .init(rawValue: 6),
                itemsLeft: DataLoggingMessage.unknownItemsLeft,
                crc: 1_355_669_936,
                bytesOfPattern("01020304050607")
            ),
            "datalog-close": DataLoggingMessage.close(session),
            "datalog-timeout": DataLoggingMessage.timeout(session),
            "datalog-ack": DataLoggingMessage.acknowledgement(session),
            "datalog-nack": DataLoggingMessage.negativeAcknowledgement(session),
            "datalog-report-none": DataLoggingMessage.reportOpenSessions([]),
            "datalog-report-two": DataLoggingMessage.reportOpenSessions([.init(rawValue: 1), session]),
            "datalog-empty-session": DataLoggingMessage.emptySession(session),
            "datalog-get-send-enable": DataLoggingMessage.getSendEnable,
            "datalog-set-send-enable": DataLoggingMessage.setSendEnable(false),
            "datalog-send-enable-response": DataLoggingMessage.sendEnableState(true),
            "health-sync-request": HealthSyncMessage.request(secondsSinceLastSync: 3600),
            "health-sync-ack": HealthSyncMessage.response(isAccepted: true),
            "getbytes-coredump": GetBytesMessage(transaction: 1, .coreDump),
            "getbytes-unread-coredump": GetBytesMessage(transaction: 1, .unreadCoreDump),
            "getbytes-file": GetBytesMessage(transaction: 1, .file(name: "abc")),
            "getbytes-flash": GetBytesMessage(transaction: 1, .flash(address: 4_063_232, length: 256)),
            "getbytes-info-ok": GetBytesMessage(transaction: 1, .info(.ok, size: 10)),
            "getbytes-info-none": GetBytesMessage(transaction: 1, .info(.doesNotExist, size: 0)),
            "getbytes-data": GetBytesMessage(transaction: 1, .data(offset: 0, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])),
        ])
    }()

    static let media: [String: ExpectedMessage] = {
        let call = PhoneControlMessage.Call(rawValue: 0x0102_0304)
        let caller = PhoneControlMessage.Caller(number: "555-0100", name: "Alice")
        return only([
            "music-playpause": MusicMessage.command(.playOrPause),
            "music-pause": MusicMessage.command(.pause),
            "music-play": MusicMessage.command(.play),
            "music-next": MusicMessage.command(.next),
            "music-previous": MusicMessage.command(.previous),
            "music-volume-up": MusicMessage.command(.volumeUp),
            "music-volume-down": MusicMessage.command(.volumeDown),
            "music-get-current": MusicMessage.command(.getAll),
            "music-now-playing-extended": MusicMessage.nowPlaying(
                .init(
                    artist: "A",
                    album: "B",
                    title: "C",
                    details: .init(lengthMilliseconds: 200_000, trackCount: 10, trackIndex: 3)
                )
            ),
            "music-now-playing-short": MusicMessage.nowPlaying(.init(artist: "A", album: "B", title: "C")),
            "music-play-state": MusicMessage.playState(
                .init(
                    state: .playing,
                    positionMilliseconds: 5000,
                    ratePercent: 100,
                    shuffle: .off,
                    repetition: .off
                )
            ),
            "music-volume": MusicMessage.volume(42),
            "music-player": MusicMessage.player(package: "com.x", name: "X"),
            "phone-incoming-call": PhoneControlMessage.incoming(call, caller),
            "phone-missed-call": PhoneControlMessage.missed(call, caller),
            "phone-ring": PhoneControlMessage.ring(call),
            "phone-start": PhoneControlMessage.start(call),
            "phone-end": PhoneControlMessage.end(call),
            "phone-answer": PhoneControlMessage.answer(call),
            "phone-hangup": PhoneControlMessage.hangUp(call),
            "ble-control-discoverable": BLEControlMessage(isDiscoverable: true, durationSeconds: 60),
        ])
    }()

    static let timeline = only([
        "timeline-invoke-action": TimelineActionMessage.invoke(.init(item: item, actionID: 0, attributes: [])),
        "timeline-invoke-action-text": TimelineActionMessage.invoke(
            .init(item: item, actionID: 1, attributes: [TimelineAttribute(.title, "ok")])
        ),
        "timeline-action-response-ack": TimelineActionMessage.response(
            .init(item: item, code: .acknowledgement, attributes: [TimelineAttribute(.subtitle, "Done")])
        ),
    ])
}
