import ByteCoding

/// How two ends agree that a link, or a transport on it, is open: the automaton of PPP (RFC 1661, 4), for an end that always wants
/// it open and has no options.
///
/// A request that is not answered is sent again for as long as the other end is there: a firmware may take a while to start.
struct PulseControlProtocol: Sendable {
    /// Where the conversation stands, in the words of RFC 1661, 4.2.
    enum State: Sendable, Equatable {
        /// What is below is not there.
        case starting
        case requestSent, acknowledgementReceived, acknowledgementSent, opened
    }

    /// What a packet changed.
    enum Change: Sendable, Equatable {
        case none
        /// The link is open.
        case up
        /// It was open. `isFinished`: the other end says that it knows of no link, as a firmware does when it starts.
        case down(isFinished: Bool)
    }

    /// After so long without an answer a request is sent again.
    static let restartInterval: Duration = .milliseconds(500)
    /// How much of a packet is given back that cannot be used.
    private static let rejectedLength = 64

    private enum Code {
        static let configureRequest: UInt8 = 1
        static let configureAcknowledgement: UInt8 = 2
        static let configureRefusal: UInt8 = 3
        static let configureReject: UInt8 = 4
        static let terminateRequest: UInt8 = 5
        static let terminateAcknowledgement: UInt8 = 6
        static let codeReject: UInt8 = 7
        static let protocolReject: UInt8 = 8
        static let echoRequest: UInt8 = 9
        static let echoReply: UInt8 = 10
        static let discardRequest: UInt8 = 11
    }

    private let protocolID: PulseProtocol
    private(set) var state = State.starting
    /// When a request is sent again.
    private(set) var nextDeadline: Duration?
    /// Packets for the other end.
    private var outgoing: [PulseFrame] = []
    private var requestNumber: UInt8 = 0
    private var rejectNumber: UInt8 = 0

    /// Of a link, or of a transport.
    init(_ protocolID: PulseProtocol) { self.protocolID = protocolID }

    /// What is below can carry packets from now on.
    mutating func lowerLayerUp(at now: Duration) {
        guard state == .starting else { return }
        request(at: now)
    }

    /// It cannot any more.
    mutating func lowerLayerDown() {
        state = .starting
        nextDeadline = nil
        outgoing = []
    }

    /// Begins from the start, as when what is below went and came.
    mutating func restart(at now: Duration) {
        lowerLayerDown()
        lowerLayerUp(at: now)
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        guard let deadline = nextDeadline, deadline <= now else { return }
        let isHalf = state == .acknowledgementSent
        request(at: now)
        if isHalf { state = .acknowledgementSent }
    }

    /// Takes the packets for the other end.
    mutating func takeOutgoing() -> [PulseFrame] {
        defer { outgoing = [] }
        return outgoing
    }

    /// Takes a packet; one that is cut, or means nothing here, is passed over.
    mutating func receive(_ packet: [UInt8], at now: Duration) -> Change {
        guard state != .starting, let packet = Packet(packet) else { return .none }
        switch packet.code {
        case Code.configureRequest: return takeRequest(packet, at: now)
        case Code.configureAcknowledgement:
            guard packet.number == requestNumber, packet.data.isEmpty else { return .none }
            return takeAcknowledgement(at: now)
        case Code.configureRefusal, Code.configureReject:
            // There is nothing in our requests to be refused. A link that was open is agreed on again.
            guard packet.number == requestNumber, state == .opened else { return .none }
            return fall(isFinished: false, at: now)
        case Code.terminateRequest:
            send(Code.terminateAcknowledgement, packet.number)
            guard state == .opened else {
                state = .requestSent
                return .none
            }
            state = .requestSent
            nextDeadline = now + Self.restartInterval
            return .down(isFinished: false)
        case Code.terminateAcknowledgement:
            if state == .acknowledgementReceived { state = .requestSent }
            return state == .opened ? fall(isFinished: true, at: now) : .none
        case Code.codeReject: return .none
        case Code.protocolReject, Code.echoReply, Code.discardRequest:
            guard protocolID == .linkControl else { return reject(packet) }
            return .none
        case Code.echoRequest:
            guard protocolID == .linkControl else { return reject(packet) }
            if state == .opened { send(Code.echoReply, packet.number, packet.data) }
            return .none
        default: return reject(packet)
        }
    }

    /// Says that a protocol is not spoken here.
    mutating func rejectProtocol(of frame: PulseFrame) {
        guard state == .opened else { return }
        var data: [UInt8] = []
        data.appendBigEndian(frame.protocolID.rawValue)
        data += frame.information.prefix(Self.rejectedLength)
        rejectNumber &+= 1
        send(Code.protocolReject, rejectNumber, data)
    }

    private mutating func takeRequest(_ packet: Packet, at now: Duration) -> Change {
        var change = Change.none
        if state == .opened {
            // The other end begins again.
            change = fall(isFinished: false, at: now)
        }
        guard packet.data.isEmpty else {
            send(Code.configureReject, packet.number, packet.data)
            if state == .acknowledgementSent { state = .requestSent }
            return change
        }
        send(Code.configureAcknowledgement, packet.number)
        guard state == .acknowledgementReceived else {
            state = .acknowledgementSent
            return change
        }
        open()
        return .up
    }

    private mutating func takeAcknowledgement(at now: Duration) -> Change {
        switch state {
        case .starting: return .none
        case .requestSent:
            state = .acknowledgementReceived
            return .none
        case .acknowledgementReceived:
            request(at: now)
            return .none
        case .acknowledgementSent:
            open()
            return .up
        case .opened: return fall(isFinished: false, at: now)
        }
    }

    private mutating func open() {
        state = .opened
        nextDeadline = nil
    }

    private mutating func fall(isFinished: Bool, at now: Duration) -> Change {
        request(at: now)
        return .down(isFinished: isFinished)
    }

    private mutating func request(at now: Duration) {
        requestNumber &+= 1
        send(Code.configureRequest, requestNumber)
        state = .requestSent
        nextDeadline = now + Self.restartInterval
    }

    private mutating func reject(_ packet: Packet) -> Change {
        rejectNumber &+= 1
        send(Code.codeReject, rejectNumber, Array(packet.bytes.prefix(Self.rejectedLength)))
        return .none
    }

    private mutating func send(_ code: UInt8, _ number: UInt8, _ data: [UInt8] = []) {
        var packet: [UInt8] = [code, number]
        packet.appendBigEndian(UInt16(truncatingIfNeeded: data.count + Packet.headerLength))
        outgoing.append(PulseFrame(protocolID, packet + data))
    }

    /// A packet of a control protocol (RFC 1661, 5): code, number, length of all, data.
    private struct Packet {
        static let headerLength = 4

        let code: UInt8
        let number: UInt8
        let data: [UInt8]

        init?(_ bytes: [UInt8]) {
            var reader = ByteReader(bytes)
            guard let code = try? reader.readUInt8("control.code"),
                let number = try? reader.readUInt8("control.identifier"),
                let length: UInt16 = try? reader.readBigEndian("control.length"), Int(length) >= Self.headerLength,
                let data = try? reader.readBytes(Int(length) - Self.headerLength, "control.data")
            else { return nil }
            self.code = code
            self.number = number
            self.data = Array(data)
        }

        var bytes: [UInt8] {
            var bytes: [UInt8] = [code, number]
            bytes.appendBigEndian(UInt16(truncatingIfNeeded: data.count + Self.headerLength))
            return bytes + data
        }
    }
}
