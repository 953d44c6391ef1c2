import PebbleProtocol

/// What comes from the emulator: frames, and in them the firmware's messages.
struct EmulatorInbox: Sendable {
    /// How long a message may take to become whole.
    static let patience: Duration = .seconds(10)

    private var deframer = QEMUDeframer()
    private var stream = MessageDeframer()
    /// What a frame brought and has not been cut into messages.
    private var rest: ArraySlice<UInt8> = []
    /// How many bytes belonged to no frame when that was last looked at.
    private var skippedByteCount: UInt64 = 0
    /// When the message began that is not whole.
    private var messageBegan: Duration?
    /// How many of the outbox's questions were answered since that was last asked.
    private var answers = 0

    /// Takes bytes; then call ``next(at:)`` until it returns nil.
    mutating func receive(_ bytes: ArraySlice<UInt8>) { deframer.receive(bytes) }

    /// The next whole message.
    mutating func next(at now: Duration) -> PebbleMessage? {
        while true {
            if !rest.isEmpty, case .message(let message)? = stream.next(from: &rest) {
                messageBegan = nil
                return message
            }
            if stream.bufferedByteCount == 0 { messageBegan = nil } else if messageBegan == nil { messageBegan = now }
            guard let frame = deframer.nextFrame(at: now) else { return nil }
            // What the emulator says besides, such as that it vibrates, is nothing that a phone sees.
            switch frame.protocolID {
            case .spp: rest = frame.data[...]
            case .accelerometer: answers += 1
            default: break
            }
        }
    }

    /// How many of the outbox's questions were answered, since this was last asked.
    mutating func takeAnswers() -> Int {
        defer { answers = 0 }
        return answers
    }

    /// Whether bytes have come that are in no frame, since this was last asked.
    mutating func takeSkipped() -> Bool {
        defer { skippedByteCount = deframer.skippedByteCount }
        return deframer.skippedByteCount != skippedByteCount
    }

    /// Whether a message has begun too long ago.
    func isStuck(at now: Duration) -> Bool { messageBegan.map { $0 + Self.patience <= now } ?? false }

    /// Whatever it was the middle of, the next bytes begin a message.
    mutating func forgetMessage() {
        stream = MessageDeframer()
        messageBegan = nil
    }

    /// When time has something to do here.
    var nextDeadline: Duration? {
        var next = deframer.nextDeadline
        next.lower(to: messageBegan.map { $0 + Self.patience })
        return next
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) { deframer.advance(to: now) }
}
