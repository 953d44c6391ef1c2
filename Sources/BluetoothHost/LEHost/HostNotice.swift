import BluetoothHCI
import ByteCoding

/// Something that a host wants a person to know. It is a value: making it costs neither text nor memory, so that one that is
/// not read costs next to nothing. `description` has the words, for a log.
public struct HostNotice: Equatable, Sendable {
    package let what: HostNews

    package init(_ what: HostNews) { self.what = what }

    /// How much it matters.
    public var severity: Diagnostic.Severity { what.severity }

    /// Where it comes from.
    public var layer: Layer { what.layer }

    /// The connection that it is about, which need not exist; nil if it is about the host or its controller.
    public var connection: ConnectionHandle? { what.connection }
}

extension HostNotice: CustomStringConvertible {
    /// One line for a log.
    public var description: String { what.description }
}

/// What a ``HostNotice`` says.
package enum HostNews: Equatable, Sendable {
    // MARK: The controller

    /// A packet of the controller's could not be read and was dropped: why, and its first octets.
    case malformedPacket(ByteDecodingError, PacketBeginning)
    /// A command that a host can do without failed while the controller was started.
    case optionalCommandFailed(StartUpFailure)
    /// A controller claims commands that it is known not to carry out: its name and the commands, which are not used.
    case commandsNotCarriedOut(controller: String, [HCICommandID])
    /// The controller is started again, after it has been left alone for so long.
    case restarting(RestartReason, rest: Duration)
    /// The controller did not answer a command in time while it was started; that is tried again.
    case notAnsweredWhileStarting(HCIOpcode)
    /// The controller failed while it was started, with a code of its manufacturer's; that is tried again.
    case hardwareErrorWhileStarting(code: UInt8)
    /// The controller could not be started.
    case startUpFailed(StartUpFailure)
    /// A command was dropped, since too many wait for the controller.
    case commandNotSent(HCIOpcode)
    /// The controller refused a command.
    case commandFailed(HCIOpcode, HCIStatus)
    /// The controller refused a command of a set's advertising; `LEHostEvent.advertisingFailed` tells the owner.
    case advertisingCommandFailed(HCIOpcode, HCIStatus)
    /// An event came before the controller was started, and was ignored.
    case eventBeforeStart
    /// The first event of a kind that the host does not know: its code, and its parameters as they came.
    case unknownEvent(HCIEventCode, ArraySlice<UInt8>)
    /// The first LE event of a kind that the host does not know: its subevent code, and its parameters as they came.
    case unknownLEEvent(LESubevent, ArraySlice<UInt8>)
    /// The controller lost data; the link type is that of Data Buffer Overflow.
    case dataBufferOverflow(linkType: UInt8)
    /// The controller answered a command that was not sent.
    case unexpectedAnswer(HCIOpcode)
    /// The controller's answer to a command has no status.
    case answerWithoutStatus(HCIOpcode)
    /// The controller has completed packets of a connection that does not exist.
    case packetsOfUnknownConnectionCompleted(ConnectionHandle, count: Int)
    /// The controller has completed more packets than it held.
    case excessPacketsCompleted(ConnectionHandle, count: Int, outstanding: Int)

    // MARK: Advertising, scanning and connections

    /// The controller has no public address, so that the host is known by this one.
    case noPublicAddress(LEAddress)
    /// The controller refused to end scanning.
    case scanningNotStopped(HCIStatus)
    /// The controller refused to end advertising; `LEHostEvent.advertisingNotStopped` tells the owner.
    case advertisingNotStopped(HCIStatus)
    /// The controller reported a new connection under the handle of one that exists, which is closed.
    case connectionMadeTwice(ConnectionHandle)
    /// A connection could not be ended.
    case disconnectionFailed(ConnectionHandle, HCIStatus)
    /// A connection ended that does not exist.
    case unknownConnectionEnded(ConnectionHandle)

    // MARK: L2CAP

    /// A packet came of a connection that does not exist, and was dropped.
    case packetOfUnknownConnection(ConnectionHandle)
    /// A frame was dropped because its packets did not fit together.
    case frameDropped(ConnectionHandle, FrameProblem)
    /// A frame came on a channel that is not open, and was ignored. `count` is its length in bytes.
    case frameOnUnknownChannel(ConnectionHandle, ChannelID, count: Int)
    /// A signaling command was ignored or refused.
    case signaling(ConnectionHandle, SignalingProblem)
    /// A credit-based channel was closed because of what the peer sent.
    case channelViolated(ConnectionHandle, ChannelViolation)

    // MARK: Security

    /// The host has no Security Manager, and refused to pair.
    case noSecurityManager(ConnectionHandle)
    /// A connection could not be encrypted.
    case notEncrypted(ConnectionHandle, HCIStatus)
    /// A peer has paired.
    case paired(ConnectionHandle, AssociationModel, usesSecureConnections: Bool)
    /// A peer may not pair. The owner decides about that, and knows.
    case pairingNotAllowed(ConnectionHandle)
    /// A pairing failed.
    case pairingFailed(ConnectionHandle, PairingFailure)
}

extension HostNews {
    package var severity: Diagnostic.Severity {
        switch self {
        case .restarting, .startUpFailed, .commandNotSent, .dataBufferOverflow, .connectionMadeTwice: .error
        case .malformedPacket, .optionalCommandFailed, .commandsNotCarriedOut, .notAnsweredWhileStarting,
            .hardwareErrorWhileStarting, .commandFailed, .answerWithoutStatus, .excessPacketsCompleted,
            .noPublicAddress, .scanningNotStopped, .disconnectionFailed, .unknownConnectionEnded,
            .packetOfUnknownConnection, .frameDropped, .frameOnUnknownChannel, .signaling, .channelViolated,
            .notEncrypted, .pairingFailed:
            .warning
        case .noSecurityManager, .paired: .info
        case .advertisingCommandFailed, .eventBeforeStart, .unknownEvent, .unknownLEEvent, .unexpectedAnswer,
            .packetsOfUnknownConnectionCompleted, .advertisingNotStopped, .pairingNotAllowed:
            .debug
        }
    }

    package var layer: Layer {
        switch self {
        case .malformedPacket, .optionalCommandFailed, .commandsNotCarriedOut, .restarting, .notAnsweredWhileStarting,
            .hardwareErrorWhileStarting, .startUpFailed, .commandNotSent, .commandFailed, .advertisingCommandFailed,
            .eventBeforeStart, .unknownEvent, .unknownLEEvent, .dataBufferOverflow, .unexpectedAnswer,
            .answerWithoutStatus, .packetsOfUnknownConnectionCompleted, .excessPacketsCompleted:
            .hci
        case .noPublicAddress, .scanningNotStopped, .advertisingNotStopped, .connectionMadeTwice,
            .disconnectionFailed, .unknownConnectionEnded:
            .gap
        case .packetOfUnknownConnection, .frameDropped, .frameOnUnknownChannel, .signaling, .channelViolated: .l2cap
        case .noSecurityManager, .notEncrypted, .paired, .pairingNotAllowed, .pairingFailed: .smp
        }
    }

    package var connection: ConnectionHandle? {
        switch self {
        case .malformedPacket, .optionalCommandFailed, .commandsNotCarriedOut, .restarting, .notAnsweredWhileStarting,
            .hardwareErrorWhileStarting, .startUpFailed, .commandNotSent, .commandFailed, .advertisingCommandFailed,
            .eventBeforeStart, .unknownEvent, .unknownLEEvent, .dataBufferOverflow, .unexpectedAnswer,
            .answerWithoutStatus, .noPublicAddress, .scanningNotStopped, .advertisingNotStopped:
            nil
        case .packetsOfUnknownConnectionCompleted(let handle, _), .excessPacketsCompleted(let handle, _, _),
            .connectionMadeTwice(let handle), .disconnectionFailed(let handle, _),
            .unknownConnectionEnded(let handle), .packetOfUnknownConnection(let handle), .frameDropped(let handle, _),
            .frameOnUnknownChannel(let handle, _, _), .signaling(let handle, _), .channelViolated(let handle, _),
            .noSecurityManager(let handle), .notEncrypted(let handle, _), .paired(let handle, _, _),
            .pairingNotAllowed(let handle), .pairingFailed(let handle, _):
            handle
        }
    }
}

extension HostNews: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedPacket(let error, let beginning): "dropped a malformed packet: \(error): \(beginning)"
        case .optionalCommandFailed(let failure): "\(failure); going on without"
        case .commandsNotCarriedOut(let controller, let commands):
            "\(controller): claims \(commands.map { $0.name }.joined(separator: ", ")) and does not carry them out; "
                + "going on without"
        case .restarting(let reason, let rest):
            "starting the controller again\(rest > .zero ? " in \(rest)" : ""): \(reason)"
        case .notAnsweredWhileStarting(let opcode): "\(opcode): no answer within \(CommandQueue.timeout); trying again"
        case .hardwareErrorWhileStarting(let code):
            "hardware error 0x\([code].hexadecimal) while starting; trying again"
        case .startUpFailed(let failure): "\(failure)"
        case .commandNotSent(let opcode): "\(opcode) was not sent: too many commands wait for the controller"
        case .commandFailed(let opcode, let status), .advertisingCommandFailed(let opcode, let status):
            "\(opcode) failed: \(status)"
        case .eventBeforeStart: "ignored an event that came before the controller was started"
        case .unknownEvent(let code, let parameters):
            "event 0x\([code.rawValue].hexadecimal) is not known, and not told of again: \(parameters.hexadecimal)"
        case .unknownLEEvent(let code, let parameters):
            "LE event 0x\([code.rawValue].hexadecimal) is not known, and not told of again: \(parameters.hexadecimal)"
        case .dataBufferOverflow(let linkType):
            "the controller lost data: its buffers overflowed (link type \(linkType))"
        case .unexpectedAnswer(let opcode): "an answer to \(opcode), which was not sent"
        case .answerWithoutStatus(let opcode): "the answer to \(opcode) has no status"
        case .packetsOfUnknownConnectionCompleted(let handle, let count):
            "\(count) packets completed on connection \(handle), which does not exist"
        case .excessPacketsCompleted(let handle, let count, let outstanding):
            "connection \(handle): \(count) packets completed, \(outstanding) were outstanding"
        case .noPublicAddress(let address): "the controller has no public address; this device is known as \(address)"
        case .scanningNotStopped(let status): "scanning could not be stopped: \(status)"
        case .advertisingNotStopped(let status): "advertising could not be stopped: \(status)"
        case .connectionMadeTwice(let handle): "the controller made connection \(handle) a second time"
        case .disconnectionFailed(let handle, let status): "connection \(handle) could not be ended: \(status)"
        case .unknownConnectionEnded(let handle): "connection \(handle) ended, which does not exist"
        case .packetOfUnknownConnection(let handle): "dropped a packet of connection \(handle), which does not exist"
        case .frameDropped(let handle, let problem): "connection \(handle): \(problem)"
        case .frameOnUnknownChannel(let handle, let channel, let count):
            "connection \(handle): ignored \(count) bytes on channel \(channel), which is not open"
        case .signaling(let handle, let problem): "connection \(handle): \(problem)"
        case .channelViolated(let handle, let violation):
            "connection \(handle): closed a channel, since the peer sent \(violation)"
        case .noSecurityManager(let handle):
            "connection \(handle): refused to pair, since there is no Security Manager"
        case .notEncrypted(let handle, let status): "connection \(handle) could not be encrypted: \(status)"
        case .paired(let handle, let model, let usesSecureConnections):
            "connection \(handle): paired by \(usesSecureConnections ? "LE Secure Connections" : "LE legacy pairing"), "
                + "\(model)"
        case .pairingNotAllowed(let handle): "connection \(handle): pairing refused: \(PairingFailure.notPairable)"
        case .pairingFailed(let handle, let failure): "connection \(handle): pairing failed: \(failure)"
        }
    }
}

/// The first octets of a packet, 8 at most, without the packet's storage.
package struct PacketBeginning: Hashable, Sendable {
    /// The octets, the first one in the least significant bits.
    private let octets: UInt64
    /// How many there are.
    private let count: Int

    /// Copies the beginning of a packet.
    package init(_ packet: ArraySlice<UInt8>) {
        var octets: UInt64 = 0
        var count = 0
        for octet in packet.prefix(8) {
            octets |= UInt64(octet) << (8 * count)
            count += 1
        }
        self.octets = octets
        self.count = count
    }
}

extension PacketBeginning: CustomStringConvertible {
    /// In hexadecimal, as in the packet.
    package var description: String {
        (0..<count).map { UInt8(truncatingIfNeeded: octets >> (8 * $0)) }.hexadecimal
    }
}
