import ByteCoding
import DequeModule

/// What has come in on a channel and has not been read.
public struct ReceivedData: Hashable, Sendable {
    /// An SDU that has not been read.
    private struct SDU: Hashable, Sendable {
        let length: Int
        /// How many of its bytes have not come yet.
        var missing: Int
    }

    /// What an SDU costs beside its bytes, so that many short ones cannot cost more than the room there is.
    static let sduCost = 16

    /// How the data is read.
    package let face: ChannelFace
    private var bytes = ByteQueue()
    /// Where SDUs end, if that matters.
    private var sdus = Deque<SDU>()
    /// How many bytes the last SDU lacks; 0 if the next K-frame begins another one.
    private(set) var missing = 0

    /// Nothing.
    init(face: ChannelFace) { self.face = face }

    /// How many bytes there are, those of an SDU that is not whole among them.
    public var count: Int { bytes.count }

    /// Whether there is something to read: bytes, or a whole SDU.
    public var isReadable: Bool {
        switch face {
        case .bytes: !bytes.isEmpty
        case .sdus: sdus.first.map { $0.missing == 0 } ?? false
        }
    }

    /// How much room it takes.
    var cost: Int { bytes.count + sdus.count * Self.sduCost }

    /// Moves bytes to the end of `buffer`; of a channel that is used as a stream.
    /// - Returns: how many there were, `maximum` at most.
    @discardableResult
    public mutating func read(_ maximum: Int = .max, into buffer: inout [UInt8]) -> Int {
        face == .bytes ? bytes.popFirst(maximum, into: &buffer) : 0
    }

    /// Moves the oldest SDU, if it is whole, to the end of `buffer`; of a channel that is used as a sequence of SDUs.
    /// - Returns: whether there was one. It may be empty.
    public mutating func readSDU(into buffer: inout [UInt8]) -> Bool {
        guard isReadable, face == .sdus, let sdu = sdus.popFirst() else { return false }
        bytes.popFirst(sdu.length, into: &buffer)
        return true
    }

    // MARK: Receiving

    /// An SDU begins.
    mutating func begin(length: Int) {
        missing = length
        if face == .sdus { sdus.append(SDU(length: length, missing: length)) }
    }

    /// The SDU continues with this many bytes; they are not more than it lacks.
    mutating func append(_ payload: consuming ArraySlice<UInt8>) {
        missing -= payload.count
        bytes.append(payload)
        guard face == .sdus, let last = sdus.indices.last else { return }
        sdus[last].missing = missing
    }
}
