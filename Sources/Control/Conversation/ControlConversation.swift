import PebbleWatch

/// One program's conversation with the watch: lines in, lines out, over any carrier.
///
/// Each line is a request and gets one answer, in order; after `events`, lines of events come in between. Nothing grows
/// without bound: a line that is too long is passed over and refused, and events that find no room are counted and lost.
package struct ControlConversation: Sendable {
    /// The longest line that is read.
    package static let lineLimit = ControlLines.limit

    private var lines = ControlLines()
    private var lostPacketCount = 0

    /// Whether the program wants to be told what happens.
    package var wantsEvents: Bool { lines.wantsEvents }

    /// Whether the program wants every packet: the owner decides who may.
    package private(set) var wantsPackets = false

    /// A conversation in which nothing has been said.
    package init() {}

    /// How many bytes wait to be dealt with: the owner reads no more while there are whole lines.
    package var waitingByteCount: Int { lines.waitingByteCount }

    /// Takes bytes; then call `nextItem` until it returns nil.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) { lines.receive(bytes) }

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
            if case .events = request { lines.wantsEvents = true }
            return .asked(request)
        }
    }

    /// The next request, or what is wrong with the line that should be one.
    private mutating func nextRequest() -> Result<ControlRequest, ControlRequest.Invalid>? {
        switch lines.next() {
        case nil: nil
        case .failure(let invalid)?: .failure(invalid)
        case .success(let line)?: Self.read(line)
        }
    }

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
        lines.line(for: event, hasRoom: hasRoom, at: now)
    }
}
