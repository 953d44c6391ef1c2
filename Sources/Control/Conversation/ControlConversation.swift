import PebbleWatch

/// One program's conversation with the watch: lines in, lines out, over any carrier.
///
/// Each line is a request and gets one answer, in order; after `events`, lines of events come in between. Nothing grows
/// without bound: a line that is too long is passed over and refused, and events that find no room are counted and lost.
package struct ControlConversation: Sendable {
    /// The longest line that is read.
    package static let lineLimit = 64 * 1024

    private var inbound: [UInt8] = []
    /// How much of `inbound` has been dealt with.
    private var start = 0
    /// How far `inbound` has been searched for the end of a line.
    private var searched = 0
    /// Whether the rest of a line that is too long is being passed over.
    private var isSkipping = false
    private var lostEventCount: UInt64 = 0

    private var lostPacketCount = 0

    /// Whether the program wants to be told what happens.
    package private(set) var wantsEvents = false

    /// Whether the program wants every packet: the owner decides who may.
    package private(set) var wantsPackets = false

    /// A conversation in which nothing has been said.
    package init() {}

    /// How many bytes wait to be dealt with: the owner reads no more while there are whole lines.
    package var waitingByteCount: Int { inbound.count - start }

    /// Takes bytes; then call `nextItem` until it returns nil.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) {
        if start > 0 {
            inbound.removeSubrange(..<start)
            searched -= start
            start = 0
        }
        inbound += bytes
    }

    /// The result of a line.
    package enum Item: Sendable {
        /// The answer is known already.
        case answered(ControlAnswer)
        /// It is to be answered: `ControlAnswer` has an initializer for each. After `.events` events follow, and after
        /// `.packets` packets if `sendPackets()` is called.
        case asked(ControlRequest)
    }

    /// The next line that has to be answered.
    package mutating func nextItem() -> Item? {
        guard let request = nextRequest() else { return nil }
        switch request {
        case .failure(let invalid):
            return .answered(ControlAnswer(failure: .badRequest, invalid.description))
        case .success(let request):
            if case .events = request { wantsEvents = true }
            return .asked(request)
        }
    }

    /// The next request, or what is wrong with the line that should be one.
    private mutating func nextRequest() -> Result<ControlRequest, ControlRequest.Invalid>? {
        while let end = inbound[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = inbound[start..<end]
            start = end + 1
            searched = start
            if isSkipping {
                isSkipping = false
            } else if line.count > Self.lineLimit {
                return .failure(Self.tooLong)
            } else if line.contains(where: { !$0.isJSONSpace }) {
                return Self.read(line)
            }
        }
        searched = inbound.count
        if isSkipping {
            start = inbound.count
        } else if waitingByteCount > Self.lineLimit {
            isSkipping = true
            start = inbound.count
            return .failure(Self.tooLong)
        }
        return nil
    }

    private static let tooLong = ControlRequest.Invalid(
        description: "a request has at most \(lineLimit) bytes; this one was passed over"
    )

    private static func read(_ line: ArraySlice<UInt8>) -> Result<ControlRequest, ControlRequest.Invalid> {
        do throws(ControlRequest.Invalid) {
            return .success(try ControlRequest(parsing: line))
        } catch {
            return .failure(error)
        }
    }

    /// The program may have packets from now on.
    package mutating func sendPackets() { wantsPackets = true }

    /// The line for a packet, if the program wants packets.
    /// - Parameter hasRoom: whether there is room for it; if not, it is lost, and the program will be told.
    package mutating func line(for packet: ControlPacket, hasRoom: Bool) -> [UInt8]? {
        guard wantsPackets else { return nil }
        guard hasRoom else {
            lostPacketCount += 1
            return nil
        }
        guard lostPacketCount > 0 else { return packet.line }
        defer { lostPacketCount = 0 }
        return ControlLostPackets(at: packet.at, lost: lostPacketCount).line + packet.line
    }

    /// The line for an event, if the program wants events.
    /// - Parameter hasRoom: whether there is room for it; if not, it is lost, and the program will be told.
    package mutating func line(for event: ControlEvent, hasRoom: Bool, at now: Duration) -> [UInt8]? {
        guard wantsEvents else { return nil }
        guard hasRoom else {
            lostEventCount += 1
            return nil
        }
        guard lostEventCount > 0 else { return event.line }
        defer { lostEventCount = 0 }
        return ControlEvent.lost(lostEventCount, at: now).line + event.line
    }
}

extension UInt8 {
    /// Space, tab, or the carriage return in front of a line feed.
    fileprivate var isJSONSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
