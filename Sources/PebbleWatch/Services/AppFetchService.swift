import ByteCoding
import PebbleProtocol

/// Endpoint 6001: the watch asks for the parts of an installed app that is to start and is not there yet.
///
/// One fetch at a time; while it goes on nothing else is started. It is over when everything is there, when an upload
/// fails, or when the phone goes quiet.
struct AppFetchService: Sendable {
    /// How long the phone may take before each upload.
    static let patience: Duration = .seconds(15)

    private struct Fetch: Sendable {
        let application: PebbleUUID
        let session: SessionID
        /// Nil while an upload goes on, which has a limit of its own.
        var deadline: Duration?
    }

    private var fetch: Fetch?

    /// The app that is being fetched.
    var application: PebbleUUID? { fetch?.application }

    var nextDeadline: Duration? { fetch?.deadline }

    /// Asks for an app.
    mutating func begin(_ app: InstalledApps.App, in context: inout ServiceContext) {
        guard fetch == nil else {
            context.log(.info, .session, "another app is being fetched; the launch is ignored")
            return
        }
        guard let session = context.systemSession else {
            context.emit(.appFetchFailed(app.metadata.uuid, reason: "no phone is connected"))
            return
        }
        fetch = Fetch(application: app.metadata.uuid, session: session, deadline: context.now + Self.patience)
        context.emit(.appFetchBegan(app.metadata.uuid, name: app.metadata.name))
        context.reply(AppFetchRequest(application: app.metadata.uuid, appID: app.id), on: session)
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        apps: inout InstalledApps,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let response = try AppFetchResponse(payload: message.payload)
        guard let fetch, fetch.session == session else { return }
        switch response {
        case .starting:
            if fetch.deadline != nil { self.fetch?.deadline = context.now + Self.patience }
        case .busy: fail("the phone is busy", apps: &apps, in: &context)
        case .invalidUUID: fail("the phone does not know it", apps: &apps, in: &context)
        case .noData: fail("the phone does not have it", apps: &apps, in: &context)
        }
    }

    /// An upload began, ended or failed.
    mutating func uploadChanged(_ step: UploadStep, apps: inout InstalledApps, in context: inout ServiceContext) {
        guard let fetch, case .app(let part) = step.destination, part.application == fetch.application else { return }
        switch step.outcome {
        case .began:
            self.fetch?.deadline = nil
        case .failed:
            fail("an upload failed", apps: &apps, in: &context)
        case .stored:
            self.fetch?.deadline = context.now + Self.patience
            if apps[fetch.application]?.isCached == true { finish(in: &context) }
        }
    }

    /// The phone has gone quiet.
    mutating func advance(apps: inout InstalledApps, in context: inout ServiceContext) {
        guard let fetch, let deadline = fetch.deadline, deadline <= context.now else { return }
        fail("nothing more came for \(Self.patience)", apps: &apps, in: &context)
    }

    /// The app was removed or replaced while it was being fetched: the fetch is pointless.
    mutating func appChanged(_ application: PebbleUUID, in context: inout ServiceContext) {
        guard fetch?.application == application else { return }
        fetch = nil
        context.emit(.appFetchFailed(application, reason: "it was removed or replaced"))
    }

    mutating func sessionClosed(_ session: SessionID, apps: inout InstalledApps, in context: inout ServiceContext) {
        if fetch?.session == session { fail("the session closed", apps: &apps, in: &context) }
    }

    private mutating func finish(in context: inout ServiceContext) {
        guard let application = fetch?.application else { return }
        fetch = nil
        context.fetchedApps.append(application)
    }

    /// What has come of it is thrown away: an app without all of its parts cannot start.
    private mutating func fail(_ reason: String, apps: inout InstalledApps, in context: inout ServiceContext) {
        guard let application = fetch?.application else { return }
        fetch = nil
        var reason = reason
        if let app = apps[application], !app.parts.isEmpty, !app.isCached {
            reason += "; the app is refused: " + app.missingParts.map(\.reasonWhenMissing).joined(separator: ", ")
        }
        if apps[application]?.parts.isEmpty == false {
            apps.removeParts(of: application)
            context.remember(.appPartsRemoved(of: application))
        }
        context.emit(.appFetchFailed(application, reason: reason))
    }
}

extension AppPart.Kind {
    fileprivate var reasonWhenMissing: String {
        switch self {
        case .binary: "its binary is missing"
        case .resources: "its resources are missing, and the watch starts no app without them"
        case .worker: "its background worker is missing, although it says that it has one"
        }
    }
}

/// What happened to an upload.
struct UploadStep: Sendable {
    let destination: PutBytesService.Destination
    let outcome: Outcome

    enum Outcome: Sendable {
        case began
        case stored
        case failed
    }
}
