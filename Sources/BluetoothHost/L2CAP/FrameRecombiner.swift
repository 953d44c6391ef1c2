import BluetoothHCI
import ByteCoding

/// What was wrong with an ACL packet, or with the L2CAP frame that it ended. Whatever it belonged to is dropped. Lengths are
/// in bytes.
package enum FrameProblem: Hashable, Sendable {
    /// It continues no frame.
    case continuationWithoutStart(count: Int)
    /// A new frame began before the last one was whole.
    case frameCutShort(needed: Int, available: Int)
    /// It brought more than the frame's length.
    case frameOverrun(needed: Int, available: Int)
    /// The frame's payload is longer than any that is taken.
    case frameTooLong(Int)
}

/// Puts the L2CAP frames of one connection together from the ACL packets that they arrive in.
///
/// A frame that is whole in one packet, as nearly all are, is passed on in the packet's own storage. What is held
/// back of others is bounded by the longest payload taken.
///
/// Source: Core 5.4, Vol 3, Part A, 7.2.2.
struct FrameRecombiner: Sendable {
    typealias Problem = FrameProblem

    /// A frame that was dropped although it is known which channel it was for.
    struct LostFrame: Hashable, Sendable {
        let channel: ChannelID
        let problem: Problem
        /// The first octets of its payload, as far as they came: `LostFrame.beginningSize` of one that is too long.
        let beginning: ArraySlice<UInt8>

        /// What channels must know of a frame that is too long: an opcode, or a command's code and identifier.
        static let beginningSize = 2
    }

    /// The result of a packet.
    struct Outcome: Hashable, Sendable {
        var frame: L2CAPFrame?
        /// What was wrong with it, and with the frame that it interrupted.
        var problems: [Problem] = []
        /// The frames that were lost by that, as far as their channels are known.
        var lost: [LostFrame] = []
    }

    private enum State {
        /// No frame has begun.
        case idle
        /// `buffer` holds the beginning of a frame.
        case collecting
        /// As `collecting`, of a frame that is too long and has been reported as that.
        case collectingBeginning
        /// A frame has begun that is thrown away.
        case skipping
    }

    private var state = State.idle
    /// Kept from frame to frame, and emptied only when the next one needs it: a frame that was passed on may still be
    /// in it.
    private var buffer: [UInt8] = []

    /// How many bytes of an unfinished frame are held back.
    var bufferedCount: Int { state == .collecting ? buffer.count : 0 }

    /// Whether no frame has begun: one that is whole in the next packet need not come here.
    var isIdle: Bool { state == .idle }

    /// Takes the data of the next packet.
    mutating func receive(_ data: ArraySlice<UInt8>, isStart: Bool) -> Outcome {
        var outcome = Outcome()
        if isStart {
            if state == .collecting || state == .collectingBeginning { interrupt(&outcome) }
            state = .idle
            if let frame = wholeFrame(in: data) {
                outcome.frame = frame
                return outcome
            }
            buffer.removeAll(keepingCapacity: true)
            state = .collecting
        }
        switch state {
        case .idle: outcome.problems.append(.continuationWithoutStart(count: data.count))
        case .collecting, .collectingBeginning: collect(data, &outcome)
        case .skipping: break
        }
        return outcome
    }

    /// Another frame begins: the one under way stays unfinished.
    private func interrupt(_ outcome: inout Outcome) {
        let header = L2CAPFrame.Header(buffer[...])
        if state == .collectingBeginning {
            if let header { lose(header, .frameTooLong(header.payloadCount), &outcome) }
        } else {
            let needed = header?.frameCount ?? L2CAPFrame.headerSize
            let problem = Problem.frameCutShort(needed: needed, available: buffer.count)
            outcome.problems.append(problem)
            if let header { lose(header, problem, &outcome) }
        }
    }

    private func lose(_ header: L2CAPFrame.Header, _ problem: Problem, _ outcome: inout Outcome) {
        let beginning = Array(buffer.dropFirst(L2CAPFrame.headerSize).prefix(LostFrame.beginningSize))
        outcome.lost.append(LostFrame(channel: header.channel, problem: problem, beginning: beginning[...]))
    }

    /// The frame that is exactly what one packet holds.
    private func wholeFrame(in data: ArraySlice<UInt8>) -> L2CAPFrame? {
        guard let header = L2CAPFrame.Header(data), data.count == header.frameCount, !header.isTooLong else {
            return nil
        }
        return L2CAPFrame(channel: header.channel, payload: data.dropFirst(L2CAPFrame.headerSize))
    }

    private mutating func collect(_ data: ArraySlice<UInt8>, _ outcome: inout Outcome) {
        let limit = L2CAPFrame.headerSize + L2CAPFrame.maximumPayload
        let available = buffer.count + data.count
        buffer.append(contentsOf: data.prefix(max(0, limit - buffer.count)))
        guard let header = L2CAPFrame.Header(buffer[...]) else { return }
        if header.isTooLong {
            let problem = Problem.frameTooLong(header.payloadCount)
            if state == .collecting { outcome.problems.append(problem) }
            state = .collectingBeginning
            guard buffer.count >= L2CAPFrame.headerSize + LostFrame.beginningSize else { return }
            lose(header, problem, &outcome)
            state = .skipping
        } else if available > header.frameCount {
            let problem = Problem.frameOverrun(needed: header.frameCount, available: available)
            outcome.problems.append(problem)
            lose(header, problem, &outcome)
            state = .skipping
        } else if available == header.frameCount {
            outcome.frame = L2CAPFrame(channel: header.channel, payload: buffer.dropFirst(L2CAPFrame.headerSize))
            state = .idle
        }
    }
}

extension FrameProblem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .continuationWithoutStart(let count): "dropped \(count) bytes that continue no frame"
        case .frameCutShort(let needed, let available):
            "dropped \(available) bytes of a frame of \(needed), since another one began"
        case .frameOverrun(let needed, let available):
            "dropped a frame of \(needed) bytes, since \(available) came"
        case .frameTooLong(let count):
            "dropped a frame with \(count) bytes of payload; at most \(L2CAPFrame.maximumPayload) are taken"
        }
    }
}
