import BluetoothHCI

/// The connection event under way: what has been exchanged in it, and what still may be.
struct ConnectionEvent: Sendable {
    var counter: Int64
    var latestEnd: Microseconds
    var peripheralAttends: Bool
    var shortExchanges = 0
    var longExchanges = 0
    /// Whether the central's last packet promised more, and how long its payload was.
    var centralPacket = (hasMore: false, length: 0)

    var exchanges: Int { shortExchanges + longExchanges }

    /// Counts an exchange by the longest payload in it.
    mutating func count(longest: Int) {
        if longest > Int(DataLength.minimum.octets) { longExchanges += 1 } else { shortExchanges += 1 }
    }
}

/// Connection events, packet by packet.
///
/// Source: Core 5.4, Vol 6, Part B, 4.5.1 and 4.5.6.
extension LinkLayerConnection {
    mutating func beginEvent(_ context: EventContext) {
        let anchor = nextAnchor
        applyChangesDue(at: anchor)
        let counter = eventCounter
        nextAnchor += interval
        eventCounter += 1
        guard !isSevered, isActive(counter) else { return }

        sides.central.eventsLostToRadio = context.isCentralFree ? 0 : sides.central.eventsLostToRadio + 1
        sides.peripheral.eventsLostToRadio = context.isPeripheralFree ? 0 : sides.peripheral.eventsLostToRadio + 1
        guard context.isCentralFree else { return }
        let isDue =
            counter >= sides.peripheral.nextEventToAttend || sides.peripheral.hasWork || !changes.isEmpty
            || counter <= continuesUntil || subrateTransition != nil
        current = ConnectionEvent(
            counter: counter,
            latestEnd: latestEnd(of: anchor, context),
            peripheralAttends: isDue && context.isPeripheralFree
                && !clocks.miss(after: anchor - sides.peripheral.lastHeard, interval: interval)
        )
        // Until it has heard something, the peripheral listens at every event.
        if isDue { sides.peripheral.nextEventToAttend = counter + 1 }
        transmit(sides.central.makePacket(dataLimit: dataLimit(.central)), from: .central, at: anchor)
    }

    /// When an event must be over, unless it is still in its first exchange, which always takes place.
    private func latestEnd(of anchor: Microseconds, _ context: EventContext) -> Microseconds {
        var end = min(nextAnchor, context.latestEnd)
        for role in LinkRole.allCases {
            guard let length = sides[role].capabilities.eventLimits.length else { continue }
            end = min(end, anchor + Microseconds(length))
        }
        return end
    }

    private mutating func transmit(_ packet: LinkPacket, from role: LinkRole, at start: Microseconds) {
        let end = start + phys[role].airTime(payloadLength: packet.airLength)
        occupyRadios(until: end)
        phase = .sending(role, packet, end: end)
        switch role {
        case .central: current.centralPacket = (packet.moreData, packet.pdu.length)
        case .peripheral: current.count(longest: max(current.centralPacket.length, packet.pdu.length))
        }
    }

    mutating func finishSending(_ packet: LinkPacket, from role: LinkRole, at end: Microseconds) {
        let onAir = phys[role].airTime(payloadLength: packet.airLength)
        let receiver = role.peer
        phase = .betweenEvents
        sides[role].radio.transmit += onAir
        let listens = sides[receiver].isPresent && (role == .peripheral || current.peripheralAttends)
        let arrives = listens && receiver != deafRole && !isDesynchronized && !loss.losesPacket(at: end)
        if isRecording {
            let channel = hopping.channel(of: current.counter)
            sentPackets.append(SentPacket(packet, role, phys[role], end, onAir, current.counter, channel, arrives))
        }
        if !packet.pdu.isEmpty { continueAfterData(at: current.counter) }
        if listens { sides[receiver].radio.receive += arrives ? onAir : AirTime.listenTimeout }
        let makesProgress = arrives && receive(packet, by: receiver, at: end)
        if let reason = sides[role].leavesAfterSending { leave(role, reason) }

        guard arrives else {
            // The central listens for an answer that does not come.
            if role == .central { sides.central.radio.receive += AirTime.listenTimeout }
            return
        }
        guard sides.central.isPresent, sides.peripheral.isPresent else { return }
        let start = end + AirTime.interFrameSpace
        switch role {
        case .central: answer(at: start)
        case .peripheral:
            guard makesProgress, current.centralPacket.hasMore || packet.moreData, anotherExchangeFits(from: start)
            else { return }
            transmit(sides.central.makePacket(dataLimit: dataLimit(.central)), from: .central, at: start)
        }
    }

    /// The peripheral's packet after one of the central's. What no longer fits waits for the next event.
    private mutating func answer(at start: Microseconds) {
        let limit = dataLimit(.peripheral)
        let side = sides.peripheral
        let length = side.nextAirLength(dataLimit: limit, acknowledged: false)
        let end = start + phys.peripheral.airTime(payloadLength: length) + AirTime.interFrameSpace
        if length == 0 || end <= current.latestEnd || current.exchanges == 0 {
            transmit(sides.peripheral.makePacket(dataLimit: limit), from: .peripheral, at: start)
        } else if !side.hasPacketInFlight {
            transmit(sides.peripheral.makeEmptyPacket(), from: .peripheral, at: start)
        }
    }

    /// Whether the central may go on, knowing what would be sent each way.
    private func anotherExchangeFits(from start: Microseconds) -> Bool {
        var end = start
        var longest = 0
        for role in LinkRole.allCases {
            // What the peripheral has in flight has just arrived, or there would be no question of going on.
            let length = sides[role].nextAirLength(
                dataLimit: dataLimit(role),
                acknowledged: role == .peripheral
            )
            end += phys[role].airTime(payloadLength: length) + AirTime.interFrameSpace
            longest = max(longest, length - (sides[role].encryptsTransmission ? 4 : 0))
        }
        guard end <= current.latestEnd else { return false }
        var next = current
        next.count(longest: longest)
        return LinkRole.allCases.allSatisfy { role in
            sides[role].capabilities.eventLimits.allows(short: next.shortExchanges, long: next.longExchanges)
        }
    }

    /// The most data that one end may put into a packet now. Two such packets always fit into one interval.
    private func dataLimit(_ role: LinkRole) -> Int {
        let agreed = sides[role].dataLength.transmit
        let half = Microseconds((interval.count - 2 * AirTime.interFrameSpace.count) / 2)
        let time = min(Microseconds(Int64(agreed.timeMicroseconds)), half)
        return min(Int(agreed.octets), phys[role].maximumPayloadLength(within: time))
    }

    /// Takes a packet at the end of its time on the air.
    /// - Returns: false if what either end sent has to be sent again.
    private mutating func receive(_ packet: LinkPacket, by role: LinkRole, at now: Microseconds) -> Bool {
        sides[role].hasHeard = true
        sides[role].lastHeard = now
        if role == .peripheral { sides[role].nextEventToAttend = eventToAttend(after: current.counter) }

        if packet.nextExpectedSequenceNumber != sides[role].sequenceNumber, let pdu = sides[role].acknowledge() {
            acknowledged(pdu, of: role, at: now)
        }
        guard sides[role].isPresent else { return false }
        if packet.sequenceNumber == sides[role].nextExpectedSequenceNumber {
            if case .data = packet.pdu, !sides[role].acceptsData { return false }
            sides[role].nextExpectedSequenceNumber.toggle()
            switch packet.pdu {
            case .empty: break
            case .control(let message): receive(message, by: role, at: now)
            case .data(let isStart, let bytes, _): report(.data(isStart: isStart, bytes), to: role)
            }
        }
        return !sides[role].hasPacketInFlight
    }

    private mutating func acknowledged(_ pdu: LinkPDU, of role: LinkRole, at now: Microseconds) {
        switch pdu {
        case .data(_, _, completesPacket: true): report(.packetCompleted, to: role)
        case .control(.terminateIndication):
            if let reason = sides[role].termination?.localReason { leave(role, reason) }
        case .control(.subrateIndication): subratingAcknowledged(at: now)
        case .control, .data, .empty: break
        }
    }

    /// Makes the changes whose instant is the event that begins now.
    private mutating func applyChangesDue(at anchor: Microseconds) {
        while let index = changes.firstIndex(where: { $0.instant <= eventCounter }) {
            let due = changes.remove(at: index)
            if due.isKnownToPeripheral { apply(due.change, at: anchor) } else { isDesynchronized = true }
        }
    }
}
