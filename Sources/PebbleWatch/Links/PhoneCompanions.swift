import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What the watch knows of the companion apps on one phone: how its Pebble app is woken, who has left, whether an app has started.
struct PhoneCompanions: Sendable {
    /// The service by which the phone's Pebble app can be woken.
    var appLaunch: PhoneService?
    /// Companions that have left a session while the link went on, the oldest first: they may come back.
    private(set) var departed: [PPoGATTDestination] = []
    /// Whether an app on the phone has subscribed to Connectivity on this link, which each does when it starts.
    var hasAppStarted = false

    /// A transport of a session is about to be gone: if the link goes on, its companion may come back.
    mutating func leave(_ session: SessionID, _ system: borrowing WatchSystem) {
        guard let companion = system.sessions.companion(of: session) else { return }
        departed.removeAll { $0 == companion }
        if departed.count >= PhoneServiceFinder.serviceLimit { departed.removeFirst() }
        departed.append(companion)
    }

    /// Whether a companion can come for which the running app has a message: because it was there, or can be woken.
    func canCome(_ system: borrowing WatchSystem) -> Bool {
        if appLaunch != nil { return true }
        for companion in departed where system.apps.audience.includes(companion) { return true }
        return false
    }
}

extension WantedService {
    /// App Launch: what the Pebble app on iOS hosts, so that iOS starts it again when the watch wants it.
    static let appLaunch = WantedService(
        .uuid128(PebbleAttribute.appLaunchService),
        .required(.uuid128(PebbleAttribute.appLaunch))
    )
}

/// Why the watch wakes the phone's Pebble app.
enum WakingReason: Sendable, CustomStringConvertible {
    /// It has just been found, and has no session.
    case found
    /// The last session of a Pebble app has ended.
    case sessionEnded
    /// The phone no longer wants to be told of the connection, as when the app ends.
    case unsubscribed
    /// The running app has a message for a companion that has no session.
    case message

    var description: String {
        switch self {
        case .found: "it has no session"
        case .sessionEnded: "its session has ended"
        case .unsubscribed: "it has unsubscribed from Connectivity"
        case .message: "a watchapp has a message"
        }
    }
}

// MARK: - Apps that end and start

extension PhoneConnection {
    /// Has iOS start the Pebble app again, by a plain read of App Launch; neither its value nor its error means anything.
    mutating func wake(because reason: WakingReason, _ core: inout WatchCore, at now: Duration) {
        guard let characteristic = companions.appLaunch?[.uuid128(PebbleAttribute.appLaunch)],
            !procedures.values.contains(where: \.isWaking)
        else { return }
        core.log(.info, .session, "\(handle): wakes the phone's Pebble app: \(reason)")
        run(.read(characteristic.value), for: .waking, &core, at: now)
    }

    /// The phone has subscribed to Connectivity, as an app does that starts. What it does once on each link is not news.
    mutating func connectivitySubscribed() {
        defer { companions.hasAppStarted = true }
        guard companions.hasAppStarted else { return }
        for service in transports.appStarts() { finder.vanish(service) }
    }
}
