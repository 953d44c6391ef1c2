import PebbleProtocol

/// A program that runs on the watch.
///
/// It is told what happens and answers through the context: nothing it does blocks, and it reads no clock. The names are
/// those of the SDK, in Swift's spelling: `app_message_open` is ``AppContext/open(inboxSize:outboxSize:)``, an
/// `AppMessageInboxReceived` is ``inboxReceived(_:_:)``, and so on.
///
/// An app starts from the beginning with every launch: the watch keeps the value that it was given and runs a copy of it.
public protocol WatchApp: Sendable {
    /// The app's own UUID: messages for any other are not for it.
    var uuid: PebbleUUID { get }
    /// What the launcher shows.
    var name: String { get }
    /// What kind of app it is. One that allows JavaScript talks to the Pebble app on the phone, any other to a companion
    /// app of its own.
    var flags: AppFlags { get }
    /// What it was built with, which decides how large messages may be.
    var sdk: SDKVersion { get }

    /// The app starts; it opens AppMessage here if it wants messages.
    mutating func didLaunch(_ context: inout AppContext)
    /// A message came in. It is acknowledged when this returns.
    mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext)
    /// A message was lost before the app could see it.
    mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext)
    /// The phone acknowledged a message of this app's.
    mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext)
    /// A message of this app's was refused, not answered, or could not be sent.
    mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    )
    /// A button went down. Watchfaces are not told; the back button ends any other app, unless it keeps that button.
    mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext)
    /// A button came up again.
    mutating func buttonReleased(_ button: WatchButton, _ context: inout AppContext)
    /// The time of day changed in one of the units that the app subscribed to.
    mutating func tick(_ time: WatchTime, _ changed: TickUnits, _ context: inout AppContext)
    /// A timer of this app's has fired.
    mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext)
    /// The phone's Pebble app came or went.
    mutating func connectionChanged(isConnected: Bool, _ context: inout AppContext)
    /// Draws the whole screen, which holds what it held before: after the launch, and whenever the app marked itself dirty.
    func draw(on frame: inout FrameBuffer)
    /// Whether the app is told of the back button instead of being ended by it.
    var keepsBackButton: Bool { get }
}

extension WatchApp {
    public var flags: AppFlags { .allowsJavaScript }
    public var sdk: SDKVersion { .current }
    public var keepsBackButton: Bool { false }
    public mutating func didLaunch(_ context: inout AppContext) {}
    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {}
    public mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {}
    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {}
    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {}
    public mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {}
    public mutating func buttonReleased(_ button: WatchButton, _ context: inout AppContext) {}
    public mutating func tick(_ time: WatchTime, _ changed: TickUnits, _ context: inout AppContext) {}
    public mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext) {}
    public mutating func connectionChanged(isConnected: Bool, _ context: inout AppContext) {}

    public func draw(on frame: inout FrameBuffer) { drawName(on: &frame) }

    /// The app's name on a black screen.
    func drawName(on frame: inout FrameBuffer) {
        frame.fill(.black)
        let scale = min(3, PixelFont.scale(for: name, width: frame.display.width * 3 / 4))
        let y = (frame.display.height - PixelFont.characterHeight * scale) / 2
        PixelFont.drawCentered(name, y: y, scale: scale, .white, on: &frame)
    }
}

/// A button of the watch.
public enum WatchButton: String, Sendable, CaseIterable {
    /// Back is on the left side of the watch; up, select and down are on the right, from the top. Back ends the running app,
    /// unless the app keeps that button. The raw values are the names that commands and scripts use.
    case back, up, select, down

    /// Whether it says yes to a pairing, or no: up and down, as on the real watch; select and back are what else people
    /// try.
    public var isYes: Bool { self == .up || self == .select }
}

/// A timer that an app has registered; it fires once.
public struct AppTimer: Hashable, Sendable {
    let number: UInt64
}
