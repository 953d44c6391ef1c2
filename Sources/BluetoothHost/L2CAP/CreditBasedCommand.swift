import BluetoothHCI
import ByteCoding

/// The codes of the commands about credit-based channels.
///
/// Source: Core 5.4, Vol 3, Part A, 4, table 4.2.
package enum CreditBasedCode: UInt8, Hashable, Sendable, CaseIterable {
    case connectionRequest = 0x14
    case connectionResponse = 0x15
    case flowControlCredit = 0x16
    case enhancedConnectionRequest = 0x17
    case enhancedConnectionResponse = 0x18
    case reconfigureRequest = 0x19
    case reconfigureResponse = 0x1A

    /// Whether it answers a request, so that it is not to be answered itself.
    var isResponse: Bool {
        switch self {
        case .connectionResponse, .enhancedConnectionResponse, .reconfigureResponse: true
        case .connectionRequest, .flowControlCredit, .enhancedConnectionRequest, .reconfigureRequest: false
        }
    }
}

/// What one end of a channel is ready to receive.
///
/// Layout: MTU (2), MPS (2), credits (2).
struct ChannelTerms: Hashable, Sendable {
    /// The longest SDU.
    var mtu: UInt16
    /// The longest payload of a K-frame.
    var mps: UInt16
    /// How many K-frames to begin with.
    var credits: UInt16

    /// What accompanies a refusal, and is ignored.
    static let none = ChannelTerms(mtu: 0, mps: 0, credits: 0)
    /// The lengths that a request may offer.
    static let minimumLength = 23
    static let minimumEnhancedLength = 64
    static let maximumMPS = 65533
}

/// What is said about credit-based channels on the signaling channel.
///
/// Source: Core 5.4, Vol 3, Part A, 4.22 to 4.28.
enum CreditBasedCommand: Hashable, Sendable {
    /// Layout: SPSM (2), source CID (2), terms (6).
    case connectionRequest(SPSM, source: ChannelID, ChannelTerms)
    /// Layout: destination CID (2), terms (6), result (2).
    case connectionResponse(destination: ChannelID, ChannelTerms, ChannelResult)
    /// Layout: CID (2), which is the sender's end, credits (2).
    case flowControlCredit(ChannelID, credits: UInt16)
    /// Layout: SPSM (2), terms (6), up to five source CIDs (2 each).
    case enhancedConnectionRequest(SPSM, ChannelTerms, sources: [ChannelID])
    /// Layout: terms (6), result (2), up to five destination CIDs (2 each), 0 for each that was refused.
    case enhancedConnectionResponse(ChannelTerms, ChannelResult, destinations: [ChannelID])
    /// Layout: MTU (2), MPS (2), up to five CIDs (2 each), which are the sender's ends.
    case reconfigureRequest(mtu: UInt16, mps: UInt16, [ChannelID])
    /// Layout: result (2).
    case reconfigureResponse(ReconfigurationResult)

    /// How many channels one enhanced command can be about.
    static let maximumChannelCount = 5

    var code: CreditBasedCode {
        switch self {
        case .connectionRequest: .connectionRequest
        case .connectionResponse: .connectionResponse
        case .flowControlCredit: .flowControlCredit
        case .enhancedConnectionRequest: .enhancedConnectionRequest
        case .enhancedConnectionResponse: .enhancedConnectionResponse
        case .reconfigureRequest: .reconfigureRequest
        case .reconfigureResponse: .reconfigureResponse
        }
    }
}

// MARK: - Bytes

extension ChannelTerms {
    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        mtu = try reader.readLittleEndian(field + ".mtu")
        mps = try reader.readLittleEndian(field + ".mps")
        credits = try reader.readLittleEndian(field + ".initial_credits")
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(mtu)
        buffer.appendLittleEndian(mps)
        buffer.appendLittleEndian(credits)
    }
}

extension CreditBasedCommand {
    /// Reads the data of a command.
    init(_ code: CreditBasedCode, reading reader: inout ByteReader) throws(ByteDecodingError) {
        switch code {
        case .connectionRequest:
            let spsm = try SPSM(reading: &reader, "le_credit_based_connection_request.spsm")
            let source = try ChannelID(reading: &reader, "le_credit_based_connection_request.source_cid")
            let terms = try ChannelTerms(reading: &reader, "le_credit_based_connection_request")
            self = .connectionRequest(spsm, source: source, terms)
        case .connectionResponse:
            let destination = try ChannelID(reading: &reader, "le_credit_based_connection_response.destination_cid")
            let terms = try ChannelTerms(reading: &reader, "le_credit_based_connection_response")
            let result = try ChannelResult(reading: &reader, "le_credit_based_connection_response.result")
            self = .connectionResponse(destination: destination, terms, result)
        case .flowControlCredit:
            let channel = try ChannelID(reading: &reader, "flow_control_credit_ind.cid")
            let credits = try reader.readLittleEndian("flow_control_credit_ind.credits", as: UInt16.self)
            self = .flowControlCredit(channel, credits: credits)
        case .enhancedConnectionRequest:
            let spsm = try SPSM(reading: &reader, "credit_based_connection_request.spsm")
            let terms = try ChannelTerms(reading: &reader, "credit_based_connection_request")
            let sources = try Self.channels(&reader, "credit_based_connection_request.source_cid")
            self = .enhancedConnectionRequest(spsm, terms, sources: sources)
        case .enhancedConnectionResponse:
            let terms = try ChannelTerms(reading: &reader, "credit_based_connection_response")
            let result = try ChannelResult(reading: &reader, "credit_based_connection_response.result")
            let destinations = try Self.channels(&reader, "credit_based_connection_response.destination_cid")
            self = .enhancedConnectionResponse(terms, result, destinations: destinations)
        case .reconfigureRequest:
            let mtu = try reader.readLittleEndian("credit_based_reconfigure_request.mtu", as: UInt16.self)
            let mps = try reader.readLittleEndian("credit_based_reconfigure_request.mps", as: UInt16.self)
            let channels = try Self.channels(&reader, "credit_based_reconfigure_request.destination_cid")
            self = .reconfigureRequest(mtu: mtu, mps: mps, channels)
        case .reconfigureResponse:
            self = .reconfigureResponse(
                try ReconfigurationResult(reading: &reader, "credit_based_reconfigure_response.result")
            )
        }
    }

    /// Reads what is left as a list of channels. The signaling MTU bounds it.
    private static func channels(
        _ reader: inout ByteReader,
        _ field: String
    ) throws(ByteDecodingError) -> [ChannelID] {
        var channels: [ChannelID] = []
        while !reader.isEmpty { channels.append(try ChannelID(reading: &reader, field)) }
        return channels
    }

    /// Appends the data of the command.
    func encode(to buffer: inout [UInt8]) {
        switch self {
        case .connectionRequest(let spsm, let source, let terms):
            buffer.appendLittleEndian(spsm.rawValue)
            buffer.appendLittleEndian(source.rawValue)
            terms.encode(to: &buffer)
        case .connectionResponse(let destination, let terms, let result):
            buffer.appendLittleEndian(destination.rawValue)
            terms.encode(to: &buffer)
            buffer.appendLittleEndian(result.rawValue)
        case .flowControlCredit(let channel, let credits):
            buffer.appendLittleEndian(channel.rawValue)
            buffer.appendLittleEndian(credits)
        case .enhancedConnectionRequest(let spsm, let terms, let sources):
            buffer.appendLittleEndian(spsm.rawValue)
            terms.encode(to: &buffer)
            for source in sources { buffer.appendLittleEndian(source.rawValue) }
        case .enhancedConnectionResponse(let terms, let result, let destinations):
            terms.encode(to: &buffer)
            buffer.appendLittleEndian(result.rawValue)
            for destination in destinations { buffer.appendLittleEndian(destination.rawValue) }
        case .reconfigureRequest(let mtu, let mps, let channels):
            buffer.appendLittleEndian(mtu)
            buffer.appendLittleEndian(mps)
            for channel in channels { buffer.appendLittleEndian(channel.rawValue) }
        case .reconfigureResponse(let result):
            buffer.appendLittleEndian(result.rawValue)
        }
    }
}
