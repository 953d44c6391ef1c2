import BluetoothHCI
import ByteCoding

/// The LE signaling channel of one connection: what is asked on it, and what waits to be answered.
///
/// Source: Core 5.4, Vol 3, Part A, 4.
struct SignalingChannel: Sendable {
    /// What the peer said that its owner has to act upon.
    enum Input: Equatable, Sendable {
        /// The peripheral asks for other connection parameters: answer with `respondToUpdate`.
        case updateRequested(ConnectionParameters, identifier: UInt8)
        /// The central answered what this peripheral asked for.
        case updateAnswered(isAccepted: Bool)
        /// Something about credit-based channels.
        case creditBased(CreditBasedCommand, identifier: UInt8)
        /// The peer closes a credit-based channel.
        case disconnectionRequested(destination: ChannelID, source: ChannelID, identifier: UInt8)
        /// The peer says that a credit-based channel is closed.
        case disconnected(destination: ChannelID, source: ChannelID, identifier: UInt8)
        /// The peer rejects a request about credit-based channels.
        case rejected(CommandRejectReason, identifier: UInt8)
        /// Nothing has to be done; what was wrong has been answered as the Core says, or ignored.
        case handled(problem: SignalingProblem?)
    }

    private struct Request: Sendable {
        let identifier: UInt8
        let deadline: Duration
    }

    /// How long the central may take to answer a request for connection parameters.
    ///
    /// Source: Core 5.4, Vol 3, Part C, 9.3.9.2 and appendix A (TGAP(conn_param_timeout)).
    static let updateTimeout = Duration.seconds(30)
    /// How many commands may wait to be sent. A peer gets one answer a request, so that only one that does not listen
    /// makes it more.
    static let outboundLimit = 64

    /// How many requests may be unanswered before their identifiers are used again.
    private static let requestLimit = 250

    private var outbound = PacketQueue()
    private var lastIdentifier: UInt8 = 0
    private var updateRequest: Request?
    /// The identifiers of requests about credit-based channels that have not been answered.
    private var openIdentifiers: [UInt8] = []

    /// When an answer has taken too long.
    var nextDeadline: Duration? { updateRequest?.deadline }

    /// Takes the next command to be sent into `buffer`.
    mutating func nextPDU(into buffer: inout [UInt8]) -> Bool { outbound.popFirst(into: &buffer) }

    /// Whether an answer can be sent.
    var hasRoom: Bool { outbound.count < Self.outboundLimit }

    /// Sends a request about credit-based channels. There are never more of them than channels, so that they need no
    /// limit here.
    /// - Returns: its identifier, which is not used again until `settle`.
    mutating func request(_ command: SignalingPDU.Command) -> UInt8 {
        let identifier = nextIdentifier()
        openIdentifiers.append(identifier)
        outbound.append { SignalingPDU(identifier: identifier, command: command).encode(to: &$0) }
        return identifier
    }

    /// A request has been answered, or the answer is not waited for any more.
    mutating func settle(_ identifier: UInt8) { openIdentifiers.removeAll { $0 == identifier } }

    /// Answers a request about credit-based channels.
    mutating func respond(_ identifier: UInt8, _ command: SignalingPDU.Command) { send(identifier, command) }

    /// Puts a command that gives credits into `buffer`, replacing its content.
    mutating func encodeCredits(_ credits: UInt16, for channel: ChannelID, into buffer: inout [UInt8]) {
        let command = SignalingPDU.Command.creditBased(.flowControlCredit(channel, credits: credits))
        buffer.removeAll(keepingCapacity: true)
        SignalingPDU(identifier: nextIdentifier(), command: command).encode(to: &buffer)
    }

    /// Asks the central for other connection parameters; only one request waits for its answer at a time.
    mutating func requestUpdate(_ parameters: ConnectionParameters, at now: Duration) {
        let identifier = nextIdentifier()
        updateRequest = Request(identifier: identifier, deadline: now + Self.updateTimeout)
        send(
            identifier,
            .connectionParameterUpdateRequest(
                intervalMinimum: parameters.intervalMinimum,
                intervalMaximum: parameters.intervalMaximum,
                latency: parameters.latency,
                supervisionTimeout: parameters.supervisionTimeout
            )
        )
    }

    /// Answers the peripheral's request for connection parameters.
    mutating func respondToUpdate(_ identifier: UInt8, isAccepted: Bool) {
        send(identifier, .connectionParameterUpdateResponse(isAccepted: isAccepted))
    }

    /// Says that a command is not understood.
    mutating func reject(_ identifier: UInt8, _ reason: CommandRejectReason) { send(identifier, .reject(reason)) }

    /// Gives up waiting for an answer that is overdue.
    /// - Returns: whether there was one.
    mutating func expire(at now: Duration) -> Bool {
        guard let request = updateRequest, request.deadline <= now else { return false }
        updateRequest = nil
        return true
    }

    /// Takes one frame.
    mutating func receive(_ payload: ArraySlice<UInt8>, role: ConnectionRole) -> Input {
        let pdu: SignalingPDU
        do {
            guard payload.count <= SignalingPDU.mtu else { return refuseOverlong(payload) }
            pdu = try SignalingPDU(decoding: payload)
        } catch {
            return refuseMalformed(payload, error)
        }
        switch pdu.command {
        case .reject(let reason): return rejected(pdu.identifier, reason)
        case .disconnectionRequest(let destination, let source):
            return .disconnectionRequested(destination: destination, source: source, identifier: pdu.identifier)
        case .disconnectionResponse(let destination, let source):
            return .disconnected(destination: destination, source: source, identifier: pdu.identifier)
        case .connectionParameterUpdateRequest(let minimum, let maximum, let latency, let timeout):
            guard role == .central else {
                // Only a peripheral may ask (Core 5.4, Vol 3, Part A, 4.20).
                reject(pdu.identifier, .commandNotUnderstood)
                return .handled(problem: .updateRequestedByCentral)
            }
            let parameters = ConnectionParameters(
                intervalMinimum: minimum,
                intervalMaximum: maximum,
                latency: latency,
                supervisionTimeout: timeout
            )
            return .updateRequested(parameters, identifier: pdu.identifier)
        case .connectionParameterUpdateResponse(let isAccepted):
            guard let request = updateRequest, request.identifier == pdu.identifier else {
                return .handled(problem: .unexpectedUpdateResponse)
            }
            updateRequest = nil
            return .updateAnswered(isAccepted: isAccepted)
        case .creditBased(let command): return .creditBased(command, identifier: pdu.identifier)
        case .unknown(let code):
            reject(pdu.identifier, .commandNotUnderstood)
            return .handled(problem: .unknownCommand(code: code))
        }
    }

    private mutating func rejected(_ identifier: UInt8, _ reason: CommandRejectReason) -> Input {
        if openIdentifiers.contains(identifier) { return .rejected(reason, identifier: identifier) }
        guard let request = updateRequest, request.identifier == identifier else {
            return .handled(problem: .unexpectedReject)
        }
        updateRequest = nil
        return .updateAnswered(isAccepted: false)
    }

    private mutating func refuseOverlong(_ payload: ArraySlice<UInt8>) -> Input {
        // The identifier is that of the first command in the frame (Core 5.4, Vol 3, Part A, 4.1).
        if let identifier = Self.identifierToAnswer(payload) {
            reject(identifier, .signalingMTUExceeded(mtu: UInt16(SignalingPDU.mtu)))
        }
        return .handled(problem: .mtuExceeded(payload.count))
    }

    private mutating func refuseMalformed(_ payload: ArraySlice<UInt8>, _ error: ByteDecodingError) -> Input {
        // A rejection is one whatever its reason is, also one that Core does not define: the request would wait for nothing.
        if let identifier = Self.rejectedIdentifier(payload) { return rejected(identifier, .commandNotUnderstood) }
        if let identifier = Self.identifierToAnswer(payload) { reject(identifier, .commandNotUnderstood) }
        return .handled(problem: .malformed(error))
    }

    /// What a Command Reject rejects; nil for every other command.
    private static func rejectedIdentifier(_ payload: ArraySlice<UInt8>) -> UInt8? {
        var reader = ByteReader(payload)
        guard (try? reader.readUInt8("l2cap_signaling.code")) == SignalingPDU.rejectCode else { return nil }
        return try? reader.readUInt8("l2cap_signaling.identifier")
    }

    /// The identifier of a command that has one and may be answered.
    private static func identifierToAnswer(_ payload: ArraySlice<UInt8>) -> UInt8? {
        var reader = ByteReader(payload)
        guard let code = try? reader.readUInt8("l2cap_signaling.code"), !SignalingPDU.isResponse(code: code),
            let identifier = try? reader.readUInt8("l2cap_signaling.identifier"), identifier != 0
        else { return nil }
        return identifier
    }

    /// The next identifier that no request waits for an answer with; there are more than there can be requests.
    private mutating func nextIdentifier() -> UInt8 {
        repeat {
            lastIdentifier = lastIdentifier == UInt8.max ? 1 : lastIdentifier + 1
        } while (openIdentifiers.contains(lastIdentifier) || updateRequest?.identifier == lastIdentifier)
            && openIdentifiers.count < Self.requestLimit
        return lastIdentifier
    }

    private mutating func send(_ identifier: UInt8, _ command: SignalingPDU.Command) {
        guard hasRoom else { return }
        outbound.append { SignalingPDU(identifier: identifier, command: command).encode(to: &$0) }
    }
}
