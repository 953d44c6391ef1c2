import BluetoothHCI
import PebbleProtocol

// What the watch's clients of phones' own services report, in the models that the Pebble app's messages end in too.

extension WatchServices {
    /// A phone's notifications.
    mutating func receive(
        _ event: ANCSClient.Event,
        from connection: ConnectionHandle,
        in context: inout ServiceContext
    ) {
        func source(_ uid: ANCSNotificationUID) -> AppleNotificationService.Source {
            AppleNotificationService.Source(connection: connection, uid: uid)
        }
        switch event {
        case .notified(let notification):
            appleNotifications.receive(notification, from: connection, calls: &phoneControl, in: &context)
        case .removed(let uid):
            phoneControl.ended(where: { $0 == source(uid) }, in: &context)
            if let item = appleNotifications.removed(source(uid)) { context.dismiss(item) }
        case .performed(let uid, let action):
            guard let item = appleNotifications.item(for: source(uid)) else { return }
            context.emit(.actionAnswered(item, action: action.rawValue, .acknowledgement, text: nil))
            if action == .negative { context.dismiss(item) }
        case .notPerformed(let uid, let action, let problem):
            guard let item = appleNotifications.item(for: source(uid)) else { return }
            let text = problem.description
            context.emit(.actionAnswered(item, action: action.rawValue, .negativeAcknowledgement, text: text))
        case .unsubscribed:
            notificationsEnded(on: connection, in: &context)
        case .subscribed, .problem:
            break
        }
    }

    /// A phone's player.
    mutating func receive(_ event: AMSClient.Event, from connection: ConnectionHandle, in context: inout ServiceContext)
    {
        switch event {
        case .registered: music.registered(on: connection)
        case .unregistered: music.unregistered(on: connection)
        case .changed(let change): music.receive(change, from: connection, in: &context)
        case .problem: break
        }
    }

    /// A phone's clock.
    mutating func receive(_ event: CurrentTimeClient.Event, in context: inout ServiceContext) {
        switch event {
        case .time(let seconds, let moment, let offset):
            TimeService.setLocal(seconds, offsetMinutes: offset, at: moment, in: &context)
        case .problem: break
        }
    }

    /// A phone is gone, and its services with it.
    mutating func phoneGone(_ connection: ConnectionHandle, in context: inout ServiceContext) {
        notificationsEnded(on: connection, in: &context)
        music.unregistered(on: connection)
    }

    private mutating func notificationsEnded(on connection: ConnectionHandle, in context: inout ServiceContext) {
        phoneControl.ended(where: { $0.connection == connection }, in: &context)
        appleNotifications.ended(on: connection)
    }

    /// Does one of the two actions of a notification on the phone that shows it.
    mutating func performANCS(
        _ action: TimelineItemAction,
        of item: TimelineItem,
        in context: inout ServiceContext
    ) {
        guard let source = appleNotifications.source(of: item.id), let ancsAction = action.ancsAction else {
            return context.emit(.actionNotSent(item.id, action: action.id))
        }
        context.phoneRequests.append(.act(ancsAction, on: source))
        context.emit(.actionSent(item.id, action: action.id))
    }
}
