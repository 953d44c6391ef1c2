import BluetoothHCI
import BluetoothHost
import Foundation
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Random schedules of pushes, sends, answers, losses, sleeps and app switches, on the watch and on a model of the
/// firmware's buffers: the app must see the same and the phone must get the same, at the same time.
@Suite("AppMessage schedules against a model of the firmware")
struct AppMessageScheduleTests {
    /// How many schedules there are, unless `CAIRN_SCHEDULES` sets the number: a million takes minutes.
    static let count = ProcessInfo.processInfo.environment["CAIRN_SCHEDULES"].flatMap(UInt64.init) ?? 160_000
    static let share = max(1, count / 8)

    @Test("Eight shares of them", arguments: (0..<8).map { $0 * share })
    func soak(firstSeed: UInt64) {
        for seed in firstSeed..<firstSeed + Self.share {
            var schedule = AppMessageSchedule(seed: seed)
            if let difference = schedule.run() {
                Issue.record("seed \(seed): \(difference)")
                return
            }
        }
    }

    @Test("The schedules reach the cases that they are made for")
    func coverage() {
        var counts: [String: Int] = [:]
        for seed in 0..<20_000 as Range<UInt64> {
            var schedule = AppMessageSchedule(seed: seed)
            if let difference = schedule.run() {
                Issue.record("seed \(seed): \(difference)")
                return
            }
            for (name, count) in schedule.counts { counts[name, default: 0] += count }
        }
        let wanted = [
            "received", "dropped", "sent", "failed 2", "failed 4", "failed 8", "refused 64", "refused 128",
            "refused 32768", "ack", "nack", "push",
        ]
        for name in wanted { #expect(counts[name, default: 0] > 100, "\(name): \(counts)") }
    }
}

/// One schedule, played on both.
struct AppMessageSchedule {
    typealias Observation = FirmwareAppMessageModel.Observation

    /// What an app saw, in order.
    private final class Notes: @unchecked Sendable {
        var observations: [Observation] = []
    }

    /// An app that does what a push says, and records what it is told.
    private struct ObedientApp: WatchApp {
        let uuid: PebbleUUID
        let name = "Obedient"
        let inboxSize: Int
        let outboxSize: Int
        let flags: AppFlags
        let notes: Notes

        mutating func didLaunch(_ context: inout AppContext) {
            _ = context.open(inboxSize: inboxSize, outboxSize: outboxSize)
        }

        mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
            notes.observations.append(.received(AppMessageSchedule.number(of: message)))
            let numbers = message.compactMap(\.value.integer)
            guard numbers.count == 5 else { return }
            if numbers[2] > 0 {
                let answer = AppMessageSchedule.dictionary(Int(numbers[1]), length: Int(numbers[2]))
                let result = context.send(answer)
                if result != .ok { notes.observations.append(.refused(Int(numbers[1]), result.rawValue)) }
            }
            if numbers[4] > 0 {
                context.close()
                _ = context.open(inboxSize: inboxSize, outboxSize: outboxSize)
            }
            context.sleep(for: .microseconds(numbers[3]))
        }

        mutating func inboxDropped(_ reason: AppMessageResult, _ context: inout AppContext) {
            notes.observations.append(.dropped)
        }

        mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
            notes.observations.append(.sent(AppMessageSchedule.number(of: message)))
        }

        mutating func outboxFailed(
            _ message: AppMessageDictionary,
            _ reason: AppMessageResult,
            _ context: inout AppContext
        ) {
            notes.observations.append(.failed(AppMessageSchedule.number(of: message), reason.rawValue))
        }

        func draw(on frame: inout FrameBuffer) {}
    }

    private static let uuids = [PebbleUUID(upperHalf: 1, lowerHalf: 1), PebbleUUID(upperHalf: 2, lowerHalf: 2)]
    private static let phones = [SessionID(number: 1), SessionID(number: 2)]
    private static let identity = WatchIdentity(address: .random(DeviceAddress(staticRandomFrom: 1)))

    private var random: SplitMix64
    private var manager: AppManager
    private var model: FirmwareAppMessageModel
    private let notes: Notes
    private let maximum: Int
    private var now = 0
    private var lastNumber = 0
    /// Messages that a phone has begun to send.
    private var begun: [Int: (model: FirmwareAppMessageModel.Inbound, payload: [UInt8])] = [:]
    /// Messages of the app's whose bytes no session has taken: the watch's ticket, the model's number, and for which app.
    private var outgoing: [(ticket: AppMessageTicket, serial: Int, launch: Int)] = []
    private var outgoingCount = 0
    private var launchCount = 0
    private var isConnected = true
    private(set) var counts: [String: Int] = [:]

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let maximum = [126, 2026, 8200].randomElement(using: &random) ?? 126
        let inboxSizes = [0, 1, 30, 124, 124, 200, maximum]
        let outboxSizes = [0, 20, 636, 636, 9000]
        let notes = Notes()
        var apps: [ObedientApp] = []
        for uuid in Self.uuids {
            apps.append(
                ObedientApp(
                    uuid: uuid,
                    inboxSize: inboxSizes.randomElement(using: &random) ?? 124,
                    outboxSize: outboxSizes.randomElement(using: &random) ?? 636,
                    flags: maximum == 126 ? [] : .allowsJavaScript,
                    notes: notes
                )
            )
        }
        var configuration = WatchConfiguration(identity: Self.identity)
        configuration.defaultApp = apps[0]
        configuration.builtInApps = [apps[1]]
        manager = AppManager(configuration)
        self.notes = notes
        self.maximum = maximum
        model = FirmwareAppMessageModel(
            apps: apps.map { FirmwareAppMessageModel.App(inboxSize: $0.inboxSize, outboxSize: $0.outboxSize) },
            inboxLimit: maximum,
            outboxLimit: maximum == 8200 ? 8200 : 654
        )
    }

    /// Plays it.
    /// - Returns: the first difference; nil if there is none.
    mutating func run() -> String? {
        // The first app starts.
        follow()
        for step in 0..<Int.random(in: 4...16, using: &random) {
            let what = perform()
            var expected = model.takeObservations()
            var actual = notes.observations
            notes.observations = []
            for observation in expected { counts[name(of: observation), default: 0] += 1 }
            expected = Self.comparable(expected)
            actual = Self.comparable(actual)
            if expected != actual { return "step \(step), \(what): expected \(expected), got \(actual)" }
        }
        return nil
    }

    /// What the app sees is in order, and so is what the phone gets: what an app sent while it handled a push comes before the
    /// acknowledgement of that push. How the two interleave is not fixed, nor when the sender hears that the app could not
    /// send.
    private static func comparable(_ observations: [Observation]) -> [Observation] {
        let refused = observations.filter { $0.witness == .sender }.sorted { $0.number < $1.number }
        let others: [Observation.Witness] = [.app, .phone]
        return others.flatMap { witness in observations.filter { $0.witness == witness } } + refused
    }

    // MARK: Steps

    /// Carries out one step on both.
    private mutating func perform() -> String {
        let what: String
        switch Int.random(in: 0..<19, using: &random) {
        case 0..<5:
            // Several messages may arrive before the app can run.
            let count = [1, 1, 1, 2, 3, 4].randomElement(using: &random) ?? 1
            for _ in 0..<count { arrive() }
            what = "\(count) messages"
        case 5: what = beginMessage()
        case 6: what = loseMessage()
        case 7..<10: what = answer()
        case 10..<12:
            let length = Int.random(in: 8...60, using: &random) * (random.next() % 8 == 0 ? 20 : 1)
            let number = nextNumber()
            manager.send(Self.dictionary(number, length: length))
            model.send(length: length, number: number)
            what = "send of \(length)"
        case 12..<16: what = deliver()
        case 16:
            let app = Int.random(in: 0...1, using: &random)
            var context = self.context
            if manager.launch(Self.uuids[app], in: &context) { launchCount += 1 }
            model.launch(app)
            what = "launch of \(app)"
        case 17:
            isConnected = !isConnected || random.next() % 4 == 0
            what = isConnected ? "connected" : "disconnected"
        default:
            return advance(by: [500, 1000, 3000, 50_000, 4_000_000, 10_000_000].randomElement(using: &random) ?? 0)
        }
        follow()
        return what
    }

    private mutating func advance(by microseconds: Int) -> String {
        let end = now + microseconds
        while let deadline = manager.nextDeadline, Int(deadline / .microseconds(1)) <= end {
            now = max(now, Int(deadline / .microseconds(1)))
            follow()
        }
        now = end
        follow()
        return "\(microseconds) µs"
    }

    /// Lets both do what they can now. Messages that no session can take are reported at once, as the watch does.
    private mutating func follow() {
        model.advance(to: now)
        var context = self.context
        repeat { manager.run(phone: phoneCapabilities, in: &context) } while collect(&context)
    }

    /// Notes what the watch said.
    /// - Returns: whether the app has to hear of something at once.
    private mutating func collect(_ context: inout ServiceContext) -> Bool {
        for event in context.events {
            guard case .appMessageSent(_, let message, let result) = event else { continue }
            switch result {
            case .busy, .bufferOverflow, .invalidState:
                notes.observations.append(.refused(Self.number(of: message), result.rawValue))
            default: break
            }
        }
        let said = context.outgoing
        context.events = []
        context.outgoing = []
        var hasNews = false
        for item in said {
            switch item {
            case .reply(let reply): note(reply)
            case .appMessage(let message, from: _): hasNews = note(message) || hasNews
            }
        }
        for message in manager.takeOutgoing() { hasNews = note(message) || hasNews }
        return hasNews
    }

    private func note(_ reply: ServiceContext.Reply) {
        guard reply.message.endpoint == .appMessage, let phone = Self.phones.firstIndex(of: reply.session) else {
            return
        }
        switch try? AppMessage(payload: reply.message.payload) {
        case .acknowledgement(let id): notes.observations.append(.ack(phone: phone, id.rawValue))
        case .negativeAcknowledgement(let id): notes.observations.append(.nack(phone: phone, id.rawValue))
        default: break
        }
    }

    /// - Returns: whether the app has to hear at once that no session takes its message.
    private mutating func note(_ message: AppState.Outgoing) -> Bool {
        outgoingCount += 1
        notes.observations.append(.push(message.transactionID.rawValue, Self.number(of: message.message)))
        if isConnected {
            outgoing.append((message.ticket, outgoingCount, launchCount))
            return false
        }
        manager.notConnected(message.ticket)
        model.noSession(outgoingCount)
        model.advance(to: now)
        return true
    }

    private mutating func arrive() {
        let phone = Int.random(in: 0...1, using: &random)
        let message = begun.removeValue(forKey: phone) ?? makeMessage(from: phone)
        receive(message)
    }

    private mutating func receive(_ message: (model: FirmwareAppMessageModel.Inbound, payload: [UInt8])) {
        model.end(message.model)
        var context = self.context
        manager.receive(message.payload, on: Self.phones[message.model.phone], in: &context)
        _ = collect(&context)
    }

    private mutating func beginMessage() -> String {
        let phone = Int.random(in: 0...1, using: &random)
        guard begun[phone] == nil else { return "nothing" }
        let message = makeMessage(from: phone)
        begun[phone] = message
        model.begin(message.model)
        manager.messageBegan(payloadLength: message.payload.count, on: Self.phones[phone])
        return "beginning of a message of \(message.payload.count)"
    }

    private mutating func loseMessage() -> String {
        let phone = Int.random(in: 0...1, using: &random)
        begun[phone] = nil
        model.cancel(phone: phone)
        manager.sessionClosed(Self.phones[phone])
        return "loss"
    }

    /// The phone answers the app's last message, mostly.
    private mutating func answer() -> String {
        let phone = Int.random(in: 0...1, using: &random)
        guard begun[phone] == nil else { return "nothing" }
        let isRight = random.next() % 4 != 0
        let id = isRight ? model.lastTransaction : UInt8.random(in: 0...4, using: &random)
        let isPositive = random.next() % 3 != 0
        let transaction = AppMessageTransactionID(rawValue: id)
        let message: AppMessage =
            isPositive ? .acknowledgement(transaction) : .negativeAcknowledgement(transaction)
        let inbound = FirmwareAppMessageModel.Inbound(
            phone: phone,
            transaction: id,
            kind: isPositive ? .ack : .nack,
            payloadLength: 2
        )
        receive((inbound, PebbleMessage(message).payload))
        return "answer to \(id)"
    }

    /// The transport takes the oldest message's bytes, or loses its session first.
    private mutating func deliver() -> String {
        guard !outgoing.isEmpty else { return "nothing" }
        let item = outgoing.removeFirst()
        let isTaken = random.next() % 4 != 0
        if isTaken { manager.consumed(item.ticket) } else { manager.notConnected(item.ticket) }
        if item.launch == launchCount {
            if isTaken { model.taken(item.serial) } else { model.noSession(item.serial) }
        }
        return isTaken ? "bytes taken" : "no session"
    }

    // MARK: Messages

    private mutating func makeMessage(
        from phone: Int
    ) -> (model: FirmwareAppMessageModel.Inbound, payload: [UInt8]) {
        let number = nextNumber()
        let app = Int.random(in: 0..<8, using: &random) == 0 ? 1 - model.running : model.running
        let transaction = UInt8(truncatingIfNeeded: random.next())
        var reaction = FirmwareAppMessageModel.Reaction()
        var answer = 0
        if random.next() % 3 == 0 {
            answer = nextNumber()
            reaction.send = (Int.random(in: 8...70, using: &random), answer)
        }
        if random.next() % 3 == 0 { reaction.sleepMicroseconds = Int.random(in: 1...20_000, using: &random) }
        reaction.reopens = random.next() % 16 == 0
        let values = [
            number, answer, reaction.send?.length ?? 0, reaction.sleepMicroseconds, reaction.reopens ? 1 : 0,
        ]
        var writer = AppMessageDictionaryWriter()
        for (key, value) in values.enumerated() { try? writer.append(.int32(Int32(value)), forKey: UInt32(key)) }
        // Filled up with bytes to a size that is small, fits just so, or does not fit.
        let wanted =
            [0, 0, 70, 124, 146, 147, maximum, maximum + 1, Int.random(in: 63...180, using: &random)]
            .randomElement(using: &random) ?? 0
        let missing = wanted - writer.encodedLength - AppMessageTuple.headerLength
        if missing >= 0 { try? writer.append(.bytes([UInt8](repeating: 0, count: missing)), forKey: 5) }
        let push = AppMessagePush(
            transaction: AppMessageTransactionID(rawValue: transaction),
            application: Self.uuids[app],
            dictionary: writer.dictionary
        )
        let payload = PebbleMessage(AppMessage.push(push)).payload
        let inbound = FirmwareAppMessageModel.Inbound(
            phone: phone,
            transaction: transaction,
            kind: .push(toApp: app, number: number, reaction),
            payloadLength: payload.count
        )
        return (inbound, payload)
    }

    private mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// A dictionary of a length that carries a number.
    fileprivate static func dictionary(_ number: Int, length: Int) -> AppMessageDictionary {
        let value = AppMessageValue.bytes([UInt8](repeating: 0, count: max(0, length - 8)))
        return (try? AppMessageDictionary([AppMessageTuple(key: UInt32(number), value: value)])) ?? .empty
    }

    /// The number that a dictionary carries: as the first tuple's value in pushes, as its key in sends.
    fileprivate static func number(of dictionary: AppMessageDictionary) -> Int {
        guard let first = dictionary.first(where: { _ in true }) else { return -1 }
        return first.value.integer.map { Int($0) } ?? Int(first.key)
    }

    private var context: ServiceContext {
        let clock = WatchClock(seconds: 0, at: .zero)
        let randomness = RandomSource(state: 0, SplitMix64.draw)
        var context = ServiceContext(
            identity: Self.identity,
            capabilities: [],
            isRecovery: false,
            clock: clock,
            randomness: randomness
        )
        context.begin(
            at: .microseconds(now),
            systemSession: nil,
            phoneCapabilities: [],
            knownApps: [],
            clock: clock,
            randomness: randomness
        )
        return context
    }

    private var phoneCapabilities: Capabilities { maximum == 8200 ? .appMessage8K : [] }

    private func name(of observation: Observation) -> String {
        switch observation {
        case .received: "received"
        case .dropped: "dropped"
        case .sent: "sent"
        case .failed(_, let result): "failed \(result)"
        case .refused(_, let result): "refused \(result)"
        case .ack: "ack"
        case .nack: "nack"
        case .push: "push"
        }
    }
}

extension FirmwareAppMessageModel.Observation {
    /// Who sees it.
    enum Witness {
        case app, sender, phone
    }

    var witness: Witness {
        switch self {
        case .ack, .nack, .push: .phone
        case .refused: .sender
        case .received, .dropped, .sent, .failed: .app
        }
    }

    /// Which message it is about.
    var number: Int {
        switch self {
        case .received(let number), .sent(let number), .failed(let number, _), .refused(let number, _),
            .push(_, let number):
            number
        case .ack(_, let transaction), .nack(_, let transaction): Int(transaction)
        case .dropped: 0
        }
    }
}
