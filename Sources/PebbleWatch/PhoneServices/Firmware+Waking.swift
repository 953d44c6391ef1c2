import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// Waking companions: an iPhone starts the Pebble app again when the watch reads its App Launch characteristic.

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

extension Firmware {
    /// The newest instance is the one that counts.
    mutating func appLaunchFound(_ service: PhoneService, on connection: ConnectionHandle, at now: Duration) {
        links[connection]?.appLaunch = service
        if !system.hasSystemSession { wake(on: connection, because: .found, at: now) }
    }

    mutating func appLaunchVanished(_ service: PhoneService, on connection: ConnectionHandle) {
        if links[connection]?.appLaunch == service { links[connection]?.appLaunch = nil }
    }

    /// Connectivity is no longer subscribed to. Pebble 2 takes that for the end of the app.
    mutating func connectivityUnsubscribed(on connection: ConnectionHandle, at now: Duration) {
        guard configuration.personality.wakesUnsubscribers else { return }
        wake(on: connection, because: .unsubscribed, at: now)
    }

    /// Whether the last session of a Pebble app has just ended: on every link it is woken.
    mutating func noteSystemSession(at now: Duration) {
        let hasSystemSession = system.hasSystemSession
        defer { hadSystemSession = hasSystemSession }
        guard hadSystemSession, !hasSystemSession else { return }
        for connection in links.keys { wake(on: connection, because: .sessionEnded, at: now) }
    }

    /// A transport of a session is about to be gone: if the link goes on, its companion may come back.
    mutating func companionLeaves(_ session: SessionID, on connection: ConnectionHandle) {
        guard let companion = system.companion(of: session), var departed = links[connection]?.departed else { return }
        departed.removeAll { $0 == companion }
        if departed.count >= PhoneServiceFinder.serviceLimit { departed.removeFirst() }
        departed.append(companion)
        links[connection]?.departed = departed
    }

    /// The running app's message waits only for a companion that can come: because its phone is still there, or can be made
    /// to start its app.
    /// - Returns: whether anything changed, so that there may be more to do.
    mutating func pumpWaitingMessage(at now: Duration) -> Bool {
        guard system.isWaitingForCompanion else { return false }
        var canCome = false
        for (_, link) in links {
            canCome = canCome || link.appLaunch != nil || link.departed.contains { system.isCarried(by: $0) }
        }
        guard canCome else {
            system.stopWaiting(at: now)
            return true
        }
        guard system.takeWakingWanted() else { return false }
        for connection in links.keys { wake(on: connection, because: .message, at: now) }
        return true
    }

    /// A plain read; neither its value nor its error means anything.
    private mutating func wake(on connection: ConnectionHandle, because reason: WakingReason, at now: Duration) {
        guard let link = links[connection],
            let characteristic = link.appLaunch?[.uuid128(PebbleAttribute.appLaunch)],
            !link.procedures.values.contains(where: \.isWaking)
        else { return }
        log(.info, .session, "\(connection): wakes the phone's Pebble app: \(reason)")
        run(.read(characteristic.value), for: .waking, on: connection, at: now)
    }
}
