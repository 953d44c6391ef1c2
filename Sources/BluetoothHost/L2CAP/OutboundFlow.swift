import ByteCoding
import DequeModule

/// The sending half of a channel: what is written becomes SDUs, and these K-frames, for as long as there are credits.
///
/// Source: Core 5.4, Vol 3, Part A, 3.4 and 10.1.
struct OutboundFlow: Sendable {
    /// Bytes that were written.
    private enum Written: Sendable {
        /// A stretch of a stream, which may become any number of SDUs.
        case stream(Int)
        case sdu(Int)

        /// What it costs beside its bytes.
        var cost: Int {
            if case .sdu = self { ReceivedData.sduCost } else { 0 }
        }
    }

    private(set) var mtu: Int
    private(set) var mps: Int
    /// How many K-frames may be sent.
    private(set) var credits: Int
    private let wantedLimit: Int
    private var bytes = ByteQueue()
    /// What `bytes` are, but for those of the SDU that is being sent.
    private var written = Deque<Written>()
    private var writtenCost = 0
    /// How much of the SDU that is being sent has not been.
    private var unsentOfSDU = 0
    private var roomIsWanted = false

    init(_ parameters: ChannelParameters, _ terms: ChannelTerms) {
        mtu = Int(terms.mtu)
        mps = Int(terms.mps)
        credits = Int(terms.credits)
        wantedLimit = parameters.transmitLimit
    }

    /// How many bytes that were written have not been sent.
    var unsentCount: Int { bytes.count }

    /// How many bytes of a stream can be written.
    var room: Int { max(0, wantedLimit - bytes.count - writtenCost) }

    /// The longest SDU that fits into the room there is, and not longer than the MTU. When nothing waits, `writeSDU` takes
    /// an SDU up to the MTU all the same: if the limit is below the MTU, this number is too small then.
    var roomForSDU: Int { min(mtu, max(0, room - ReceivedData.sduCost)) }

    // MARK: Writing

    /// Takes as many bytes of a stream as there is room for.
    /// - Returns: how many.
    mutating func write(_ stream: ArraySlice<UInt8>) -> Int {
        let taken = min(stream.count, room)
        if taken < stream.count { roomIsWanted = true }
        guard taken > 0 else { return 0 }
        bytes.append(stream.prefix(taken))
        if case .stream(let count) = written.last {
            written[written.endIndex - 1] = .stream(count + taken)
        } else {
            written.append(.stream(taken))
        }
        return taken
    }

    /// Takes an SDU: if there is room, or if nothing else waits.
    mutating func writeSDU(_ sdu: ArraySlice<UInt8>) throws(ChannelError) {
        guard sdu.count <= mtu else { throw .sduTooLong(maximum: mtu) }
        guard sdu.count + ReceivedData.sduCost <= room || (bytes.isEmpty && written.isEmpty) else {
            roomIsWanted = true
            throw .full
        }
        bytes.append(sdu)
        written.append(.sdu(sdu.count))
        writtenCost += ReceivedData.sduCost
    }

    /// Whether somebody was turned away for want of room, and half of it is free again. Says so once.
    mutating func takeRoomNotice() -> Bool {
        guard roomIsWanted, room >= wantedLimit / 2 else { return false }
        roomIsWanted = false
        return true
    }

    // MARK: Sending

    /// Whether a K-frame can be sent.
    var canSend: Bool { credits > 0 && (unsentOfSDU > 0 || !written.isEmpty) }

    /// Puts the payload of the next K-frame into `buffer`, replacing its content.
    /// - Parameter dataLength: how much one link layer packet carries.
    /// - Returns: false when there is nothing to send, or no credit to send it with.
    mutating func nextFrame(dataLength: Int, into buffer: inout [UInt8]) -> Bool {
        guard canSend else { return false }
        credits -= 1
        buffer.removeAll(keepingCapacity: true)
        let size = Self.frameSize(upTo: mps, dataLength: dataLength)
        if unsentOfSDU == 0 {
            unsentOfSDU = takeSDU(frameSize: size)
            buffer.appendLittleEndian(UInt16(clamping: unsentOfSDU))
        }
        unsentOfSDU -= bytes.popFirst(min(unsentOfSDU, size - buffer.count), into: &buffer)
        return true
    }

    /// Takes what becomes the next SDU off what was written.
    /// - Returns: its length.
    private mutating func takeSDU(frameSize: Int) -> Int {
        guard let next = written.popFirst() else { return 0 }
        writtenCost -= next.cost
        switch next {
        case .sdu(let length): return length
        case .stream(let count):
            guard count > mtu else { return count }
            // Full K-frames only, since as much as is wanted follows.
            let frames = (mtu + InboundFlow.sduLengthSize) / frameSize
            let length = frames > 0 ? frames * frameSize - InboundFlow.sduLengthSize : mtu
            written.prepend(.stream(count - length))
            return length
        }
    }

    /// The longest payload of a K-frame within a limit that fills link layer packets to the last octet.
    /// - Parameters:
    ///   - limit: the most that the receiver takes.
    ///   - dataLength: how much one link layer packet carries.
    static func frameSize(upTo limit: Int, dataLength: Int) -> Int {
        let limit = min(limit, Self.frameSizeLimit)
        let packets = (limit + L2CAPFrame.headerSize) / max(1, dataLength)
        return packets > 0 ? packets * dataLength - L2CAPFrame.headerSize : limit
    }

    /// The longest K-frame that is sent or asked for. The header costs little at this length, and a K-frame does not
    /// hold up others for long: at 1 Mbit/s in packets of 27 octets, for 26 ms.
    static let frameSizeLimit = 1024

    // MARK: What the peer says

    /// The peer gives credits.
    mutating func receive(credits given: UInt16) throws(ChannelViolation) {
        guard credits + Int(given) <= InboundFlow.maximumCredits else { throw .tooManyCredits }
        credits += Int(given)
    }

    /// The peer takes other lengths from now on.
    mutating func reconfigure(mtu: Int, mps: Int) {
        self.mtu = mtu
        self.mps = mps
    }
}
