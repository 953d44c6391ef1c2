/// What answers the sessions that a watch carries.
///
/// Transports, bonds, the policy of links and what is on the air are the watch's own in any case. The brain is what stands above
/// them: it takes whole messages of a phone's, and what it says goes back to that phone.
public enum WatchBrain: Sendable, Equatable {
    /// The watch's own services and apps.
    case builtIn
    /// The real firmware in its emulator, which the owner of the watch reaches: see ``FirmwareInput``. It has one session, and so
    /// a second companion is told that the watch is busy.
    case emulator
    /// The watch's own services and apps, and in their shadow the real firmware, which is asked the same: what it answers otherwise
    /// is told by ``WatchEvent/mirrorDiffers(_:)``. Phones hear nothing of it.
    case mirrored
    /// Nobody: what the brain is asked is kept, for programs and tests that are about the way there, and nothing is answered. See
    /// ``Watch/brainRecord``.
    case recorder

    /// Whether a firmware in its emulator answers phones, or is asked what they ask.
    public var needsFirmware: Bool {
        switch self {
        case .emulator, .mirrored: true
        case .builtIn, .recorder: false
        }
    }
}

/// What the emulator does to a watch whose brain it is, or in whose shadow. It means nothing to a watch with another.
public enum FirmwareInput: Sendable, Equatable {
    /// The emulator can be reached from now on: its first serial port, that of the Pebble Protocol.
    case connected
    /// It cannot be reached any more, and why.
    case lost(reason: String)
    /// Bytes of that port, cut anywhere.
    case bytes(ArraySlice<UInt8>)
    /// The port has room: it is given the next bytes that wait for it. They are whole messages, so that a port that is closed
    /// between two of these inputs has brought no half message.
    case hasRoom
    /// Whether the emulator's console can begin a fresh session of the firmware's, from now on.
    case console(isThere: Bool)
    /// The console has begun the fresh session that ``FirmwareStatus/wantsFreshSession`` asked for.
    case sessionRenewed
}

/// How a firmware does that is a watch's brain or its shadow: what the owner of its emulator acts on.
public struct FirmwareStatus: Sendable, Equatable {
    /// Whether it has answered since its port was connected.
    public var isAnswering: Bool
    /// How often it was taken for one that hangs, though its port is there. It works again when its emulator is started again.
    public var hangCount: Int
    /// Whether the console is to begin a fresh session: a phone has left.
    public var wantsFreshSession: Bool
}
