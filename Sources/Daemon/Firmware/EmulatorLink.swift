import HCIRuntime
import Logging
import PebbleWatch

/// The connection to the emulator that the real firmware runs in: its port of the Pebble Protocol.
///
/// What comes is read as soon as it is there, because a port that nobody drains stops the firmware. What goes out are whole
/// frames, and whole messages in the end. A connection that is lost, or cannot be made, is tried again for as long as the watch runs.
final class EmulatorLink: LoopMember {
    private let port: EmulatorPort
    private let watch: HostRunner<WatchHost>

    init(_ place: EmulatorPlace, watch: HostRunner<WatchHost>, log: Logger) {
        port = EmulatorPort(place, name: "the firmware's emulator", log: log)
        self.watch = watch
    }

    func start(at now: Duration) { tell(port.connect(at: now), at: now) }

    func addPollRequests(to set: inout PollSet) { port.addPollRequests(to: &set) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        tell(port.takeInput(set, at: now) { watch.take(.bytes($0), at: now) }, at: now)
    }

    func moveOutput(at now: Duration) -> Bool {
        tell(port.send(at: now) { watch.nextFirmwareBytes(at: now) }, at: now)
        return false
    }

    func advance(to now: Duration) { tell(port.advance(to: now), at: now) }

    var nextDeadline: Duration? { port.nextDeadline }

    func beginStop(at now: Duration) { port.beginStop() }

    /// A message that has begun to leave is not left half-said: the firmware would wait for the rest of it for ever.
    var isStopped: Bool { port.isIdle && !(port.isConnected && watch.isInFirmwareMessage) }

    private func tell(_ change: EmulatorPort.Change?, at now: Duration) {
        switch change {
        case .connected: watch.take(.connected, at: now)
        case .lost(let reason): watch.take(.lost(reason: reason), at: now)
        case nil: break
        }
    }
}
