import PebbleProtocol

/// What a service did that a person would want to see.
public enum ServiceEvent: Sendable, Equatable {
    /// An upload began, of so many bytes.
    case uploadBegan(PutBytesObject.Kind, byteCount: Int)
    /// An upload is whole, checked and stored.
    case uploaded(PutBytesObject.Kind, byteCount: Int)
    /// An upload failed, and why.
    case uploadFailed(PutBytesObject.Kind, reason: String)
    /// The phone wants an upload used from now on.
    case uploadInstalled(PutBytesObject.Kind)
    /// The phone began a firmware update.
    case updateBegan
    /// The update is over, and the watch restarts.
    case updateCompleted
    /// The update failed, and why.
    case updateFailed(reason: String)
    /// The phone installed an app, or replaced it.
    case appInstalled(AppMetadata)
    /// The phone removed an app.
    case appRemoved(PebbleUUID)
    /// The watch asks the phone for an app that is to start.
    case appFetchBegan(PebbleUUID, name: String)
    /// The app does not start, and why.
    case appFetchFailed(PebbleUUID, reason: String)
    /// The launcher has a new order.
    case appOrderChanged([PebbleUUID])
    /// A notification came.
    case notificationShown(TimelineItem)
    /// A notification is not shown any more.
    case notificationRemoved(PebbleUUID)
    /// A record of another database has a new value.
    case recordChanged(BlobDBDatabase, key: [UInt8], value: [UInt8])
    /// A record is gone.
    case recordRemoved(BlobDBDatabase, key: [UInt8])
    /// A whole database is gone.
    case databaseCleared(BlobDBDatabase)
    /// The user did something with an item, and the phone was told.
    case actionSent(PebbleUUID, action: UInt8)
    /// The user did something with an item, and there was no phone to tell.
    case actionNotSent(PebbleUUID, action: UInt8)
    /// What the phone said to an action, if it is known which.
    case actionAnswered(PebbleUUID, action: UInt8?, TimelineActionMessage.Response.Code, text: String?)
    /// What plays on the phone changed.
    case nowPlaying(MusicMessage.Track)
    /// Whether it plays changed.
    case playState(MusicMessage.PlayState)
    /// The volume changed, in percent.
    case volume(UInt8)
    /// A call rings, begins or changes.
    case call(PhoneControlService.Call)
    /// A call is over.
    case callEnded(PhoneControlService.Call)
    /// A call was not answered.
    case callMissed(PhoneControlMessage.Caller)
    /// A phone wants to see what apps log, or does not any more.
    case appLogsWanted(Bool)
    /// A phone took a picture of the screen.
    case screenshotTaken
    /// An app's data are spooled, and safe.
    case dataLogged(LoggingSessionID, byteCount: Int)
    /// An app's data could not be spooled, and why.
    case dataNotLogged(LoggingSessionID, reason: String)
    /// The phone has data.
    case dataSent(LoggingSessionID, byteCount: Int)
    /// The phone refused data again and again; they are gone.
    case dataDropped(LoggingSessionID, byteCount: Int)
    /// The phone wants the health data.
    case healthSyncRequested
}
