import ByteCoding

// What is in the memory, integers in little-endian:
//
//   magic      8 bytes: "CAIRNMEM"
//   version    4 bytes: 1
//   beginning  4 bytes: its length
//   tail       8 bytes: how many bytes of the ring have been given up since the recording began
//   head       8 bytes: how many have been written
//   dropped    8 bytes: how many frames have been given up
//   origin     8 bytes: when the last input was that has been given up, in nanoseconds
//   beginning  what a recording begins with, its header
//   ring       records: length of the frame (4), when its last input was, in nanoseconds (8), the frame as a recording has it
//
// A byte of the ring stands at its number modulo the size of the ring. The tail moves on before a byte is overwritten, and the head
// when a record is whole, so that a process can end anywhere.

/// The last frames of a recording, in memory that the recorder was given: its own, or that of a file, in which they outlive the process.
struct RecorderMemory: ~Copyable {
    private static let magic: [UInt8] = Array("CAIRNMEM".utf8)
    private static let version: UInt32 = 1
    private static let headSize = 48
    private static let recordHeadSize = 12
    private static let tailPlace = 16
    private static let headPlace = 24
    private static let droppedPlace = 32
    private static let originPlace = 40

    private let region: UnsafeMutableRawBufferPointer
    private let isOwned: Bool
    private let ringStart: Int
    private let capacity: UInt64
    private var tail: UInt64 = 0
    private var head: UInt64 = 0

    /// How many frames have been given up.
    private(set) var droppedCount = 0
    /// When the last input was that has been given up.
    private(set) var origin: Duration = .zero

    /// How much memory a recording needs of which so much is to be kept.
    static func size(beginning: Int, limit: Int) -> Int { headSize + beginning + limit }

    /// Memory of the process.
    init(limit: Int) {
        let size = Self.size(beginning: 0, limit: limit)
        self.init(UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 8), isOwned: true, beginning: [])
    }

    /// Memory of somebody else's, such as a file's.
    /// - Parameters:
    ///   - region: what `size(beginning:limit:)` says, at least.
    ///   - beginning: what a recording begins with.
    init(in region: UnsafeMutableRawBufferPointer, beginning: [UInt8]) {
        self.init(region, isOwned: false, beginning: beginning)
    }

    private init(_ region: UnsafeMutableRawBufferPointer, isOwned: Bool, beginning: [UInt8]) {
        self.region = region
        self.isOwned = isOwned
        ringStart = Self.headSize + beginning.count
        capacity = UInt64(region.count - ringStart)
        var bytes = Self.magic
        bytes.appendLittleEndian(Self.version)
        bytes.appendLittleEndian(UInt32(clamping: beginning.count))
        bytes += [UInt8](repeating: 0, count: Self.headSize - bytes.count)
        bytes += beginning
        region.copyBytes(from: bytes)
    }

    deinit { if isOwned { region.deallocate() } }

    /// Keeps a frame, and gives up the oldest ones if there is no room. One that is longer than the memory is given up itself.
    /// - Parameter time: when the last input in it was.
    mutating func append(_ frame: [UInt8], upTo time: Duration) {
        let size = UInt64(Self.recordHeadSize + frame.count)
        while tail < head, head + size - tail > capacity {
            guard let record = record(at: tail) else {
                tail = head
                drop(upTo: time)
                break
            }
            tail = record.end
            drop(upTo: record.time)
        }
        guard size <= capacity else { return drop(upTo: time) }
        var place = Int(head % capacity)
        withUnsafeBytes(of: UInt32(clamping: frame.count).littleEndian) { put($0, at: &place) }
        withUnsafeBytes(of: time.nanoseconds.littleEndian) { put($0, at: &place) }
        frame.withUnsafeBytes { put($0, at: &place) }
        head += size
        store(head, at: Self.headPlace)
    }

    /// All frames that are kept, one after the other.
    var frames: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(head - tail))
        var place = tail
        while place < head, let record = record(at: place) {
            let length = Int(record.end - place) - Self.recordHeadSize
            let start = Int((place + UInt64(Self.recordHeadSize)) % capacity)
            let first = min(length, Int(capacity) - start)
            bytes += region[(ringStart + start)..<(ringStart + start + first)]
            bytes += region[ringStart..<(ringStart + length - first)]
            place = record.end
        }
        return bytes
    }

    private mutating func drop(upTo time: Duration) {
        droppedCount += 1
        origin = time
        store(UInt64(clamping: droppedCount), at: Self.droppedPlace)
        store(UInt64(bitPattern: time.nanoseconds), at: Self.originPlace)
        store(tail, at: Self.tailPlace)
    }

    /// When the last input of a record was, and where the next record begins; nil if what is in the memory is not what was written,
    /// as in a file that somebody has changed.
    private func record(at place: UInt64) -> (time: Duration, end: UInt64)? {
        var length: UInt32 = 0
        var time: UInt64 = 0
        for index in 0..<4 { length |= UInt32(byte(at: place + UInt64(index))) << UInt32(8 * index) }
        for index in 0..<8 { time |= UInt64(byte(at: place + 4 + UInt64(index))) << UInt64(8 * index) }
        let end = place + UInt64(Self.recordHeadSize) + UInt64(length)
        guard end <= head, let time = Int64(exactly: time) else { return nil }
        return (.nanoseconds(time), end)
    }

    private func byte(at place: UInt64) -> UInt8 { region[ringStart + Int(place % capacity)] }

    /// Writes bytes to a place of the ring, and moves it behind them.
    private func put(_ bytes: UnsafeRawBufferPointer, at place: inout Int) {
        let first = min(bytes.count, Int(capacity) - place)
        let ring = UnsafeMutableRawBufferPointer(rebasing: region[ringStart...])
        UnsafeMutableRawBufferPointer(rebasing: ring[place...])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<first]))
        ring.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first...]))
        place = first < bytes.count ? bytes.count - first : place + first
    }

    private func store(_ number: UInt64, at place: Int) {
        region.storeBytes(of: number.littleEndian, toByteOffset: place, as: UInt64.self)
    }
}

extension RecorderMemory {
    /// Makes a recording of the memory of a process that is gone.
    /// - Parameter bytes: the whole memory; nothing of it is believed.
    /// - Throws: `RecordingError` with the offset, if it is no such memory or was damaged.
    static func recording(of bytes: [UInt8]) throws(RecordingError) -> [UInt8] {
        guard bytes.count >= headSize, bytes.starts(with: magic) else {
            throw RecordingError(offset: 0, reason: "this is no recorder's memory")
        }
        let head: Head
        do throws(ByteDecodingError) {
            head = try Head(bytes[magic.count...])
        } catch {
            throw RecordingError(offset: magic.count, reason: "\(error)")
        }
        guard head.version == version else {
            throw RecordingError(offset: magic.count, reason: "its format is version \(head.version)")
        }
        let ring = bytes.dropFirst(headSize + head.beginning.count)
        guard head.tail <= head.head, head.head - head.tail <= UInt64(ring.count), head.dropped <= UInt64(Int32.max),
            head.origin >= 0
        else { throw RecordingError(offset: tailPlace, reason: "its places make no sense") }
        var header = try Recording.header(of: head.beginning)
        if head.dropped > 0 { header = header.beginning(part: Int(head.dropped), at: .nanoseconds(head.origin)) }
        let start = Int(head.tail % UInt64(max(ring.count, 1)))
        let count = Int(head.head - head.tail)
        let first = min(count, ring.count - start)
        var reader = ByteReader(ring.dropFirst(start).prefix(first) + ring.prefix(count - first))
        var recording = Recording.beginning(header)
        // A process that ended while it wrote the last record leaves it out.
        while let length = try? reader.readLittleEndian("length", as: UInt32.self),
            (try? reader.readBytes(8, "time")) != nil, let frame = try? reader.readBytes(Int(length), "frame")
        {
            recording += frame
        }
        return recording
    }

    /// What stands in front of the ring.
    private struct Head {
        let version: UInt32
        let tail: UInt64
        let head: UInt64
        let dropped: UInt64
        let origin: Int64
        let beginning: [UInt8]

        init(_ bytes: ArraySlice<UInt8>) throws(ByteDecodingError) {
            var reader = ByteReader(bytes)
            version = try reader.readLittleEndian("version")
            let length: UInt32 = try reader.readLittleEndian("beginning")
            tail = try reader.readLittleEndian("tail")
            head = try reader.readLittleEndian("head")
            dropped = try reader.readLittleEndian("dropped")
            origin = Int64(bitPattern: try reader.readLittleEndian("origin", as: UInt64.self))
            beginning = Array(try reader.readBytes(Int(length), "beginning"))
        }
    }
}

extension Duration {
    /// Whole nanoseconds, which fill 64 bits after 292 years.
    fileprivate var nanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }
}
