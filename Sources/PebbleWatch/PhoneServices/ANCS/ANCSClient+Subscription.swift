import BluetoothHost

// Where the service is, and being subscribed to it.

extension ANCSClient {
    mutating func serviceFound(_ handles: Handles, at now: Duration) {
        guard handles != self.handles else { return }
        if self.handles != nil { serviceGone(at: now) }
        self.handles = handles
        // The Data Source first: once the Notification Source speaks, there are questions whose answers come there.
        for value in [handles.dataSource, handles.notificationSource] {
            subscriptions.append((value.configuration, .notifications))
        }
    }

    mutating func serviceGone(at now: Duration) {
        guard handles != nil else { return }
        handles = nil
        subscriptions = []
        retry.reset()
        if running != nil { running = .nothing }
        giveUpOperations(.notAvailable)
        if isAnnounced { events.append(.unsubscribed) }
        isAnnounced = false
    }

    /// Gives up everything that was asked or is to be.
    private mutating func giveUpOperations(_ problem: ANCSProblem) {
        isSubscribed = false
        liveness.stop()
        var operations = Array(queue)
        if let current { operations.insert(current.operation, at: 0) }
        for case .perform(let action, let uid) in operations { events.append(.notPerformed(uid, action, problem)) }
        queue = []
        current = nil
    }

    /// Takes the subscription back and subscribes once more: iOS may have forgotten it.
    mutating func resubscribe(at now: Duration) {
        guard let handles else { return }
        events.append(.problem(.silent))
        if running != nil { running = .nothing }
        retry.reset()
        giveUpOperations(.silent)
        subscriptions = []
        for value in [handles.dataSource, handles.notificationSource] {
            subscriptions.append((value.configuration, []))
            subscriptions.append((value.configuration, .notifications))
        }
    }

    /// A write to a configuration is over.
    mutating func subscriptionEnded(
        _ configuration: AttributeHandle,
        _ subscription: Subscription,
        _ result: Result<GATTResponse, GATTProcedureError>,
        at now: Duration
    ) {
        switch result {
        case .success:
            retry.reset()
            preExistingEnd = now + Self.preExistingWindow
            guard subscriptions.isEmpty else { return }
            isSubscribed = true
            liveness.start(at: now)
            if !isAnnounced { events.append(.subscribed) }
            isAnnounced = true
        case .failure where subscription.isEmpty:
            // What cannot be taken back may not be there to be taken back.
            break
        case .failure where retry.begin(at: now):
            subscriptions.prepend((configuration, subscription))
        case .failure(let error):
            serviceGone(at: now)
            events.append(.problem(.notSubscribed(error)))
        }
    }
}
