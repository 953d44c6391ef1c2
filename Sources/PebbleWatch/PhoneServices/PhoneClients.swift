import BluetoothHost

/// The services of a phone that the watch uses, besides those that carry the Pebble Protocol.
public enum PhoneServiceKind: String, Sendable, CaseIterable {
    /// Apple Notification Center Service.
    case notifications
    /// Apple Media Service.
    case media
    /// Current Time Service.
    case time
}

/// What went wrong with one of them.
public enum PhoneServiceProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The Apple Notification Center Service did not work, and how.
    case notifications(ANCSProblem)
    /// The Apple Media Service did not work, and how.
    case media(AMSProblem)
    /// The Current Time Service did not work, and how.
    case time(CurrentTimeProblem)

    /// Whose problem it is.
    public var service: PhoneServiceKind {
        switch self {
        case .notifications: .notifications
        case .media: .media
        case .time: .time
        }
    }

    public var description: String {
        switch self {
        case .notifications(let problem): problem.description
        case .media(let problem): problem.description
        case .time(let problem): problem.description
        }
    }
}

/// Something about one of the phone's services.
public enum PhoneServiceEvent: Equatable, Sendable {
    /// The watch uses it from now on.
    case began(PhoneServiceKind)
    /// It does not any more.
    case ended(PhoneServiceKind)
    /// Something did not work.
    case problem(PhoneServiceProblem)
}

/// The clients of one link: what is found, notified and answered finds its way to each.
struct PhoneClients: Sendable {
    var notifications = ANCSClient()
    var media = AMSClient()
    var time = CurrentTimeClient()

    /// Which services are in use.
    private struct Usage: Equatable {
        var notifications = false
        var media = false
        var time = false

        func contains(_ kind: PhoneServiceKind) -> Bool {
            switch kind {
            case .notifications: notifications
            case .media: media
            case .time: time
            }
        }
    }

    /// What was said to be in use.
    private var announced = Usage()

    private var usage: Usage {
        Usage(notifications: notifications.isAvailable, media: media.isRegistered, time: time.hasTime)
    }

    /// The services that are in use.
    var used: [PhoneServiceKind] { PhoneServiceKind.allCases.filter(usage.contains) }

    /// What has come into use, or gone out of it, since this was last asked.
    mutating func takeChanges() -> [PhoneServiceEvent] {
        let (before, after) = (announced, usage)
        guard before != after else { return [] }
        announced = after
        return PhoneServiceKind.allCases.compactMap { kind in
            guard before.contains(kind) != after.contains(kind) else { return nil }
            return after.contains(kind) ? .began(kind) : .ended(kind)
        }
    }

    /// A service is there, with these handles.
    mutating func found(_ service: PhoneService, at now: Duration) {
        switch service.uuid {
        case WantedService.notifications.uuid:
            if let handles = ANCSClient.Handles(service) { notifications.serviceFound(handles, at: now) }
        case WantedService.media.uuid:
            if let handles = AMSClient.Handles(service) { media.serviceFound(handles, at: now) }
        case WantedService.currentTime.uuid:
            if let handles = CurrentTimeClient.Handles(service) { time.serviceFound(handles, at: now) }
        case WantedService.deviceInformation.uuid:
            notifications.believesRemovals = true
        default:
            break
        }
    }

    /// A service is there no more.
    mutating func vanished(_ service: PhoneService, at now: Duration) {
        // Of two instances, the client may be at the other.
        switch service.uuid {
        case WantedService.notifications.uuid where ANCSClient.Handles(service) == notifications.handles:
            notifications.serviceGone(at: now)
        case WantedService.media.uuid where AMSClient.Handles(service) == media.handles:
            media.serviceGone(at: now)
        case WantedService.currentTime.uuid where CurrentTimeClient.Handles(service) == time.handles:
            time.serviceGone(at: now)
        default:
            break
        }
    }

    /// The phone notified a value.
    /// - Returns: whether it was one of these services'.
    mutating func receive(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, at now: Duration) -> Bool {
        notifications.receive(value, of: handle, at: now) || media.receive(value, of: handle, at: now)
            || time.receive(value, of: handle, at: now)
    }

    mutating func finish(
        _ kind: PhoneServiceKind,
        _ result: Result<GATTResponse, GATTProcedureError>,
        at now: Duration
    ) {
        switch kind {
        case .notifications: notifications.finish(result, at: now)
        case .media: media.finish(result, at: now)
        case .time: time.finish(result, at: now)
        }
    }

    var nextDeadline: Duration? {
        Duration.earlier(
            notifications.nextDeadline,
            Duration.earlier(media.nextDeadline, time.nextDeadline)
        )
    }

    mutating func advance(to now: Duration) {
        notifications.advance(to: now)
        media.advance(to: now)
        time.advance(to: now)
    }

    /// The next procedure to carry out, and whose it is.
    mutating func nextProcedure(at now: Duration) -> (PhoneServiceKind, GATTProcedure)? {
        if let procedure = time.nextProcedure(at: now) { return (.time, procedure) }
        if let procedure = notifications.nextProcedure(at: now) { return (.notifications, procedure) }
        if let procedure = media.nextProcedure(at: now) { return (.media, procedure) }
        return nil
    }
}
