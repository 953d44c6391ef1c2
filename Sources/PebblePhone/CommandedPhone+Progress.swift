import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

// What happens on the phone, and which commands it ends.

extension CommandedPhone {
    mutating func follow(_ event: PhoneEvent, at now: Duration) {
        switch event {
        case .failed: requests.failAll(.notReady)
        case .controllerLost(let reason):
            sessionEnded()
            _ = phone.endSurvey(at: now)
            requests.failAll(.ended(reason))
        case .connectionFailed(let watch, let status):
            requests.fail(.connectionFailed(watch, status)) { if case .connect = $0 { true } else { false } }
        case .disconnected(let reason): linkEnded("\(reason)")
        case .dropped: linkEnded("the link was dropped")
        case .pairingQuestion(let question): asked(question, at: now)
        case .paired(let summary):
            self.summary = summary
            if summary.bondedIdentity == nil { pairingEnded(summary) }
        case .bonded:
            if let summary { pairingEnded(summary) }
        case .pairingFailed(let reason): pairingFailed(reason)
        case .transportClosed(let reason):
            sessionEnded()
            requests.fail(.ended(reason)) { $0.needsSession }
        case .watchVersion(let version): watchVersion = version
        case .runningApp(let app): appRuns(app)
        case .pong(let cookie, let delay):
            requests.endFirst { request in
                if case .ping(cookie) = request.purpose { .success(.pong(after: delay)) } else { nil }
            }
        case .pingTimedOut(let cookie):
            requests.endFirst { request in
                guard case .ping(cookie) = request.purpose else { return nil }
                return .failure(.timedOut("the watch did not answer the ping", after: PhoneSession.pingTimeout))
            }
        case .appMessageReceived(let push): received(push)
        case .appMessageEnded(let id, let outcome, let delay): ended(id, outcome, after: delay)
        case .message(.fromWatch, let message): receive(message, at: now)
        case .ready, .scanning, .watchHeard, .watchFound, .connecting, .connected, .linkParametersChanged, .mtuAgreed,
            .databaseDiscovered, .deviceInformation, .connectivity, .batteryLevel, .pairingPrompt, .pairingWanted,
            .securityChanged, .transportOpened, .streamOpened, .message(.toWatch, _), .phoneVersionSent, .watchColor,
            .timeSet, .negotiated, .negotiationFailed, .diagnostic:
            break
        }
    }

    // MARK: Links and pairings

    private mutating func linkEnded(_ reason: String) {
        sessionEnded()
        requests.endFirst { if case .disconnect = $0.purpose { .success(.done) } else { nil } }
        requests.fail(.ended(reason)) { $0.needsLink }
    }

    private mutating func sessionEnded() {
        runningApp = nil
        watchVersion = nil
        uploads.sessionEnded()
    }

    private mutating func asked(_ question: PairingPrompt.Kind, at now: Duration) {
        guard let request = requests.underway.first(where: { if case .pair = $0.purpose { true } else { false } }),
            case .pair(let consent, var report) = request.purpose
        else { return }
        report.question = question
        requests.update(request.id, .pair(consent, report))
        switch (question, consent) {
        case (.displayPasskey, .yes), (.requestPasskey, _):
            // The watch's user types it; and what nothing can be typed for has been refused already.
            break
        case (_, .ask):
            report.isOpen = true
            requests.end(request.id, .success(.pairing(report)))
        case (_, .yes): try? phone.answerPairing(accepting: true, at: now)
        case (_, .no): try? phone.answerPairing(accepting: false, at: now)
        }
    }

    private mutating func pairingEnded(_ summary: PairingSummary) {
        self.summary = nil
        requests.endFirst { request in
            switch request.purpose {
            case .pair(_, var report), .confirm(_, var report):
                report.summary = summary
                return .success(.pairing(report))
            case .scan, .connect, .disconnect, .launch, .stop, .push, .expect, .upload, .install, .notify, .ping,
                .time:
                return nil
            }
        }
    }

    /// A pairing that the owner has refused has come to the end that was wanted.
    private mutating func pairingFailed(_ reason: String) {
        requests.endFirst { request in
            switch request.purpose {
            case .pair(.no, let report) where report.question != nil: .success(.pairing(report))
            case .confirm(false, let report): .success(.pairing(report))
            case .pair, .confirm: .failure(.pairingFailed(reason))
            case .scan, .connect, .disconnect, .launch, .stop, .push, .expect, .upload, .install, .notify, .ping,
                .time:
                nil
            }
        }
    }

    // MARK: AppMessages

    private mutating func received(_ push: AppMessagePush) {
        let isExpected = requests.endFirst { request in
            guard case .expect(let entries, let app) = request.purpose, push.matches(entries, from: app) else {
                return nil
            }
            return .success(.received(push))
        }
        if !isExpected { inbox.put(push) }
    }

    private mutating func ended(_ id: AppMessageTransactionID, _ outcome: AppMessageOutcome, after delay: Duration) {
        requests.endFirst { request in
            guard case .push(id, let app) = request.purpose else { return nil }
            return switch outcome {
            case .acknowledged: .success(.delivered(app, after: delay))
            case .refused: .failure(.refused("the watch refused the message: \(app) does not run, or has no room"))
            case .timedOut: .failure(.timedOut("the watch did not acknowledge the message", after: delay))
            case .cancelled: .failure(.ended("the session is closed"))
            }
        }
    }

    // MARK: Messages

    /// What cannot be read has been told by the session, or is none of what a command waits for.
    private mutating func receive(_ message: PebbleMessage, at now: Duration) {
        switch message.endpoint {
        case .appRunState:
            switch try? AppRunStateMessage(payload: message.payload) {
            case .start(let app)?: appRuns(app)
            case .stop(let app)?: appStopped(app)
            case .request?, nil: break
            }
        case .time:
            guard case .getResponse(let seconds)? = try? TimeMessage(payload: message.payload) else { return }
            let own = phone.clockSeconds(at: now)
            requests.endFirst { request in
                if case .time = request.purpose { .success(.time(watch: seconds, phone: own)) } else { nil }
            }
        case .blobDB:
            if let answer = try? BlobDBResponse(payload: message.payload) { receive(answer, at: now) }
        case .appFetch:
            if let request = try? AppFetchRequest(payload: message.payload) {
                uploads.receive(request, &phone, &requests, at: now)
            }
        case .putBytes:
            if let answer = try? PutBytesResponse(payload: message.payload) {
                uploads.receive(answer, &phone, &requests, at: now)
            }
        default:
            break
        }
    }

    private mutating func appRuns(_ app: PebbleUUID) {
        runningApp = app
        for request in requests.underway {
            switch request.purpose {
            case .launch(app), .install(app, nil): requests.end(request.id, .success(.running(app)))
            case .stop(let stopped) where stopped != app: requests.end(request.id, .success(.running(app)))
            case .stop, .launch, .install, .scan, .connect, .pair, .confirm, .disconnect, .push, .expect, .upload,
                .notify, .ping, .time:
                break
            }
        }
    }

    private mutating func appStopped(_ app: PebbleUUID) {
        if runningApp == app { runningApp = nil }
        requests.endFirst { request in
            if case .stop(app) = request.purpose { .success(.running(nil)) } else { nil }
        }
    }

    private mutating func receive(_ answer: BlobDBResponse, at now: Duration) {
        for request in requests.underway {
            switch request.purpose {
            case .notify(let item, answer.token):
                guard answer.status == .success else {
                    return requests.end(
                        request.id,
                        .failure(.refused("the watch refused the notification: \(answer.status)"))
                    )
                }
                return requests.end(request.id, .success(.notified(item)))
            case .install(let app, answer.token):
                guard answer.status == .success else {
                    return requests.end(request.id, .failure(.refused("the watch refused the app: \(answer.status)")))
                }
                return installed(app, request.id, at: now)
            case .notify, .install, .scan, .connect, .pair, .confirm, .disconnect, .launch, .stop, .push, .expect,
                .upload, .ping, .time:
                continue
            }
        }
    }

    /// The watch knows of the app: it fetches what it needs when it is to start it.
    private mutating func installed(_ app: PebbleUUID, _ id: PhoneRequestID, at now: Duration) {
        requests.update(id, .install(app, nil), by: now + PhoneUploads.patience)
        do throws(PhoneCommandError) {
            try phone.send(PebbleMessage(AppRunStateMessage.start(app)), at: now)
        } catch {
            requests.end(id, .failure(error))
        }
    }
}
