import BluetoothHost
import PebbleProtocol

// A system whose answers are compared with those of the real firmware: what it hears and says is told to its mirror.

extension WatchSystem {
    /// A session has opened. One is compared, since the firmware has one: the newest of a phone, or of a tool while no phone has
    /// one.
    mutating func mirror(_ id: SessionID, _ destination: PPoGATTDestination, over transport: SessionTransport) {
        guard let mirror = mirror.part else { return }
        let isOther = destination.kind == .app || transport.isTool && mirror.session != nil
        guard isOther else {
            self.mirror.part?.open(id)
            return
        }
        let text = "\(id) is not compared with the firmware, which has one session"
        outbox.emit(.diagnostic(Diagnostic(severity: .info, layer: .session, message: text)))
    }

    /// The phone has said something that the watch is about to work on.
    mutating func mirror(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        let runningApp = apps.runningUUID
        mirror.part?.ask(message, on: id, runningApp: runningApp, at: now)
    }

    /// Refuses a message that was taken whole for the mirror only.
    /// - Returns: whether the watch takes no such message on the session.
    mutating func refuseMirrored(_ message: PebbleMessage, on id: SessionID, at now: Duration) -> Bool {
        guard !bridge.isThere, let kind = sessions.open[id]?.kind,
            message.endpoint.admission(on: kind, inRecoveryFirmware: isRecovery) != .allowed
        else { return false }
        mirror(message, on: id, at: now)
        let header = MessageDeframer.Header(endpoint: message.endpoint, payloadLength: message.payload.count)
        refuse(header, on: id, at: now)
        mirror.part?.handled()
        return true
    }

    /// Lets time pass for the mirror.
    mutating func advanceMirror(to now: Duration) {
        guard let deadline = mirror.part?.nextDeadline, deadline <= now else { return }
        mirror.part?.advance(to: now)
        settleMirror(at: now)
    }

    /// Moves what the mirror has: answers of the firmware to their questions, the next question to the firmware, differences and
    /// lines of the log to the owner.
    mutating func settleMirror(at now: Duration) {
        guard mirror.isThere else { return }
        while let message = mirror.part?.bridge.nextMessage(at: now) {
            mirror.part?.firmwareSaid(message, at: now)
            // The firmware may have answered what was asked last, and the next may be asked.
            mirror.part?.proceed(at: now)
        }
        if mirror.part?.bridge.takeFall() == true { mirror.part?.forgetFirmware(at: now) }
        mirror.part?.proceed(at: now)
        while let note = mirror.part?.nextNote() { outbox.emit(.diagnostic(note)) }
        while let difference = mirror.part?.nextDifference() { outbox.emit(.mirrorDiffers(difference)) }
    }

    /// The session that is compared is over, since the watch restarts.
    mutating func endMirroredSession() {
        if let session = mirror.part?.session { mirror.part?.close(session) }
    }

    /// The comparison ends: what was found so far is reported.
    mutating func finishMirror(at now: Duration) {
        mirror.part?.finish(at: now)
        settleMirror(at: now)
    }
}

extension Watch {
    /// The comparison with the firmware ends, as of a watch that is being switched off: what was found so far is reported.
    mutating func finishMirror(at now: Duration) {
        guard core.system.mirror.isThere else { return }
        core.system.finishMirror(at: now)
        settle(at: now)
    }

    /// How much was compared with the real firmware; nil for a watch whose brain is not ``WatchBrain/mirrored``.
    public var mirrorTally: MirrorTally? { core.system.mirror.part?.wholeTally }
}
