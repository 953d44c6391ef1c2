import PebbleProtocol

/// What one service did that concerns others. It is left in ``ServiceContext/effects``, and every service sees it, in the order
/// of the table, once the one that did it has returned.
enum ServiceEffect: Sendable {
    /// A phone has said for the first time on its session what it is.
    case phoneAnnounced(PhoneVersion, on: SessionID)
    /// Something happened to an upload.
    case upload(UploadStep)
    /// A phone wants to upload an image of a firmware update, whether it fits or not.
    case imageUploadWanted
    /// A phone wants an image of a firmware update, which it has uploaded, started at the next boot.
    case imageInstallWanted(FirmwarePart, on: SessionID)
    /// A phone wants what is logged under some tags.
    case logsWanted(ClosedRange<UInt32>)
    /// A phone has installed an app, or replaced it.
    case appInstalled(AppMetadata)
    /// A whole app has been installed, on the watch itself; it starts at once if that was wanted.
    case packageInstalled(AppPackage, launches: Bool)
    /// A phone has removed an app.
    case appRemoved(PebbleUUID)
    /// A phone has removed all apps that phones had installed: these.
    case appsCleared([PebbleUUID])
    /// An app is to start whose parts are not there yet.
    case appWanted(PebbleUUID)
    /// Everything is there now of an app that was wanted: it is to start.
    case appFetched(PebbleUUID)
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
