/// Packets waiting to leave, first in, first out, in buffers that are used again.
///
/// A machine writes each packet into the queue; the code that drains it brings a buffer, which is swapped for the
/// packet's own. Once as many buffers are in circulation as packets have ever waited at once, neither side
/// allocates.
public struct PacketQueue: Sendable {
    private var slots: [[UInt8]] = []
    private var head = 0
    /// How many packets are waiting.
    public private(set) var count = 0

    /// An empty queue.
    public init() {}

    /// Whether no packet is waiting.
    public var isEmpty: Bool { count == 0 }

    /// Adds a packet: `write` is given an empty buffer to append the packet's bytes to.
    @inlinable
    public mutating func append<Failure: Error>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        var buffer = takeEmptyBuffer()
        do {
            try write(&buffer)
        } catch {
            giveBack(buffer)
            throw error
        }
        enqueue(buffer)
    }

    /// Takes the oldest packet into `buffer`, whose storage the queue keeps for a later packet.
    /// - Returns: false, with `buffer` untouched, when nothing is waiting.
    public mutating func popFirst(into buffer: inout [UInt8]) -> Bool {
        guard count > 0, slots.indices.contains(head) else { return false }
        swap(&slots[head], &buffer)
        head = (head + 1) % slots.count
        count -= 1
        return true
    }

    /// Drops every packet and the buffers with them.
    public mutating func removeAll() { self = PacketQueue() }

    @usableFromInline
    mutating func takeEmptyBuffer() -> [UInt8] {
        if count == slots.count { grow() }
        let tail = (head + count) % slots.count
        guard slots.indices.contains(tail) else { return [] }
        var buffer: [UInt8] = []
        swap(&slots[tail], &buffer)
        buffer.removeAll(keepingCapacity: true)
        return buffer
    }

    @usableFromInline
    mutating func enqueue(_ buffer: consuming [UInt8]) {
        giveBack(buffer)
        count += 1
    }

    /// Returns a taken buffer without its packet.
    @usableFromInline
    mutating func giveBack(_ buffer: consuming [UInt8]) {
        let tail = (head + count) % slots.count
        guard slots.indices.contains(tail) else { return }
        slots[tail] = buffer
    }

    private mutating func grow() {
        var larger: [[UInt8]] = []
        larger.reserveCapacity(Swift.max(4, slots.count * 2))
        for offset in 0..<count { larger.append(slots[(head + offset) % slots.count]) }
        while larger.count < Swift.max(4, slots.count * 2) { larger.append([]) }
        slots = larger
        head = 0
    }
}
