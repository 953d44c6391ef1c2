/// The lines that one program says, cut out of its bytes, and the events that it is told: what every conversation has,
/// whatever its vocabulary.
///
/// Nothing grows without bound: a line that is too long is passed over and refused, and events that find no room are counted
/// and lost.
struct ControlLines: Sendable {
    /// The longest line that is read.
    static let limit = 64 * 1024

    private var inbound: [UInt8] = []
    /// How much of `inbound` has been dealt with.
    private var start = 0
    /// How far `inbound` has been searched for the end of a line.
    private var searched = 0
    /// Whether the rest of a line that is too long is being passed over.
    private var isSkipping = false
    private var lostEventCount: UInt64 = 0

    /// Whether the program wants to be told what happens.
    var wantsEvents = false

    /// How many bytes wait to be dealt with.
    var waitingByteCount: Int { inbound.count - start }

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        if start > 0 {
            inbound.removeSubrange(..<start)
            searched -= start
            start = 0
        }
        inbound += bytes
    }

    /// The next line that is not empty, or that it was too long; nil if there is none yet.
    mutating func next() -> Result<ArraySlice<UInt8>, ControlRequest.Invalid>? {
        while let end = inbound[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = inbound[start..<end]
            start = end + 1
            searched = start
            if isSkipping {
                isSkipping = false
            } else if line.count > Self.limit {
                return .failure(Self.tooLong)
            } else if line.contains(where: { !$0.isJSONSpace }) {
                return .success(line)
            }
        }
        searched = inbound.count
        if isSkipping {
            start = inbound.count
        } else if waitingByteCount > Self.limit {
            isSkipping = true
            start = inbound.count
            return .failure(Self.tooLong)
        }
        return nil
    }

    private static let tooLong = ControlRequest.Invalid(
        description: "a request has at most \(limit) bytes; this one was passed over"
    )

    /// The line for an event, if the program wants events.
    /// - Parameter hasRoom: whether there is room for it; if not, it is lost, and the program will be told.
    mutating func line<Name>(for event: NamedControlEvent<Name>, hasRoom: Bool, at now: Duration) -> [UInt8]? {
        guard wantsEvents else { return nil }
        guard hasRoom else {
            lostEventCount += 1
            return nil
        }
        guard lostEventCount > 0 else { return event.line }
        defer { lostEventCount = 0 }
        return NamedControlEvent<Name>.lost(lostEventCount, at: now).line + event.line
    }
}

extension UInt8 {
    /// Space, tab, or the carriage return in front of a line feed.
    fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
