import PebbleProtocol

/// Names a data logging session on the watch, for good; on the wire it has a number of one byte.
public struct LoggingSessionID: RawRepresentable, Hashable, Sendable, Comparable {
    public let rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What an app has logged and the phone does not have yet.
public struct LoggingSpool: Sendable, Equatable {
    /// What the items are, and whose.
    public var session: DataLoggingMessage.Session
    /// Whole items, oldest first.
    public private(set) var bytes: [UInt8]
    /// How many bytes were logged before those; they are the phone's now.
    public private(set) var start: Int
    /// Whether the app logs no more.
    public var isFinished: Bool

    /// A spool.
    public init(
        session: DataLoggingMessage.Session,
        bytes: [UInt8] = [],
        start: Int = 0,
        isFinished: Bool = false
    ) {
        self.session = session
        self.bytes = bytes
        self.start = start
        self.isFinished = isFinished
    }

    /// How many bytes have ever been logged.
    public var end: Int { start + bytes.count }

    /// How many items wait.
    public var itemCount: Int { bytes.count / max(1, Int(session.itemSize)) }

    /// Items were logged.
    public mutating func append(_ items: [UInt8]) { bytes += items }

    /// The phone has so many bytes of it, or has refused them too often.
    mutating func removeFirst(_ count: Int) {
        let count = min(count, bytes.count)
        bytes.removeFirst(count)
        start += count
    }
}
