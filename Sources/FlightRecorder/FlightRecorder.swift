import BluetoothHost
import ByteCoding
import PebbleWatch

/// Where a recorder leaves what it records, beside its own memory.
public protocol RecordingSink: AnyObject {
    /// Takes the next bytes of the recording: whole frames. What was handed over has to be out of the process's hands when this
    /// returns, since the next input may bring the process down.
    /// - Parameters:
    ///   - frames: the bytes.
    ///   - time: when the last input in them was.
    ///   - recorder: for the header of a part.
    func write(_ frames: [UInt8], upTo time: Duration, of recorder: FlightRecorder)
}

/// Writes down everything that flows into a watch, and what comes out of it, so that a replay can do it again.
///
/// It stands directly around a `Watch`: its owner gives inputs to the recorder instead of to the watch, and takes packets,
/// changes and events through it. An input is written down before the watch is given it.
///
/// It keeps what it can in memory: all of it, as long as that is not more than the limit, and after that the last part.
public final class FlightRecorder {
    /// How many bytes are kept in memory unless something else is said: at rest those of more than ten hours.
    public static let usualLimit = 4 * 1024 * 1024
    /// The least that is kept.
    private static let smallestLimit = 128 * 1024

    /// What was decided about the watch before its first input.
    public let header: RecordingHeader
    /// Where the recording also goes; nil for nowhere.
    public var sink: (any RecordingSink)? { didSet { hasSink = sink != nil } }
    /// Whether there is one: each frame asks.
    private var hasSink = false

    private let numbers: DrawnNumbers
    private let limit: Int
    /// What every packet changes: one value, since each property of an object is guarded by itself each time.
    private var tape: RecorderTape
    private var memoryOwner: AnyObject?
    /// Whether keys may be among what is drawn: those of a pairing, or of secrets that are exchanged out of band.
    private var drawsSecrets = false
    private var changes: [MemoryChangeID: Int] = [:]
    private var changeCount = 0
    private var tools: [DeveloperConnectionID: Int] = [:]
    private var toolCount = 0

    /// A recorder of a watch that has just been made.
    /// - Parameters:
    ///   - header: what the watch was made of. What it has drawn is added.
    ///   - numbers: what the watch draws its randomness from.
    ///   - limit: how many bytes are kept in memory.
    ///   - leavesOutSecrets: whether bonds and keys are left out, and all random numbers from the first pairing on: such a recording
    ///     replays up to the first moment at which one of them matters.
    public init(
        _ header: RecordingHeader,
        numbers: DrawnNumbers,
        limit: Int = usualLimit,
        leavesOutSecrets: Bool = false
    ) {
        var header = header
        header.drawn = numbers.take()
        self.header = leavesOutSecrets ? header.withoutSecrets() : header
        self.numbers = numbers
        self.limit = max(limit, Self.smallestLimit)
        tape = RecorderTape(RecorderMemory(limit: self.limit))
    }

    /// How many bytes a region has to have for `keepMemory(in:)`.
    public var memorySize: Int { RecorderMemory.size(beginning: Recording.beginning(header).count, limit: limit) }

    /// Keeps what is kept in memory in somebody else's from now on, such as that of a file, in which it outlives the process. Called before
    /// the first input.
    /// - Parameters:
    ///   - region: `memorySize` bytes.
    ///   - owner: the region is there as long as it is; the recorder holds on to it.
    public func keepMemory(in region: UnsafeMutableRawBufferPointer, of owner: AnyObject) {
        tape.memory = RecorderMemory(in: region, beginning: Recording.beginning(header))
        memoryOwner = owner
    }

    /// Makes a recording of what a recorder had in somebody else's memory when its process ended.
    /// - Parameter bytes: the whole memory; nothing of it is believed.
    /// - Throws: `RecordingError` with the offset, if it is no such memory or was damaged.
    public static func recording(ofMemory bytes: [UInt8]) throws(RecordingError) -> [UInt8] {
        try RecorderMemory.recording(of: bytes)
    }

    // MARK: Around the watch

    /// Gives the watch an input.
    /// - Throws: `WatchCommandError`, as `Watch.take(_:at:)`.
    @discardableResult
    public func take(
        _ input: WatchInput,
        by watch: inout Watch,
        at now: Duration
    ) throws(WatchCommandError) -> WatchInputResult {
        if case .toolHasRoom(let tool) = input { return .toolBytes(nextBytes(for: tool, of: &watch, at: now)) }
        if case .firmware(.hasRoom) = input { return .firmwareBytes(nextFirmwareBytes(of: &watch, at: now)) }
        if case .time = input, watch.nextDeadline.map({ now < $0 }) ?? true {
            // Nothing is due, so nothing happens but that the watch knows the time: of several such inputs the last says it
            // all, and only if something comes out of the watch before the next other input. On the virtual air there are many.
            tape.idleTime = now
            let result = try watch.take(input, at: now)
            writeDrawn()
            return result
        }
        write(input, at: now)
        closeFrame()
        do throws(WatchCommandError) {
            let result = try watch.take(input, at: now)
            // A replay looks for the numbers directly behind the input that drew them.
            writeDrawn()
            switch result {
            case .none, .toolBytes, .firmwareBytes: break
            case .command(let result): write(RecordingKind.result, Self.text(of: result))
            case .tool(let tool):
                tools[tool] = toolCount
                toolCount += 1
            }
            return result
        } catch {
            writeDrawn()
            write(RecordingKind.result, Self.text(of: error))
            throw error
        }
    }

    /// Takes the next packet for the controller, as `Watch.nextPacket(into:)`.
    public func nextPacket(of watch: inout Watch, into buffer: inout [UInt8]) -> Bool {
        guard watch.nextPacket(into: &buffer) else {
            if tape.noteDrained() { writeDrawn() }
            return false
        }
        noteSecrets(in: buffer[...])
        let isFull =
            header.isWithoutSecrets
            ? tape.append(packet: SecretMask.mask(buffer[...])) : tape.append(packet: buffer)
        writeDrawn()
        if isFull { closeFrame() }
        return true
    }

    /// Takes the next change for the store, as `Watch.nextMemoryChange()`.
    public func nextMemoryChange(of watch: inout Watch) -> (id: MemoryChangeID, change: MemoryChange)? {
        guard watch.hasMemoryChange(), let next = watch.nextMemoryChange() else {
            // A fault may have refused changes in the store's stead, which moved the watch.
            if watch.hasFaults {
                tape.append(RecordingKind.noChange, EmptyCollection())
                writeDrawn()
            }
            return nil
        }
        changes[next.id] = changeCount
        changeCount += 1
        var change = RecordedChange(next.change)
        if header.isWithoutSecrets { change.leaveOutContent() }
        tape.append(change)
        writeDrawn()
        return next
    }

    /// Notes what an event said that was taken from the watch and told to people or programs.
    /// - Parameter words: appends what it said, as UTF-8.
    public func noteEvent(_ words: (inout [UInt8]) -> Void) {
        tape.append(RecordingKind.event, words)
    }

    /// Notes something about the recording for people, such as why it was saved.
    public func note(_ text: String) { write(RecordingKind.note, text) }

    /// Sees to it that everything noted so far is in the hands of the sink.
    public func flush() { closeFrame() }

    // MARK: What is there

    /// All of the recording that is still in memory, as a file has it.
    public func recording() -> [UInt8] {
        closeFrame()
        return Recording.beginning(header.beginning(part: tape.memory.droppedCount, at: tape.memory.origin))
            + tape.memory.frames
    }

    /// What a part of the recording begins with, in front of its frames.
    /// - Parameters:
    ///   - part: the part's number, from 0 on.
    ///   - origin: when the last input of the part before was.
    public func beginning(ofPart part: Int, at origin: Duration) -> [UInt8] {
        Recording.beginning(header.beginning(part: part, at: origin))
    }

    /// Whether the first input is not in memory any more.
    public var hasLostBeginning: Bool { tape.memory.droppedCount > 0 }

    /// How long ago the oldest input in memory was, at most, at a moment.
    public func span(at now: Duration) -> Duration { now - tape.memory.origin }

    // MARK: Writing

    private func nextBytes(for tool: DeveloperConnectionID, of watch: inout Watch, at now: Duration) -> [UInt8] {
        let bytes = watch.nextBytes(for: tool, at: now)
        // A tool is asked for each turn of the loop; when nothing waits, nothing changes.
        guard !bytes.isEmpty else { return [] }
        write(.toolHasRoom(tool), at: now)
        tape.append(RecordingKind.toolBytes, bytes)
        writeDrawn()
        return bytes
    }

    private func nextFirmwareBytes(of watch: inout Watch, at now: Duration) -> [UInt8] {
        // As with tools, it is asked each turn of the loop.
        guard watch.hasFirmwareBytes else { return [] }
        let bytes = watch.nextFirmwareBytes(at: now)
        write(.firmware(.hasRoom), at: now)
        tape.append(RecordingKind.toolBytes, bytes)
        writeDrawn()
        return bytes
    }

    private func write(_ input: WatchInput, at now: Duration) {
        switch input {
        case .packet(let packet): noteSecrets(in: packet)
        case .command(.makeOutOfBandData), .command(.takeOutOfBandData): drawsSecrets = true
        case .start, .controllerLost, .time, .command, .memoryChangeFinished, .shutdown, .toolConnected, .toolLeft,
            .toolBytes, .toolHasRoom, .firmware:
            break
        }
        let recorded: RecordedInput =
            switch input {
            case .start: .start
            case .controllerLost: .controllerLost
            case .packet(let packet): .packet(header.isWithoutSecrets ? SecretMask.mask(packet)[...] : packet)
            case .time: .time
            case .command(let command): .command(header.isWithoutSecrets ? command.withoutSecrets : command)
            case .memoryChangeFinished(let id, let failure):
                .changeFinished(changes.removeValue(forKey: id) ?? changeCount, failure: failure)
            case .shutdown: .shutdown
            case .toolConnected(let carrier): .toolConnected(carrier)
            case .toolLeft(let tool, let reason):
                .toolLeft(tools.removeValue(forKey: tool) ?? toolCount, reason: reason)
            case .toolBytes(let bytes, let tool): .toolBytes(bytes, from: tools[tool] ?? toolCount)
            case .toolHasRoom(let tool): .toolHasRoom(tools[tool] ?? toolCount)
            case .firmware(let firmware): .firmware(firmware)
            }
        if tape.append(recorded, at: now) { closeFrame() }
    }

    private func noteSecrets(in packet: ArraySlice<UInt8>) {
        if !drawsSecrets, SecretMask.isOfSecurityManager(packet) { drawsSecrets = true }
    }

    private func write(_ kind: UInt8, _ text: String) { tape.append(kind, text.utf8) }

    private func writeDrawn() {
        let drawn = numbers.take()
        guard !drawn.isEmpty else { return }
        tape.append(drawn: drawn, isSecret: header.isWithoutSecrets && drawsSecrets)
    }

    private func closeFrame() {
        guard hasSink else { return tape.keepFrame() }
        guard tape.closeFrame() else { return }
        sink?.write(tape.frame, upTo: tape.time, of: self)
        tape.beginFrame()
    }

    /// How a command ended, as a recording has it: the same words in the recorder and in the replay.
    static func text(of result: WatchCommandResult) -> String {
        switch result {
        case .done: "done"
        case .pairingOpen(let end): "pairing open until \(end)"
        // Secrets, which follow from what was drawn.
        case .outOfBandData: "out of band data"
        case .forgot(let phones): "forgot \(phones.map(\.description).joined(separator: ", "))"
        case .disconnecting(let phones): "disconnecting \(phones.map(\.description).joined(separator: ", "))"
        case .appMessage(let app, let delivery): "AppMessage of \(app) \(delivery.rawValue)"
        }
    }

    static func text(of error: WatchCommandError) -> String { "refused: \(error)" }
}

extension RecordedChange {
    /// Leaves what it was.
    mutating func leaveOutContent() {
        size = 0
        checksum = 0
    }
}

extension WatchCommand {
    /// The same command with zeros where a person handed over a secret.
    fileprivate var withoutSecrets: WatchCommand {
        switch self {
        case .enterPasskey(let passkey): .enterPasskey(Passkey(0) ?? passkey)
        case .takeOutOfBandData(let block):
            .takeOutOfBandData(
                OutOfBandBlock(device: block.device, data: PeerOutOfBandData(temporaryKey: TemporaryKey(0)))
            )
        case .press, .hold, .sense, .launchApp, .stopApp, .installApp, .removeApp, .sendAppMessage, .openPairing,
            .closePairing, .confirmPairing, .refusePairing, .makeOutOfBandData, .forget, .forgetAll, .disconnect,
            .advertise,
            .offerBattery, .publish, .setTime, .service, .addFault, .clearFaults:
            self
        }
    }
}
