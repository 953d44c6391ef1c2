import ByteCoding
import PebbleWatch

/// One thing that a recording says, in the order in which it happened.
///
/// Layout: kind (1 byte), length (a count), content. A reader passes over kinds that it does not know.
enum RecordingEntry: Sendable, Equatable {
    /// An input, and when the watch was given it.
    case input(RecordedInput, at: Duration)
    /// A packet that was taken for the controller.
    case packet(ArraySlice<UInt8>)
    /// No packet was there when one was asked for, which the host takes note of.
    case noPacket
    /// The store was asked for, and there was no change for it, while a fault stood between the watch and its store.
    case noChange
    /// What an event said that was told to people or programs.
    case event(String)
    /// A change was taken for the store.
    case change(RecordedChange)
    /// How a command ended.
    case result(String)
    /// What was drawn from the source of randomness by what stands before.
    case drawn([UInt64])
    /// So many numbers were drawn, which are left out.
    case drawnInSecret(Int)
    /// What the bytes were that a tool, or the emulator of the firmware, was given.
    case toolBytes(ArraySlice<UInt8>)
    /// Something about the recording itself, for people.
    case note(String)
    /// A kind that this version does not know.
    case unknown(UInt8)
}

/// An input as a recording has it: names of tools and of changes are numbers, from 0 on, in the order in which they came up.
enum RecordedInput: Sendable, Equatable {
    case start
    case controllerLost
    case packet(ArraySlice<UInt8>)
    case time
    case command(WatchCommand)
    case changeFinished(Int, failure: WatchStoreError?)
    case shutdown
    case toolConnected(DeveloperCarrier)
    case toolLeft(Int, reason: String)
    case toolBytes(ArraySlice<UInt8>, from: Int)
    case toolHasRoom(Int)
    case firmware(FirmwareInput)
}

/// The kinds of entries, which never change their meaning. Those of inputs begin with the time since the input before.
enum RecordingKind {
    static let start: UInt8 = 0x01
    static let controllerLost: UInt8 = 0x02
    static let receivedPacket: UInt8 = 0x03
    static let time: UInt8 = 0x04
    static let command: UInt8 = 0x05
    static let changeFinished: UInt8 = 0x06
    static let shutdown: UInt8 = 0x07
    static let toolConnected: UInt8 = 0x08
    static let toolLeft: UInt8 = 0x09
    static let toolBytesReceived: UInt8 = 0x0A
    static let toolHasRoom: UInt8 = 0x0B
    static let firmwareConnected: UInt8 = 0x0C
    static let firmwareLost: UInt8 = 0x0D
    static let firmwareBytes: UInt8 = 0x0E
    static let firmwareHasRoom: UInt8 = 0x0F
    static let firmwareConsole: UInt8 = 0x10
    static let firmwareSessionRenewed: UInt8 = 0x11
    static let packet: UInt8 = 0x20
    static let noPacket: UInt8 = 0x21
    static let event: UInt8 = 0x22
    static let change: UInt8 = 0x23
    static let result: UInt8 = 0x24
    static let drawn: UInt8 = 0x25
    static let drawnInSecret: UInt8 = 0x26
    static let toolBytes: UInt8 = 0x27
    static let note: UInt8 = 0x28
    static let noChange: UInt8 = 0x29

    /// Whether a kind, known or not, is one of an input: without it, nothing that follows means the same.
    static func isInput(_ kind: UInt8) -> Bool { kind < 0x20 }
}

extension RecordingEntry {
    /// Reads the next entry.
    /// - Parameter time: when the last input was; the entry's own afterwards.
    init(reading reader: inout ByteReader, time: inout Duration) throws(ByteDecodingError) {
        let kind = try reader.readUInt8("entry.kind")
        var content = ByteReader(try reader.readCounted("entry"))
        self = try Self.read(kind, &content, &time)
        if case .unknown = self { return }
        try content.expectEnd("entry")
    }

    private static func read(
        _ kind: UInt8,
        _ reader: inout ByteReader,
        _ time: inout Duration
    ) throws(ByteDecodingError) -> Self {
        switch kind {
        case RecordingKind.packet: return .packet(reader.readRemaining())
        case RecordingKind.noPacket: return .noPacket
        case RecordingKind.noChange: return .noChange
        case RecordingKind.event: return .event(String(decoding: reader.readRemaining(), as: UTF8.self))
        case RecordingKind.change: return .change(try RecordedChange(recorded: &reader))
        case RecordingKind.result: return .result(String(decoding: reader.readRemaining(), as: UTF8.self))
        case RecordingKind.drawn:
            var numbers: [UInt64] = []
            while !reader.isEmpty { numbers.append(try reader.readLittleEndian("drawn")) }
            return .drawn(numbers)
        case RecordingKind.drawnInSecret: return .drawnInSecret(try reader.readInt("drawn"))
        case RecordingKind.toolBytes: return .toolBytes(reader.readRemaining())
        case RecordingKind.note: return .note(String(decoding: reader.readRemaining(), as: UTF8.self))
        default: break
        }
        guard RecordingKind.isInput(kind) else { return .unknown(kind) }
        let span = try reader.readSpan("input.time")
        let moment = time + span
        // Time never goes back for a watch, and what is later than any watch runs is more than its clocks have room for.
        guard span >= .zero, moment <= RecordingLimit.time else {
            throw ByteDecodingError("input.time", .invalidValue(UInt64(bitPattern: span.components.seconds)))
        }
        time = moment
        let input: RecordedInput
        switch kind {
        case RecordingKind.start: input = .start
        case RecordingKind.controllerLost: input = .controllerLost
        case RecordingKind.receivedPacket: input = .packet(reader.readRemaining())
        case RecordingKind.time: input = .time
        case RecordingKind.command: input = .command(try WatchCommand(recorded: &reader))
        case RecordingKind.changeFinished:
            let number = try reader.readInt("change.number")
            let failure = try reader.readOptional("change.failure") { reader throws(ByteDecodingError) in
                try WatchStoreError(recorded: &reader)
            }
            input = .changeFinished(number, failure: failure)
        case RecordingKind.shutdown: input = .shutdown
        case RecordingKind.toolConnected: input = .toolConnected(try reader.readFlag("tool.is_qemu") ? .qemu : .serial)
        case RecordingKind.toolLeft:
            let number = try reader.readInt("tool.number")
            input = .toolLeft(number, reason: String(decoding: reader.readRemaining(), as: UTF8.self))
        case RecordingKind.toolBytesReceived:
            let number = try reader.readInt("tool.number")
            input = .toolBytes(reader.readRemaining(), from: number)
        case RecordingKind.toolHasRoom: input = .toolHasRoom(try reader.readInt("tool.number"))
        case RecordingKind.firmwareConnected: input = .firmware(.connected)
        case RecordingKind.firmwareLost:
            input = .firmware(.lost(reason: String(decoding: reader.readRemaining(), as: UTF8.self)))
        case RecordingKind.firmwareBytes: input = .firmware(.bytes(reader.readRemaining()))
        case RecordingKind.firmwareHasRoom: input = .firmware(.hasRoom)
        case RecordingKind.firmwareConsole:
            input = .firmware(.console(isThere: try reader.readFlag("firmware.console")))
        case RecordingKind.firmwareSessionRenewed: input = .firmware(.sessionRenewed)
        default: return .unknown(kind)
        }
        return .input(input, at: moment)
    }
}

/// What a recording holds at most, so that a forged one costs little.
enum RecordingLimit {
    /// The latest moment, since the watch's clock began: ten years.
    static let time: Duration = .seconds(10 * 366 * 86400)
    /// The longest frame, in bytes: a header has whole apps in it.
    static let frame = 64 * 1024 * 1024
}

/// Writes entries one behind the other, into a frame.
struct EntryWriter: Sendable {
    /// The frame: room for its head, and what has been written.
    private(set) var frame: [UInt8] = []
    /// When the last input was.
    private var time: Duration = .zero
    /// The count of a long entry; kept, so that nothing is allocated for each.
    private var countBytes: [UInt8] = []

    init() {
        frame.reserveCapacity(4096)
        frame.append(contentsOf: repeatElement(0, count: Recording.frameHeadSize))
    }

    /// Whether nothing has been written.
    var isEmpty: Bool { frame.count == Recording.frameHeadSize }

    /// Gives the frame its head.
    mutating func closeFrame() { Recording.closeFrame(&frame) }

    /// Forgets the frame, and begins the next one.
    mutating func beginFrame() { frame.removeLast(frame.count - Recording.frameHeadSize) }

    mutating func append(_ input: RecordedInput, at now: Duration) {
        let place = beginEntry()
        frame.appendSpan(now - time)
        time = now
        let kind: UInt8
        switch input {
        case .start: kind = RecordingKind.start
        case .controllerLost: kind = RecordingKind.controllerLost
        case .packet(let packet):
            kind = RecordingKind.receivedPacket
            frame.append(contentsOf: packet)
        case .time: kind = RecordingKind.time
        case .command(let command):
            kind = RecordingKind.command
            command.encode(into: &frame)
        case .changeFinished(let number, let failure):
            kind = RecordingKind.changeFinished
            frame.appendCount(number)
            frame.appendOptional(failure) { $0.encode(into: &$1) }
        case .shutdown: kind = RecordingKind.shutdown
        case .toolConnected(let carrier):
            kind = RecordingKind.toolConnected
            frame.appendFlag(carrier == .qemu)
        case .toolLeft(let number, let reason):
            kind = RecordingKind.toolLeft
            frame.appendCount(number)
            frame.append(contentsOf: reason.utf8)
        case .toolBytes(let data, let number):
            kind = RecordingKind.toolBytesReceived
            frame.appendCount(number)
            frame.append(contentsOf: data)
        case .toolHasRoom(let number):
            kind = RecordingKind.toolHasRoom
            frame.appendCount(number)
        case .firmware(.connected): kind = RecordingKind.firmwareConnected
        case .firmware(.lost(let reason)):
            kind = RecordingKind.firmwareLost
            frame.append(contentsOf: reason.utf8)
        case .firmware(.bytes(let data)):
            kind = RecordingKind.firmwareBytes
            frame.append(contentsOf: data)
        case .firmware(.hasRoom): kind = RecordingKind.firmwareHasRoom
        case .firmware(.console(let isThere)):
            kind = RecordingKind.firmwareConsole
            frame.appendFlag(isThere)
        case .firmware(.sessionRenewed): kind = RecordingKind.firmwareSessionRenewed
        }
        endEntry(kind, at: place)
    }

    mutating func append(_ kind: UInt8, _ content: some Collection<UInt8>) {
        frame.append(kind)
        frame.appendCounted(content)
    }

    mutating func append(_ kind: UInt8, _ write: (inout [UInt8]) -> Void) {
        let place = beginEntry()
        write(&frame)
        endEntry(kind, at: place)
    }

    mutating func append(_ change: RecordedChange) { append(RecordingKind.change) { change.encode(into: &$0) } }

    mutating func append(drawn numbers: [UInt64], isSecret: Bool) {
        append(isSecret ? RecordingKind.drawnInSecret : RecordingKind.drawn) { bytes in
            if isSecret {
                bytes.appendCount(numbers.count)
            } else {
                for number in numbers { bytes.appendLittleEndian(number) }
            }
        }
    }

    /// Makes room for the kind of an entry, and for how many bytes follow: mostly fewer than fill two.
    /// - Returns: where the entry is.
    private mutating func beginEntry() -> Int {
        frame.append(0)
        frame.append(0)
        return frame.count - 2
    }

    /// The entry is written: says what it is, and how long.
    private mutating func endEntry(_ kind: UInt8, at place: Int) {
        let count = frame.count - place - 2
        frame[place] = kind
        if count < 0x80 {
            frame[place + 1] = UInt8(count)
        } else {
            countBytes.removeAll(keepingCapacity: true)
            countBytes.appendCount(count)
            frame.replaceSubrange((place + 1)...(place + 1), with: countBytes)
        }
    }
}
