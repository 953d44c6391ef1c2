import PebbleWatch

/// An advertising policy to be tried.
struct WatchPolicy: Sendable {
    let name: String
    let apply: @Sendable (inout WatchConfiguration) -> Void

    static let all = [WatchPolicy(name: "pebble") { $0.advertising = .pebble }]
}
