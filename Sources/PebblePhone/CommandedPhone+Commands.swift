import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// How each command begins.

extension CommandedPhone {
    /// How long the watch has for one answer of the Pebble Protocol.
    static let answerPatience: Duration = .seconds(15)
    /// How long the watch may take between two steps of an upload, or of an installation.
    static let uploadPatience: Duration = .seconds(30)
    /// How long the end of a link is waited for.
    static let disconnectPatience: Duration = .seconds(10)

    /// Begins a command. Its end follows in ``nextResult()``; at once if it is refused.
    package mutating func begin(_ command: PhoneCommand, as id: PhoneRequestID, at now: Duration) {
        do throws(PhoneCommandError) {
            guard requests.count < Self.requestLimit else { throw .queueFull }
            try start(command, id, at: now)
        } catch {
            end(id, .failure(error))
        }
        settle(at: now)
    }

    private mutating func start(
        _ command: PhoneCommand,
        _ id: PhoneRequestID,
        at now: Duration
    ) throws(PhoneCommandError) {
        switch command {
        case .scan(let span):
            try checkIsIdle(forScan: true)
            phone.beginSurvey(at: now)
            add(id, .scan, within: span, at: now)
        case .connect(let target, let span):
            try checkIsIdle(forScan: false)
            add(id, .connect, within: span, at: now)
            connect(to: target, at: now)
        case .pair(let consent, let span):
            guard !requests.contains(where: { $0.purpose.isPairing }), phone.pairingQuestion == nil else {
                throw .busy(.pairing)
            }
            summary = nil
            try phone.startPairing(at: now)
            add(id, .pair(consent, PairingReport()), within: span, at: now)
        case .confirm(let isAccepted, let span):
            let report = PairingReport(question: phone.pairingQuestion)
            try phone.answerPairing(accepting: isAccepted, at: now)
            add(id, .confirm(isAccepted, report), within: span, at: now)
        case .disconnect:
            guard phone.isEngaged else { throw .notConnected }
            phone.disconnect(at: now)
            fail(.cancelled) { if case .connect = $0 { true } else { false } }
            guard phone.linkState != nil else { return end(id, .success(.done)) }
            add(id, .disconnect, within: Self.disconnectPatience, at: now)
        case .drop:
            try phone.drop(at: now)
            end(id, .success(.done))
        case .forget(let watch):
            end(id, .success(.forgot(try forget(watch, at: now))))
        case .launch(let app, let span):
            try send(.start(app), at: now)
            add(id, .launch(app), within: span, at: now)
        case .stop(let span):
            guard phone.isNegotiated else { throw reasonForNoSession }
            guard let runningApp else { throw .noApp }
            try send(.stop(runningApp), at: now)
            add(id, .stop(runningApp), within: span, at: now)
        case .push(let dictionary, let app):
            guard phone.isNegotiated else { throw reasonForNoSession }
            guard let app = app ?? runningApp else { throw .noApp }
            let transaction = try phone.sendAppMessage(dictionary, to: app, at: now)
            add(id, .push(transaction, to: app), within: Self.answerPatience, at: now)
        case .expect(let entries, let app, let span):
            if let push = inbox.take({ $0.matches(entries, from: app) }) {
                end(id, .success(.received(push)))
            } else {
                add(id, .expect(entries, from: app), within: span, at: now)
            }
        case .upload(let bytes, let name):
            try upload(bytes, name: name, id, at: now)
        case .install(let app):
            try install(app, id, at: now)
        case .notify(let title, let body):
            try notify(title: title, body: body, id, at: now)
        case .ping:
            guard phone.isNegotiated else { throw reasonForNoSession }
            lastCookie &+= 1
            try phone.ping(cookie: lastCookie, at: now)
            add(id, .ping(lastCookie), within: Self.answerPatience, at: now)
        case .setTime:
            guard phone.isNegotiated else { throw reasonForNoSession }
            try phone.send(PebbleMessage(TimeMessage.setUTC(phone.configuration.clock.time(at: now))), at: now)
            try phone.send(PebbleMessage(TimeMessage.getRequest), at: now)
            add(id, .time, within: Self.answerPatience, at: now)
        }
    }

    private mutating func add(
        _ id: PhoneRequestID,
        _ purpose: Request.Purpose,
        within span: Duration,
        at now: Duration
    ) {
        requests.append(Request(id: id, purpose: purpose, began: now, deadline: now + span))
    }

    private var reasonForNoSession: PhoneCommandError { phone.linkState == nil ? .notConnected : .noSession }

    // MARK: The air

    /// One of both at a time: some controllers cannot listen and connect at once. A controller that is not ready yet is waited
    /// for.
    private func checkIsIdle(forScan isScan: Bool) throws(PhoneCommandError) {
        guard !phone.isSurveying else { throw .busy(.scan) }
        if let link = phone.linkState {
            guard isScan else { throw .connected(link.watch) }
        } else if phone.isEngaged {
            throw .busy(.connecting)
        }
    }

    private mutating func connect(to target: WatchTarget, at now: Duration) {
        switch target {
        case .known:
            if let bond = phone.bonds.last {
                phone.connect(to: bond.identity, at: now)
            } else {
                phone.connect(to: .any, at: now)
            }
        case .selected(let selection):
            if case .address(let address) = selection,
                let bond = phone.bonds.last(where: { $0.identity.address == address })
            {
                phone.connect(to: bond.identity, at: now)
            } else {
                phone.connect(to: selection, at: now)
            }
        }
    }

    private mutating func forget(
        _ watch: DeviceAddress?,
        at now: Duration
    ) throws(PhoneCommandError) -> [LEAddress] {
        let forgotten = phone.bonds.map(\.identity).filter { watch == nil || $0.address == watch }
        guard !forgotten.isEmpty else { throw .unknownWatch(watch) }
        for identity in forgotten { phone.forget(identity, at: now) }
        return forgotten
    }

    // MARK: The session

    /// Asks the watch to start or stop an app, and which one runs then: a watch that runs it already does not answer the first.
    mutating func send(_ message: AppRunStateMessage, at now: Duration) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        try phone.send(PebbleMessage(message), at: now)
        try phone.send(PebbleMessage(AppRunStateMessage.request), at: now)
    }

    private mutating func upload(
        _ bytes: [UInt8],
        name: String,
        _ id: PhoneRequestID,
        at now: Duration
    ) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        guard !bytes.isEmpty else { throw .empty }
        guard transfer == nil else { throw .busy(.upload) }
        let upload = PutBytesUpload(bytes, kind: .file, target: .bank(0, fileName: name))
        try phone.send(PebbleMessage(upload.beginning), at: now)
        transfer = Transfer(upload: upload, rest: [], purpose: .request(id), deadline: now + Self.uploadPatience)
        // The transfer has a limit of its own between two steps; this one is for all of it.
        add(id, .upload, within: .seconds(3600), at: now)
    }

    private mutating func install(_ app: PhoneApp, _ id: PhoneRequestID, at now: Duration) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        guard app.parts.allSatisfy({ !$0.bytes.isEmpty }) else { throw .empty }
        guard transfer == nil else { throw .busy(.upload) }
        var value: [UInt8] = []
        app.metadata.encode(to: &value)
        let token = try insert(into: .apps, key: app.metadata.uuid, value: value, at: now)
        apps.removeAll { $0.metadata.uuid == app.metadata.uuid }
        if apps.count >= Self.appLimit { apps.removeFirst() }
        apps.append(app)
        add(id, .install(app.metadata.uuid, token), within: Self.uploadPatience, at: now)
    }

    private mutating func notify(
        title: String,
        body: String,
        _ id: PhoneRequestID,
        at now: Duration
    ) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        lastItem &+= 1
        let item = TimelineItem(
            id: PebbleUUID(upperHalf: itemFamily, lowerHalf: lastItem),
            parent: .notificationSource,
            timestamp: phone.clockSeconds(at: now),
            durationMinutes: 0,
            kind: .notification,
            flags: [],
            layout: .notification,
            attributes: [
                TimelineAttribute(.title, title), TimelineAttribute(.body, body),
                TimelineAttribute(.tinyIcon, Self.genericNotificationIcon),
            ],
            actions: [TimelineItemAction(id: 0, kind: .dismiss, attributes: [TimelineAttribute(.title, "Dismiss")])]
        )
        var value: [UInt8] = []
        item.encode(to: &value)
        let token = try insert(into: .notifications, key: item.id, value: value, at: now)
        add(id, .notify(item.id, token), within: Self.answerPatience, at: now)
    }

    /// The icon of a notification whose sender has none of its own (libpebble3).
    private static let genericNotificationIcon: UInt32 = 0x8000_0001

    private mutating func insert(
        into database: BlobDBDatabase,
        key: PebbleUUID,
        value: [UInt8],
        at now: Duration
    ) throws(PhoneCommandError) -> BlobDBToken {
        // No request has the token that stands for none.
        lastToken = lastToken == .max ? 1 : lastToken + 1
        let token = BlobDBToken(rawValue: lastToken)
        var name: [UInt8] = []
        key.encode(to: &name)
        let record = BlobDBRecord(key: name[...], value: value[...])
        let request = BlobDBRequest(token: token, command: .insert(database, record, timestamp: nil))
        try phone.send(PebbleMessage(request), at: now)
        return token
    }
}

extension CommandedPhone.Request.Purpose {
    /// Whether it is about a pairing.
    var isPairing: Bool {
        switch self {
        case .pair, .confirm: true
        case .scan, .connect, .disconnect, .launch, .stop, .push, .expect, .upload, .install, .notify, .ping, .time:
            false
        }
    }
}

extension PebbleUUID {
    /// What notifications come from: ed429c16-f674-4220-95da-454f303f15e2 (PebbleOS, `UUID_NOTIFICATIONS_DATA_SOURCE`).
    fileprivate static let notificationSource = PebbleUUID(
        upperHalf: 0xED42_9C16_F674_4220,
        lowerHalf: 0x95DA_454F_303F_15E2
    )
}
