import BluetoothHCI

/// Connection subrating: both ends use only every Nth connection event, and a few more after data.
///
/// Source: Core 5.4, Vol 6, Part B, 4.5.1, 5.1.19 and 5.1.20.
extension LinkLayerConnection {
    /// What the central has announced: until the peripheral acknowledges it, the events of both subratings take place.
    struct SubrateTransition: Sendable {
        var parameters: LinkParameters
        var base: Int64
    }

    /// What becomes of connection events on which nobody has anything to say.
    struct IdleSpan {
        /// How many are not left out, and how many of those the peripheral attends.
        var active: Int64
        var attended: Int64
        var lastActive: Int64?
        var lastAttended: Int64?
        /// The event that the peripheral attends after them.
        var nextToAttend: Int64
    }

    // MARK: Which events take place

    /// Whether a connection event takes place.
    func isActive(_ event: Int64) -> Bool { activeEvent(from: event) == event }

    /// The first connection event from one on that takes place.
    func activeEvent(from event: Int64) -> Int64 {
        guard event > continuesUntil else { return event }
        let next = Self.subratedEvent(from: event, parameters, base: subrateBase)
        guard let transition = subrateTransition else { return next }
        return min(next, Self.subratedEvent(from: event, transition.parameters, base: transition.base))
    }

    private static func subratedEvent(from event: Int64, _ parameters: LinkParameters, base: Int64) -> Int64 {
        let factor = Int64(parameters.subrateFactor)
        let past = (event - base) % factor
        return past <= 0 ? event - past : event + factor - past
    }

    /// The event that the peripheral attends after one that it has heard, if neither has anything to say.
    func eventToAttend(after event: Int64) -> Int64 {
        let factor = Int64(parameters.subrateFactor)
        let next = Self.subratedEvent(from: event + 1, parameters, base: subrateBase)
        return next + Int64(parameters.latency) * factor
    }

    /// There was data at a connection event: some that follow take place for more of it.
    mutating func continueAfterData(at event: Int64) {
        continuesUntil = max(continuesUntil, event + Int64(parameters.continuationNumber))
    }

    /// What becomes of the next connection events, if nobody has anything to say.
    func idleSpan(of count: Int64) -> IdleSpan {
        let factor = Int64(parameters.subrateFactor)
        let end = eventCounter + count
        // First those that follow data: the peripheral attends them all.
        let continued = max(0, min(end, continuesUntil + 1) - eventCounter)
        var span = IdleSpan(active: continued, attended: continued, nextToAttend: sides.peripheral.nextEventToAttend)
        if continued > 0 {
            span.lastActive = eventCounter + continued - 1
            span.lastAttended = span.lastActive
            span.nextToAttend = eventToAttend(after: eventCounter + continued - 1)
        }
        let first = Self.subratedEvent(from: eventCounter + continued, parameters, base: subrateBase)
        guard first < end else { return span }
        let subrated = (end - 1 - first) / factor + 1
        span.active += subrated
        span.lastActive = first + (subrated - 1) * factor
        let firstAttended = Self.subratedEvent(
            from: max(first, span.nextToAttend),
            parameters,
            base: subrateBase
        )
        guard firstAttended < end else { return span }
        let stride = factor * (Int64(parameters.latency) + 1)
        let attended = (end - 1 - firstAttended) / stride + 1
        span.attended += attended
        span.lastAttended = firstAttended + (attended - 1) * stride
        span.nextToAttend = firstAttended + attended * stride
        return span
    }

    // MARK: Agreeing

    /// Tells the peripheral about subrating. Of the factors that would do, the greatest is taken.
    mutating func announceSubrating(_ parameters: LinkParameters) {
        subrateTransition = SubrateTransition(parameters: parameters, base: eventCounter)
        sides.central.send(.subrateIndication(parameters, baseEvent: eventCounter))
    }

    /// What the connection becomes if the central's host wants it so.
    func subrated(_ wanted: SubrateParameters) -> LinkParameters {
        var new = parameters
        new.subrateFactor = wanted.factorMaximum
        new.latency = wanted.maximumLatency
        new.continuationNumber = wanted.continuationNumber
        new.supervisionTimeout = wanted.supervisionTimeout
        return new
    }

    mutating func receiveSubrating(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch (message, role) {
        case (.subrateRequest(let wanted), .central): answerSubrateRequest(wanted)
        case (.subrateIndication(let new, _), .peripheral): finishSubrating(.peripheral, new, at: now)
        default: sides[role].send(.unknownResponse(.subrating))
        }
    }

    private mutating func answerSubrateRequest(_ wanted: SubrateParameters) {
        let features = sides.central.capabilities.features
        guard features.contains(.connectionSubrating) else { return sides.central.send(.unknownResponse(.subrating)) }
        guard features.contains(.connectionSubratingHostSupport) else {
            return sides.central.send(.rejectIndication(.subrating, .unsupportedRemoteFeature))
        }
        guard changes.isEmpty, subrateTransition == nil, !sides.central.awaitsParameterAnswer else {
            return sides.central.send(.rejectIndication(.subrating, .differentTransactionCollision))
        }
        switch sides.central.active?.procedure {
        case .subrating: return sides.central.send(.rejectIndication(.subrating, .llProcedureCollision))
        case .parameters: return sides.central.send(.rejectIndication(.subrating, .differentTransactionCollision))
        case .features, .version, .dataLength, .phy, .encryption, .channelMap, nil: break
        }
        guard let granted = granted(wanted) else {
            return sides.central.send(.rejectIndication(.subrating, .invalidLLParameters))
        }
        announceSubrating(granted)
    }

    /// What the central grants a peripheral; nil if what is wanted and what is acceptable have nothing in common.
    private func granted(_ wanted: SubrateParameters) -> LinkParameters? {
        let acceptable = sides.central.acceptableSubrating
        guard wanted.factorMaximum >= acceptable.factorMinimum, wanted.factorMinimum <= acceptable.factorMaximum,
            wanted.maximumLatency <= acceptable.maximumLatency,
            wanted.supervisionTimeout <= acceptable.supervisionTimeout
        else { return nil }
        var new = parameters
        new.subrateFactor = min(acceptable.factorMaximum, wanted.factorMaximum)
        new.latency = wanted.maximumLatency
        new.continuationNumber = min(
            max(acceptable.continuationNumber, wanted.continuationNumber),
            new.subrateFactor - 1
        )
        new.supervisionTimeout = min(parameters.supervisionTimeout, wanted.supervisionTimeout)
        return new.isHeardInTime ? new : nil
    }

    /// The peripheral has acknowledged what the central announced: from now on both are as rarely there as that says.
    mutating func subratingAcknowledged(at now: Microseconds) {
        guard let transition = subrateTransition else { return }
        subrateTransition = nil
        let old = parameters
        parameters = transition.parameters
        subrateBase = transition.base
        continueAfterData(at: current.counter)
        sides.peripheral.nextEventToAttend = eventToAttend(after: current.counter)
        finishSubrating(.central, parameters, instead: old, at: now)
    }

    private mutating func finishSubrating(
        _ role: LinkRole,
        _ new: LinkParameters,
        instead old: LinkParameters? = nil,
        at now: Microseconds
    ) {
        var asked = false
        if case .subrating = sides[role].active?.procedure { asked = true }
        if asked || new != old ?? parameters { report(.subrateChanged(.success, new), to: role) }
        if asked { finish(role, at: now) }
    }
}

extension LinkParameters {
    /// Whether the peripheral is heard at least twice within the supervision timeout.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 7.8.124.
    var isHeardInTime: Bool {
        let silence = interval.duration * Int(subrateFactor) * (Int(latency) + 1)
        return supervisionTimeout.duration > silence * 2
    }
}
