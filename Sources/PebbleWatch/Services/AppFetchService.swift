import ByteCoding
import PebbleProtocol

/// Endpoint 6001: the watch asks for the parts of an installed app that is to start and is not there yet.
///
/// One fetch at a time; while it goes on nothing else is started. It is over when everything is there, when an upload
/// fails, or when the phone goes quiet.
struct AppFetchService: EndpointService {
    static var endpoint: Endpoint { .appFetch }
    /// How long the phone may take before each upload.
    static let patience: Duration = .seconds(15)

    private struct Fetch: Sendable {
        let application: PebbleUUID
        let session: SessionID
        /// Nil while an upload goes on, which has a limit of its own.
        var deadline: Duration?
    }

    /// An app that a command has brought and the store is to keep.
    private struct Installation: Sendable {
        let package: AppPackage
        let record: StoredRecord
        let launches: Bool
    }

    private var fetch: Fetch?
    private var installation: Installation?
    /// Why the store did not take the app that a command brought last; nil if it did, or has not said so yet.
    private(set) var installationFailure: WatchStoreError?

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
        case .packageInstalled(let package, _): appChanged(package.metadata.uuid, in: &context)
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

// MARK: - Apps that no phone brings

extension AppFetchService {
    /// Has the store keep a whole app. It is installed when the store has it.
    mutating func install(
        _ package: AppPackage,
        launches: Bool,
        in context: inout ServiceContext
    ) throws(WatchCommandError) {
        let metadata = package.metadata
        guard installation == nil else { throw .installsAlready }
        guard metadata.uuid.isLaunchable else { throw .unknownApp(metadata.uuid) }
        guard let rules = DatabaseRules(.apps), package.fits,
            context.store.apps[metadata.uuid] != nil || context.store.apps.count < rules.recordLimit
        else { throw .noRoomForApp(metadata.uuid) }
        var value: [UInt8] = []
        metadata.encode(to: &value)
        let record = StoredRecord(
            database: .apps,
            key: metadata.uuid.key,
            record: BlobDatabases.Record(value: value, timestamp: context.clock.seconds(at: context.now))
        )
        let parts = package.uploads.map {
            ServiceChange.appPart(AppPart(of: metadata.uuid, $0.kind), $0.bytes)
        }
        installation = Installation(package: package, record: record, launches: launches)
        installationFailure = nil
        context.remember(.several([.record(record), .appPartsRemoved(of: metadata.uuid)] + parts), for: .appFetch)
    }

    /// The store has the app, or could not take it: then everything is as before.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard let installation else { return }
        self.installation = nil
        installationFailure = failure
        guard failure == nil else { return }
        let metadata = installation.package.metadata
        context.store.databases[.apps, installation.record.key] = installation.record.record
        context.store.apps.insert(metadata)
        for (kind, bytes) in installation.package.uploads {
            context.store.apps.setPart(AppPart(of: metadata.uuid, kind), StoredObject(bytes))
        }
        context.effects.append(.packageInstalled(installation.package, launches: installation.launches))
    }

    /// Removes an app that was installed, with everything that was uploaded of it.
    func remove(_ uuid: PebbleUUID, in context: inout ServiceContext) {
        context.store.databases[.apps, uuid.key] = nil
        context.store.apps.remove(uuid)
        context.remember(.several([.recordRemoved(.apps, key: uuid.key), .appPartsRemoved(of: uuid)]))
        context.effects.append(.appRemoved(uuid))
    }
}
