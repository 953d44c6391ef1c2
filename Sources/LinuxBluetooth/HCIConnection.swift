import ByteCoding

/// HCI packets both ways between a host and a controller, without waiting.
///
/// Packets that go out wait in a bounded queue until the kernel takes them, and the sender stops when the queue is full.
public protocol HCIConnection: AnyObject {
    /// What to poll: for reading always, for writing when `wantsToWrite`.
    var descriptor: Int32 { get }
    /// Whether packets wait for the kernel to take them.
    var wantsToWrite: Bool { get }
    /// How many bytes wait for the kernel to take them.
    var waitingBytes: Int { get }
    /// Whether `send` may be called: ask before taking a packet out of a host.
    var hasRoom: Bool { get }
    /// Reads what has come in, up to a fair share. What is there beyond that share keeps the descriptor ready.
    /// - Parameters:
    ///   - arrived: is shown each packet that is whole, type byte first, before any of those that it came with is handled.
    ///   - handle: works on each of them.
    func receive(
        arrived: (ArraySlice<UInt8>) -> Void,
        _ handle: (ArraySlice<UInt8>) -> Void
    ) throws(ConnectionLoss)
    /// Whether the last `receive` left some of what has come in to the next.
    var hasMore: Bool { get }
    /// What has been skipped since the last call, nil for nothing.
    func takeGarbage() -> Garbage?
    /// Puts a whole packet, type byte first, at the end of the queue. `flush` sends it.
    func send(_ packet: [UInt8])
    /// Gives the kernel as much of the queue as it takes.
    /// - Parameter acknowledging: whether what was read is acknowledged at once if nothing is sent; otherwise a later call does it.
    func flush(acknowledging: Bool) throws(ConnectionLoss)
}

extension HCIConnection {
    /// The same for those who only work on the packets.
    public func receive(_ handle: (ArraySlice<UInt8>) -> Void) throws(ConnectionLoss) {
        try receive(arrived: { _ in }, handle)
    }

    /// The same, with what was read acknowledged at once.
    public func flush() throws(ConnectionLoss) { try flush(acknowledging: true) }
}

/// Bytes that came in and that no HCI packet begins with.
public struct Garbage: Hashable, Sendable, CustomStringConvertible {
    /// How many.
    public private(set) var count = 0
    /// The first of them.
    public private(set) var first: [UInt8] = []

    /// How many of them are kept for a person to look at.
    static let shown = 16

    /// Adds bytes to those that were skipped.
    mutating func add(_ bytes: ArraySlice<UInt8>) {
        count += bytes.count
        first += bytes.prefix(Self.shown - first.count)
    }

    /// Adds a number of bytes, of which only the first are there.
    mutating func add(count: Int, first bytes: [UInt8]) {
        self.count += max(count, 0)
        first += bytes.prefix(Self.shown - first.count)
    }

    public var description: String {
        "skipped \(count) bytes that begin no HCI packet: \(first.hexadecimal)\(count > first.count ? "…" : "")"
    }
}
