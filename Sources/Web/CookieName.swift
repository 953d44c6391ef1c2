import NIOConcurrencyHelpers

/// What the session's cookie is called: browsers send a cookie to every port of a host, so the port is in the name.
final class CookieName: Sendable {
    private let box = NIOLockedValueBox("cairn-session")

    /// The name.
    var text: String { box.withLockedValue { $0 } }

    /// The server listens at a port now.
    func set(port: Int) { box.withLockedValue { $0 = "cairn-session-\(port)" } }
}
