/// Bytes that wait to be read, first in, first out, in one piece of storage that is used again.
///
/// What has been read makes room at the front. The rest moves there only when the storage would have to grow, and only
/// if it is no more than what has been read meanwhile, so that moving costs no more than reading.
public struct ByteQueue: Hashable, Sendable {
    @usableFromInline var storage: [UInt8] = []
    /// Where the oldest byte is in `storage`.
    @usableFromInline var head = 0

    /// An empty queue.
    public init() {}

    /// How many bytes wait.
    @inlinable
    public var count: Int { storage.count - head }

    /// Whether no byte waits.
    @inlinable
    public var isEmpty: Bool { head == storage.count }

    /// Adds bytes at the end.
    @inlinable
    public mutating func append(_ bytes: consuming ArraySlice<UInt8>) {
        if isEmpty {
            if head > 0 { removeAll() }
        } else if storage.count + bytes.count > storage.capacity, head >= count {
            storage.removeSubrange(..<head)
            head = 0
        }
        storage.append(contentsOf: bytes)
    }

    /// Moves the oldest bytes to the end of `buffer`. A buffer that is empty and gets all of them gets their storage, and the queue
    /// goes on with the buffer's: none is copied then.
    /// - Returns: how many there were, `maximum` at most.
    @discardableResult
    public mutating func popFirst(_ maximum: Int, into buffer: inout [UInt8]) -> Int {
        let taken = min(max(0, maximum), count)
        if taken == count, head == 0, buffer.isEmpty {
            swap(&storage, &buffer)
            return taken
        }
        buffer.append(contentsOf: storage[head..<(head + taken)])
        head += taken
        return taken
    }

    /// Drops every byte; the storage is kept.
    public mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        head = 0
    }

    /// Two queues are equal if the same bytes wait in them.
    public static func == (left: ByteQueue, right: ByteQueue) -> Bool {
        left.storage[left.head...] == right.storage[right.head...]
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(storage[head...]) }
}
