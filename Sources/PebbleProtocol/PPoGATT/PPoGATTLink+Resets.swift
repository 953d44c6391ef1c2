import DequeModule

// How sessions begin and break: each begins with a reset, that either side asks for, and one that cannot go on is reset again
// or costs the connection.

extension PPoGATTLink {
    /// Ends the session, if there is one, and starts another with a reset.
    package mutating func reset(at now: Duration) {
        switch state {
        case .open, .awaitingResetRequest, .awaitingResetComplete: beginReset(.localReset, at: now)
        case .idle, .readingMeta, .awaitingMetaRetry, .subscribing, .stalled, .ended: break
        }
    }

    mutating func receiveResetRequest(_ request: PPoGATTResetRequest, at now: Duration) {
        switch state {
        case .awaitingResetComplete where configuration.isWatch:
            // A reset is under way already, whichever side asked for it.
            statistics.ignoredPackets &+= 1
        case .idle, .readingMeta, .awaitingMetaRetry, .ended:
            // There is neither a version nor a destination yet; the watch itself will begin.
            statistics.ignoredPackets &+= 1
        case .open where rules.brokenSession == .disconnect:
            disconnect(.remoteReset)
        case .subscribing, .awaitingResetRequest, .awaitingResetComplete, .open, .stalled:
            if !configuration.isWatch {
                guard let requested = request.version else { return disconnect(.protocolViolation) }
                version = requested
            }
            closeSession(.remoteReset)
            awaitResetComplete(.remote, at: now)
            pendingReset = .complete(version >= .v1 ? offeredWindows : nil)
        }
    }

    mutating func receiveResetComplete(_ windows: PPoGATTWindows?) {
        guard unconfirmedMeta == nil else {
            heldReset = .complete(windows)
            return
        }
        // The other side waits for an answer if it did not begin.
        if state != .awaitingResetComplete(.remote) {
            pendingReset = .complete(version >= .v1 ? offeredWindows : nil)
        }
        var window = PPoGATTWindows.version0
        if version >= .v1, let windows {
            // A window of nothing would never move; a phone that offers it can take one packet all the same.
            window.transmit = max(1, min(offeredWindows.transmit, windows.receive))
            window.receive = max(1, min(offeredWindows.receive, windows.transmit))
        }
        enter(.open)
        resetRequestCount = 0
        disconnectHistory.count = 0
        sender.window = Int(window.transmit)
        receiver.reset(version: version, rule: rules.acknowledgement, window: Int(window.receive))
        statistics.openedSessions &+= 1
        events.append(
            .opened(
                PPoGATTSession(
                    version: version,
                    transmitWindow: Int(window.transmit),
                    receiveWindow: Int(window.receive),
                    destination: destination
                )
            )
        )
    }

    /// What breaks an open session, or keeps one from opening.
    mutating func breakSession(_ reason: PPoGATTCloseReason, at now: Duration) {
        switch (state, rules.brokenSession) {
        case (.open, .disconnect): disconnect(reason)
        default: beginReset(reason, at: now)
        }
    }

    mutating func beginReset(_ reason: PPoGATTCloseReason, at now: Duration) {
        closeSession(reason)
        resetRequestCount += 1
        guard resetRequestCount <= rules.resetRequestLimit else { return disconnect(reason) }
        awaitResetComplete(.local, at: now)
        pendingReset = .request
    }

    private mutating func awaitResetComplete(_ initiator: ResetInitiator, at now: Duration) {
        enter(.awaitingResetComplete(initiator))
        heldReset = nil
        sender.reset()
        receiver = PPoGATTReceiver()
        offeredWindows = configuration.offeredWindows(version: version, attMTU: attMTU)
        timeout = rules.deadline(after: rules.resetCompleteTimeout, from: now)
    }

    mutating func disconnect(_ reason: PPoGATTCloseReason) {
        closeSession(reason)
        if let limit = rules.disconnectionLimit, disconnectHistory.count >= limit {
            enter(.stalled)
            events.append(.stalled)
        } else {
            disconnectHistory.count += 1
            end(.disconnectRequested(reason))
        }
    }

    mutating func encode(_ reset: PendingReset, to buffer: inout [UInt8]) {
        switch (reset, configuration.side) {
        case (.request, .watch(let serialNumber)):
            statistics.sentResetRequests &+= 1
            let request = PPoGATTResetRequest(version: version, serialNumber: serialNumber)
            PPoGATTPacket.resetRequest(request).encode(to: &buffer)
        case (.request, .phone):
            statistics.sentResetRequests &+= 1
            PPoGATTPacket.resetRequest(PPoGATTResetRequest(version: version)).encode(to: &buffer)
        case (.complete(let windows), _):
            statistics.sentResetCompletes &+= 1
            PPoGATTPacket.resetComplete(windows).encode(to: &buffer)
        }
    }
}
