import ByteCoding

/// Follows the enhanced ATT bearers of one connection, for tools that show captures: which channels they are, and what passes on them.
///
/// Source: Core 5.4, Vol 3, Part A, 3.4.3 and 4.25, and Part G, 5.3.
struct BearerDissector: Sendable {
    /// Which side of the connection sends.
    enum Side: Int, Sendable {
        case host = 0
        case peer = 1

        var other: Side { self == .host ? .peer : .host }
    }

    /// A side's end of a bearer: frames to it have this channel.
    private struct End: Sendable {
        let channel: ChannelID
        /// Which bearer it is an end of: 1 is the first of the connection. 0 is the fixed channel.
        let bearer: Int
        /// What has come of an SDU that is not whole yet, and how long it is.
        var unfinished: (bytes: [UInt8], length: Int)?
    }

    /// How many ends of one side are kept: more than the bearers that one side opens.
    private static let endLimit = 64

    private var ends: [[End]] = [[], []]
    private var count = 0
    /// Requests that have no answer yet: who asked, and for which ends.
    private var requests: [(identifier: UInt8, side: Side, first: Int)] = []

    /// Takes note of a signaling command.
    mutating func take(_ pdu: SignalingPDU, from side: Side) {
        switch pdu.command {
        case .creditBased(.enhancedConnectionRequest(.enhancedATT, _, let sources)):
            if requests.count == Self.endLimit { requests.removeFirst() }
            requests.append((pdu.identifier, side, count + 1))
            for source in sources {
                count += 1
                add(source, bearer: count, of: side)
            }
        case .creditBased(.enhancedConnectionResponse(_, _, let destinations)):
            let index = requests.firstIndex { $0.identifier == pdu.identifier && $0.side == side.other }
            guard let index else { return }
            let request = requests.remove(at: index)
            for (offset, destination) in destinations.enumerated() where destination.rawValue != 0 {
                add(destination, bearer: request.first + offset, of: side)
            }
        case .disconnectionRequest(let destination, let source):
            remove(destination, of: side.other)
            remove(source, of: side)
        case .reject, .disconnectionResponse, .connectionParameterUpdateRequest, .connectionParameterUpdateResponse,
            .creditBased, .unknown:
            break
        }
    }

    private mutating func add(_ channel: ChannelID, bearer: Int, of side: Side) {
        remove(channel, of: side)
        if ends[side.rawValue].count == Self.endLimit { ends[side.rawValue].removeFirst() }
        ends[side.rawValue].append(End(channel: channel, bearer: bearer))
    }

    private mutating func remove(_ channel: ChannelID, of side: Side) {
        ends[side.rawValue].removeAll { $0.channel == channel }
    }

    /// Takes a frame from one side.
    /// - Returns: The bearer, and the PDU if this frame ended one; nil if the frame's channel is no bearer.
    mutating func take(
        _ frame: L2CAPFrame,
        from side: Side
    ) throws(ByteDecodingError) -> (bearer: Int, pdu: ArraySlice<UInt8>?)? {
        let receiver = side.other.rawValue
        guard let index = ends[receiver].firstIndex(where: { $0.channel == frame.channel }) else { return nil }
        var reader = ByteReader(frame.payload)
        var (bytes, length) = ends[receiver][index].unfinished ?? ([], 0)
        if ends[receiver][index].unfinished == nil {
            length = Int(try reader.readLittleEndian("k_frame.sdu_length", as: UInt16.self))
        }
        bytes += reader.readRemaining()
        ends[receiver][index].unfinished = bytes.count < length ? (bytes, length) : nil
        guard bytes.count <= length else {
            throw ByteDecodingError("k_frame.sdu", .invalidValue(UInt64(bytes.count)))
        }
        return (ends[receiver][index].bearer, bytes.count == length ? bytes[...] : nil)
    }
}
