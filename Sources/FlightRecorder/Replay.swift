import BluetoothHCI
import BluetoothHost
import ByteCoding
import DequeModule
import PebbleWatch

/// Where a replay parts from its recording.
public struct Divergence: Sendable, Equatable, CustomStringConvertible {
    /// What is not the same; the first is the recording's, the second the replay's.
    public enum Difference: Sendable, Equatable {
        /// A packet for the controller; nil for none.
        case packet([UInt8]?, [UInt8]?)
        /// What an event said; nil for no event.
        case event(String?, String?)
        /// A change of the memory, in words; nil for none.
        case change(String?, String?)
        /// How a command ended.
        case result(String, String?)
        /// What a tool, or the emulator of the firmware, was given.
        case toolBytes([UInt8], [UInt8]?)
        /// How many random numbers were drawn.
        case drawn(Int, Int)
        /// The recording has an input that this program does not know: its kind.
        case unknownInput(UInt8)
        /// An input names a tool or a change that there is not.
        case unknownName(String)
    }

    /// The number of the input after which it shows, from 1 on; 0 while the watch is made.
    public let input: Int
    /// When that input was, since the watch's clock began.
    public let time: Duration
    /// What is not the same.
    public let difference: Difference

    public var description: String {
        let place = "after input \(input), at \(time.secondsText) s"
        switch difference {
        case .packet(let recorded, let replayed):
            return
                "\(place), the packet for the controller: recorded \(Self.text(recorded)), replayed \(Self.text(replayed))"
        case .event(let recorded, let replayed):
            return "\(place), the event: recorded \(Self.text(recorded)), replayed \(Self.text(replayed))"
        case .change(let recorded, let replayed):
            return "\(place), the change for the store: recorded \(recorded ?? "none"), replayed \(replayed ?? "none")"
        case .result(let recorded, let replayed):
            return "\(place), the command: recorded “\(recorded)”, replayed \(Self.text(replayed))"
        case .toolBytes(let recorded, let replayed):
            let texts = (Self.text(recorded), Self.text(replayed))
            return "\(place), the bytes for a tool or an emulator: recorded \(texts.0), replayed \(texts.1)"
        case .drawn(let recorded, let replayed):
            return "\(place), the random numbers: recorded \(recorded), replayed \(replayed)"
        case .unknownInput(let kind):
            return "\(place), an input of the kind \(kind), which this version of the program does not know"
        case .unknownName(let name):
            return "\(place), an input about \(name), which there is not"
        }
    }

    private static func text(_ bytes: [UInt8]?) -> String { bytes.map { $0.hexadecimal } ?? "none" }
    private static func text(_ text: String?) -> String { text.map { "“\($0)”" } ?? "none" }
}

/// What happened between one input and the next.
public struct ReplayedStep: Sendable {
    /// The input's number, from 1 on; 0 for what the watch did before the first.
    public let input: Int
    /// When it was, since the watch's clock began.
    public let time: Duration
    /// What the input was, in words.
    public let words: String
    /// A packet that came from the controller with it.
    public let received: ArraySlice<UInt8>?
    /// The packets that were taken for the controller.
    public fileprivate(set) var sent: [ArraySlice<UInt8>] = []
    /// What happened on the watch.
    public fileprivate(set) var events: [WatchEvent] = []
    /// What the recording says that happened, in words.
    public fileprivate(set) var eventTexts: [String] = []
    /// What the recorder noted for people.
    public fileprivate(set) var notes: [String] = []
}

/// Gives a watch the inputs of a recording, one after the other, and compares what comes out of it.
///
/// It is a value: a copy is a snapshot, from which the replay can go on as often as it is wanted, as long as only one of the
/// copies is used at a time.
public struct Replay: Sendable {
    /// The most texts of events that wait to be compared.
    private static let eventLimit = 65536

    /// What is replayed.
    public let recording: Recording
    /// The watch as it is after the last step.
    public private(set) var watch: Watch
    /// The first difference; with it, the replay has ended.
    public private(set) var divergence: Divergence?
    /// How many inputs the watch has been given.
    public private(set) var inputCount = 0
    /// When the last of them was.
    public private(set) var time: Duration = .zero

    private let numbers: ReplayedNumbers
    private let describe: @Sendable (WatchEvent) -> String?
    private var cursor: EntryCursor
    private var events: Deque<String> = []
    private var result: String?
    private var toolBytes: [UInt8]?
    private var changes: [Int: MemoryChangeID] = [:]
    private var changeCount = 0
    private var tools: [Int: DeveloperConnectionID] = [:]
    private var toolCount = 0

    /// Makes the watch that a recording begins with. A recording that has lost its beginning has none: see `RecordedStory`.
    /// - Parameters:
    ///   - configuration: what the recording's header says that the watch was configured with.
    ///   - cryptography: what the recording program used: the same functions.
    ///   - describe: what an event says that is told to people or programs; nil for one that is for the log alone.
    /// - Throws: `GATTDatabaseError` when the configuration makes no watch.
    public init(
        _ recording: Recording,
        _ configuration: WatchConfiguration,
        cryptography: LECryptography,
        describe: @escaping @Sendable (WatchEvent) -> String?
    ) throws(GATTDatabaseError) {
        self.recording = recording
        self.describe = describe
        numbers = ReplayedNumbers()
        numbers.load(recording.header.drawn)
        watch = try Watch(
            configuration,
            memory: recording.header.memory,
            cryptography: cryptography,
            randomness: numbers.randomness
        )
        cursor = recording.entries()
        if !recording.header.isWithoutSecrets { compareDrawn(recording.header.drawn.count) }
    }

    /// Gives the watch the next input, and compares what it does until the one after.
    /// - Returns: what happened; nil at the end of the recording, or when the replay has parted from it.
    public mutating func step() -> ReplayedStep? {
        guard divergence == nil else { return nil }
        var ahead = cursor
        guard let first = ahead.next() else { return nil }
        var step: ReplayedStep
        if case .input(let input, let moment) = first {
            cursor = ahead
            inputCount += 1
            time = moment
            step = ReplayedStep(input: inputCount, time: moment, words: input.words, received: input.packet)
            let recorded = layOutDrawn()
            take(input)
            if divergence == nil, let recorded { compareDrawn(recorded) }
            takeEvents(&step)
        } else {
            step = ReplayedStep(input: inputCount, time: time, words: "", received: nil)
        }
        while divergence == nil {
            var ahead = cursor
            guard let entry = ahead.next() else { break }
            if case .input = entry { break }
            cursor = ahead
            let recorded = layOutDrawn()
            compare(entry, &step)
            if divergence == nil, let recorded { compareDrawn(recorded) }
        }
        return step
    }

    /// Goes on until a moment, an input or the end, whichever comes first; what happens at the moment itself is in it.
    /// - Parameter see: is given each step.
    public mutating func run(
        until end: Duration = .seconds(Int64.max),
        input last: Int = .max,
        _ see: (ReplayedStep, inout Replay) -> Void = { _, _ in }
    ) {
        while inputCount < last {
            guard let next = nextInputTime, next <= end, let step = step() else { return }
            see(step, &self)
        }
    }

    /// When the next input is; nil at the end.
    public var nextInputTime: Duration? {
        var ahead = cursor
        while let entry = ahead.next() {
            if case .input(_, let moment) = entry { return moment }
        }
        return nil
    }

    // MARK: Inputs

    private mutating func take(_ recorded: RecordedInput) {
        result = nil
        toolBytes = nil
        let input: WatchInput
        switch recorded {
        case .start: input = .start
        case .controllerLost: input = .controllerLost
        case .packet(let packet): input = .packet(packet)
        case .time: input = .time
        case .command(let command): input = .command(command)
        case .changeFinished(let number, let failure):
            guard let id = changes.removeValue(forKey: number) else { return part(.unknownName("change \(number)")) }
            input = .memoryChangeFinished(id, failure: failure)
        case .shutdown: input = .shutdown
        case .toolConnected(let carrier): input = .toolConnected(carrier)
        case .toolLeft(let number, let reason):
            guard let tool = tools.removeValue(forKey: number) else { return part(.unknownName("tool \(number)")) }
            input = .toolLeft(tool, reason: reason)
        case .toolBytes(let bytes, let number):
            guard let tool = tools[number] else { return part(.unknownName("tool \(number)")) }
            input = .toolBytes(bytes, from: tool)
        case .toolHasRoom(let number):
            guard let tool = tools[number] else { return part(.unknownName("tool \(number)")) }
            input = .toolHasRoom(tool)
        case .firmware(let firmware): input = .firmware(firmware)
        }
        do throws(WatchCommandError) {
            switch try watch.take(input, at: time) {
            case .none: break
            case .command(let result): self.result = FlightRecorder.text(of: result)
            case .tool(let tool):
                tools[toolCount] = tool
                toolCount += 1
            case .toolBytes(let bytes), .firmwareBytes(let bytes): toolBytes = bytes
            }
        } catch {
            result = FlightRecorder.text(of: error)
        }
    }

    // MARK: What comes out

    private mutating func takeEvents(_ step: inout ReplayedStep) {
        while let event = watch.nextEvent() {
            step.events.append(event)
            guard let text = describe(event) else { continue }
            // A recording without the texts of events has none to compare them with.
            if events.count >= Self.eventLimit { events.removeFirst() }
            events.append(text)
        }
    }

    private mutating func compare(_ entry: RecordingEntry, _ step: inout ReplayedStep) {
        switch entry {
        case .input, .drawn, .drawnInSecret: break
        case .packet(let recorded):
            var buffer: [UInt8] = []
            let replayed: [UInt8]? = watch.nextPacket(into: &buffer) ? shown(buffer) : nil
            guard replayed.map({ $0.elementsEqual(recorded) }) == true else {
                return part(.packet(Array(recorded), replayed))
            }
            step.sent.append(recorded)
        case .noPacket:
            var buffer: [UInt8] = []
            if watch.nextPacket(into: &buffer) { part(.packet(nil, shown(buffer))) }
        case .noChange:
            if let (_, change) = watch.nextMemoryChange() { part(.change("none", RecordedChange(change).description)) }
        case .event(let recorded):
            // What was said while packets and changes were taken.
            if events.isEmpty { takeEvents(&step) }
            let replayed = events.popFirst()
            guard replayed == recorded else { return part(.event(recorded, replayed)) }
            step.eventTexts.append(recorded)
        case .change(let recorded):
            guard let (id, change) = watch.nextMemoryChange() else { return part(.change(recorded.description, nil)) }
            var replayed = RecordedChange(change)
            if recording.header.isWithoutSecrets { replayed.leaveOutContent() }
            guard replayed == recorded else { return part(.change(recorded.description, replayed.description)) }
            changes[changeCount] = id
            changeCount += 1
        case .result(let recorded):
            guard result == recorded else { return part(.result(recorded, result)) }
        case .toolBytes(let recorded):
            guard toolBytes.map({ $0.elementsEqual(recorded) }) == true else {
                return part(.toolBytes(Array(recorded), toolBytes))
            }
        case .note(let text): step.notes.append(text)
        case .unknown(let kind):
            // Something that a later version says besides is passed over.
            if RecordingKind.isInput(kind) { part(.unknownInput(kind)) }
        }
    }

    /// A packet as the recording would have it.
    private func shown(_ packet: [UInt8]) -> [UInt8] {
        recording.header.isWithoutSecrets ? SecretMask.mask(packet[...]) : packet
    }

    /// Lays out the numbers that what comes next has drawn, which stand behind it.
    /// - Returns: how many there are; nil if they were left out, or the recording ends before it could say.
    private mutating func layOutDrawn() -> Int? {
        var all: [UInt64] = []
        var isSecret = false
        var ahead = cursor
        while let entry = ahead.next() {
            if case .drawn(let numbers) = entry {
                all += numbers
            } else if case .drawnInSecret = entry {
                isSecret = true
            } else {
                break
            }
            cursor = ahead
        }
        numbers.load(all)
        return isSecret || (all.isEmpty && cursor.isAtEnd) ? nil : all.count
    }

    private mutating func compareDrawn(_ recorded: Int) {
        let balance = numbers.balance
        if balance != 0 { part(.drawn(recorded, recorded - balance)) }
    }

    private mutating func part(_ difference: Divergence.Difference) {
        if divergence == nil { divergence = Divergence(input: inputCount, time: time, difference: difference) }
    }
}

extension RecordedInput {
    /// The packet that it brings.
    fileprivate var packet: ArraySlice<UInt8>? {
        if case .packet(let packet) = self { packet } else { nil }
    }

    /// What it is, for people.
    var words: String {
        switch self {
        case .start: "start"
        case .controllerLost: "the controller is lost"
        case .packet(let packet): "packet of \(packet.count) bytes"
        case .time: "time passes"
        case .command(let command): "command \(command)"
        case .changeFinished(let number, nil): "change \(number) is stored"
        case .changeFinished(let number, let failure?): "change \(number) is not stored: \(failure)"
        case .shutdown: "shutdown"
        case .toolConnected: "a tool is connected"
        case .toolLeft(let number, let reason): "tool \(number) has left: \(reason)"
        case .toolBytes(let bytes, let number): "\(bytes.count) bytes from tool \(number)"
        case .toolHasRoom(let number): "tool \(number) has room"
        case .firmware(.connected): "the firmware's emulator can be reached"
        case .firmware(.lost(let reason)): "the firmware's emulator is gone: \(reason)"
        case .firmware(.bytes(let bytes)): "\(bytes.count) bytes from the firmware's emulator"
        case .firmware(.hasRoom): "the firmware's emulator has room"
        case .firmware(.console(let isThere)): "the firmware's console is \(isThere ? "there" : "gone")"
        case .firmware(.sessionRenewed): "the firmware's session is a fresh one"
        }
    }
}

extension Duration {
    /// In seconds, with microseconds.
    var secondsText: String {
        let (seconds, attoseconds) = components
        let fraction = String(attoseconds / 1_000_000_000_000)
        return "\(seconds)." + String(repeating: "0", count: max(0, 6 - fraction.count)) + fraction
    }
}

/// What a recording says by itself, without a watch that is given its inputs: also of one whose beginning is lost.
public struct RecordedStory: Sequence, IteratorProtocol, Sendable {
    private var cursor: EntryCursor
    private var inputCount = 0
    private var time: Duration

    /// The story of a recording.
    public init(_ recording: Recording) {
        cursor = recording.entries()
        time = recording.header.origin
    }

    /// What happened from the next input until the one after, as far as the recording says it: without events, but with their
    /// texts.
    public mutating func next() -> ReplayedStep? {
        var ahead = cursor
        guard let first = ahead.next() else { return nil }
        var step: ReplayedStep
        if case .input(let input, let moment) = first {
            cursor = ahead
            inputCount += 1
            time = moment
            step = ReplayedStep(input: inputCount, time: time, words: input.words, received: input.packet)
        } else {
            step = ReplayedStep(input: inputCount, time: time, words: "", received: nil)
        }
        while true {
            var ahead = cursor
            guard let entry = ahead.next() else { return step }
            switch entry {
            case .input: return step
            case .packet(let packet): step.sent.append(packet)
            case .event(let text): step.eventTexts.append(text)
            case .note(let text): step.notes.append(text)
            case .noPacket, .noChange, .change, .result, .drawn, .drawnInSecret, .toolBytes, .unknown: break
            }
            cursor = ahead
        }
    }
}
