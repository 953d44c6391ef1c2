import BluetoothHCI
import ByteCoding

/// What the host is asked to do with the channels of enhanced bearers.
enum EnhancedBearerRequest: Sendable {
    /// Ask the peer for this number of channels.
    case open(ConnectionHandle, count: Int)
    /// Close the channel of a bearer that was given up.
    case close(Channel.ID)
}

/// How enhanced bearers of one connection are opened from this side, as a GATT client: once the link is encrypted, the server is
/// asked whether it has such, is told that this client uses them, and channels are asked for.
///
/// Both sides may ask at the same time, and each may have room for one side's channels only. A side that is refused for want of
/// room asks once more, after a while that is longer for the peripheral, so that not both meet again.
///
/// Source: Core 5.4, Vol 3, Part G, 5.3, 5.4, 7.2 and 7.4.
struct EnhancedBearerOpening: Sendable {
    /// What is waited for.
    enum Step: Equatable, Sendable {
        /// The link is not encrypted.
        case idle
        /// The server's features.
        case serverFeatures
        /// The features that the server knows of this client.
        case clientFeatures
        /// The server takes this client's features.
        case featuresWritten
        /// The time to ask for channels once more.
        case due(Duration)
        /// The channels that were asked for.
        case channels
        /// Nothing more is done.
        case ended
    }

    var step = Step.idle
    /// The channels that were asked for, and did not open yet.
    var channels: [Channel.ID] = []
    /// How long to wait before channels are asked for once more.
    var pause = Self.leastPause
    /// Whether the peer had no room for some of the channels.
    private var wantsRetry = false
    private var mayRetry = true

    /// The least time between two requests for channels.
    static let leastPause = Duration.milliseconds(100)
    /// Server Supported Features: the server takes enhanced bearers.
    private static let serverTakesEnhancedBearers: UInt8 = 0x01
    /// Client Supported Features of this client: enhanced bearers, and several values in one notification.
    private static let features = ChangeAwareness.enhancedBearer | ChangeAwareness.multipleNotifications

    /// When channels are asked for once more.
    var deadline: Duration? { if case .due(let time) = step { time } else { nil } }

    /// Whether one of the host's own procedures runs.
    var isAsking: Bool { step == .serverFeatures || step == .clientFeatures || step == .featuresWritten }

    /// What is to be done next.
    enum Next {
        case start(GATTProcedure)
        case open
        case nothing
    }

    /// The link is encrypted.
    mutating func begin() -> Next {
        guard step == .idle else { return .nothing }
        step = .serverFeatures
        return .start(.readOneByUUID(.serverSupportedFeatures, in: .all))
    }

    /// The procedure ended that was started last.
    mutating func ended(_ result: Result<GATTResponse, GATTProcedureError>) -> Next {
        switch step {
        case .serverFeatures:
            guard case .success(.values(let values)) = result,
                (values.first?.value.first ?? 0) & Self.serverTakesEnhancedBearers != 0
            else { break }
            step = .clientFeatures
            return .start(.readOneByUUID(.clientSupportedFeatures, in: .all))
        case .clientFeatures:
            // A server need not have the characteristic.
            guard case .success(.values(let values)) = result, let known = values.first else {
                return openIfAnswered(result)
            }
            step = .featuresWritten
            return .start(.write(known.handle, [(known.value.first ?? 0) | Self.features]))
        case .featuresWritten: return openIfAnswered(result)
        case .idle, .due, .channels, .ended: break
        }
        step = .ended
        return .nothing
    }

    /// Asks for channels, whatever the answer is. A server that cannot be understood, or says nothing, is left alone.
    private mutating func openIfAnswered(_ result: Result<GATTResponse, GATTProcedureError>) -> Next {
        switch result {
        case .success, .failure(.refused):
            step = .channels
            return .open
        case .failure:
            step = .ended
            return .nothing
        }
    }

    /// Channels cannot be asked for.
    mutating func failed() { step = .ended }

    /// One of the channels that were asked for opened, or did not.
    mutating func settled(_ channel: Channel.ID, refusedForWantOfRoom isRefused: Bool, at now: Duration) {
        guard let index = channels.firstIndex(of: channel) else { return }
        channels.remove(at: index)
        wantsRetry = wantsRetry || isRefused
        guard channels.isEmpty else { return }
        if wantsRetry, mayRetry {
            (wantsRetry, mayRetry) = (false, false)
            step = .due(now + pause)
        } else {
            step = .ended
        }
    }
}
