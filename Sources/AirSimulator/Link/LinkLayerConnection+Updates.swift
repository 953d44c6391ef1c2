import BluetoothHCI

/// Changes to how a connection works: its timing, its PHYs, the length of its packets.
///
/// Source: Core 5.4, Vol 6, Part B, 5.1.1, 5.1.7, 5.1.9 and 5.1.10.
extension LinkLayerConnection {
    // MARK: Timing

    /// Tells the peripheral about new timing. Of the intervals that would do, the longest is taken.
    mutating func announce(_ wanted: ConnectionParameters, at now: Microseconds) {
        let new = LinkParameters(
            interval: wanted.intervalMaximum,
            latency: wanted.latency,
            supervisionTimeout: wanted.supervisionTimeout
        )
        let instant = nextInstant
        changes.append(InstantChange(change: .parameters(new), instant: instant))
        sides.central.send(.connectionUpdateIndication(new, instant: instant))
        stopTimer(of: .central)
    }

    mutating func receiveParameters(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch message {
        case .connectionParameterRequest(let wanted):
            let own = sides[role].capabilities.features
            if !own.contains(.connectionParametersRequest) {
                sides[role].send(.unknownResponse(.connectionParameters))
            } else if let collision = collision(with: .parameters(wanted), of: role.peer) {
                sides[role].send(.rejectIndication(.connectionParameters, collision))
            } else {
                sides[role].awaitsParameterAnswer = true
                report(.parametersRequested(wanted), to: role)
            }
        case .connectionParameterResponse(let accepted):
            if role == .central, case .parameters = sides.central.active?.procedure { announce(accepted, at: now) }
        case .connectionUpdateIndication(_, let instant): learn(instant, by: role)
        default: break
        }
    }

    // MARK: PHYs

    mutating func receivePHY(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch message {
        case .phyRequest(let wanted):
            let own = sides[role].capabilities.features
            if own.isDisjoint(with: [.le2MPHY, .leCodedPHY]) {
                sides[role].send(.unknownResponse(.phy))
            } else if let collision = collision(with: .phy(wanted), of: role.peer) {
                sides[role].send(.rejectIndication(.phy, collision))
            } else if role == .central {
                announcePHYs(peripheral: wanted, at: now)
            } else {
                sides.peripheral.send(.phyResponse(sides.peripheral.phys))
            }
        case .phyResponse(let wanted):
            if role == .central, case .phy = sides.central.active?.procedure {
                announcePHYs(peripheral: wanted, at: now)
            }
        case .phyUpdateIndication(nil, nil, _): finishPHYUpdate(role, isNew: false, at: now)
        case .phyUpdateIndication(_, _, let instant): learn(instant, by: role)
        default: break
        }
    }

    /// Decides which PHYs both ends can agree on, and tells the peripheral.
    private mutating func announcePHYs(peripheral: PHYPair, at now: Microseconds) {
        let central = sides.central.phys
        let down = Self.best(of: central.transmit.intersection(peripheral.receive), instead: phys.central)
        let up = Self.best(of: central.receive.intersection(peripheral.transmit), instead: phys.peripheral)
        let instant = nextInstant
        sides.central.send(.phyUpdateIndication(centralToPeripheral: down, peripheralToCentral: up, instant: instant))
        if down == nil, up == nil {
            finishPHYUpdate(.central, isNew: false, at: now)
        } else {
            let change = InstantChange.Change.phys(centralToPeripheral: down, peripheralToCentral: up)
            changes.append(InstantChange(change: change, instant: instant))
            stopTimer(of: .central)
        }
    }

    /// The fastest of some PHYs; nil if that is the one in use, or if there are none.
    private static func best(of set: PHYSet, instead current: PHY) -> PHY? {
        let best: PHY? =
            if set.contains(.le2M) { .le2M } else if set.contains(.le1M) { .le1M } else if set.contains(.leCoded) {
                .leCoded
            } else { nil }
        return best == current ? nil : best
    }

    private mutating func finishPHYUpdate(_ role: LinkRole, isNew: Bool, at now: Microseconds) {
        var asked = false
        if case .phy = sides[role].active?.procedure { asked = true }
        if isNew || asked {
            let pair = LinkPHYs(transmit: phys[role], receive: phys[role.peer])
            report(.phyUpdated(.success(pair)), to: role)
        }
        if asked { finish(role, at: now) }
    }

    // MARK: Data length

    mutating func receiveDataLength(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch message {
        case .lengthRequest(let limits):
            guard sides[role].capabilities.features.contains(.dataPacketLengthExtension) else {
                sides[role].send(.unknownResponse(.dataLength))
                return
            }
            sides[role].remoteDataLength = limits
            sides[role].send(.lengthResponse(sides[role].localDataLength))
            agreeOnDataLength(role)
        case .lengthResponse(let limits):
            sides[role].remoteDataLength = limits
            agreeOnDataLength(role)
            if case .dataLength = sides[role].active?.procedure { finish(role, at: now) }
        default: break
        }
    }

    private mutating func agreeOnDataLength(_ role: LinkRole) {
        let local = sides[role].localDataLength
        let remote = sides[role].remoteDataLength
        let agreed = DataLengthLimits(
            transmit: local.transmit.agreed(with: remote.receive, on: phys[role]),
            receive: local.receive.agreed(with: remote.transmit, on: phys[role.peer])
        )
        guard agreed != sides[role].dataLength else { return }
        sides[role].dataLength = agreed
        report(.dataLengthChanged(agreed), to: role)
    }

    // MARK: Instants

    /// The connection event at which a change announced now is made: late enough for a peripheral that sleeps.
    var nextInstant: Int64 {
        eventCounter + (Self.eventsToInstant + Int64(parameters.latency)) * Int64(parameters.subrateFactor)
    }

    /// The peripheral has heard of a change.
    mutating func learn(_ instant: Int64, by role: LinkRole) {
        guard role == .peripheral else { return }
        for index in changes.indices where changes[index].instant == instant {
            changes[index].isKnownToPeripheral = true
        }
        stopTimer(of: .peripheral)
    }

    /// What is announced needs no answer any more.
    mutating func stopTimer(of role: LinkRole) {
        if sides[role].active?.procedure.hasInstant == true { sides[role].active?.deadline = .latest }
    }

    /// Why the central refuses a procedure of the peripheral: it has one of its own under way that also ends in a change
    /// at an instant.
    ///
    /// Source: Core 5.4, Vol 6, Part B, 5.3.
    private func collision(with procedure: LinkProcedure, of initiator: LinkRole) -> HCIStatus? {
        guard initiator == .peripheral else { return nil }
        switch (sides.central.active?.procedure, procedure) {
        case (.parameters, .parameters), (.phy, .phy): return .llProcedureCollision
        case (let own?, _) where own.hasInstant: return .differentTransactionCollision
        default: return changes.isEmpty ? nil : .differentTransactionCollision
        }
    }

    /// Makes a change that both ends know of, at the start of a connection event.
    mutating func apply(_ change: InstantChange.Change, at anchor: Microseconds) {
        switch change {
        case .parameters(let new):
            let isNew = new != parameters
            parameters = new
            subrateBase = eventCounter
            for role in LinkRole.allCases {
                var asked = false
                if case .parameters = sides[role].active?.procedure { asked = true }
                if isNew || asked { report(.parametersUpdated(.success, new), to: role) }
                if asked { finish(role, at: anchor) }
            }
        case .channels(let channels): applyChannels(channels, at: anchor)
        case .phys(let centralToPeripheral, let peripheralToCentral):
            phys.central = centralToPeripheral ?? phys.central
            phys.peripheral = peripheralToCentral ?? phys.peripheral
            for role in LinkRole.allCases {
                finishPHYUpdate(role, isNew: true, at: anchor)
                agreeOnDataLength(role)
            }
        }
        beginNextProcedure(.central, at: anchor)
    }
}
