import ByteCoding
import DequeModule

/// PPoGATT: the transport that carries the Pebble Protocol's byte stream over one GATT characteristic pair, reliably
/// and in order, on either side and however it is carried.
///
/// The link does no GATT. Its owner feeds it the packets of its characteristic, each one write without response or
/// one notification, and sends those it is given. A watch that finds a phone's service
/// (``PPoGATTConfiguration/Carrier/forward``) calls ``start(at:)`` at once and follows ``PPoGATTEvent/metaReadRequested`` and
/// ``PPoGATTEvent/subscriptionRequested``; every other side calls it once the other has subscribed, or once it has subscribed
/// itself.
///
/// Drain events after every call, and packets whenever there is room for them: what is not yet taken costs nothing,
/// because packets are made when they are asked for. One link carries one session after the other, each with an empty
/// stream. It dies with the connection or the subscription: make another.
public struct PPoGATTLink: Sendable {
    /// Where the link is between start and end.
    package enum State: Equatable, Sendable {
        /// Not started.
        case idle
        /// Watch, forward: the meta characteristic is being read.
        case readingMeta
        /// Watch, forward: the meta characteristic will be read again.
        case awaitingMetaRetry
        /// Watch, forward: the subscription is being written.
        case subscribing
        /// The other side begins.
        case awaitingResetRequest
        /// A reset is under way.
        case awaitingResetComplete(ResetInitiator)
        /// A session is open.
        case open
        /// Given up silently; only the other side can reset.
        case stalled
        /// Over.
        case ended
    }

    /// Who asked for a reset.
    package enum ResetInitiator: Equatable, Sendable {
        /// This side: it sends a Reset Request, and waits for the other's Reset Complete.
        case local
        /// The other side: its Reset Request is answered with a Reset Complete, and its own Reset Complete is awaited.
        case remote
    }

    enum PendingReset {
        case request
        case complete(PPoGATTWindows?)
    }

    /// Which end this is, and its rules.
    package let configuration: PPoGATTConfiguration
    /// Where the link is.
    package internal(set) var state = State.idle
    /// The version in use: what the meta value allows, what a phone was asked for, else the newest.
    package internal(set) var version = PPoGATTVersion.v1
    /// Where sessions lead.
    package internal(set) var destination: PPoGATTDestination
    /// What was seen and done.
    package internal(set) var statistics = PPoGATTStatistics()
    /// How often this watch has given up a connection. Take it along to the next link.
    package var disconnectHistory: PPoGATTDisconnectHistory
    /// The ATT MTU in force on the connection; nothing below 23 exists.
    public var attMTU: Int {
        didSet {
            attMTU = max(attMTU, ATTOverhead.minimumMTU)
            // As many packets as are allowed of tiny ones are too many of others.
            let offer = configuration.offeredWindows(version: version, attMTU: attMTU)
            sender.window = min(sender.window, Int(offer.transmit))
        }
    }

    var rules: PPoGATTRules { configuration.rules }
    var sender: PPoGATTSender
    var receiver = PPoGATTReceiver()
    var offeredWindows = PPoGATTWindows.version0
    var pendingReset: PendingReset?
    var events: Deque<PPoGATTEvent> = []
    /// Of a reset, an acknowledgement, or the meta value's next reading, by the state.
    var timeout: Duration?
    var metaReadCount = 0
    /// The meta value of an earlier connection that the link began with, until it is read again.
    var unconfirmedMeta: [UInt8]?
    /// A Reset Complete that came before the meta value was read again: until then it is not known whose session it opens.
    var heldReset: PendingReset?
    var resetRequestCount = 0
    private var acknowledgementTimeoutCount = 0
    private var isSpaceAwaited = false

    /// So many events may wait; then inbound packets are dropped, which the other side takes for loss.
    static let maximumWaitingEventCount = 64

    /// A link on a connection whose ATT MTU is known; ``start(at:)`` sets it going.
    public init(
        _ configuration: PPoGATTConfiguration,
        attMTU: Int,
        disconnectHistory: PPoGATTDisconnectHistory = PPoGATTDisconnectHistory()
    ) {
        self.configuration = configuration
        self.attMTU = max(attMTU, ATTOverhead.minimumMTU)
        self.disconnectHistory = disconnectHistory
        sender = PPoGATTSender(capacity: configuration.sendBufferCapacity)
        destination =
            switch configuration.carrier {
            case .forward: PPoGATTDestination(kind: .system, application: .invalid)
            case .reversedV1: .reversedV1
            case .reversedV2: .reversedV2
            }
    }

    // MARK: Starting

    /// Sets the link going.
    public mutating func start(at now: Duration) {
        guard state == .idle else { return }
        if configuration.isWatch, configuration.carrier == .forward {
            readMeta()
        } else if configuration.beginsReset {
            beginReset(.localReset, at: now)
        } else {
            state = .awaitingResetRequest
            // A watch waits for its phone as long as it takes.
            if !configuration.isWatch { timeout = rules.deadline(after: rules.resetCompleteTimeout, from: now) }
        }
    }

    /// Ends the session, if there is one, without a word: the connection or the subscription is gone.
    public mutating func stop() {
        closeSession(.stopped)
        enter(.ended)
    }

    // MARK: Packets in

    /// Takes one packet: the value of one notification or one write without response.
    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        guard events.count < Self.maximumWaitingEventCount else {
            statistics.overflowedPackets &+= 1
            return
        }
        guard let packet = try? PPoGATTPacket(packet) else {
            statistics.invalidPackets &+= 1
            return
        }
        switch (packet, state) {
        case (.resetRequest(let request), _): receiveResetRequest(request, at: now)
        case (.data(let number, let payload), .open): receiveData(number, payload, at: now)
        case (.acknowledgement(let number), .open): receiveAcknowledgement(number, at: now)
        case (.resetComplete(let windows), .awaitingResetComplete), (.resetComplete(let windows), .stalled):
            receiveResetComplete(windows)
        case (.resetComplete, .open) where rules.brokenSession == .disconnect:
            disconnect(.protocolViolation)
        case (.data, _), (.acknowledgement, _), (.resetComplete, _):
            statistics.ignoredPackets &+= 1
        }
    }

    private mutating func receiveData(
        _ number: PPoGATTSequenceNumber,
        _ payload: ArraySlice<UInt8>,
        at now: Duration
    ) {
        statistics.receivedDataPackets &+= 1
        switch receiver.receive(number, at: now, repeatsAcknowledgement: rules.repeatsAcknowledgement) {
        case .inOrder:
            statistics.receivedBytes &+= UInt64(payload.count)
            if !payload.isEmpty { events.append(.received(payload)) }
        case .duplicate: statistics.duplicatePackets &+= 1
        case .outOfOrder: statistics.outOfOrderPackets &+= 1
        }
    }

    private mutating func receiveAcknowledgement(_ number: PPoGATTSequenceNumber, at now: Duration) {
        switch sender.acknowledge(number) {
        case .progress(let byteCount):
            statistics.acknowledgedBytes &+= UInt64(byteCount)
            acknowledgementTimeoutCount = 0
            timeout =
                sender.hasUnacknowledgedPackets
                ? rules.deadline(after: rules.acknowledgementTimeout, from: now) : nil
            receiver.countOpportunity()
            reportSpace()
        case .duplicate:
            // Sending again here would double every packet from then on; the time-out does it.
            statistics.duplicateAcknowledgements &+= 1
        case .outOfRange:
            statistics.unknownAcknowledgements &+= 1
            if rules.distrustsUnknownAcknowledgements { breakSession(.acknowledgementOutOfRange, at: now) }
        }
    }

    // MARK: Ending

    mutating func closeSession(_ reason: PPoGATTCloseReason) {
        if state == .open { events.append(.closed(reason)) }
    }

    mutating func end(_ event: PPoGATTEvent) {
        enter(.ended)
        events.append(event)
    }

    /// Changes the state, and forgets what belonged to the one before.
    mutating func enter(_ state: State) {
        self.state = state
        if state != .open { pendingReset = nil }
        timeout = nil
        acknowledgementTimeoutCount = 0
        isSpaceAwaited = false
    }

    // MARK: Time

    /// When ``advance(to:)`` has something to do.
    public var nextDeadline: Duration? {
        guard let timeout, let acknowledgement = receiver.deadline else { return timeout ?? receiver.deadline }
        return min(timeout, acknowledgement)
    }

    /// Does what is due. A time-out that is late, because the process slept, counts once.
    public mutating func advance(to now: Duration) {
        receiver.advance(to: now)
        guard let timeout, timeout <= now else { return }
        self.timeout = nil
        switch state {
        case .awaitingMetaRetry:
            readMeta()
        case .awaitingResetRequest, .awaitingResetComplete:
            statistics.resetTimeouts &+= 1
            breakSession(.resetTimeout, at: now)
        case .open:
            statistics.acknowledgementTimeouts &+= 1
            acknowledgementTimeoutCount += 1
            if acknowledgementTimeoutCount >= rules.acknowledgementTimeoutLimit {
                breakSession(.acknowledgementTimeout, at: now)
            } else {
                sender.rollBack()
                receiver.countOpportunity()
                self.timeout = rules.deadline(after: rules.acknowledgementTimeout, from: now)
            }
        case .idle, .readingMeta, .subscribing, .stalled, .ended: break
        }
    }

    // MARK: Bytes and packets out

    /// How many bytes ``send(_:)`` would take now: none without an open session.
    public var writableByteCount: Int { state == .open ? sender.writableByteCount : 0 }

    /// How many bytes of the outbound stream have not been acknowledged.
    package var undeliveredByteCount: Int { sender.byteCount }

    /// Adds bytes to the outbound stream, as many as there is room for.
    /// - Returns: how many that was. If it was not all, ``PPoGATTEvent/spaceAvailable`` will tell when to go on.
    public mutating func send(_ bytes: ArraySlice<UInt8>) -> Int {
        guard state == .open else { return 0 }
        let count = sender.write(bytes)
        if count < bytes.count { isSpaceAwaited = true }
        if count > 0 { receiver.countOpportunity() }
        return count
    }

    private mutating func reportSpace() {
        guard isSpaceAwaited, sender.writableByteCount >= configuration.sendBufferCapacity / 2 else { return }
        isSpaceAwaited = false
        events.append(.spaceAvailable)
    }

    /// Puts the next packet into `buffer`, in place of what was there: a reset first, then an acknowledgement that is
    /// due, then data. Acknowledgement time-outs count from `now`, when the packet is sent.
    /// - Returns: false, with an empty `buffer`, when there is nothing to send.
    public mutating func nextPacket(into buffer: inout [UInt8], at now: Duration) -> Bool {
        buffer.removeAll(keepingCapacity: true)
        if let reset = pendingReset {
            pendingReset = nil
            encode(reset, to: &buffer)
            return true
        }
        guard state == .open else { return false }
        if let number = receiver.takeAcknowledgement() {
            statistics.sentAcknowledgements &+= 1
            PPoGATTPacket.acknowledgement(number).encode(to: &buffer)
            return true
        }
        let maximumLength = ATTOverhead.payloadLength(attMTU: attMTU)
        guard let fragment = sender.nextFragment(maximumLength: maximumLength) else { return false }
        statistics.sentDataPackets &+= 1
        if fragment.isRetransmission { statistics.retransmittedPackets &+= 1 }
        PPoGATTPacket.encodeDataHeader(fragment.number, to: &buffer)
        buffer += fragment.payload
        if timeout == nil { timeout = rules.deadline(after: rules.acknowledgementTimeout, from: now) }
        receiver.countOpportunity()
        return true
    }

    /// The next thing that happened, oldest first.
    public mutating func nextEvent() -> PPoGATTEvent? { events.popFirst() }
}
