import DequeModule
import PebbleProtocol

/// What a watch's brain is asked.
public enum BrainRequest: Sendable, Equatable {
    /// A companion has opened a session, of this kind and over this transport.
    case sessionOpened(SessionID, SessionKind, SessionTransport)
    /// A companion has said this, whole.
    case message(SessionID, PebbleMessage)
    /// A session is over.
    case sessionClosed(SessionID)
}

/// A brain that keeps what it is asked and answers nothing: it shows what transports, bonds and personalities bring to a brain,
/// without services that act on it.
///
/// It keeps the newest requests: 4096 of them at most, with 1 MB of payloads at most.
public struct BrainRecorder: Sendable, Equatable {
    static let requestLimit = 4096
    static let byteLimit = 1024 * 1024

    private var kept: Deque<BrainRequest> = []
    private var byteCount = 0
    /// How many requests there were, also those that are not kept any more.
    public private(set) var count: UInt64 = 0

    /// The requests that are kept, the oldest first.
    public var requests: [BrainRequest] { Array(kept) }

    mutating func note(_ request: BrainRequest) {
        count += 1
        kept.append(request)
        byteCount += request.byteCount
        while kept.count > Self.requestLimit || byteCount > Self.byteLimit, let oldest = kept.popFirst() {
            byteCount -= oldest.byteCount
        }
    }
}

extension BrainRequest {
    fileprivate var byteCount: Int {
        switch self {
        case .message(_, let message): message.payload.count
        case .sessionOpened, .sessionClosed: 0
        }
    }
}

extension WatchSystem {
    /// Notes that a session has opened.
    mutating func record(
        opened id: SessionID,
        _ destination: PPoGATTDestination,
        over transport: SessionTransport
    ) -> SessionID {
        outbox.emit(.sessionOpened(id, destination.kind, transport))
        recorder?.note(.sessionOpened(id, destination.kind, transport))
        return id
    }

    /// Notes what a companion has said.
    mutating func record(_ message: PebbleMessage, on id: SessionID) { recorder?.note(.message(id, message)) }
}

extension Watch {
    /// What the brain was asked; nil for a watch whose brain is not ``WatchBrain/recorder``.
    public var brainRecord: BrainRecorder? { core.system.recorder }
}
