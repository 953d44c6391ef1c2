/// What a watch or a phone says it can do: 64 bits, little-endian in both version endpoints.
///
/// The same bit means the same both ways; some matter from one side only. Announce only what is implemented: each
/// bit makes a companion send more.
public struct Capabilities: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    private init(bit: UInt64) { rawValue = 1 << bit }

    /// `Endpoint.appRunState` is used; towards a phone without it the watch falls back to `Endpoint.launcher`.
    public static let appRunState = Capabilities(bit: 0)
    /// More than four generations of logs, and an answer for "no such logs".
    public static let infiniteLogDump = Capabilities(bit: 1)
    /// Play state, volume and player messages.
    package static let extendedMusic = Capabilities(bit: 2)
    /// Dismissals of notifications are mirrored.
    package static let extendedNotifications = Capabilities(bit: 3)
    /// Watch: accepts a language pack as a file upload.
    package static let languagePack = Capabilities(bit: 4)
    /// AppMessages of up to `AppMessageLimits.extendedSize` bytes, if both sides have it.
    public static let appMessage8K = Capabilities(bit: 5)
    /// Watch: accepts health settings.
    package static let healthInsights = Capabilities(bit: 6)
    /// Dictation in watchapps.
    package static let voiceAPI = Capabilities(bit: 7)
    /// Watch: sends text messages through the phone.
    package static let sendText = Capabilities(bit: 8)
    /// Notifications are filtered by app.
    package static let notificationFiltering = Capabilities(bit: 9)
    /// Watch: hands over a core dump that was not read yet.
    package static let unreadCoreDump = Capabilities(bit: 10)
    /// The weather app and its database.
    package static let weatherApp = Capabilities(bit: 11)
    /// Watch: the reminders app.
    package static let remindersApp = Capabilities(bit: 12)
    /// Watch: the workout app.
    package static let workoutApp = Capabilities(bit: 13)
    /// Sizes in the message that starts a firmware update.
    package static let smoothFirmwareInstallProgress = Capabilities(bit: 14)
    /// Watch: vibration patterns in notifications.
    package static let customVibePatterns = Capabilities(bit: 15)
    /// Watch: the JavaScript bytecode version is in the version response.
    package static let javaScriptBytecodeVersion = Capabilities(bit: 16)
    /// Phone: serves images.
    package static let imageFetch = Capabilities(bit: 17)
    /// Watch: images in notifications.
    package static let notificationImages = Capabilities(bit: 18)
    /// Watch: an interrupted firmware upload can be resumed.
    package static let firmwareUpdateAcrossDisconnection = Capabilities(bit: 21)
    /// Watch: answers the version command of BlobDB2, for which libpebble3 waits without limit.
    package static let blobDBVersion = Capabilities(bit: 22)
    /// Phone: the watch may write settings back.
    package static let settingsSync = Capabilities(bit: 23)
    /// Watch: the fourth format of weather records.
    package static let weatherDatabaseV4 = Capabilities(bit: 24)

    /// What a session over QEMU assumes of its phone until the phone has said something.
    package static let qemuDefault: Capabilities = [.appRunState, .infiniteLogDump, .appMessage8K, .voiceAPI]
}
