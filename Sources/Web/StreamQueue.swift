import NIOConcurrencyHelpers
import NIOCore

/// What waits for one reader of a stream. Nothing waits for the reader: one that is too slow is cut off, and told so.
final class StreamQueue: Sendable {
    /// What becomes of what is not read in time.
    enum Policy: Sendable {
        /// Everything is kept up to a limit; beyond it the stream ends.
        case all
        /// Only the newest is of interest.
        case newest
    }

    /// What a reader gets.
    enum Taken: Sendable {
        case pieces([ByteBuffer])
        /// It was too slow: so many pieces are lost, and the stream ends.
        case overrun(lost: Int)
        /// The stream ends.
        case finished
    }

    /// How many pieces wait at most, beside those that a reader begins with.
    static let countLimit = 512
    /// How many bytes wait at most, whatever they are; the first piece may be larger.
    static let byteLimit = 1024 * 1024

    private struct State {
        var pieces: [ByteBuffer] = []
        var byteCount = 0
        /// How many of the pieces are those that the reader begins with.
        var firstCount = 0
        var lost = 0
        var isFinished = false
        /// Turns of the clock since the reader was cut off.
        var turnsSinceOverrun = 0
        var reader: CheckedContinuation<Void, Never>?
    }

    private let policy: Policy
    private let state = NIOLockedValueBox(State())

    init(_ policy: Policy) { self.policy = policy }

    /// Adds a piece.
    /// - Parameter isFirst: whether it is one that the reader begins with. Those are there before it can have read any, so that
    ///   their number says nothing of it.
    func offer(_ piece: ByteBuffer, isFirst: Bool = false) {
        change { state in
            guard !state.isFinished, state.lost == 0 else {
                if !state.isFinished { state.lost += 1 }
                return
            }
            if policy == .newest {
                state.pieces = [piece]
                return
            }
            let isFull =
                !isFirst && state.pieces.count - state.firstCount >= Self.countLimit
                || !state.pieces.isEmpty && state.byteCount + piece.readableBytes > Self.byteLimit
            guard !isFull else {
                state.lost = state.pieces.count + 1
                state.pieces = []
                return
            }
            state.pieces.append(piece)
            if isFirst { state.firstCount += 1 }
            state.byteCount += piece.readableBytes
        }
    }

    /// Ends the stream, after what waits.
    func finish() { change { $0.isFinished = true } }

    /// A turn of a clock has passed.
    /// - Returns: whether the reader was cut off so long ago that it will not read any more.
    func isStuck(after turns: Int) -> Bool {
        state.withLockedValue { state in
            guard state.lost > 0 else { return false }
            state.turnsSinceOverrun += 1
            return state.turnsSinceOverrun > turns
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let reader = state.withLockedValue { state in
            body(&state)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    /// What waits, as soon as something does. There is one reader.
    func next() async -> Taken {
        await withTaskCancellationHandler {
            while true {
                if let taken = take() { return taken }
                await withCheckedContinuation { continuation in
                    let isReady = state.withLockedValue { state in
                        if state.isFinished || state.lost > 0 || !state.pieces.isEmpty { return true }
                        state.reader = continuation
                        return false
                    }
                    if isReady { continuation.resume() }
                }
            }
        } onCancel: {
            finish()
        }
    }

    private func take() -> Taken? {
        state.withLockedValue { state in
            if state.lost > 0 { return .overrun(lost: state.lost) }
            if !state.pieces.isEmpty {
                defer {
                    state.pieces = []
                    state.byteCount = 0
                    state.firstCount = 0
                }
                return .pieces(state.pieces)
            }
            return state.isFinished ? .finished : nil
        }
    }
}
