import PebbleProtocol

// What can be seen of the watch's apps. What a person does with them is a `WatchCommand`.

extension Firmware {
    /// The app that runs; there always is one.
    public var runningApp: PebbleUUID { system.apps.runningUUID }

    /// What the screen shows.
    public var frame: FrameBuffer { system.apps.frame }

    /// Whether an app can be launched.
    public func isAppInstalled(_ uuid: PebbleUUID) -> Bool { system.apps.isInstalled(uuid) }
}
