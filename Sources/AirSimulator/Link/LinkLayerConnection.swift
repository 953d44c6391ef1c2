import BluetoothHCI
import DequeModule

/// A connection: both ends of it, and what passes between them, packet by packet.
///
/// It is a machine of its own that knows nothing of HCI. Packets and requests of either end go in, `LinkEvent`s for
/// either end come out, and `step(at:context:)` runs what is due at `nextDeadline`. A step is the start of a connection
/// event or the end of a packet. Connection events on which nothing can happen (nothing to send, nothing that could get
/// lost) are not stepped through: `synchronize(to:)` accounts for them afterwards.
///
/// Source: Core 5.4, Vol 6, Part B, 4.5.
struct LinkLayerConnection: Sendable {
    /// What the rest of the air allows an event that starts now.
    struct EventContext {
        /// Whether each end's radio is free to attend it.
        var isCentralFree = true
        var isPeripheralFree = true
        /// When another connection of either end needs the radio.
        var latestEnd = Microseconds.latest
    }

    /// A change that both ends make at the same connection event.
    struct InstantChange: Sendable {
        enum Change: Sendable {
            case parameters(LinkParameters)
            /// Nil where a direction stays as it is.
            case phys(centralToPeripheral: PHY?, peripheralToCentral: PHY?)
            case channels(DataChannelMap)
        }

        var change: Change
        var instant: Int64
        /// Whether the peripheral has heard of it; if not by the instant, the ends lose each other.
        var isKnownToPeripheral = false
    }

    /// What is on the air.
    enum Phase: Sendable {
        case betweenEvents
        case sending(LinkRole, LinkPacket, end: Microseconds)
    }

    // What both ends share.
    var parameters: LinkParameters
    /// What each end transmits on.
    var phys: PerRole<PHY>
    var sides: PerRole<LinkSide>
    var changes: [InstantChange] = []
    /// What the ends have to tell their hosts, oldest first.
    var events: Deque<(role: LinkRole, event: LinkEvent)> = []

    /// Where the ends hop.
    var hopping: ChannelHopping

    // Subrating.
    /// A connection event that is not left out: the others follow by the subrate factor.
    var subrateBase: Int64 = 0
    /// The last connection event that is not left out because there was data a moment ago.
    var continuesUntil: Int64 = -1
    /// Subrating that the central has announced and whose acknowledgement it waits for.
    var subrateTransition: SubrateTransition?

    // Where in time it is.
    var nextAnchor: Microseconds
    /// The number of the next connection event.
    var eventCounter: Int64 = 0
    var phase = Phase.betweenEvents
    /// The connection event under way, or the last one.
    var current: ConnectionEvent
    /// When the packet on the air, and the listening after it, ends: until then the radios are taken of the ends that
    /// take part.
    private var packetEnd = Microseconds.zero

    // What may go wrong.
    var loss: LossProcess
    var clocks = SleepClocks()
    /// The end that hears nothing of the other, which still hears it; nil for neither.
    var deafRole: LinkRole?
    // What a sniffer hears; nothing unless it is recorded.
    var isRecording: Bool
    var sentPackets: Deque<SentPacket> = []
    /// Whether the ends no longer meet, because one of them missed an instant.
    var isDesynchronized = false

    /// The least that an event takes: an empty packet each way.
    static let shortestExchange = Microseconds(2 * 80 + 2 * 150)
    /// How many connection events a connection may take to hear its first packet.
    ///
    /// Source: Core 5.4, Vol 6, Part B, 4.5.2.
    static let eventsToEstablish: Int64 = 6

    init(
        parameters: LinkParameters,
        phy: PHY,
        central: LinkCapabilities,
        peripheral: LinkCapabilities,
        created: Microseconds,
        firstAnchor: Microseconds,
        loss: LossProcess,
        hopping: ChannelHopping,
        isRecording: Bool
    ) {
        self.hopping = hopping
        self.parameters = parameters
        phys = PerRole(central: phy, peripheral: phy)
        sides = PerRole(
            central: LinkSide(capabilities: central, created: created),
            peripheral: LinkSide(capabilities: peripheral, created: created)
        )
        nextAnchor = firstAnchor
        self.loss = loss
        self.isRecording = isRecording
        current = ConnectionEvent(counter: 0, latestEnd: .zero, peripheralAttends: false)
        for role in LinkRole.allCases { beginWithDataLength(role, at: created) }
    }

    var interval: Microseconds { Microseconds(Int64(parameters.interval.rawValue) * 1250) }
    private var supervisionTimeout: Microseconds {
        Microseconds(Int64(parameters.supervisionTimeout.rawValue) * 10_000)
    }

    /// Whether neither end is left.
    var isOver: Bool { !sides.central.isPresent && !sides.peripheral.isPresent }

    /// Until when a connection event takes, or has taken, the radio of one end. An event that the peripheral does not
    /// attend is on the central's radio only.
    func radioBusyUntil(_ role: LinkRole) -> Microseconds {
        role == .central || current.peripheralAttends ? packetEnd : .zero
    }

    /// Takes the radios for a packet that ends at `end`, and for the listening after it.
    mutating func occupyRadios(until end: Microseconds) {
        packetEnd = end + AirTime.interFrameSpace + AirTime.listenTimeout
    }

    /// Whether the next step is the start of a connection event, for which the context matters.
    var isBetweenEvents: Bool {
        if case .betweenEvents = phase { true } else { false }
    }

    // MARK: Time

    /// When there is something to do next; nil while the connection idles without risk.
    var nextDeadline: Microseconds? {
        var earliest: Microseconds?
        switch phase {
        case .betweenEvents: if requiresEvents { earliest = nextAnchor }
        case .sending(_, _, let end): earliest = end
        }
        for role in LinkRole.allCases {
            for deadline in [supervisionDeadline(role), procedureDeadline(role)] {
                if let deadline, deadline < earliest ?? .latest { earliest = deadline }
            }
        }
        return earliest
    }

    /// Whether no packet can get through, so that events need no steps.
    var isSevered: Bool {
        !sides.central.isPresent || !sides.peripheral.isPresent || isDesynchronized || loss.model.isTotal
    }

    /// Whether anything can happen on the next connection event.
    private var requiresEvents: Bool {
        guard !isSevered else { return false }
        if isRecording || loss.model.isPossible || deafRole != nil || clocks.areOff || !changes.isEmpty
            || !sides.central.hasHeard || !sides.peripheral.hasHeard
        {
            return true
        }
        return sides.central.hasWork || sides.peripheral.hasWork
    }

    /// When an end gives up for having heard nothing; nil if it is certain to hear in time.
    private func supervisionDeadline(_ role: LinkRole) -> Microseconds? {
        guard sides[role].isPresent, isSevered || requiresEvents else { return nil }
        let allowed = sides[role].hasHeard ? supervisionTimeout : interval * Self.eventsToEstablish
        return sides[role].lastHeard + allowed
    }

    /// When an end gives up for want of an answer.
    private func procedureDeadline(_ role: LinkRole) -> Microseconds? {
        guard sides[role].isPresent else { return nil }
        let procedure = sides[role].active?.deadline
        let termination = sides[role].termination?.deadline
        guard let procedure, let termination else { return procedure ?? termination }
        return min(procedure, termination)
    }

    /// Runs everything that is due by `now`; `context` is for the case that a connection event begins.
    mutating func step(at now: Microseconds, context: EventContext) {
        switch phase {
        case .betweenEvents: if requiresEvents, nextAnchor <= now { beginEvent(context) }
        case .sending(let role, let packet, let end):
            if end <= now { finishSending(packet, from: role, at: end) }
        }
        for role in LinkRole.allCases {
            if let deadline = supervisionDeadline(role), deadline <= now {
                leave(role, sides[role].hasHeard ? .connectionTimeout : .connectionFailedToBeEstablished)
            }
            if let deadline = procedureDeadline(role), deadline <= now {
                leave(role, sides[role].termination?.localReason ?? .llResponseTimeout)
            }
        }
    }

    /// Accounts for the connection events before `now` that were not stepped through. Called before anything changes.
    mutating func synchronize(to now: Microseconds) {
        guard isBetweenEvents, !requiresEvents, nextAnchor < now else { return }
        let skipped = (now - nextAnchor - Microseconds(1)) / interval + 1
        let emptyOnAir = PerRole(
            central: phys.central.airTime(payloadLength: 0),
            peripheral: phys.peripheral.airTime(payloadLength: 0)
        )
        if isSevered {
            for role in LinkRole.allCases where sides[role].isPresent {
                if role == .central { sides.central.radio.transmit += emptyOnAir.central * skipped }
                sides[role].radio.receive += AirTime.listenTimeout * skipped
            }
        } else {
            let span = idleSpan(of: skipped)
            sides.central.radio.transmit += emptyOnAir.central * span.active
            sides.central.radio.receive +=
                emptyOnAir.peripheral * span.attended + AirTime.listenTimeout * (span.active - span.attended)
            sides.peripheral.radio.receive += emptyOnAir.central * span.attended
            sides.peripheral.radio.transmit += emptyOnAir.peripheral * span.attended
            // What the central sent after the last one attended, the peripheral slept through: it will be sent again.
            if let lastActive = span.lastActive {
                sides.central.setEmptyPacketInFlight(span.lastAttended.map { $0 < lastActive } ?? true)
            }
            if let last = span.lastAttended {
                let heard = nextAnchor + interval * (last - eventCounter) + emptyOnAir.central
                sides.peripheral.nextEventToAttend = span.nextToAttend
                sides.peripheral.lastHeard = heard
                sides.central.lastHeard = heard + AirTime.interFrameSpace + emptyOnAir.peripheral
            }
        }
        eventCounter += skipped
        nextAnchor += interval * skipped
    }

    /// The first anchor after a moment of an event that is not left out, whether or not it will be stepped through.
    func anchor(after moment: Microseconds) -> Microseconds {
        let passed = nextAnchor <= moment ? (moment - nextAnchor) / interval + 1 : 0
        return nextAnchor + interval * (activeEvent(from: eventCounter + passed) - eventCounter)
    }

    /// Changes what gets lost from `now` on.
    mutating func setLoss(_ model: LossModel, at now: Microseconds) {
        synchronize(to: now)
        loss.setModel(model, at: now)
    }

    /// Makes one end deaf from `now` on, or neither.
    mutating func setDeafRole(_ role: LinkRole?, at now: Microseconds) {
        synchronize(to: now)
        deafRole = role
    }

    mutating func reseed(_ random: SeededRandom, at now: Microseconds) {
        synchronize(to: now)
        loss.reseed(random)
    }

    /// Begins or ends to note what is sent.
    mutating func setRecording(_ isWanted: Bool, at now: Microseconds) {
        synchronize(to: now)
        isRecording = isWanted
        sentPackets.removeAll()
    }

    // MARK: Ends

    mutating func report(_ event: LinkEvent, to role: LinkRole) {
        guard sides[role].isPresent else { return }
        events.append((role, event))
    }

    /// Makes one end leave, for a reason that its host hears.
    mutating func leave(_ role: LinkRole, _ reason: HCIStatus) {
        guard sides[role].isPresent else { return }
        report(.disconnected(reason), to: role)
        sides[role].leave()
    }

    /// Makes one end disappear, as without power: neither its host nor the peer is told.
    mutating func vanish(_ role: LinkRole, at now: Microseconds) {
        synchronize(to: now)
        sides[role].leave()
    }
}
