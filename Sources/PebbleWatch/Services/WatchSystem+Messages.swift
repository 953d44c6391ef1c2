import BluetoothHost
import ByteCoding
import PebbleProtocol

// Messages: whom each is for, and how the answers get into their sessions.

extension WatchSystem {
    /// Bytes of what is handed over piece by piece that wait for the transport.
    private static let transferBacklog = 4096

    /// Takes in a message of a phone's.
    mutating func handle(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        guard !bridge.isThere else { return relay(message, on: id, at: now) }
        outbox.emit(.message(id, .fromPhone, message))
        if recorder != nil { return record(message, on: id) }
        if mirror.isThere { mirror(message, on: id, at: now) }
        defer { if mirror.isThere { mirror.part?.handled() } }
        handle(at: now, runningApp: false) { system, context in
            context.sender = system.sender(id)
            do throws(ByteDecodingError) {
                try system.services.receive(message, on: id, in: &context)
            } catch {
                context.log(.warning, .session, "\(message.endpoint): \(error); the message is dropped")
            }
            if let phone = context.phoneVersion { system.sessions.open[id]?.announce(phone.capabilities) }
        }
    }

    private func sender(_ id: SessionID) -> ServiceContext.Sender? {
        guard let session = sessions.open[id] else { return nil }
        return ServiceContext.Sender(
            companion: session.companion,
            hasAnnouncedCapabilities: session.hasAnnouncedCapabilities,
            hasLastPush: push.hasGone(to: id)
        )
    }

    /// Says no to a message that its session may not carry.
    mutating func refuse(_ header: MessageDeframer.Header, on id: SessionID, at now: Duration) {
        guard let kind = sessions.open[id]?.kind else { return }
        let isRecovery = isRecovery
        handle(at: now, runningApp: false) { _, context in
            context.log(.warning, .session, "\(header.endpoint) refused on a \(kind) session")
            switch header.endpoint.admission(on: kind, inRecoveryFirmware: isRecovery) {
            case .allowed: break
            case .unhandled: context.reply(MetaMessage.unhandled(header.endpoint), on: id)
            case .disallowed: context.reply(MetaMessage.disallowed(header.endpoint), on: id)
            }
        }
    }

    /// Tells the Pebble app which app started or stopped, in the words that it knows.
    mutating func announce(_ state: ServiceContext.RunState) {
        // The firmware says itself which of its apps runs.
        guard answersItself else { return }
        for id in sessions.open.keys {
            guard let session = sessions.open[id], session.kind != .app else { continue }
            let message: PebbleMessage
            if session.phoneCapabilities.contains(.appRunState) {
                switch state {
                case .started(let app): message = PebbleMessage(AppRunStateMessage.start(app))
                case .stopped(let app): message = PebbleMessage(AppRunStateMessage.stop(app))
                }
            } else {
                message = services.launcher.message(state)
            }
            send(ServiceContext.Reply(session: id, message: message))
        }
    }

    /// Tells a session which app runs, as the emulator does when its phone comes or goes.
    mutating func tellRunningApp(on id: SessionID, at now: Duration) {
        guard answersItself else { return }
        handle(at: now) { system, context in
            context.reply(AppRunStateMessage.start(system.apps.runningUUID), on: id)
        }
    }

    /// Gives a message to its session.
    mutating func send(_ reply: ServiceContext.Reply) {
        if mirror.isThere { mirror.part?.watchSaid(reply.message, on: reply.session) }
        if faults == nil { deliver(reply) } else { bend(reply) }
    }

    /// Gives a message to its session as it is.
    mutating func deliver(_ reply: ServiceContext.Reply) {
        guard sessions.open[reply.session]?.send(reply.message) == true else {
            outbox.emit(
                .diagnostic(
                    Diagnostic(
                        severity: .warning,
                        layer: .session,
                        message: "\(reply.session): no room for \(reply.message.endpoint); the message is dropped"
                    )
                )
            )
            return
        }
        outbox.emit(.message(reply.session, .toPhone, reply.message))
    }

    /// Hands over more of a screenshot and its like, as long as the transport keeps up.
    mutating func pumpTransfers(on id: SessionID) {
        while outboundByteCount(of: id) < Self.transferBacklog, sessions.isOpen(id),
            let message = bridge.isThere ? bridge.part?.nextForPhone(on: id) : services.nextMessage(on: id)
        {
            send(ServiceContext.Reply(session: id, message: message))
        }
    }
}
