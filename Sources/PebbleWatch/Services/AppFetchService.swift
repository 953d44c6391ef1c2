import ByteCoding
import PebbleProtocol

/// Endpoint 6001: the watch asks for the parts of an installed app that is to start and is not there yet.
///
/// One fetch at a time; while it goes on nothing else is started. It is over when everything is there, when an upload
/// fails, or when the phone goes quiet.
struct AppFetchService: EndpointService {
    static let endpoints: [Endpoint] = [.appFetch]
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
    private mutating func begin(_ app: InstalledApps.App, in context: inout ServiceContext) {
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

    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        switch effect {
        case .upload(let step): uploadChanged(step, in: &context)
        case .appInstalled(let metadata): appChanged(metadata.uuid, in: &context)
        case .appRemoved(let application): appChanged(application, in: &context)
        case .appsCleared(let applications):
            for application in applications { appChanged(application, in: &context) }
        case .appWanted(let application):
            if let app = context.store.apps[application] { begin(app, in: &context) }
        case .phoneAnnounced, .imageUploadWanted, .imageInstallWanted, .logsWanted, .appFetched:
            break
        }
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let response = try AppFetchResponse(payload: message.payload)
        guard let fetch, fetch.session == session else { return }
        switch response {
        case .starting:
            if fetch.deadline != nil { self.fetch?.deadline = context.now + Self.patience }
        case .busy: fail("the phone is busy", in: &context)
        case .invalidUUID: fail("the phone does not know it", in: &context)
        case .noData: fail("the phone does not have it", in: &context)
        }
    }

    /// An upload began, ended or failed.
    private mutating func uploadChanged(_ step: UploadStep, in context: inout ServiceContext) {
        guard let fetch, case .app(let part) = step.destination, part.application == fetch.application else { return }
        switch step.outcome {
        case .began:
            self.fetch?.deadline = nil
        case .failed:
            fail("an upload failed", in: &context)
        case .stored:
            self.fetch?.deadline = context.now + Self.patience
            if context.store.apps[fetch.application]?.isCached == true { finish(in: &context) }
        }
    }

    /// The phone has gone quiet.
    mutating func advance(in context: inout ServiceContext) {
        guard let fetch, let deadline = fetch.deadline, deadline <= context.now else { return }
        fail("nothing more came for \(Self.patience)", in: &context)
    }

    /// The app was removed or replaced while it was being fetched: the fetch is pointless.
    private mutating func appChanged(_ application: PebbleUUID, in context: inout ServiceContext) {
        guard fetch?.application == application else { return }
        fetch = nil
        context.emit(.appFetchFailed(application, reason: "it was removed or replaced"))
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        if fetch?.session == session { fail("the session closed", in: &context) }
    }

    private mutating func finish(in context: inout ServiceContext) {
        guard let application = fetch?.application else { return }
        fetch = nil
        context.effects.append(.appFetched(application))
    }

    /// What has come of it is thrown away: an app without all of its parts cannot start.
    private mutating func fail(_ reason: String, in context: inout ServiceContext) {
        guard let application = fetch?.application else { return }
        fetch = nil
        var reason = reason
        if let app = context.store.apps[application], !app.parts.isEmpty, !app.isCached {
            reason += "; the app is refused: " + app.missingParts.map(\.reasonWhenMissing).joined(separator: ", ")
        }
        if context.store.apps[application]?.parts.isEmpty == false {
            context.store.apps.removeParts(of: application)
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
