import HCIRuntime
import Logging
import PebbleWatch

/// The connection to the emulator that the real firmware runs in: its port of the Pebble Protocol.
///
/// What comes is read as soon as it is there, because a port that nobody drains stops the firmware. What goes out are whole
/// frames, and whole messages in the end. A connection that is lost, or cannot be made, is tried again for as long as the watch runs.
final class EmulatorLink: LoopMember {
    /// How long a firmware whose emulator Cairn has started may take to say its first word.
    private static let startPatience: Duration = .seconds(60)

    private let port: EmulatorPort
    private let watch: HostRunner<WatchHost>
    private let isOwn: Bool
    /// Until when the firmware's first word is waited for; nil if it is not.
    private var startEnd: Duration?

    init(_ place: EmulatorPlace, watch: HostRunner<WatchHost>, log: Logger) {
        isOwn = place.isOwn
        port = EmulatorPort(place, name: "the firmware's emulator", log: log)
        self.watch = watch
    }

    func start(at now: Duration) { tell(port.connect(at: now), at: now) }

    func addPollRequests(to set: inout PollSet) { port.addPollRequests(to: &set) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        tell(port.takeInput(set, at: now) { receive($0, at: now) }, at: now)
    }

    private func receive(_ bytes: ArraySlice<UInt8>, at now: Duration) {
        if startEnd != nil { begin(at: now) }
        watch.take(.bytes(bytes), at: now)
    }

    private func begin(at now: Duration) {
        startEnd = nil
        watch.take(.connected, at: now)
    }

    /// The firmware's console takes commands. One that has restarted in its emulator may begin without a session, and say nothing here.
    func consoleHasOpened(at now: Duration) {
        if startEnd != nil { begin(at: now) }
    }

    /// The firmware has started again, in an emulator that goes on.
    func firmwareHasRestarted(at now: Duration) {
        guard port.isConnected else { return }
        tell(.lost(reason: "it has restarted"), at: now)
        tell(.connected, at: now)
    }

    func moveOutput(at now: Duration) -> Bool {
        tell(port.send(at: now) { watch.nextFirmwareBytes(at: now) }, at: now)
        return false
    }

    func advance(to now: Duration) {
        tell(port.advance(to: now), at: now)
        if let end = startEnd, end <= now { begin(at: now) }
    }

    var nextDeadline: Duration? { [port.nextDeadline, startEnd].compactMap { $0 }.min() }

    func beginStop(at now: Duration) { port.beginStop() }

    /// A message that has begun to leave is not left half-said: the firmware would wait for the rest of it for ever.
    var isStopped: Bool { port.isIdle && !(port.isConnected && watch.isInFirmwareMessage) }

    private func tell(_ change: EmulatorPort.Change?, at now: Duration) {
        switch change {
        case .connected where isOwn:
            // What a firmware is told before it listens makes its port deaf. When it does, it says something.
            startEnd = now + Self.startPatience
        case .connected: begin(at: now)
        case .lost(let reason):
            startEnd = nil
            watch.take(.lost(reason: reason), at: now)
        case nil: break
        }
    }
}
