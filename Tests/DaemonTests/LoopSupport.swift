import BluetoothHCI
import Daemon
import HCIRuntime
import Logging
import SystemTestSupport

/// A host of a few lines: it sends Reset when it starts, and has timers and packets as the test likes.
struct TinyHost: LoopHost {
    enum Event: Equatable {
        case started
        case lost
        case received([UInt8])
        case due(Duration)
        case leaving
    }

    static let reset: [UInt8] = [0x01, 0x03, 0x0C, 0x00]

    private var events: [Event] = []
    private var packets: [[UInt8]] = []
    /// Set when it receives Hardware Error.
    private(set) var failure: String?
    /// When it wants to be woken, soonest first.
    var deadlines: [Duration] = []
    /// The same, counted from its start: a test that was held up before the loop ran has none that has passed already.
    var delays: [Duration] = []
    /// How many numbered data packets it has after Reset.
    var dataCount = 0
    /// How many packets have been taken out of it.
    private(set) var takenCount = 0
    /// Whether it reports its end as soon as it is asked to end.
    var leavesAtOnce = true
    private(set) var isShutDown = false

    static func data(_ number: Int) -> [UInt8] {
        [0x02, 0x40, 0x20, 0xFA, 0x03, UInt8(number & 0xFF), UInt8(number >> 8)]
            + [UInt8](repeating: UInt8(number % 251), count: 1016)
    }

    mutating func start(at now: Duration) {
        events.append(.started)
        failure = nil
        deadlines += delays.map { now + $0 }
        delays = []
        // Last first; what is left of an earlier start would go before the new Reset.
        packets = ([Self.reset] + (0..<dataCount).map(Self.data)).reversed() + packets
    }

    mutating func controllerLost(at now: Duration) { events.append(.lost) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        events.append(.received(Array(packet)))
        if packet.dropFirst().first == 0x10 { failure = "it said that it is broken" }
    }

    mutating func advance(to now: Duration) {
        while let first = deadlines.first, first <= now {
            deadlines.removeFirst()
            events.append(.due(first))
        }
    }

    var nextDeadline: Duration? { deadlines.first }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard let packet = packets.popLast() else { return false }
        buffer = packet
        takenCount += 1
        return true
    }

    mutating func nextEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func beginShutdown(at now: Duration) {
        events.append(.leaving)
        isShutDown = leavesAtOnce
    }

    mutating func takeLeave() { isShutDown = true }
}

/// Ends a test that would otherwise wait for ever.
final class Watchdog: LoopMember {
    private let limit: Duration

    init(after limit: Duration = .seconds(20)) { self.limit = limit }

    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    var nextDeadline: Duration? { limit }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }

    func advance(to now: Duration) throws(ProgramError) {
        if now >= limit { throw ProgramError(.systemError, "nothing happened for \(limit)", advice: "see the test") }
    }
}

/// A logger that keeps its lines.
final class LogRecorder: LogHandler, @unchecked Sendable {
    private(set) var lines: [String] = []
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.append("\(event.level): \(event.message)") }

    func append(_ line: String) { lines.append(line) }

    var logger: Logger { Logger(label: "test") { _ in self } }
}

/// A listener on the loop: it accepts a connection whenever it has none, and the script serves it.
final class Acceptor: LoopMember {
    private let listener: RawSocket
    private let script: (RawSocket) throws -> Void
    private var peer: RawSocket?
    private var listenerToken: PollSet.Token?
    private var peerToken: PollSet.Token?
    /// Whether it reads what comes in.
    var isReading = true

    init(_ listener: RawSocket, script: @escaping (RawSocket) throws -> Void) {
        self.listener = listener
        self.script = script
    }

    /// Closes the connection it has.
    func hangUp() { peer = nil }

    /// Everything up to the end of the stream, which the other end has closed or is about to close.
    func rest() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let peer, isReadable(peer.descriptor) {
            let more = try peer.readWhatIsThere()
            guard !more.isEmpty else { break }
            bytes += more
        }
        return bytes
    }

    func addPollRequests(to set: inout PollSet) {
        listenerToken = peer == nil ? set.add(listener.descriptor, reading: true, writing: false) : nil
        peerToken = isReading ? peer.map { set.add($0.descriptor, reading: true, writing: false) } : nil
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) throws(ProgramError) {
        do {
            if let token = listenerToken, set.isReadable(token) { peer = try listener.accepting() }
            if let peer, let token = peerToken, set.isReadable(token) { try script(peer) }
        } catch {
            throw ProgramError(.systemError, "\(error)", advice: "the test's own end failed")
        }
    }

    func start(at now: Duration) {}
    func moveOutput(at now: Duration) -> Bool { false }
    func advance(to now: Duration) {}
    var nextDeadline: Duration? { nil }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}
