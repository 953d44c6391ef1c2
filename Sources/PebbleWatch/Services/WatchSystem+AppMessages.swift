import PebbleProtocol

// What the running app says: to whom it goes, and what becomes of it while no companion is there to take it.

extension WatchSystem {
    /// Sends what the running app wants to say, and what waited for its companion.
    /// - Returns: false if something could not be sent, which the app has been told.
    mutating func sendOutgoing() -> Bool {
        var isEverythingSent = sendHeldMessage()
        for message in apps.takeOutgoing() { isEverythingSent = send(message) && isEverythingSent }
        return isEverythingSent
    }

    mutating func send(_ item: AppState.Outgoing) -> Bool {
        // A getter would be called on a copy of the system.
        guard answersItself, let session = sessions.newest(for: services.apps.audience) else {
            if push.hold(item, hadBeenTaken: false, &services.apps) { return true }
            apps.notConnected(item.ticket)
            return false
        }
        let content = AppMessagePush(
            transaction: item.transactionID,
            application: apps.runningUUID,
            dictionary: item.message
        )
        let message = PebbleMessage(AppMessage.push(content))
        if faults != nil, !passes(message, on: session) {
            // Its sender has done its part, and waits for the answer.
            push.sent(item, on: session)
            apps.consumed(item.ticket)
            return true
        }
        guard sessions.open[session]?.send(message, marking: item.ticket) == true else {
            apps.notConnected(item.ticket)
            return false
        }
        push.sent(item, on: session)
        outbox.emit(.message(session, .toPhone, message))
        return true
    }

    /// What the phone that talks to the running app has said it can do.
    var currentPhoneCapabilities: Capabilities? {
        guard let session = currentAppSession, sessions.open[session]?.hasAnnouncedCapabilities == true else {
            return nil
        }
        return sessions.open[session]?.phoneCapabilities
    }

    /// The session that AppMessages of the running app go to. Where the firmware answers, its apps are the ones that companions talk
    /// to.
    private var currentAppSession: SessionID? { answersItself ? sessions.newest(for: services.apps.audience) : nil }
}

// MARK: - Waiting for a companion

extension WatchSystem {
    /// Whether the running app has a message for a companion that has no session. The owner, who knows the phones, then says
    /// ``stopWaiting(at:)`` unless one of them can bring the companion back; it is given up with the message's own time.
    var isWaitingForCompanion: Bool { push.held.map { apps.isHolding($0.message.ticket) } ?? false }

    /// No phone can bring the companion back.
    mutating func stopWaiting(at now: Duration) {
        guard let held = push.takeHeld() else { return }
        handle(at: now) { system, _ in
            // What a session had taken may have arrived, and keeps its time.
            guard system.apps.release(held.message.ticket), !held.hadBeenTaken else { return }
            system.apps.notConnected(held.message.ticket)
        }
    }

    /// An AppMessage was lost with its session.
    mutating func lost(_ ticket: AppMessageTicket, hadBeenTaken: Bool) {
        if let message = push.message(ticket), push.hold(message, hadBeenTaken: hadBeenTaken, &services.apps) { return }
        if !hadBeenTaken { apps.notConnected(ticket) }
    }

    private mutating func sendHeldMessage() -> Bool {
        guard push.held != nil, currentAppSession != nil, let message = push.takeHeld()?.message else { return true }
        guard apps.release(message.ticket) else { return true }
        return send(message)
    }
}
