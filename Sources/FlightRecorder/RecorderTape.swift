import PebbleWatch

/// What a recorder writes: entries, gathered into a frame, and the memory that keeps the last frames.
struct RecorderTape: ~Copyable {
    /// How much is gathered before it goes to memory and sink, if it belongs to one input.
    private static let frameSize = 32 * 1024

    private var entries = EntryWriter()
    var memory: RecorderMemory
    /// When the last input was.
    private(set) var time: Duration = .zero
    /// When the watch was last told the time in vain, unless that has been written down.
    var idleTime: Duration?
    /// Whether the watch has said, since the last input, that it has no more packets.
    private var isDrained = false

    init(_ memory: consuming RecorderMemory) { self.memory = memory }

    private var isFull: Bool { entries.frame.count >= Self.frameSize }

    /// Writes an input.
    /// - Returns: whether the frame is full.
    mutating func append(_ input: RecordedInput, at now: Duration) -> Bool {
        writeIdleTime()
        time = max(now, time)
        isDrained = false
        entries.append(input, at: time)
        return isFull
    }

    /// Writes a packet for the controller.
    /// - Returns: whether the frame is full.
    mutating func append(packet: [UInt8]) -> Bool {
        isDrained = false
        append(RecordingKind.packet, packet)
        return isFull
    }

    /// Writes that the watch has no more packets, unless it has said so already.
    /// - Returns: whether it had not.
    mutating func noteDrained() -> Bool {
        guard !isDrained else { return false }
        isDrained = true
        append(RecordingKind.noPacket, EmptyCollection())
        return true
    }

    /// Writes an entry of a kind.
    mutating func append(_ kind: UInt8, _ content: some Collection<UInt8>) {
        writeIdleTime()
        entries.append(kind, content)
    }

    /// Writes an entry of a kind whose content is made here.
    mutating func append(_ kind: UInt8, _ write: (inout [UInt8]) -> Void) {
        writeIdleTime()
        entries.append(kind, write)
    }

    /// Writes a change for the store.
    mutating func append(_ change: RecordedChange) {
        writeIdleTime()
        entries.append(change)
    }

    /// Writes what was drawn from the source of randomness.
    mutating func append(drawn: [UInt64], isSecret: Bool) {
        writeIdleTime()
        entries.append(drawn: drawn, isSecret: isSecret)
    }

    private mutating func writeIdleTime() {
        guard let idle = idleTime else { return }
        idleTime = nil
        time = max(idle, time)
        entries.append(.time, at: time)
    }

    /// Makes the entries a whole frame, and keeps it in memory.
    /// - Returns: whether there were any; then `frame` has it until the next one is begun.
    mutating func closeFrame() -> Bool {
        guard !entries.isEmpty else { return false }
        entries.closeFrame()
        memory.append(entries.frame, upTo: time)
        return true
    }

    /// Makes the entries a whole frame that only memory keeps, and begins the next one.
    mutating func keepFrame() { if closeFrame() { beginFrame() } }

    /// The frame, as a recording has it.
    var frame: [UInt8] { entries.frame }

    /// Begins the next frame.
    mutating func beginFrame() { entries.beginFrame() }
}
