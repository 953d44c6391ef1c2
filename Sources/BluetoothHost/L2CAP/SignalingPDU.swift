import BluetoothHCI
import ByteCoding

/// Why a signaling command is rejected.
///
/// Source: Core 5.4, Vol 3, Part A, 4.1.
enum CommandRejectReason: Hashable, Sendable {
    case commandNotUnderstood
    /// The command was longer than `mtu`.
    case signalingMTUExceeded(mtu: UInt16)
    /// There is no channel between these two ends.
    case invalidChannel(local: ChannelID, remote: ChannelID)
}

/// A command on the LE signaling channel. One frame holds one command.
///
/// Layout: code (1), identifier (1), length (2), data.
///
/// Source: Core 5.4, Vol 3, Part A, 4.
package struct SignalingPDU: Hashable, Sendable {
    /// What is said.
    enum Command: Hashable, Sendable {
        case reject(CommandRejectReason)
        case disconnectionRequest(destination: ChannelID, source: ChannelID)
        case disconnectionResponse(destination: ChannelID, source: ChannelID)
        case connectionParameterUpdateRequest(
            intervalMinimum: ConnectionInterval,
            intervalMaximum: ConnectionInterval,
            latency: UInt16,
            supervisionTimeout: SupervisionTimeout
        )
        case connectionParameterUpdateResponse(isAccepted: Bool)
        case creditBased(CreditBasedCommand)
        case unknown(code: UInt8)
    }

    /// Tells which request a response is for; never zero.
    var identifier: UInt8
    var command: Command

    /// How many octets come before the data.
    static let headerSize = 4
    /// The longest command that is taken: the Core's minimum for LE, which no command of LE exceeds.
    static let mtu = 23

    static let rejectCode: UInt8 = 0x01
    package static let disconnectionRequestCode: UInt8 = 0x06
    package static let disconnectionResponseCode: UInt8 = 0x07
    package static let updateRequestCode: UInt8 = 0x12
    package static let updateResponseCode: UInt8 = 0x13

    /// Whether a code is that of a response, which must not be answered, however wrong it is.
    static func isResponse(code: UInt8) -> Bool {
        switch code {
        case rejectCode, disconnectionResponseCode, updateResponseCode: true
        default: CreditBasedCode(rawValue: code)?.isResponse ?? false
        }
    }

    /// Reads a whole frame's payload.
    package init(decoding payload: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(payload)
        let code = try reader.readUInt8("l2cap_signaling.code")
        identifier = try reader.readUInt8("l2cap_signaling.identifier")
        guard identifier != 0 else { throw ByteDecodingError("l2cap_signaling.identifier", .invalidValue(0)) }
        let length = try reader.readLittleEndian("l2cap_signaling.length", as: UInt16.self)
        guard Int(length) == reader.count else {
            throw ByteDecodingError("l2cap_signaling.length", .invalidLength(Int(length)))
        }
        command = try Self.command(code, &reader)
        try reader.expectEnd("l2cap_signaling")
    }

    private static func command(_ code: UInt8, _ reader: inout ByteReader) throws(ByteDecodingError) -> Command {
        switch code {
        case rejectCode: return .reject(try CommandRejectReason(reading: &reader))
        case disconnectionRequestCode:
            let destination = try ChannelID(reading: &reader, "disconnection_request.destination_cid")
            let source = try ChannelID(reading: &reader, "disconnection_request.source_cid")
            return .disconnectionRequest(destination: destination, source: source)
        case disconnectionResponseCode:
            let destination = try ChannelID(reading: &reader, "disconnection_response.destination_cid")
            let source = try ChannelID(reading: &reader, "disconnection_response.source_cid")
            return .disconnectionResponse(destination: destination, source: source)
        case updateRequestCode:
            let minimum = try ConnectionInterval(reading: &reader, "connection_parameter_update_request.interval_min")
            let maximum = try ConnectionInterval(reading: &reader, "connection_parameter_update_request.interval_max")
            let latency = try reader.readLittleEndian(
                "connection_parameter_update_request.latency",
                as: UInt16.self
            )
            let timeout = try SupervisionTimeout(reading: &reader, "connection_parameter_update_request.timeout")
            return .connectionParameterUpdateRequest(
                intervalMinimum: minimum,
                intervalMaximum: maximum,
                latency: latency,
                supervisionTimeout: timeout
            )
        case updateResponseCode:
            let result = try reader.readLittleEndian("connection_parameter_update_response.result", as: UInt16.self)
            guard result <= 1 else {
                throw ByteDecodingError("connection_parameter_update_response.result", .invalidValue(UInt64(result)))
            }
            return .connectionParameterUpdateResponse(isAccepted: result == 0)
        default:
            guard let creditBased = CreditBasedCode(rawValue: code) else {
                _ = reader.readRemaining()
                return .unknown(code: code)
            }
            return .creditBased(try CreditBasedCommand(creditBased, reading: &reader))
        }
    }

    init(identifier: UInt8, command: Command) {
        self.identifier = identifier
        self.command = command
    }

    private var code: UInt8 {
        switch command {
        case .reject: Self.rejectCode
        case .disconnectionRequest: Self.disconnectionRequestCode
        case .disconnectionResponse: Self.disconnectionResponseCode
        case .connectionParameterUpdateRequest: Self.updateRequestCode
        case .connectionParameterUpdateResponse: Self.updateResponseCode
        case .creditBased(let command): command.code.rawValue
        case .unknown(let code): code
        }
    }

    /// Appends the command. One that is `unknown` has no data.
    package func encode(to buffer: inout [UInt8]) {
        let start = buffer.count
        buffer.append(code)
        buffer.append(identifier)
        // The length is known when the data is there.
        buffer.appendLittleEndian(UInt16(0))
        encodeData(to: &buffer)
        let length = UInt16(clamping: buffer.count - start - Self.headerSize)
        buffer[start + 2] = UInt8(truncatingIfNeeded: length)
        buffer[start + 3] = UInt8(truncatingIfNeeded: length >> 8)
    }

    private func encodeData(to buffer: inout [UInt8]) {
        switch command {
        case .reject(let reason): reason.encode(to: &buffer)
        case .disconnectionRequest(let destination, let source), .disconnectionResponse(let destination, let source):
            buffer.appendLittleEndian(destination.rawValue)
            buffer.appendLittleEndian(source.rawValue)
        case .connectionParameterUpdateRequest(let minimum, let maximum, let latency, let timeout):
            minimum.encode(to: &buffer)
            maximum.encode(to: &buffer)
            buffer.appendLittleEndian(latency)
            timeout.encode(to: &buffer)
        case .connectionParameterUpdateResponse(let isAccepted):
            buffer.appendLittleEndian(UInt16(isAccepted ? 0 : 1))
        case .creditBased(let command): command.encode(to: &buffer)
        case .unknown: break
        }
    }
}

extension CommandRejectReason {
    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let reason = try reader.readLittleEndian("command_reject.reason", as: UInt16.self)
        switch reason {
        case 0: self = .commandNotUnderstood
        case 1: self = .signalingMTUExceeded(mtu: try reader.readLittleEndian("command_reject.mtu"))
        case 2:
            let local = try ChannelID(reading: &reader, "command_reject.local_cid")
            let remote = try ChannelID(reading: &reader, "command_reject.remote_cid")
            self = .invalidChannel(local: local, remote: remote)
        default: throw ByteDecodingError("command_reject.reason", .invalidValue(UInt64(reason)))
        }
    }

    func encode(to buffer: inout [UInt8]) {
        switch self {
        case .commandNotUnderstood: buffer.appendLittleEndian(UInt16(0))
        case .signalingMTUExceeded(let mtu):
            buffer.appendLittleEndian(UInt16(1))
            buffer.appendLittleEndian(mtu)
        case .invalidChannel(let local, let remote):
            buffer.appendLittleEndian(UInt16(2))
            buffer.appendLittleEndian(local.rawValue)
            buffer.appendLittleEndian(remote.rawValue)
        }
    }
}
