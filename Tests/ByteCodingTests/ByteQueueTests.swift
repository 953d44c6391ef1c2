import ByteCoding
import Testing

@Suite("Byte queue")
struct ByteQueueTests {
    @Test("Each byte is read once, in order, in portions of any size", arguments: 0..<20)
    func portions(_ seed: Int) {
        var queue = ByteQueue()
        var number = UInt64(seed)
        var written = 0
        var read = 0
        var buffer: [UInt8] = []
        for _ in 0..<2000 {
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let portion = Int(number >> 40) % 50
            if number >> 63 == 0 {
                queue.append((0..<portion).map { UInt8(truncatingIfNeeded: written + $0) }[...])
                written += portion
            } else {
                buffer.removeAll()
                let count = queue.popFirst(portion, into: &buffer)
                #expect(count == buffer.count && count == min(portion, written - read))
                #expect(buffer == (0..<count).map { UInt8(truncatingIfNeeded: read + $0) })
                read += count
            }
            #expect(queue.count == written - read && queue.isEmpty == (written == read))
        }
    }

    @Test("Reading appends, negative portions are none, and equality is of what waits")
    func edges() {
        var queue = ByteQueue()
        queue.append([1, 2, 3])
        var buffer: [UInt8] = [9]
        #expect(queue.popFirst(-1, into: &buffer) == 0)
        #expect(queue.popFirst(1, into: &buffer) == 1)
        #expect(buffer == [9, 1])
        var other = ByteQueue()
        other.append([2, 3])
        #expect(queue == other && queue.hashValue == other.hashValue)
        queue.removeAll()
        #expect(queue.isEmpty && queue != other && queue == ByteQueue())
    }

    @Test("A buffer that has taken everything is the reader's own, whatever is added to the queue afterwards")
    func everythingAtOnce() {
        var queue = ByteQueue()
        var buffer: [UInt8] = []
        for round in UInt8(0)..<4 {
            queue.append([round, 1, 2])
            buffer.removeAll(keepingCapacity: true)
            #expect(queue.popFirst(.max, into: &buffer) == 3)
            queue.append([9])
            #expect(buffer == [round, 1, 2])
            #expect(queue.popFirst(.max, into: &buffer) == 1)
            #expect(buffer == [round, 1, 2, 9] && queue.isEmpty)
        }
        #expect(queue.popFirst(.max, into: &buffer) == 0)
        buffer = []
        #expect(queue.popFirst(.max, into: &buffer) == 0 && buffer.isEmpty && queue.isEmpty)
    }
}
