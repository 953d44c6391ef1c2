import ByteCoding
import PebbleProtocol

/// The services that companions call, but for those that only concern the running app.
///
/// Each is a machine of its own; here messages, time and the store's answers find their way to it.
struct WatchServices: Sendable {
    private(set) var putBytes = PutBytesService()
    private(set) var update: FirmwareUpdateService
    private(set) var apps = InstalledApps()
    private(set) var files: [String: StoredObject]

    /// Services that remember.
    init(memory: ServiceMemory) {
        update = FirmwareUpdateService(images: memory.update)
        files = memory.files
        for (part, object) in memory.appParts { apps.setPart(part, object) }
    }

    /// What is worth remembering.
    var memory: ServiceMemory {
        var parts: [AppPart: StoredObject] = [:]
        for app in apps.all {
            for (kind, object) in app.parts { parts[AppPart(of: app.metadata.uuid, kind)] = object }
        }
        return ServiceMemory(update: update.images, appParts: parts, files: files)
    }

    /// Gives a message to the service that answers its endpoint.
    ///
    /// An endpoint that clients know but no service here answers is ignored without a word, since they take a
    /// refusal of it for a failure.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch message.endpoint {
        case .watchVersion: try WatchVersionService.receive(message, on: session, in: &context)
        case .time: try TimeService.receive(message, on: session, in: &context)
        case .ping: try PingService.receive(message, on: session, in: &context)
        case .factoryRegistry: FactoryRegistryService.receive(message, on: session, in: &context)
        case .systemMessage: try update.receive(message, on: session, in: &context)
        case .putBytes: putBytes.receive(message, on: session, apps: apps, update: &update, in: &context)
        default: context.log(.debug, "session", "\(message.endpoint): nothing here answers it")
        }
    }

    /// A session is gone.
    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        putBytes.sessionClosed(session, update: &update, in: &context)
        update.sessionClosed(session, in: &context)
    }

    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, in context: inout ServiceContext) {
        switch owner {
        case .nobody: break
        case .update: update.changeFinished(failure: failure, in: &context)
        case .putBytes:
            guard let (place, object) = putBytes.changeFinished(failure: failure, update: &update, in: &context) else {
                return
            }
            switch place {
            case .app(let part): apps.setPart(part, object)
            case .file(let name): files[name] = object
            case .update: break
            }
        }
    }

    /// When `advance(in:)` has something to do.
    var nextDeadline: Duration? { [putBytes.nextDeadline, update.nextDeadline].compactMap(\.self).min() }

    /// Lets time pass.
    mutating func advance(in context: inout ServiceContext) {
        putBytes.advance(update: &update, in: &context)
        if update.advance(in: &context) { context.restart = .firmwareUpdate }
    }
}
