import BluetoothHost
import PebbleProtocol

// A system whose brain is the emulated firmware: sessions and messages go to its bridge, and not to the services here.

extension WatchSystem {
    /// Takes what the emulator does.
    /// - Returns: the next bytes for it, if it has room.
    mutating func take(_ input: FirmwareInput, at now: Duration) -> [UInt8] {
        var next: [UInt8] = []
        switch input {
        case .connected:
            bridge.part?.connected(at: now)
            mirror.part?.bridge.connected(at: now)
        case .lost(let reason):
            bridge.part?.lost(reason: reason, at: now)
            mirror.part?.bridge.lost(reason: reason, at: now)
        case .bytes(let bytes):
            bridge.part?.receive(bytes, at: now)
            mirror.part?.bridge.receive(bytes, at: now)
        case .hasRoom: next = bridge.part?.outbox.next(at: now) ?? mirror.part?.bridge.outbox.next(at: now) ?? []
        case .console(let isThere):
            bridge.part?.consoleChanged(isThere: isThere, at: now)
            mirror.part?.bridge.consoleChanged(isThere: isThere, at: now)
        case .sessionRenewed:
            bridge.part?.renewed(at: now)
            mirror.part?.bridge.renewed(at: now)
        }
        settleBridge(at: now)
        settleMirror(at: now)
        return next
    }

    /// What the screen shows: black before the firmware has shown its own.
    var frame: FrameBuffer {
        guard let bridge = bridge.part else { return apps.frame }
        return bridge.screen.frame ?? FrameBuffer(Display(of: identity.hardware))
    }

    /// Whether bytes wait for the emulator that it has room for.
    var hasBytesForFirmware: Bool {
        bridge.isThere && bridge.part?.outbox.canSend == true
            || mirror.isThere && mirror.part?.bridge.outbox.canSend == true
    }

    /// Whether a message has left for the emulator in part.
    var isInMessageToFirmware: Bool {
        bridge.isThere && bridge.part?.outbox.isInMessage == true
            || mirror.isThere && mirror.part?.bridge.outbox.isInMessage == true
    }

    /// How the firmware does that answers phones, or is asked in the watch's shadow.
    var firmwareStatus: FirmwareStatus? {
        (bridge.part ?? mirror.part?.bridge).map {
            FirmwareStatus(
                isAnswering: $0.version != nil && $0.state != .absent,
                hangCount: $0.hangCount,
                wantsFreshSession: $0.wantsFreshSession
            )
        }
    }

    /// Lets time pass for the bridge.
    mutating func advanceBridge(to now: Duration) {
        guard let deadline = bridge.part?.nextDeadline, deadline <= now else { return }
        bridge.part?.advance(to: now)
        settleBridge(at: now)
    }

    /// Tells the emulator what a person or a sensor does to the watch, also one in the watch's shadow.
    mutating func withBridge(at now: Duration, _ body: (inout EmulatorBridge) -> Void) {
        if var shadow = mirror.part?.bridge {
            body(&shadow)
            mirror.part?.bridge = shadow
        }
        guard var bridge = bridge.part else { return }
        self.bridge.part = nil
        body(&bridge)
        bridge.screen.mayHaveChanged(at: now)
        self.bridge.part = bridge
        settleBridge(at: now)
    }

    /// Moves what the bridge has: messages to the phone, lines to the log. A firmware that has crashed ends its session.
    private mutating func settleBridge(at now: Duration) {
        while let message = bridge.part?.nextMessage(at: now) {
            guard !isForPhonesOwnService(message, at: now) else { continue }
            bridge.part?.queueForPhone(message)
        }
        while let note = bridge.part?.nextNote() { outbox.emit(.diagnostic(note)) }
        if bridge.part?.takeFall() == true {
            firmwareFell = true
            for id in sessions.open.keys { closeSession(id, reason: "the firmware is gone", at: now) }
        }
        if let session = bridge.part?.session { pumpTransfers(on: session) }
    }

    /// Whether the firmware has crashed, or is taken for it, since this was last asked.
    mutating func takeFirmwareFall() -> Bool {
        defer { firmwareFell = false }
        return firmwareFell
    }

    // MARK: Sessions

    /// A transport has opened, and the firmware has one session.
    ///
    /// The newest companion on a link has it, as always, and a phone takes it from a developer's tool. Any other companion is told
    /// that the watch is busy, by a session that is closed when it is returned.
    mutating func openBridgedSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        among own: [SessionID],
        at now: Duration
    ) -> SessionID {
        if let holder = bridge.part?.session {
            guard own.contains(holder) || sessions.open[holder]?.isTool == true && !transport.isTool else {
                return refuseSession(destination, over: transport, holder: holder)
            }
            closeSession(holder, reason: "a newer session replaced it", at: now)
        }
        guard destination.kind != .app else { return refuseSession(destination, over: transport, holder: nil) }
        let id = sessions.add(destination, over: transport)
        outbox.emit(.sessionOpened(id, destination.kind, transport))
        withBridge(at: now) { $0.begin(id, at: now) }
        return id
    }

    /// Whether the firmware's one session is a phone's on another link.
    /// - Parameter own: the sessions that a phone has on its link.
    func isOccupied(besides own: [SessionID]) -> Bool {
        guard let holder = bridge.part?.session, sessions.open[holder]?.isTool == false else { return false }
        return !own.contains(holder)
    }

    /// The phone or tool that has the firmware's session loses it.
    mutating func endBridgedSession(at now: Duration) {
        if let session = bridge.part?.session { closeSession(session, reason: "the watch restarts", at: now) }
    }

    private mutating func refuseSession(
        _ destination: PPoGATTDestination,
        over transport: SessionTransport,
        holder: SessionID?
    ) -> SessionID {
        let id = sessions.add(destination, over: transport)
        _ = sessions.open.removeValue(forKey: id)
        let reason =
            holder.map { "the firmware has one session, and \($0) has it" }
            ?? "the firmware has one session, which is not for a single app"
        let text = "a companion over \(transport) is told that the watch is busy: \(reason)"
        outbox.emit(.diagnostic(Diagnostic(severity: .warning, layer: .session, message: text)))
        return id
    }

    /// Gives a phone's message to the firmware.
    mutating func relay(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        outbox.emit(.message(id, .fromPhone, message))
        if let phone = PhoneVersionMessage.answer(in: message) { sessions.open[id]?.announce(phone.capabilities) }
        withBridge(at: now) { $0.forward(message, on: id, at: now) }
    }
}

// MARK: - The phone's own services

extension WatchSystem {
    /// Tells the firmware what the watch learned from a phone's own services: notifications and calls that came through ANCS, and
    /// what plays through AMS. To the firmware, also to one in the watch's shadow, they come from the phone's app.
    mutating func tellFirmware(of event: WatchEvent) {
        guard case .service(let event) = event else { return }
        switch event {
        case .notificationShown(let item):
            let shown = item.fromApp
            var value: [UInt8] = []
            shown.encode(to: &value)
            let record = BlobDBRecord(key: shown.id.key[...], value: value[...])
            change(.insert(.notifications, record, timestamp: nil))
        case .notificationRemoved(let item):
            change(.delete(.notifications, key: item.key[...]))
        case .call(let call):
            switch call.state {
            case .incoming:
                say(PhoneControlMessage.incoming(call.id, call.caller ?? .init(number: "", name: "")))
            case .outgoing: say(PhoneControlMessage.outgoing(call.id))
            case .active: say(PhoneControlMessage.start(call.id))
            }
        case .callEnded(let call): say(PhoneControlMessage.end(call.id))
        case .nowPlaying(let track): say(MusicMessage.nowPlaying(track))
        case .playState(let state): say(MusicMessage.playState(state))
        case .volume(let percent): say(MusicMessage.volume(percent))
        // What only the services here do, and a call that was missed, which is a notification as well.
        case .uploadBegan, .uploaded, .uploadFailed, .uploadInstalled, .updateBegan, .updateCompleted, .updateFailed,
            .appInstalled, .appRemoved, .appFetchBegan, .appFetchFailed, .appOrderChanged, .recordChanged,
            .recordRemoved, .databaseCleared, .actionSent, .actionNotSent, .actionAnswered, .callMissed, .appLogsWanted,
            .screenshotTaken, .dataLogged, .dataNotLogged, .dataSent, .dataDropped, .healthSyncRequested:
            break
        }
    }

    private mutating func say(_ message: some EndpointMessage) {
        bridge.part?.say(message)
        mirror.part?.tell(PebbleMessage(message))
    }

    private mutating func change(_ command: BlobDBRequest.Command) {
        bridge.part?.change(command)
        mirror.part?.tell(command)
    }

    /// What the firmware asks of the phone's app, where the watch itself learned of the thing, is done by the phone's own
    /// services.
    /// - Returns: false if the message is for the phone's app.
    private mutating func isForPhonesOwnService(_ message: PebbleMessage, at now: Duration) -> Bool {
        switch message.endpoint {
        case .music:
            guard services.music.isFromPhonesOwnService,
                case .command(let command)? = try? MusicMessage(payload: message.payload)
            else { return false }
            handle(at: now) { system, context in
                if command == .getAll {
                    system.services.music.repeatAll(in: &context)
                } else {
                    _ = system.services.send(command, in: &context)
                }
            }
            return true
        case .phoneControl:
            let control = try? PhoneControlMessage(payload: message.payload)
            if case .answer(let call)? = control { return answer(call, isAccepted: true, at: now) }
            if case .hangUp(let call)? = control { return answer(call, isAccepted: false, at: now) }
            return false
        case .timelineAction:
            let action = try? TimelineActionMessage(payload: message.payload)
            if case .invoke(let invocation)? = action { return perform(invocation, at: now) }
            if case .invokeANCS(let invocation)? = action { return perform(invocation, at: now) }
            return false
        default: return false
        }
    }

    private mutating func answer(_ call: PhoneControlMessage.Call, isAccepted: Bool, at now: Duration) -> Bool {
        guard services.phoneControl.calls.contains(where: { $0.id == call && $0.notification != nil }) else {
            return false
        }
        handle(at: now) { system, context in _ = system.services.answerCall(isAccepted, in: &context) }
        return true
    }

    private mutating func perform(_ invocation: TimelineActionMessage.Invocation, at now: Duration) -> Bool {
        guard services.appleNotifications.source(of: invocation.item) != nil else { return false }
        var isDone = false
        handle(at: now) { system, context in
            isDone = system.services.perform(invocation.actionID, of: invocation.item, text: nil, in: &context)
        }
        let response = TimelineActionMessage.Response(
            item: invocation.item,
            code: isDone ? .acknowledgement : .negativeAcknowledgement,
            attributes: []
        )
        bridge.part?.say(TimelineActionMessage.response(response))
        return true
    }
}

extension TimelineItem {
    /// The item as a phone's app would have sent it: the firmware's own way to ANCS leads nowhere in an emulator.
    fileprivate var fromApp: TimelineItem {
        var item = self
        item.flags.remove(.fromANCS)
        item.attributes.removeAll { $0.id == .ancsID || $0.id == .iOSAppIdentifier }
        item.actions = actions.map { action in
            var action = action
            action.kind = action.ancsAction == .negative ? .dismiss : .generic
            action.attributes.removeAll { $0.id == .ancsAction }
            return action
        }
        return item
    }
}
