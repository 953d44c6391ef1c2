import BluetoothHost
import PebbleProtocol

/// One channel to the Pebble stream: first the companion introduces itself, then messages of the Pebble Protocol go both
/// ways, framed as over PPoGATT.
///
/// The introduction is the value of a PPoGATT meta characteristic in its newer layout, 19 bytes, so that a companion says
/// the same of itself whichever transport it opens: see ``PPoGATTMeta``.
struct SessionStream: Sendable {
    /// A companion that does not introduce itself for so long is disconnected.
    static let introductionTimeout: Duration = .seconds(10)

    /// The result of reading bytes that came in.
    enum Input: Equatable {
        /// The introduction is not whole.
        case incomplete
        /// The companion is known; what is left is for its session.
        case introduced(PPoGATTDestination, rest: ArraySlice<UInt8>)
        /// The introduction makes no sense.
        case refused(PPoGATTMetaRejection)
        /// All of it is for the session.
        case bytes(ArraySlice<UInt8>)
    }

    private var introduction: [UInt8] = []
    private var isIntroduced = false
    private let openedAt: Duration
    /// The session that it is a transport of, once it is introduced.
    var session: SessionID?
    /// Of what the session gave, how much a channel that closes did not send.
    var unsentCount = 0

    init(at now: Duration) { openedAt = now }

    /// When the companion must have introduced itself; nil once it has.
    var deadline: Duration? { isIntroduced ? nil : openedAt + Self.introductionTimeout }

    /// Takes what came in.
    mutating func receive(_ bytes: ArraySlice<UInt8>) -> Input {
        guard !isIntroduced else { return .bytes(bytes) }
        let part = bytes.prefix(PPoGATTMeta.encodedLength - introduction.count)
        introduction += part
        guard introduction.count == PPoGATTMeta.encodedLength else { return .incomplete }
        isIntroduced = true
        do {
            return .introduced(try PPoGATTMeta(introduction[...]).destination, rest: bytes.dropFirst(part.count))
        } catch {
            return .refused(error)
        }
    }
}
