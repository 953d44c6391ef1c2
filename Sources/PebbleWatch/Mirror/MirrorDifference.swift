import PebbleProtocol

/// A message that one of two watches has said or was told, as a comparison keeps it: long ones without their end.
public struct MirroredMessage: Sendable, Equatable {
    /// How many bytes of a payload are kept.
    static let keptByteCount = 512

    /// Which service it is for.
    public let endpoint: Endpoint
    /// How many bytes its payload has.
    public let length: Int
    /// The first bytes of its payload.
    public let bytes: [UInt8]

    init(_ message: PebbleMessage) {
        endpoint = message.endpoint
        length = message.payload.count
        bytes = Array(message.payload.prefix(Self.keptByteCount))
    }

    /// The message, if it was kept whole.
    public var whole: PebbleMessage? {
        bytes.count == length ? PebbleMessage(endpoint: endpoint, payload: bytes) : nil
    }
}

/// Something that the watch's own services and the real firmware answered otherwise, in meaning.
public struct MirrorDifference: Sendable, Equatable {
    /// In what they differ.
    public enum Kind: String, Sendable, CaseIterable {
        /// The firmware says something else.
        case answer
        /// The firmware does not say what the watch says.
        case missing
        /// The firmware says what the watch does not say.
        case extra
        /// Both say the same, in another order.
        case order
        /// The firmware says the same, after it has answered what came later.
        case late
    }

    /// In what they differ.
    public let kind: Kind
    /// Which of the session's messages it was, counted from 1 since the watch was started.
    public let number: UInt64
    /// The session.
    public let session: SessionID
    /// What the phone said.
    public let question: MirroredMessage
    /// What the watch answered, in order.
    public let watch: [MirroredMessage]
    /// What the firmware answered, in order.
    public let firmware: [MirroredMessage]
    /// When the phone said it, on the watch's clock.
    public let asked: Duration
    /// How long after it had gone on to the next message the firmware gave an answer that is late.
    public let delay: Duration?
}

/// Why the firmware is not asked what the phone has asked the watch.
public enum MirrorWithholding: String, Sendable, CaseIterable {
    /// It restarts a watch, or makes it forget everything.
    case reset
    /// It would be an update of the emulator's own firmware.
    case update
    /// It changes, or reads out, what the emulator is made of: the factory's registry, the flash, the memory.
    case hardware
    /// It answers something that the watch has said, and the firmware has not.
    case answer
    /// It goes on with an upload that the firmware has not begun, or is for an app that the firmware has not asked for.
    case upload
}

/// How much was compared, and with which result.
public struct MirrorTally: Sendable, Equatable {
    /// Messages that both were asked, and for which it is decided whether they differ.
    public internal(set) var compared: UInt64 = 0
    /// Those of them that both answered alike, in meaning.
    public internal(set) var same: UInt64 = 0
    /// Those of the same that neither has answered.
    public internal(set) var unanswered: UInt64 = 0
    /// The others, by what differs.
    public internal(set) var different: [MirrorDifference.Kind: UInt64] = [:]
    /// Those of the different that the watch has not answered at all.
    public internal(set) var unansweredByWatch: UInt64 = 0
    /// Those of the different that the firmware has not answered at all.
    public internal(set) var unansweredByFirmware: UInt64 = 0
    /// Messages that the firmware is not asked, by the reason.
    public internal(set) var withheld: [MirrorWithholding: UInt64] = [:]
    /// Messages of which nothing is known, since no firmware was there, or it was too slow for the phone.
    public internal(set) var lost: UInt64 = 0
    /// Messages of which it is not decided yet.
    public internal(set) var waiting: UInt64 = 0
    /// What the firmware said without having been asked.
    public internal(set) var unasked: UInt64 = 0

    /// Nothing was compared yet.
    public init() {}

    /// How many were answered otherwise.
    public var differentCount: UInt64 { different.values.reduce(0, &+) }
}
