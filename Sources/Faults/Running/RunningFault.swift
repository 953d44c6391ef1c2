import BluetoothHCI
import SeededRandomness

/// The number by which a fault that is there is named. Each has one of its own as long as the watch's process runs.
public struct FaultID: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number, counted from 1.
    public let rawValue: Int

    /// Any number, given out or not.
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static func < (left: FaultID, right: FaultID) -> Bool { left.rawValue < right.rawValue }
}

/// A fault that is there: when it begins and ends, and how often it has fired.
public struct RunningFault: Sendable {
    /// Its number.
    public let id: FaultID
    /// What was asked for.
    public let fault: Fault
    /// When it begins.
    public let start: Duration
    /// When it ends; nil for one that is there until it is cleared.
    public let end: Duration?
    /// How often it has fired.
    public private(set) var firings = 0
    /// How many occasions it is still to let pass.
    private var skips: Int
    /// When it may fire again.
    private var rest: Duration
    private var random: SplitMix64
    /// What the fault has counted so far: bytes or packets that still passed.
    package var passed = 0
    /// Whether what it waits for has begun.
    package var isTriggered = false

    /// - Parameter now: when it was added.
    package init(_ id: FaultID, _ fault: Fault, at now: Duration) {
        self.id = id
        self.fault = fault
        start = now + (fault.time(.after) ?? .zero)
        end = fault.time(.for).map { [start] in start + $0 }
        skips = fault.number(.skip) ?? 0
        rest = start
        random = SplitMix64(seed: UInt64(fault.number(.seed) ?? 0))
    }

    /// Whether it has begun and has not ended, so that it may fire.
    package func isAtWork(at now: Duration) -> Bool { start <= now && !isOver(at: now) }

    /// Whether it can never fire again.
    package func isOver(at now: Duration) -> Bool {
        if let end, end <= now { return true }
        switch fault.definition.occasion {
        case .standing: return false
        case .each: return fault.number(.count).map { firings >= $0 } ?? false
        case .once:
            if let count = fault.number(.count) { return firings >= count }
            return firings > 0 && fault.time(.every) == nil
        }
    }

    /// Whether an occasion that is about a phone, or about none, concerns it.
    package func concerns(_ phone: DeviceAddress?) -> Bool { fault.phone == nil || fault.phone == phone }

    /// An occasion is there: decides whether the fault fires, and counts that.
    /// - Parameter phone: the phone that the occasion is about; nil if it is about none.
    package mutating func fires(at now: Duration, phone: DeviceAddress?) -> Bool {
        guard isAtWork(at: now), rest <= now, concerns(phone) else { return false }
        if skips > 0 {
            skips -= 1
            return false
        }
        if let probability = fault.probability, !random.chance(probability, in: 1_000_000) {
            // What happens by itself has its next chance a period later, not at once.
            if fault.definition.occasion == .once { rest = now + (fault.time(.every) ?? .seconds(1)) }
            return false
        }
        firings += 1
        rest = now + (fault.time(.every) ?? .zero)
        passed = 0
        isTriggered = false
        return true
    }

    /// A standing fault is told when it begins.
    package mutating func begins(at now: Duration) -> Bool {
        guard firings == 0, isAtWork(at: now) else { return false }
        firings = 1
        return true
    }

    /// When it begins, may fire by itself, or ends: the next of these after `now`; nil if only an occasion can move it.
    package func nextDeadline(after now: Duration) -> Duration? {
        [start, rest, end].lazy.compactMap { $0 }.filter { $0 > now }.min()
    }
}

/// A fault has fired: what it did, and to which link.
public struct FaultFiring: Hashable, Sendable {
    /// Which fault.
    public let id: FaultID
    /// Its name.
    public let name: String
    /// How often it has fired, with this time.
    public let number: Int
    /// The link that it fired on; nil if it is about none.
    public let connection: ConnectionHandle?
    /// What it did, in words.
    public let effect: String

    package init(_ running: RunningFault, on connection: ConnectionHandle?, _ effect: String) {
        id = running.id
        name = running.fault.name
        number = running.firings
        self.connection = connection
        self.effect = effect
    }

    /// The firing as a packet for captures: an HCI event with the code 0xFF, which every reader of captures takes for a
    /// manufacturer's, and in it `cairn fault: ` and the text in UTF-8, cut off at 255 octets. No controller has sent it.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 5.4.4.
    public var packet: [UInt8] {
        let text = Array("cairn fault: \(name): \(effect)".utf8.prefix(255))
        return [HCIPacketType.event.rawValue, 0xFF, UInt8(text.count)] + text
    }
}
