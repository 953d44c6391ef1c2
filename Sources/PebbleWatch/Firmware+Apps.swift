import PebbleProtocol

// What a person does with the watch's apps, and what can be seen of them.

extension Firmware {
    /// The app that runs; there always is one.
    public var runningApp: PebbleUUID { system.apps.runningUUID }

    /// What the screen shows.
    public var frame: FrameBuffer { system.apps.frame }

    /// Whether an app can be launched.
    public func isAppInstalled(_ uuid: PebbleUUID) -> Bool { system.apps.isInstalled(uuid) }

    /// Launches an app, as from the launcher's menu.
    /// - Returns: false, with nothing changed, when there is no such app or it runs already.
    @discardableResult
    public mutating func launchApp(_ uuid: PebbleUUID, at now: Duration) -> Bool {
        withApps(at: now) { apps, context in apps.launch(uuid, in: &context) } ?? false
    }

    /// Stops the running app, and the watchface comes back.
    /// - Returns: false, with nothing changed, when it does not run or is the watchface.
    @discardableResult
    public mutating func stopApp(_ uuid: PebbleUUID, at now: Duration) -> Bool {
        withApps(at: now) { apps, context in apps.stop(uuid, in: &context) } ?? false
    }

    /// Has the running app send a dictionary to its companion: for apps that are ``AppBehavior/external``. How it ended is
    /// told as ``WatchEvent/appMessageSent(_:_:_:)``.
    public mutating func sendAppMessage(_ message: AppMessageDictionary, at now: Duration) {
        withApps(at: now) { apps, _ in apps.send(message) }
    }

    @discardableResult
    private mutating func withApps<Result>(
        at now: Duration,
        _ body: (inout AppManager, inout ServiceContext) -> Result
    ) -> Result? {
        host.advance(to: now)
        let result = system.withApps(at: now, body)
        settle(at: now)
        return result
    }
}
