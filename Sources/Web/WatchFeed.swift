import FoundationEssentials
import NIOCore

/// What happens on one watch, for every reader: one connection to its control socket, held as long as the watch lives, and made
/// again when it is back.
actor WatchFeed {
    /// Whether the watch can be reached.
    enum State: Sendable, Equatable {
        /// It answers, and has said its version.
        case up(version: String?)
        /// It does not.
        case down(APIError)
    }

    /// One reader.
    struct Subscription: Sendable {
        let id: Int
        let queue: StreamQueue
    }

    private struct Reader {
        let queue: StreamQueue
        /// The names of the events that are wanted; nil for all.
        let names: Set<String>?
        /// Events up to this number were given already.
        var seen: UInt64 = 0
        /// What has happened while the events of before are fetched; nil when they are there.
        var held: [(sequence: UInt64, block: ByteBuffer)]?
    }

    /// How often a watch that is down is tried again.
    private static let pause: Duration = .milliseconds(200)
    private let socket: ControlSocket
    private var readers: [Int: Reader] = [:]
    private var lastID = 0
    /// Answers that are awaited on the connection.
    private var awaited = 0
    /// Whether the pulse before the last one was answered.
    private var missedPulses = 0
    private var latency = AppMessageLatency()
    private(set) var state: State = .down(WatchFailure.down("cairn-web has not reached the watch yet").error)
    /// When a watch that was up was found not to answer, in seconds since 1970; nil while it answers, and of a watch that has
    /// never been reached.
    private var downSince: Double?
    /// Those who wait until the state is that of the watch; nil when it is.
    private var waiting: [CheckedContinuation<Void, Never>]? = []
    /// What the watch has said last.
    private var knownVersion: String?

    init(_ socket: ControlSocket) { self.socket = socket }

    /// How long AppMessages have taken so far.
    var latencies: AppMessageLatency { latency }

    /// Follows the watch until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await socket.withConnection { inbound, outbound in
                    try await self.follow(inbound, outbound)
                }
                change(
                    to: .down(WatchFailure.down("the watch at \(socket.path) has ended; start it with cairn run").error)
                )
            } catch let failure as WatchFailure {
                change(to: .down(failure.error))
            } catch {
                change(to: .down(WatchFailure.broke("the connection to the watch has failed: \(error)").error))
            }
            try? await Task.sleep(for: Self.pause)
        }
        for reader in readers.values { reader.queue.finish() }
        stateIsKnown()
    }

    private func follow(_ inbound: ControlSocket.Inbound, _ outbound: ControlSocket.Outbound) async throws {
        awaited = 0
        missedPulses = 0
        latency.linkIsGone()
        // A watch that was started again counts from 1.
        for id in readers.keys { readers[id]?.seen = 0 }
        try await outbound.write(JSON.object(["command": "events"]).line.asLine)
        try await outbound.write(JSON.object(["command": "status"]).line.asLine)
        awaited = 2
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.read(inbound) }
            group.addTask { try await self.askWhetherItAnswers(outbound) }
            // The connection's end is the reader's end.
            try await group.next()
            group.cancelAll()
        }
    }

    private func read(_ inbound: ControlSocket.Inbound) async throws {
        for try await line in inbound {
            let head = ControlLine(line)
            if let event = head.event {
                deliver(event, head, line)
            } else if head.isAnswer {
                try take(head, line)
            }
        }
    }

    private func take(_ head: ControlLine, _ line: ByteBuffer) throws {
        if let error = head.error, case .down = state {
            // One program too many, or something that is no watch.
            throw WatchFailure.broke("\(error.message) (\(error.code))")
        }
        awaited -= 1
        missedPulses = 0
        hasAnswered()
        // The second answer is the status. A watch that hung, and answers again, is up too.
        guard awaited <= 0, case .down = state else { return }
        change(to: .up(version: version(in: line) ?? knownVersion))
    }

    private func version(in line: ByteBuffer) -> String? {
        guard let version = (try? JSON(parsing: .init(line.readableBytesView)))?["status"]?["version"]?.text else {
            return nil
        }
        knownVersion = version
        return version
    }

    /// A watch that hangs keeps its connections: only what is asked shows it.
    private func askWhetherItAnswers(_ outbound: ControlSocket.Outbound) async throws {
        let question = JSON.object(["command": "time"]).line.asLine
        while true {
            // Two pulses without an answer are its time.
            try await Task.sleep(for: socket.patience / 2)
            if awaited > 0 {
                missedPulses += 1
                if missedPulses > 1 { change(to: .down(WatchFailure.hangs(socket.patience).error)) }
            } else if !readers.isEmpty || downSince != nil {
                awaited += 1
                try await outbound.write(question)
            }
        }
    }

    /// It was asked elsewhere, and has answered.
    func hasAnswered() {
        if case .up = state { downSince = nil }
    }

    /// It was asked elsewhere, and has not answered.
    /// - Returns: since when it has not, in seconds since 1970; nil if it has never been reached.
    func hasNotAnswered() -> Double? {
        if case .up = state { downSince = downSince ?? Self.now }
        return downSince
    }

    private static var now: Double { (Date().timeIntervalSince1970 * 1000).rounded() / 1000 }

    private func change(to state: State) {
        let isOther: Bool
        switch (self.state, state) {
        case (.up, .up): isOther = false
        // Why it is down may be known better now.
        case (.down(let before), .down(let after)): isOther = before.code != after.code
        case (.up, .down), (.down, .up): isOther = true
        }
        if case .down = state { _ = hasNotAnswered() }
        self.state = state
        hasAnswered()
        stateIsKnown()
        guard isOther else { return }
        let block = stateBlock
        for reader in readers.values { reader.queue.offer(block) }
    }

    /// The event that says whether the watch can be reached.
    private var stateBlock: ByteBuffer {
        var members: [String: JSON]
        switch state {
        case .up(let version):
            members = ["state": "up"]
            members["version"] = version.map { .text($0) }
        case .down(let error):
            members = ["state": "down", "error": error.json]
            members["since"] = downSince.map { .number($0) }
        }
        return ServerSentEvent.block("state", JSON.object(members).line)
    }

    private func stateIsKnown() {
        for waiter in waiting ?? [] { waiter.resume() }
        waiting = nil
    }

    private func deliver(_ name: String, _ head: ControlLine, _ line: ByteBuffer) {
        latency.take(head)
        let block = ServerSentEvent.block(name, line, id: head.sequence)
        // Only `lost` has no number.
        let sequence = head.sequence ?? .max
        for (id, reader) in readers where reader.names?.contains(name) ?? true {
            if reader.held != nil {
                readers[id]?.held?.append((sequence, block))
            } else {
                give(block, sequence, to: id)
            }
        }
    }

    private func give(_ block: ByteBuffer, _ sequence: UInt64, to id: Int) {
        guard let reader = readers[id], sequence > reader.seen else { return }
        reader.queue.offer(block)
        if sequence != .max { readers[id]?.seen = sequence }
    }

    /// A reader from now on, which is told first whether the watch is up.
    /// - Parameters:
    ///   - names: the names of the events that are wanted; nil for all.
    ///   - sequence: what has happened after the event of this number comes first; nil for nothing.
    func subscribe(to names: Set<String>?, after sequence: UInt64?) async -> Subscription {
        // Of a watch that was only just found, that comes within a second, whatever it is.
        if waiting != nil { await withCheckedContinuation { waiting?.append($0) } }
        let queue = StreamQueue(.all)
        lastID += 1
        let id = lastID
        queue.offer(stateBlock, isFirst: true)
        readers[id] = Reader(queue: queue, names: names, held: sequence == nil ? nil : [])
        if let sequence {
            readers[id]?.seen = await offerHistory(after: sequence, names, to: queue)
            let held = readers[id]?.held ?? []
            readers[id]?.held = nil
            for (sequence, block) in held { give(block, sequence, to: id) }
        }
        return Subscription(id: id, queue: queue)
    }

    /// - Returns: the number of the last event that was looked at.
    private func offerHistory(after sequence: UInt64, _ names: Set<String>?, to queue: StreamQueue) async -> UInt64 {
        let blocks = try? await socket.inTime(socket.patience) { [socket] in
            try await socket.withConnection { inbound, outbound in
                let since: JSON = Int64(exactly: sequence).map { .integer($0) } ?? .unsigned(sequence)
                try await outbound.write(JSON.object(["command": "events", "since": since]).line.asLine)
                try await outbound.write(JSON.object(["command": "time"]).line.asLine)
                var answers = 0
                var events: [(ControlLine, ByteBuffer)] = []
                for try await line in inbound {
                    let head = ControlLine(line)
                    if head.isAnswer { answers += 1 } else { events.append((head, line)) }
                    if answers == 2 { break }
                }
                return events
            }
        }
        var last = sequence
        for (head, line) in blocks ?? [] {
            last = max(last, head.sequence ?? 0)
            guard let name = head.event, names?.contains(name) ?? true else { continue }
            queue.offer(ServerSentEvent.block(name, line, id: head.sequence), isFirst: true)
        }
        // Of a watch that was started again, no number of before means anything.
        return blocks?.isEmpty ?? true ? 0 : last
    }

    /// A reader is gone.
    func end(_ subscription: Subscription) { readers[subscription.id] = nil }
}
