import PebbleProtocol

/// The firmware's AppMessage, written a second time from its description alone: buffers are
/// counted in bytes, the app is a task with a queue, and time is a number of microseconds.
///
/// It shares no code with the watch's own boxes. A message is known by a number instead of its bytes.
struct FirmwareAppMessageModel {
    /// What can be seen from outside and by the app, in order.
    enum Observation: Equatable {
        case received(Int)
        case dropped
        case sent(Int)
        case failed(Int, Int)
        /// The app's own call to send was refused, with this result.
        case refused(Int, Int)
        case ack(phone: Int, UInt8)
        case nack(phone: Int, UInt8)
        case push(UInt8, Int)
    }

    /// What the phone says.
    struct Inbound {
        enum Kind {
            /// To the running app or to another, with what the app does about it.
            case push(toApp: Int, number: Int, Reaction)
            case ack
            case nack
        }

        var phone: Int
        var transaction: UInt8
        var kind: Kind
        /// Of everything after the Pebble Protocol's header.
        var payloadLength: Int
    }

    /// What the app does when it gets a push.
    struct Reaction {
        var sleepMicroseconds = 0
        /// Sends a dictionary of so many bytes, under a number.
        var send: (length: Int, number: Int)?
        /// Closes its boxes, and opens them again.
        var reopens = false
    }

    struct App {
        var inboxSize: Int
        var outboxSize: Int
    }

    // Results that an app can see, by their numbers.
    private static let sendTimeout = 2
    private static let sendRejected = 4
    private static let notConnected = 8
    private static let busy = 64
    private static let bufferOverflow = 128
    private static let invalidState = 32768

    private enum Phase { case closed, accepting, writing, awaitReplyAndSent, awaitReply, awaitSent }

    private enum TaskEvent {
        case launch
        case inbox
        case consumed(Int)
        case noSession(Int)
        case noSessionCallback(Int)
        case timer(Int)
        case send(length: Int, number: Int)
    }

    private enum Chore {
        case messages(Int)
        case acknowledge(Inbound)
        case drops(Int)
        case consumeAll
        case afterThrottle(Int)
    }

    let apps: [App]
    private(set) var running = 0
    private var now = 0
    private var observations: [Observation] = []

    // The inbox: bytes used by whole messages, and the one that is being written.
    private var inboxOpen = false
    private var inboxBytes = 0
    private var usedBytes = 0
    private var seenBytes = 0
    private var stored: [Inbound] = []
    private var writingPhone: Int?
    private var lost = 0
    private var arrived = 0
    private var callPending = false
    private var longest = 0
    /// Which phone's message was given space when it began.
    private var begun: [Int: Bool] = [:]

    // The outbox.
    private var phase = Phase.closed
    private var outboxLimit = 0
    private var transaction: UInt8 = 0
    private var outNumber = 0
    private var outSerial = 0
    private var outResult = 0
    private var timerAt: Int?
    private var throttle = 0
    private var serial = 0

    // The task.
    private var queue: [TaskEvent] = [.launch]
    private var chores: [Chore] = []
    private var asleepUntil = 0

    /// The most that an app can have its boxes opened for.
    let inboxLimit: Int
    let outboxMaximum: Int

    init(apps: [App], inboxLimit: Int, outboxLimit: Int) {
        self.apps = apps
        self.inboxLimit = inboxLimit
        outboxMaximum = outboxLimit
        run()
    }

    mutating func takeObservations() -> [Observation] {
        defer { observations = [] }
        return observations
    }

    /// The transaction of the last message sent.
    var lastTransaction: UInt8 { transaction }

    // MARK: From outside

    mutating func begin(_ message: Inbound) {
        guard begun[message.phone] == nil else { return }
        var fits = false
        if inboxOpen {
            if writingPhone != nil {
                lost += 1
            } else if message.payloadLength > longest || inboxBytes - usedBytes < message.payloadLength + 20 {
                lost += 1
                call()
            } else {
                writingPhone = message.phone
                fits = true
            }
        }
        begun[message.phone] = fits
    }

    mutating func end(_ message: Inbound) {
        begin(message)
        let fits = begun.removeValue(forKey: message.phone) ?? false
        if fits, inboxOpen {
            if writingPhone == message.phone {
                writingPhone = nil
                usedBytes += message.payloadLength + 20
                stored.append(message)
                arrived += 1
                call()
                return
            }
            lost += 1
            call()
        }
        if case .push = message.kind { observations.append(.nack(phone: message.phone, message.transaction)) }
    }

    mutating func cancel(phone: Int) {
        guard begun.removeValue(forKey: phone) != nil else { return }
        if writingPhone == phone { writingPhone = nil }
    }

    mutating func taken(_ serial: Int) { queue.append(.consumed(serial)) }
    mutating func noSession(_ serial: Int) { queue.append(.noSession(serial)) }
    mutating func send(length: Int, number: Int) { queue.append(.send(length: length, number: number)) }

    mutating func launch(_ app: Int) {
        guard app != running else { return }
        running = app
        closeBoxes()
        queue = [.launch]
        chores = []
        asleepUntil = 0
        throttle = 0
    }

    mutating func advance(to end: Int) {
        while true {
            var next = end
            if let timerAt { next = min(next, timerAt) }
            if !queue.isEmpty || !chores.isEmpty || callPending { next = min(next, max(asleepUntil, now)) }
            now = max(now, next)
            run()
            if now >= end, timerAt.map({ $0 > end }) ?? true { break }
        }
    }

    // MARK: The task

    /// Does everything that can be done now.
    mutating func run() {
        while true {
            if let at = timerAt, at <= now {
                timerAt = nil
                queue.append(.timer(outSerial))
            }
            if callPending {
                callPending = false
                queue.append(.inbox)
            }
            guard asleepUntil <= now else { return }
            if !chores.isEmpty {
                perform(chores.removeFirst())
            } else if !queue.isEmpty {
                perform(queue.removeFirst())
            } else {
                return
            }
        }
    }

    private mutating func call() { callPending = true }

    private mutating func perform(_ event: TaskEvent) {
        switch event {
        case .launch: openBoxes()
        case .inbox:
            chores = [.messages(arrived), .drops(lost), .consumeAll]
            arrived = 0
            lost = 0
        case .consumed(let serial):
            throttle = 0
            guard serial == outSerial else { return }
            if phase == .awaitReplyAndSent { phase = .awaitReply } else if phase == .awaitSent { finish() }
        case .noSession(let serial):
            throttle = throttle == 0 ? 1000 : min(throttle * 2, 100_000)
            asleepUntil = now + throttle
            chores = [.afterThrottle(serial)]
        case .noSessionCallback(let serial):
            guard serial == outSerial else { return }
            if phase == .awaitReplyAndSent {
                outResult = Self.notConnected
                finish()
            } else if phase == .awaitSent {
                finish()
            }
        case .timer(let serial):
            guard serial == outSerial else { return }
            end(with: Self.sendTimeout)
        case .send(let length, let number):
            send(length, number)
        }
    }

    private mutating func perform(_ chore: Chore) {
        switch chore {
        case .messages(let count):
            guard count > 0, !stored.isEmpty else { return }
            chores.insert(.messages(count - 1), at: 0)
            handle(stored.removeFirst())
        case .acknowledge(let message):
            usedBytes -= seenBytes
            seenBytes = 0
            observations.append(.ack(phone: message.phone, message.transaction))
        case .drops(let count):
            guard count > 0 else { return }
            chores.insert(.drops(count - 1), at: 0)
            if inboxOpen { observations.append(.dropped) }
        case .consumeAll:
            usedBytes -= seenBytes
            seenBytes = 0
        case .afterThrottle(let serial):
            if serial == outSerial { timerAt = nil }
            queue.append(.noSessionCallback(serial))
        }
    }

    private mutating func handle(_ message: Inbound) {
        seenBytes += message.payloadLength + 20
        switch message.kind {
        case .ack, .nack:
            guard phase == .awaitReply || phase == .awaitReplyAndSent, message.transaction == transaction else {
                return
            }
            if case .ack = message.kind { end(with: 0) } else { end(with: Self.sendRejected) }
        case .push(let app, let number, let reaction):
            guard app == running else {
                observations.append(.nack(phone: message.phone, message.transaction))
                return
            }
            observations.append(.received(number))
            chores.insert(.acknowledge(message), at: 0)
            if let (length, number) = reaction.send { send(length, number) }
            if reaction.reopens {
                closeBoxes()
                openBoxes()
            }
            if reaction.sleepMicroseconds > 0 {
                asleepUntil = max(asleepUntil, now) + reaction.sleepMicroseconds
            }
        }
    }

    // MARK: The outbox

    private mutating func send(_ length: Int, _ number: Int) {
        switch phase {
        case .awaitReply, .awaitReplyAndSent, .awaitSent:
            throttle = throttle == 0 ? 1000 : min(throttle * 2, 100_000)
            asleepUntil = max(asleepUntil, now) + throttle
            observations.append(.refused(number, Self.busy))
            return
        case .closed:
            observations.append(.refused(number, Self.invalidState))
            return
        case .accepting, .writing:
            phase = .writing
        }
        guard length <= outboxLimit else {
            observations.append(.refused(number, Self.bufferOverflow))
            return
        }
        transaction = transaction == 255 ? 0 : transaction + 1
        serial += 1
        outSerial = serial
        outNumber = number
        timerAt = now + 10_000_000
        phase = .awaitReplyAndSent
        observations.append(.push(transaction, number))
    }

    /// The phone has answered, or the time is up.
    private mutating func end(with result: Int) {
        guard phase == .awaitReply || phase == .awaitReplyAndSent else { return }
        timerAt = nil
        outResult = result
        if phase == .awaitReply { finish() } else { phase = .awaitSent }
    }

    private mutating func finish() {
        phase = .accepting
        observations.append(outResult == 0 ? .sent(outNumber) : .failed(outNumber, outResult))
    }

    private mutating func openBoxes() {
        let app = apps[running]
        outboxLimit = min(app.outboxSize, outboxMaximum)
        if outboxLimit > 0 {
            phase = .accepting
            transaction = 0
        }
        let size = min(app.inboxSize, inboxLimit)
        inboxOpen = size > 0
        // One push of that size with its 38 bytes of headers, and one answer with its 22.
        inboxBytes = inboxOpen ? size + 38 + 22 : 0
        longest = 18 + inboxLimit
    }

    private mutating func closeBoxes() {
        phase = .closed
        timerAt = nil
        outSerial = 0
        inboxOpen = false
        usedBytes = 0
        seenBytes = 0
        stored = []
        writingPhone = nil
        lost = 0
        arrived = 0
        callPending = false
    }
}
