import PebbleProtocol

/// The companions that AppMessages of an app can go to. An app that allows JavaScript talks to the Pebble app, where the JavaScript
/// runs; any other to its own companion app, or to a companion that serves all apps.
struct AppAudience: Sendable {
    let app: PebbleUUID
    let allowsJavaScript: Bool

    /// Whether a companion is one of them.
    func includes(_ companion: PPoGATTDestination) -> Bool {
        guard app.isLaunchable else { return false }
        if allowsJavaScript { return companion.kind != .app }
        guard companion.kind == .app else { return companion.kind == .hybrid }
        return companion.application == app || !companion.application.isLaunchable
    }
}
