import ByteCoding
import PebbleProtocol

/// Which of the two watches has said something.
enum MirrorSide: Sendable {
    /// The one whose own services answer the phone.
    case watch
    /// The one in its shadow.
    case firmware
}

/// What the two watches call the same things, and what is known to be the same in both.
///
/// A watch chooses the names of uploads and of apps itself. The phone uses the names of the watch that it hears; the firmware is
/// told its own instead. And the two begin with what each has stored: whether a record is there is known only of records that
/// the phone has written since.
struct MirrorNames: Sendable {
    /// How many uploads are remembered, and how many apps.
    private static let nameLimit = 32
    /// How many records are remembered. One more, and all are forgotten.
    private static let recordLimit = 4096

    private struct Upload: Sendable {
        /// The question that began it.
        let number: UInt64
        var watch: PutBytesToken?
        var firmware: PutBytesToken?
    }

    private struct App: Sendable {
        let uuid: PebbleUUID
        var watch: AppID?
        var firmware: AppID?
    }

    private var uploads: [Upload] = []
    private var apps: [App] = []
    /// Records that are the same in both: there or not there.
    private var records: Set<MirrorQuestion.Record> = []
    /// Databases that were cleared in both.
    private var cleared: Set<UInt8> = []
    /// Whether the phone has said whether records of apps are to be sent.
    private var hasSetSendEnable = false
    /// The app that the firmware runs; nil before it has said so.
    private(set) var firmwareApp: PebbleUUID?

    // MARK: What was said

    /// A watch has given an upload its name.
    mutating func named(_ token: PutBytesToken, begunBy number: UInt64, on side: MirrorSide) {
        let index = uploads.firstIndex { $0.number == number } ?? uploads.count
        if index == uploads.count {
            if uploads.count == Self.nameLimit { uploads.removeFirst() }
            uploads.append(Upload(number: number))
        }
        guard let index = uploads.firstIndex(where: { $0.number == number }) else { return }
        switch side {
        case .watch: uploads[index].watch = token
        case .firmware: uploads[index].firmware = token
        }
    }

    /// A watch asks for an app.
    mutating func fetches(_ request: AppFetchRequest, on side: MirrorSide) {
        if !apps.contains(where: { $0.uuid == request.application }) {
            if apps.count == Self.nameLimit { apps.removeFirst() }
            apps.append(App(uuid: request.application))
        }
        guard let index = apps.firstIndex(where: { $0.uuid == request.application }) else { return }
        switch side {
        case .watch: apps[index].watch = request.appID
        case .firmware: apps[index].firmware = request.appID
        }
    }

    /// The firmware runs another app.
    mutating func firmwareRuns(_ app: PebbleUUID) { firmwareApp = app }

    /// Both have answered a question alike, and have done what it asked for.
    mutating func agreed(on question: MirrorQuestion, isDone: Bool) {
        if question.endpoint == .dataLogging, question.command == Self.setSendEnable { hasSetSendEnable = true }
        guard isDone, let record = question.record else { return }
        if records.count == Self.recordLimit { records = [] }
        if record.key.isEmpty { cleared.insert(record.database) } else { records.insert(record) }
    }

    /// DataLogging: the phone says whether records are to be sent.
    private static let setSendEnable: UInt8 = 0x8B

    /// Nothing is known of the firmware any more: it may be another one.
    mutating func forgetFirmware() {
        for index in uploads.indices { uploads[index].firmware = nil }
        for index in apps.indices { apps[index].firmware = nil }
        records = []
        cleared = []
        hasSetSendEnable = false
        firmwareApp = nil
    }

    /// The upload that the firmware began last, as it calls it.
    var lastFirmwareUpload: PutBytesToken? { uploads.last?.firmware }

    private func knows(_ record: MirrorQuestion.Record) -> Bool {
        cleared.contains(record.database) || records.contains(record)
    }
}

// MARK: - What the firmware is asked

extension MirrorNames {
    /// What becomes of a phone's message on its way to the firmware.
    enum Translation: Sendable, Equatable {
        /// The firmware is asked this.
        case asked(PebbleMessage)
        /// It is not asked, and why. It may be told something instead, which is not compared.
        case withheld(MirrorWithholding, instead: PebbleMessage?)
    }

    /// The words for the firmware of what the phone has said to the watch.
    func translate(_ message: PebbleMessage) -> Translation {
        let command = message.payload.first
        switch message.endpoint {
        case .reset, Self.restart: return .withheld(.reset, instead: nil)
        case .systemMessage:
            guard case .firmwareUpdateComplete? = try? SystemMessage(payload: message.payload) else { break }
            // It has not got the images, and is not to wait for them.
            return .withheld(.update, instead: PebbleMessage(SystemMessage.firmwareUpdateFailed))
        case .factoryRegistry where command == Self.writeRegistry: return .withheld(.hardware, instead: nil)
        case .getBytes:
            switch (try? GetBytesMessage(payload: message.payload))?.body {
            case .coreDump, .unreadCoreDump, .flash: return .withheld(.hardware, instead: nil)
            case .file, .info, .data, nil: break
            }
        case .appMessage where command.map(AppMessage.isAnswer) == true,
            .launcher where command.map(AppMessage.isAnswer) == true,
            .blobDB2 where (command ?? 0) & MirrorQuestion.answerFlag != 0,
            .timelineAction, .voiceControl:
            return .withheld(.answer, instead: nil)
        case .dataLogging where command.map(Self.loggingAnswers.contains) == true:
            return .withheld(.answer, instead: nil)
        case .appFetch:
            if !apps.contains(where: { $0.firmware != nil }) { return .withheld(.answer, instead: nil) }
        case .putBytes: return translate(upload: message)
        default: break
        }
        return .asked(message)
    }

    private func translate(upload message: PebbleMessage) -> Translation {
        if case .begin(var object)? = try? PutBytesRequest(payload: message.payload) {
            switch object.kind {
            case .firmware, .recoveryFirmware, .systemResources: return .withheld(.update, instead: nil)
            case .appResources, .appBinary, .file, .appWorker: break
            }
            guard case .app(let id) = object.target, let app = apps.last(where: { $0.watch == id }) else {
                return .asked(message)
            }
            guard let own = app.firmware else { return .withheld(.upload, instead: nil) }
            guard own != id else { return .asked(message) }
            object.target = .app(own)
            return .asked(PebbleMessage(PutBytesRequest.begin(object)))
        }
        guard let bytes = message.payload.part(1, 4) else { return .asked(message) }
        guard let upload = uploads.last(where: { $0.watch?.bytes == bytes }) else { return .asked(message) }
        guard let own = upload.firmware else { return .withheld(.upload, instead: nil) }
        var translated = message
        translated.payload.replaceSubrange(1..<5, with: own.bytes)
        return .asked(translated)
    }

    /// The firmware restarts at a message to this endpoint, which no watch has.
    private static let restart = Endpoint(rawValue: 0x6001)
    private static let writeRegistry: UInt8 = 0x02
    /// DataLogging: what the phone says to records of the watch's.
    private static let loggingAnswers: ClosedRange<UInt8> = 0x85...0x88
}

// MARK: - What an answer means

/// What is compared of an answer.
struct MirrorMeaning: Sendable, Equatable {
    let endpoint: Endpoint
    let bytes: [UInt8]
}

extension MirrorNames {
    /// What an answer says, without what each watch may say in its own way: its clock, who it is, names that it chooses, what is
    /// on its screen and in its log, which app runs, and what it had stored before.
    ///
    /// - Parameter runsOnWatch: whether the app that an AppMessage was for ran on the watch.
    func meaning(
        of answer: PebbleMessage,
        to question: MirrorQuestion,
        from side: MirrorSide,
        runsOnWatch: Bool
    ) -> MirrorMeaning {
        MirrorMeaning(
            endpoint: answer.endpoint,
            bytes: bytes(of: answer, to: question, from: side, runsOnWatch: runsOnWatch)
        )
    }

    private func bytes(
        of answer: PebbleMessage,
        to question: MirrorQuestion,
        from side: MirrorSide,
        runsOnWatch: Bool
    ) -> [UInt8] {
        let payload = answer.payload
        let first = payload.first ?? 0
        switch answer.endpoint {
        // The clock; who it is; its colour; its screen; which app runs.
        case .time, .watchVersion, .factoryRegistry, .screenshot, .appRunState: return [first]
        // Whether there are lines, and how many.
        case .logDump: return []
        // How much of an update is stored.
        case .systemMessage where payload.part(1, 1) == [Self.storedFirmware]: return [Self.storedFirmware]
        // Which files there are.
        case .getBytes:
            guard case .info(let status, _)? = (try? GetBytesMessage(payload: payload))?.body else { return payload }
            let isAnswered = status == .ok || status == .doesNotExist
            return [first, isAnswered ? 0 : status.rawValue]
        case .launcher: return AppMessage.isAnswer(first) ? payload : [first]
        // Apps are each watch's own: their answers are compared where both run the app, or neither.
        case .appMessage:
            guard let app = question.app, runsOnWatch != (app == firmwareApp) else { return payload }
            return [0] + payload.dropFirst()
        case .dataLogging: return hasSetSendEnable ? payload : [first]
        case .blobDB: return database(payload, question)
        case .blobDB2: return changes(payload, question)
        case .putBytes: return upload(payload, side)
        default: return payload
        }
    }

    /// SystemMessage: what of an interrupted update is stored.
    private static let storedFirmware: UInt8 = 0x0C

    /// Whether a record was there before is each watch's own; so a deletion that finds none is like one that finds one.
    private func database(_ payload: [UInt8], _ question: MirrorQuestion) -> [UInt8] {
        guard let record = question.record, !record.key.isEmpty, !knows(record), payload.count == 3,
            question.command == Self.delete,
            let status = BlobDBStatus(rawValue: payload[2])
        else { return payload }
        let isGone = status == .success || status == .keyDoesNotExist
        return isGone ? [payload[0], payload[1], BlobDBStatus.success.rawValue] : payload
    }

    private static let delete: UInt8 = 0x04

    /// What has changed on the watch, and has not been written back, is each watch's own.
    private func changes(_ payload: [UInt8], _ question: MirrorQuestion) -> [UInt8] {
        switch payload.first {
        case MirrorQuestion.syncDone: return [MirrorQuestion.syncDone]
        case Self.dirtyDatabases: return Array(payload.prefix(4))
        case MirrorQuestion.startSync | MirrorQuestion.answerFlag where question.asksForSettings:
            return Array(payload.prefix(3))
        default: return payload
        }
    }

    /// BlobDB2: which databases have changed; the status follows, then their number and names.
    private static let dirtyDatabases: UInt8 = 0x86

    /// The name of an upload is replaced by the number of the question that began it.
    private func upload(_ payload: [UInt8], _ side: MirrorSide) -> [UInt8] {
        guard let bytes = payload.part(1, 4), payload.count == 5, bytes != PutBytesToken.none.bytes else {
            return payload
        }
        let upload = uploads.last { (side == .watch ? $0.watch : $0.firmware)?.bytes == bytes }
        return upload.map { [payload[0]] + Array("\($0.number)".utf8) } ?? payload
    }
}

extension PutBytesToken {
    /// As it stands in messages.
    fileprivate var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(rawValue)
        return bytes
    }
}
