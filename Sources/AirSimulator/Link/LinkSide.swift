import BluetoothHCI
import DequeModule

/// A link layer data channel PDU, as far as the air cares.
enum LinkPDU: Sendable {
    case empty
    case control(LLControlPDU)
    /// A fragment of a host's packet; `completesPacket` if it is the last one.
    case data(isStart: Bool, ArraySlice<UInt8>, completesPacket: Bool)

    /// The payload's length, without an integrity check.
    var length: Int {
        switch self {
        case .empty: 0
        case .control(let message): message.length
        case .data(_, let bytes, _): bytes.count
        }
    }

    var isEmpty: Bool {
        if case .empty = self { true } else { false }
    }
}

/// A packet on its way: a PDU and the header that goes with it.
struct LinkPacket: Sendable {
    var pdu: LinkPDU
    /// The payload's length on the air, with the integrity check of an encrypted link.
    var airLength: Int
    var sequenceNumber: Bool
    var nextExpectedSequenceNumber: Bool
    var moreData: Bool
}

/// One end of a connection: what it has to send, what it has agreed to, and what it waits for.
struct LinkSide: Sendable {
    /// A packet from the host, of which `offset` octets have been taken.
    private struct OutgoingPacket {
        var bytes: [UInt8]
        var isStart: Bool
        var offset = 0
    }

    /// A procedure that this end has begun.
    struct ActiveProcedure: Sendable {
        var procedure: LinkProcedure
        /// When the link is given up because the peer has not answered.
        var deadline: Microseconds
    }

    /// How far the peripheral is in an encryption procedure that the central began.
    enum PeripheralEncryption: Sendable {
        case awaitingPauseResponse
        case awaitingRequest
        case awaitingKey
        case awaitingStart(key: UInt128)
    }

    let capabilities: LinkCapabilities
    /// False once this end has left; the other one may not know yet.
    var isPresent = true
    /// Whether any packet of the peer has arrived yet.
    var hasHeard = false
    /// When the last packet arrived; before the first one, when the connection was created.
    var lastHeard: Microseconds
    /// The next connection event that the peripheral has to attend.
    var nextEventToAttend: Int64 = 0
    /// How many events in a row this end could not attend because its radio was busy elsewhere.
    var eventsLostToRadio = 0
    /// False while the host above does not take data any more: the peer's data is not acknowledged then.
    var acceptsData = true
    var radio = RadioTime()

    // Acknowledgement (Core 5.4, Vol 6, Part B, 4.5.9).
    var sequenceNumber = false
    var nextExpectedSequenceNumber = false
    private(set) var inFlight: LinkPDU?

    private(set) var control: Deque<LLControlPDU> = []
    private var data: Deque<OutgoingPacket> = []

    // Procedures.
    var queuedProcedures: Deque<LinkProcedure> = []
    var active: ActiveProcedure?
    var peripheralEncryption: PeripheralEncryption?
    /// Whether this end's host has been asked about new timing and has not answered.
    var awaitsParameterAnswer = false
    var hasSentVersion = false
    var remoteVersion: LinkVersion?
    var remoteFeatures: LEFeatures?
    /// What this end can do now; the host may have changed what it wants to send.
    var localDataLength: DataLengthLimits
    var remoteDataLength = DataLengthLimits.minimum
    /// What both ends have agreed on.
    var dataLength = DataLengthLimits.minimum
    var phys: PHYPair
    /// Which subrating the central grants now; its host may have said so with a request of its own.
    var acceptableSubrating: SubrateParameters
    /// The channels that are not bad where this end is.
    var goodChannels: DataChannelMap
    /// What the peripheral has reported of its channels, at the central's end.
    var reportedChannels = DataChannelMap.all
    /// Whether channels are reported: the central has asked for it, or the peripheral has been asked.
    var reportsChannels = false

    // Encryption.
    var isEncrypted = false
    var encryptsTransmission = false
    /// While an encryption procedure runs, nothing else may be sent.
    private(set) var isPausedForEncryption = false
    /// How many messages were queued when it began: they go first.
    private var messagesBeforePause = 0
    /// What the peer's link layer said meanwhile, of other matters.
    private var heldBack: [LLControlPDU] = []
    /// The new timing to which this end's host agreed meanwhile.
    private var heldParameters: ConnectionParameters?

    // Leaving.
    /// This end has asked to leave: the reason that its own host will hear, and when it leaves without an answer.
    var termination: (localReason: HCIStatus, deadline: Microseconds)?
    /// The peer leaves: once that is acknowledged, so does this end, for this reason.
    var leavesAfterSending: HCIStatus?

    init(capabilities: LinkCapabilities, created: Microseconds) {
        self.capabilities = capabilities
        lastHeard = created
        localDataLength = capabilities.dataLength
        phys = capabilities.phys
        acceptableSubrating = capabilities.acceptableSubrating
        goodChannels = capabilities.goodChannels
    }

    /// Whether it has anything to say, or waits for something said to be acknowledged.
    var hasWork: Bool {
        if leavesAfterSending != nil { return true }
        if let inFlight, !inFlight.isEmpty { return true }
        return hasSomethingToSend
    }

    /// Whether there is more to send than what is in flight.
    private var hasSomethingToSend: Bool {
        nextControlIndex != nil || (!data.isEmpty && maySendData)
    }

    private var maySendData: Bool { !isPausedForEncryption && termination == nil }

    private var nextControlIndex: Int? {
        if isPausedForEncryption, messagesBeforePause == 0 { return control.firstIndex { $0.belongsToEncryption } }
        return control.isEmpty ? nil : 0
    }

    // MARK: Encryption

    /// An encryption procedure begins.
    /// - Parameter isAsking: whether this end asks for it: then what is queued already is sent before that.
    mutating func pauseForEncryption(isAsking: Bool) {
        isPausedForEncryption = true
        messagesBeforePause = isAsking ? control.count : 0
    }

    /// Keeps a message of the peer for the end of the encryption procedure under way, as its answer would have to wait for
    /// that: of a change at an instant, until the instant has passed.
    /// - Returns: false if it need not wait.
    mutating func holdBack(_ message: LLControlPDU) -> Bool {
        guard isPausedForEncryption, !message.belongsToEncryption else { return false }
        heldBack.append(message)
        return true
    }

    /// The same for new timing that this end's host has agreed to.
    mutating func holdBack(_ parameters: ConnectionParameters) -> Bool {
        guard isPausedForEncryption else { return false }
        heldParameters = parameters
        return true
    }

    /// The encryption procedure is over.
    /// - Returns: what was held back.
    mutating func resumeAfterEncryption() -> (messages: [LLControlPDU], parameters: ConnectionParameters?) {
        isPausedForEncryption = false
        messagesBeforePause = 0
        defer {
            heldBack.removeAll()
            heldParameters = nil
        }
        return (heldBack, heldParameters)
    }

    /// Queues a message to the peer's link layer.
    mutating func send(_ message: LLControlPDU) { control.append(message) }

    /// Queues a packet of the host.
    mutating func send(_ bytes: ArraySlice<UInt8>, isStart: Bool) {
        data.append(OutgoingPacket(bytes: Array(bytes), isStart: isStart))
    }

    /// Queues the message that ends the connection, in front of everything.
    mutating func sendTermination(reason: HCIStatus) {
        control.removeAll()
        data.removeAll()
        control.append(.terminateIndication(reason))
    }

    /// The packet to send now: the one in flight again, or a new one whose data has at most `limit` octets.
    mutating func makePacket(dataLimit limit: Int) -> LinkPacket {
        let pdu = inFlight ?? takeNext(dataLimit: limit)
        return packet(pdu)
    }

    /// An empty packet, while something longer has to wait for the next event.
    mutating func makeEmptyPacket() -> LinkPacket { packet(.empty) }

    /// Sets what events that were not stepped through have left behind: an empty packet that the peer did not hear, or nothing.
    mutating func setEmptyPacketInFlight(_ isInFlight: Bool) { inFlight = isInFlight ? .empty : nil }

    private mutating func packet(_ pdu: LinkPDU) -> LinkPacket {
        inFlight = pdu
        let check = encryptsTransmission && !pdu.isEmpty ? AirTime.messageIntegrityCheckLength : 0
        return LinkPacket(
            pdu: pdu,
            airLength: pdu.length + check,
            sequenceNumber: sequenceNumber,
            nextExpectedSequenceNumber: nextExpectedSequenceNumber,
            moreData: hasSomethingToSend
        )
    }

    /// How long, on the air, the payload of a packet made now would be; `acknowledged` if what is in flight has arrived.
    func nextAirLength(dataLimit limit: Int, acknowledged: Bool) -> Int {
        let length: Int
        if !acknowledged, let inFlight {
            length = inFlight.length
        } else if let index = nextControlIndex {
            length = control[index].length
        } else if maySendData, let first = data.first {
            length = min(limit, first.bytes.count - first.offset)
        } else {
            length = 0
        }
        return length + (encryptsTransmission && length > 0 ? AirTime.messageIntegrityCheckLength : 0)
    }

    /// Whether something waits for its acknowledgement.
    var hasPacketInFlight: Bool { inFlight != nil }

    private mutating func takeNext(dataLimit limit: Int) -> LinkPDU {
        if let index = nextControlIndex {
            messagesBeforePause = max(0, messagesBeforePause - 1)
            return .control(control.remove(at: index))
        }
        guard maySendData, !data.isEmpty else { return .empty }
        let start = data[0].offset
        let end = min(data[0].bytes.count, start + max(1, limit))
        let isStart = data[0].isStart && start == 0
        let fragment = data[0].bytes[start..<end]
        let completesPacket = end == data[0].bytes.count
        if completesPacket { data.removeFirst() } else { data[0].offset = end }
        return .data(isStart: isStart, fragment, completesPacket: completesPacket)
    }

    /// The peer has what was in flight: takes it.
    mutating func acknowledge() -> LinkPDU? {
        defer { inFlight = nil }
        sequenceNumber.toggle()
        return inFlight
    }

    /// Leaves the connection and forgets everything that was to be sent.
    mutating func leave() {
        isPresent = false
        inFlight = nil
        control.removeAll()
        data.removeAll()
        queuedProcedures.removeAll()
        active = nil
        peripheralEncryption = nil
        heldBack.removeAll()
        heldParameters = nil
        awaitsParameterAnswer = false
        termination = nil
        leavesAfterSending = nil
    }
}
