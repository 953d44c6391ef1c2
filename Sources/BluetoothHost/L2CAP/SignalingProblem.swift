import BluetoothHCI
import ByteCoding

/// Why a signaling command was ignored or refused. What the Core wants answered has been answered.
package enum SignalingProblem: Equatable, Sendable {
    /// A command could not be read.
    case malformed(ByteDecodingError)
    /// A command is longer than the MTU of the channel. The value is its length in bytes.
    case mtuExceeded(Int)
    /// A command with a code that is not known.
    case unknownCommand(code: UInt8)
    /// A Command Reject of a command that was not sent.
    case unexpectedReject
    /// The central sent a Connection Parameter Update Request, as only a peripheral may.
    case updateRequestedByCentral
    /// A Connection Parameter Update Response without a request.
    case unexpectedUpdateResponse
    /// A request for channels was ignored, since too many answers wait to be sent.
    case tooManyAnswers
    /// A request for a channel was refused.
    case channelRefused(SPSM, ChannelResult)
    /// A request for enhanced channels was refused.
    case channelsRefused(SPSM, ChannelResult)
    /// Of the enhanced channels of a request some were refused.
    case someChannelsRefused(SPSM, ChannelResult)
    /// A request to reconfigure channels was refused.
    case reconfigurationRefused(ReconfigurationResult)
    /// Credits for a channel that is not open; the CID is the peer's.
    case creditsForUnknownChannel(UInt16, ChannelID)
    /// A command that gives no credits; the CID is the peer's.
    case noCredits(ChannelID)
    /// The peer closes a channel that is not open; the CID is this side's.
    case unknownChannelClosed(ChannelID)
    /// The peer closes a channel and names a CID of its own that is not the channel's other end.
    case otherEndMismatch(ChannelID, peer: ChannelID)
    /// A response to a request for channels that was not made.
    case unexpectedChannelResponse
    /// A response to a request to reconfigure that was not made.
    case unexpectedReconfigureResponse
    /// A Disconnection Response without a request.
    case unexpectedDisconnectionResponse
}

extension SignalingProblem: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let error): "malformed signaling command: \(error)"
        case .mtuExceeded(let count): "a signaling command of \(count) bytes exceeds the MTU of \(SignalingPDU.mtu)"
        case .unknownCommand(let code): "signaling command 0x\([code].hexadecimal) is not known"
        case .unexpectedReject: "the peer rejects a command that was not sent"
        case .updateRequestedByCentral: "the central asks for connection parameters as if it were the peripheral"
        case .unexpectedUpdateResponse: "the peer answers a request for connection parameters that was not made"
        case .tooManyAnswers: "ignored a request for a channel: too many answers wait to be sent"
        case .channelRefused(let spsm, let result): "refused a channel to \(spsm): \(result)"
        case .channelsRefused(let spsm, let result): "refused channels to \(spsm): \(result)"
        case .someChannelsRefused(let spsm, let result): "refused some channels to \(spsm): \(result)"
        case .reconfigurationRefused(let result): "refused to reconfigure channels: \(result)"
        case .creditsForUnknownChannel(let credits, let channel):
            "ignored \(credits) credits for channel \(channel), which is not open"
        case .noCredits(let channel): "ignored 0 credits for channel \(channel)"
        case .unknownChannelClosed(let channel): "the peer closes channel \(channel), which is not open"
        case .otherEndMismatch(let channel, let peer):
            "the peer closes channel \(channel) with \(peer), which is not its other end"
        case .unexpectedChannelResponse: "the peer answers a request for a channel that was not made"
        case .unexpectedReconfigureResponse: "the peer answers a request to reconfigure that was not made"
        case .unexpectedDisconnectionResponse: "the peer answers a disconnection that was not requested"
        }
    }
}
