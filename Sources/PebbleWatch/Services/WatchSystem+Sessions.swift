import BluetoothHost
import PebbleProtocol

// Which sessions there are, and the bytes that their transports bring and take.

extension WatchSystem {
    /// A transport has opened: asks the phone who it is, as every Pebble does on every session.
    ///
    /// It may replace older sessions (``SessionTable/replaced(by:over:)``), whose transports learn it from `isOpen`.
    /// - Parameter own: the sessions that the same phone has on its link.
    mutating func openSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        among own: [SessionID] = [],
        at now: Duration
    ) -> SessionID {
        if bridge.isThere { return openBridgedSession(destination, over: transport, among: own, at: now) }
        for older in sessions.replaced(by: destination, over: transport) {
            closeSession(older, reason: "a newer session replaced it", at: now)
        }
        let id = sessions.add(destination, over: transport)
        guard recorder == nil else { return record(opened: id, destination, over: transport) }
        if mirror.isThere { mirror(id, destination, over: transport) }
        handle(at: now) { system, context in
            system.apps.connectionChanged(isConnected: system.hasSystemSession)
            context.events.append(.sessionOpened(id, destination.kind, transport))
            context.reply(PhoneVersionMessage.request, on: id)
        }
        return id
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
        guard let before = sessions.open[id]?.carrier else { return }
        guard sessions.open[id]?.leave(transport, undelivered: undelivered) == true else {
            let lost = sessions.open[id]?.undeliveredMessages ?? []
            return closeSession(id, reason: reason, lost: lost, at: now)
        }
        noteCarrier(of: id, before: before)
    }

    private mutating func noteCarrier(of id: SessionID, before: SessionTransport) {
        guard let carrier = sessions.open[id]?.carrier, carrier != before else { return }
        outbox.emit(.sessionMoved(id, to: carrier))
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
        guard let session = sessions.open.removeValue(forKey: id) else { return }
        outbox.emit(.sessionClosed(id, reason: reason))
        faults?.remove(id)
        bridge.part?.end(id, at: now)
        mirror.part?.close(id)
        recorder?.note(.sessionClosed(id))
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
    var hasSystemSession: Bool { sessions.newestOfSystem != nil }

    /// Every session, in the order in which they were opened.
    var sessionIDs: [SessionID] { sessions.open.keys }

    /// Takes bytes that a transport received, the one that carries the session if none is named. The running app follows
    /// when all of them have been taken in.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        on id: SessionID,
        over transport: SessionTransport? = nil,
        at now: Duration
    ) {
        guard let transport = transport ?? sessions.open[id]?.carrier else { return }
        var rest = bytes
        let isRecovery = isRecovery
        // The mirror wants messages whole that the watch refuses by their header.
        let takesAll = !answersItself || mirror.isThere && mirror.part?.session == id
        while let item = sessions.open.change(
            id,
            { $0?.nextMessage(from: &rest, over: transport, inRecoveryFirmware: isRecovery, takesAll: takesAll) }
        ) {
            switch item {
            case .message(let message):
                if mirror.isThere, refuseMirrored(message, on: id, at: now) { continue }
                if faults == nil { handle(message, on: id, at: now) } else { bend(message, on: id, at: now) }
            case .skipped(let header): refuse(header, on: id, at: now)
            }
        }
        if answersItself, let header = sessions.open[id]?.unfinishedHeader(over: transport),
            header.endpoint == .appMessage
        {
            apps.messageBegan(payloadLength: header.payloadLength, on: id)
        }
        handle(at: now) { _, _ in }
        if mirror.isThere { settleMirror(at: now) }
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
        guard let before = sessions.open[id]?.carrier else { return [] }
        let carrier = transport ?? before
        let bytes = sessions.open.change(id) {
            $0?.takeOutbound(over: carrier, atMost: limit, undelivered: undelivered)
        }
        guard let bytes else { return [] }
        noteCarrier(of: id, before: before)
        while let ticket = sessions.open.change(id, { $0?.nextConsumedMessage() }) {
            handle(at: now) { system, _ in system.apps.consumed(ticket) }
        }
        if mirror.isThere { mirror.part?.time = now }
        pumpTransfers(on: id)
        return bytes
    }

    /// How many bytes wait for a session's transport.
    func outboundByteCount(of id: SessionID) -> Int { sessions.open[id]?.outboundByteCount ?? 0 }
}
