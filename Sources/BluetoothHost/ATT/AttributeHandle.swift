/// What a server calls one of its attributes (Core 5.4, Vol 3, Part F, 3.2.2).
///
/// 0x0001 to 0xFFFF name attributes; 0x0000 is reserved and stands for "no attribute" in error responses.
public struct AttributeHandle: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The reserved handle, which names no attribute.
    package static let none = AttributeHandle(rawValue: 0x0000)
    /// The lowest handle that an attribute can have.
    package static let first = AttributeHandle(rawValue: 0x0001)
    /// The highest handle that an attribute can have.
    package static let last = AttributeHandle(rawValue: 0xFFFF)

    /// The handle that follows; nil after the last one.
    package var next: AttributeHandle? { self == .last ? nil : AttributeHandle(rawValue: rawValue &+ 1) }

    public static func < (left: AttributeHandle, right: AttributeHandle) -> Bool { left.rawValue < right.rawValue }

    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

/// A range of handles that is never empty and never holds the reserved handle.
public struct AttributeHandleRange: Hashable, Sendable, CustomStringConvertible {
    /// The lowest handle in the range.
    public let start: AttributeHandle
    /// The highest handle in the range.
    public let end: AttributeHandle

    /// Nil when `start` is the reserved handle or lies behind `end`.
    public init?(_ start: AttributeHandle, _ end: AttributeHandle) {
        guard start != .none, start <= end else { return nil }
        self.start = start
        self.end = end
    }

    private init(unchecked start: AttributeHandle, _ end: AttributeHandle) {
        self.start = start
        self.end = end
    }

    /// Every handle there can be.
    public static let all = AttributeHandleRange(unchecked: .first, .last)

    /// One handle.
    package init?(_ handle: AttributeHandle) { self.init(handle, handle) }

    /// Whether `handle` lies in the range, whose both ends belong to it. The reserved handle never does.
    public func contains(_ handle: AttributeHandle) -> Bool { handle >= start && handle <= end }

    /// What is left of the range behind `handle`; nil when that is nothing.
    package func after(_ handle: AttributeHandle) -> AttributeHandleRange? {
        guard let next = handle.next else { return nil }
        return AttributeHandleRange(max(next, start), end)
    }

    public var description: String { "\(start)-\(end)" }
}
