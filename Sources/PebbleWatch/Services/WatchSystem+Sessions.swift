import BluetoothHost
import PebbleProtocol

// Which sessions there are, and the bytes that their transports bring and take.

extension WatchSystem {
    /// A transport has opened: asks the phone who it is, as every Pebble does on every session.
    ///
    /// The newest wins: a system or hybrid session replaces an older one, and a companion's session that of the same
    /// watchapp. The transport of the older one learns it from `isOpen`. Only a developer's tool replaces no phone's: it
    /// takes the phone's place, and gives it back when it leaves.
    mutating func openSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        at now: Duration
    ) -> SessionID {
        let kind = destination.kind
        let older = sessions.values.filter { session in
            guard kind != .app else { return session.kind == .app && session.application == destination.application }
            return session.kind != .app && (session.isTool || !transport.isTool)
        }
        for session in older { closeSession(session.id, reason: "a newer session replaced it", at: now) }
        lastSession += 1
        let id = SessionID(number: lastSession)
        sessions[id] = Session(id: id, kind: kind, transport: transport, application: destination.application)
        handle(at: now) { system, context in
            system.apps.connectionChanged(isConnected: system.hasSystemSession)
            context.events.append(.sessionOpened(id, kind, transport))
            context.reply(PhoneVersionMessage.request, on: id)
        }
        return id
    }

    /// Another transport of the same companion has opened: the session goes on over the better one.
    mutating func join(_ id: SessionID, over transport: SessionTransport) {
        sessions[id]?.join(transport)
    }

    /// A transport is gone. The session goes on over what is left; without any it is closed.
    /// - Parameter undelivered: how many of the bytes that the transport took are lost with it.
    mutating func leave(
        _ id: SessionID,
        over transport: SessionTransport,
        undelivered: Int,
        reason: String,
        at now: Duration
    ) {
        guard let before = sessions[id]?.carrier else { return }
        guard sessions[id]?.leave(transport, undelivered: undelivered) == true else {
            let lost = sessions[id]?.undeliveredMessages ?? []
            return closeSession(id, reason: reason, lost: lost, at: now)
        }
        noteCarrier(of: id, before: before)
    }

    /// Whether a session is with this companion, and can go on over another transport too.
    func session(_ id: SessionID, isFor destination: PPoGATTDestination, over transport: SessionTransport) -> Bool {
        guard let session = sessions[id] else { return false }
        return session.isFor(destination) && session.canBeJoined(by: transport)
    }

    private mutating func noteCarrier(of id: SessionID, before: SessionTransport) {
        guard let carrier = sessions[id]?.carrier, carrier != before else { return }
        emit(.sessionMoved(id, to: carrier))
    }

    /// The last transport is gone: whatever was half received is dropped, and the running app's message may wait for another
    /// session.
    /// - Parameter lost: the AppMessages that did not arrive, if the transport knows; else those that it did not take.
    mutating func closeSession(
        _ id: SessionID,
        reason: String,
        lost: [AppMessageTicket]? = nil,
        at now: Duration
    ) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        emit(.sessionClosed(id, reason: reason))
        handle(at: now) { system, context in
            // What a phone said of its music and its calls is true still when a tool leaves.
            let wasLast = session.kind != .app && (!session.isTool || !system.hasSystemSession)
            system.services.sessionClosed(id, wasSystem: wasLast, in: &context)
            for ticket in lost ?? session.unsentMessages {
                system.lost(ticket, hadBeenTaken: !session.unsentMessages.contains(ticket))
            }
            system.apps.connectionChanged(isConnected: system.hasSystemSession)
        }
    }

    /// Whether the Pebble app, or what stands for it, has a session.
    var hasSystemSession: Bool { newestSession { $0.kind != .app } != nil }

    /// Every session, in the order in which they were opened.
    var sessionIDs: [SessionID] { sessions.keys }

    /// Whose session it is; nil if it is over.
    func companion(of id: SessionID) -> PPoGATTDestination? { sessions[id]?.companion }

    /// Whether a session still exists.
    func isOpen(_ id: SessionID) -> Bool { sessions[id] != nil }

    /// The sessions that are open, oldest first.
    var openSessions: [WatchStatus.Session] {
        sessions.values.map { session in
            WatchStatus.Session(
                id: session.id,
                kind: session.kind,
                transport: session.carrier,
                application: session.application
            )
        }
    }

    /// Takes bytes that a transport received, the one that carries the session if none is named. The running app follows
    /// when all of them have been taken in.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        on id: SessionID,
        over transport: SessionTransport? = nil,
        at now: Duration
    ) {
        guard let transport = transport ?? sessions[id]?.carrier else { return }
        var rest = bytes
        let isRecovery = isRecovery
        while let item = sessions[id]?.nextMessage(from: &rest, over: transport, inRecoveryFirmware: isRecovery) {
            switch item {
            case .message(let message): handle(message, on: id, at: now)
            case .skipped(let header): refuse(header, on: id, at: now)
            }
        }
        if let header = sessions[id]?.unfinishedHeader(over: transport), header.endpoint == .appMessage {
            apps.messageBegan(payloadLength: header.payloadLength, on: id)
        }
        handle(at: now) { _, _ in }
    }

    /// Bytes that a session has for one of its transports, at most `limit` of them and all of one message.
    /// - Parameters:
    ///   - transport: which one asks; the one that carries the session if none is named.
    ///   - undelivered: how many of the bytes that the transport took before are still on their way.
    mutating func takeOutbound(
        of id: SessionID,
        over transport: SessionTransport? = nil,
        atMost limit: Int,
        undelivered: Int = 0,
        at now: Duration
    ) -> ArraySlice<UInt8> {
        guard let before = sessions[id]?.carrier,
            let bytes = sessions[id]?.takeOutbound(over: transport ?? before, atMost: limit, undelivered: undelivered)
        else { return [] }
        noteCarrier(of: id, before: before)
        while let ticket = sessions[id]?.nextConsumedMessage() {
            handle(at: now) { system, _ in system.apps.consumed(ticket) }
        }
        pumpTransfers(on: id)
        return bytes
    }

    /// How many bytes wait for a session's transport.
    func outboundByteCount(of id: SessionID) -> Int { sessions[id]?.outboundByteCount ?? 0 }
}
