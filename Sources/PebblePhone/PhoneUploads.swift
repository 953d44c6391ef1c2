import PebbleProtocol

/// What the phone gives to a watch by PutBytes: files that its owner uploads, and apps that the watch fetches.
struct PhoneUploads: Sendable {
    /// How many apps the phone keeps for watches that fetch them; beyond it the oldest goes.
    private static let appLimit = 16
    /// How long the watch may take between two steps of an upload, or of an installation.
    static let patience: Duration = .seconds(30)

    /// What an upload is for.
    private enum Purpose: Hashable, Sendable {
        case request(PhoneRequestID)
        /// A watch that asked for an app.
        case fetch(PebbleUUID, AppID)
    }

    /// An upload that is under way.
    private struct Transfer: Sendable {
        var upload: PutBytesUpload
        /// What else the watch is to get of an app.
        var rest: [(kind: PutBytesObject.Kind, bytes: [UInt8])]
        let purpose: Purpose
        var deadline: Duration
    }

    /// The upload that is under way; PutBytes has one at a time.
    private var transfer: Transfer?
    /// The upload that was given up last.
    private var abandoned: PutBytesToken?
    /// In the order of installation.
    private(set) var apps: [PhoneApp] = []

    /// Whether an upload is under way.
    var isBusy: Bool { transfer != nil }

    /// When the upload is overdue.
    var nextDeadline: Duration? { transfer?.deadline }

    /// Keeps an app for watches that fetch it.
    mutating func keep(_ app: PhoneApp) {
        apps.removeAll { $0.metadata.uuid == app.metadata.uuid }
        if apps.count >= Self.appLimit { apps.removeFirst() }
        apps.append(app)
    }

    private static func upload(
        _ bytes: [UInt8],
        kind: PutBytesObject.Kind,
        target: PutBytesObject.Target,
        _ phone: CompanionPhone
    ) -> PutBytesUpload {
        let isWrong = phone.core.has(.wrongChecksum)
        return PutBytesUpload(bytes, kind: kind, target: target, hasWrongChecksum: isWrong)
    }

    /// Begins to upload a file.
    mutating func begin(
        _ bytes: [UInt8],
        name: String,
        _ id: PhoneRequestID,
        _ phone: inout CompanionPhone,
        at now: Duration
    ) throws(PhoneCommandError) {
        let upload = Self.upload(bytes, kind: .file, target: .bank(0, fileName: name), phone)
        try phone.send(PebbleMessage(upload.beginning), at: now)
        transfer = Transfer(upload: upload, rest: [], purpose: .request(id), deadline: now + Self.patience)
    }

    /// The watch wants an app.
    mutating func receive(
        _ request: AppFetchRequest,
        _ phone: inout CompanionPhone,
        _ requests: inout PhoneRequests,
        at now: Duration
    ) {
        guard !phone.core.has(.neverServesApps) else { return }
        let app = apps.last { $0.metadata.uuid == request.application }
        let answer: AppFetchResponse = if isBusy { .busy } else if app == nil { .invalidUUID } else { .starting }
        do throws(PhoneCommandError) {
            try phone.send(PebbleMessage(answer), at: now)
            guard answer == .starting, let app, let first = app.parts.first else { return }
            let upload = Self.upload(first.bytes, kind: first.kind, target: .app(request.appID), phone)
            try phone.send(PebbleMessage(upload.beginning), at: now)
            transfer = Transfer(
                upload: upload,
                rest: Array(app.parts.dropFirst()),
                purpose: .fetch(request.application, request.appID),
                deadline: now + Self.patience
            )
        } catch {
            requests.failInstallation(of: request.application, error)
        }
    }

    /// The watch has answered a step of the upload.
    mutating func receive(
        _ answer: PutBytesResponse,
        _ phone: inout CompanionPhone,
        _ requests: inout PhoneRequests,
        at now: Duration
    ) {
        // Answers to what was given up, and to that, may come when the next upload has begun already.
        guard var transfer, answer.token != abandoned else { return }
        do throws(PhoneCommandError) {
            switch transfer.upload.receive(answer) {
            case .send(let request):
                try phone.send(PebbleMessage(request), at: now)
            case .refused(let step):
                let reason = "the watch refused the upload at its step “\(step.rawValue)”"
                return fail(.refused(reason), &phone, &requests, at: now)
            case .done:
                guard case .fetch(_, let id) = transfer.purpose, let next = transfer.rest.first else {
                    return end(transfer, &requests, at: now)
                }
                transfer.rest.removeFirst()
                transfer.upload = Self.upload(next.bytes, kind: next.kind, target: .app(id), phone)
                try phone.send(PebbleMessage(transfer.upload.beginning), at: now)
            }
            transfer.deadline = now + Self.patience
            self.transfer = transfer
            prolong(transfer, &requests)
        } catch {
            fail(error, &phone, &requests, at: now)
        }
    }

    /// As long as an app's upload goes on, so does its installation.
    private func prolong(_ transfer: Transfer, _ requests: inout PhoneRequests) {
        guard case .fetch(let app, _) = transfer.purpose else { return }
        requests.prolongInstallation(of: app, to: transfer.deadline)
    }

    private mutating func end(_ ended: Transfer, _ requests: inout PhoneRequests, at now: Duration) {
        transfer = nil
        switch ended.purpose {
        case .request(let id):
            guard let request = requests[id] else { return }
            requests.end(id, .success(.uploaded(ended.upload.bytes.count, in: now - request.began)))
        case .fetch:
            // The watch starts the app now, and says so.
            prolong(ended, &requests)
        }
    }

    /// The upload is over without being whole, and so is what it was for.
    private mutating func fail(
        _ error: PhoneCommandError,
        _ phone: inout CompanionPhone,
        _ requests: inout PhoneRequests,
        at now: Duration
    ) {
        guard let failed = transfer else { return }
        abort(&phone, at: now)
        switch failed.purpose {
        case .request(let id): requests.end(id, .failure(error))
        case .fetch(let app, _): requests.failInstallation(of: app, error)
        }
    }

    /// Gives the upload up if the watch has not gone on with it in time.
    mutating func endOverdue(_ phone: inout CompanionPhone, _ requests: inout PhoneRequests, at now: Duration) {
        guard let transfer, transfer.deadline <= now else { return }
        fail(.timedOut("the watch did not go on", after: Self.patience), &phone, &requests, at: now)
    }

    /// Gives the upload up, and tells the watch, which else waits for its next piece.
    mutating func abort(_ phone: inout CompanionPhone, at now: Duration) {
        guard let ended = transfer else { return }
        transfer = nil
        guard let token = ended.upload.token else { return }
        abandoned = token
        try? phone.send(PebbleMessage(PutBytesRequest.abort(token)), at: now)
    }

    /// The session is over, and the upload with it.
    mutating func sessionEnded() {
        transfer = nil
        abandoned = nil
    }
}
