import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// How each command begins.

extension CommandedPhone {
    /// How long the watch has for one answer of the Pebble Protocol.
    static let answerPatience: Duration = .seconds(15)
    /// How long the end of a link is waited for.
    static let disconnectPatience: Duration = .seconds(10)

    /// Begins a command. Its end follows in ``nextResult()``; at once if it is refused.
    package mutating func begin(_ command: PhoneCommand, as id: PhoneRequestID, at now: Duration) {
        do throws(PhoneCommandError) {
            guard !requests.isFull else { throw .queueFull }
            habits?.see(command)
            if let isTaken = try habits?.takes(command, as: id, hasSession: phone.isNegotiated, at: now), isTaken {
                return settle(at: now)
            }
            try start(command, id, at: now)
        } catch {
            requests.end(id, .failure(error))
        }
        settle(at: now)
    }

    mutating func start(
        _ command: PhoneCommand,
        _ id: PhoneRequestID,
        at now: Duration
    ) throws(PhoneCommandError) {
        switch command {
        case .scan(let span):
            try checkIsIdle(forScan: true)
            phone.beginSurvey(at: now)
            requests.add(id, .scan, within: span, at: now)
        case .connect(let target, let span):
            try checkIsIdle(forScan: false)
            requests.add(id, .connect, within: span, at: now)
            connect(to: target, at: now)
        case .pair(let consent, let span):
            guard !requests.underway.contains(where: { $0.purpose.isPairing }), phone.pairingQuestion == nil else {
                throw .busy(.pairing)
            }
            summary = nil
            try phone.startPairing(at: now)
            requests.add(id, .pair(consent, PairingReport()), within: span, at: now)
        case .confirm(let isAccepted, let span):
            let report = PairingReport(question: phone.pairingQuestion)
            try phone.answerPairing(accepting: isAccepted, at: now)
            requests.add(id, .confirm(isAccepted, report), within: span, at: now)
        case .disconnect:
            guard phone.isEngaged else { throw .notConnected }
            phone.disconnect(at: now)
            requests.fail(.cancelled) { if case .connect = $0 { true } else { false } }
            guard phone.linkState != nil else { return requests.end(id, .success(.done)) }
            requests.add(id, .disconnect, within: Self.disconnectPatience, at: now)
        case .drop:
            try phone.drop(at: now)
            requests.end(id, .success(.done))
        case .forget(let watch):
            requests.end(id, .success(.forgot(try forget(watch, at: now))))
        case .launch(let app, let span):
            try send(.start(app), at: now)
            requests.add(id, .launch(app), within: span, at: now)
        case .stop(let span):
            guard phone.isNegotiated else { throw reasonForNoSession }
            guard let runningApp else { throw .noApp }
            try send(.stop(runningApp), at: now)
            requests.add(id, .stop(runningApp), within: span, at: now)
        case .push(let dictionary, let app):
            guard phone.isNegotiated else { throw reasonForNoSession }
            guard let app = app ?? runningApp else { throw .noApp }
            let transaction = try phone.sendAppMessage(dictionary, to: app, at: now)
            requests.add(id, .push(transaction, to: app), within: Self.answerPatience, at: now)
        case .expect(let entries, let app, let span):
            if let push = inbox.take({ $0.matches(entries, from: app) }) {
                requests.end(id, .success(.received(push)))
            } else {
                requests.add(id, .expect(entries, from: app), within: span, at: now)
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
            requests.add(id, .ping(lastCookie), within: Self.answerPatience, at: now)
        case .setTime:
            guard phone.isNegotiated else { throw reasonForNoSession }
            try phone.send(PebbleMessage(TimeMessage.setUTC(phone.configuration.clock.time(at: now))), at: now)
            try phone.send(PebbleMessage(TimeMessage.getRequest), at: now)
            requests.add(id, .time, within: Self.answerPatience, at: now)
        }
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
        guard !uploads.isBusy else { throw .busy(.upload) }
        try uploads.begin(bytes, name: name, id, &phone, at: now)
        // The transfer has a limit of its own between two steps; this one is for all of it.
        requests.add(id, .upload, within: .seconds(3600), at: now)
    }

    private mutating func install(_ app: PhoneApp, _ id: PhoneRequestID, at now: Duration) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        guard app.parts.allSatisfy({ !$0.bytes.isEmpty }) else { throw .empty }
        guard !uploads.isBusy else { throw .busy(.upload) }
        let token = try databases.insert(app.metadata, &phone, at: now)
        uploads.keep(app)
        requests.add(id, .install(app.metadata.uuid, token), within: PhoneUploads.patience, at: now)
    }

    private mutating func notify(
        title: String,
        body: String,
        _ id: PhoneRequestID,
        at now: Duration
    ) throws(PhoneCommandError) {
        guard phone.isNegotiated else { throw reasonForNoSession }
        let (item, token) = try databases.insertNotification(title: title, body: body, &phone, at: now)
        requests.add(id, .notify(item, token), within: Self.answerPatience, at: now)
    }
}
