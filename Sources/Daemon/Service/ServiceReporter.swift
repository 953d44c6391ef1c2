import HCIRuntime
import Logging
import PebbleWatch

/// Tells the log, and the service manager if there is one, that the watch can be found, how it is doing, and that the loop
/// still turns.
final class ServiceReporter: LoopMember {
    /// How long a start lasts at most, and the service manager is kept waiting for a watch whose controller is not there. A service that
    /// starts before its dongle is plugged in has started all the same; what it waits for is told in its status.
    static let patience: Duration = .seconds(10)

    private let manager: ServiceManager?
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var isOnAir = false
    private var isReadyTold = false
    private var isStartOver = false
    private var startTime: Duration = .zero
    private var nextSign: Duration?
    private var isStatusStale = false
    private var lastStatus = ""

    init(_ manager: ServiceManager?, watch: HostRunner<WatchHost>, log: Logger) {
        self.manager = manager
        self.watch = watch
        self.log = log
    }

    /// Takes note of what happened on the watch.
    func deliver(_ event: WatchEvent) {
        if event.concernsStatus { isStatusStale = true }
    }

    func start(at now: Duration) {
        startTime = now
        if manager?.watchdogTimeout != nil { nextSign = now }
    }

    func advance(to now: Duration) {
        if let sign = nextSign, sign <= now { giveSign(at: now) }
        report(at: now)
    }

    /// Before the loop waits, so that a change is not reported only with the next one.
    func moveOutput(at now: Duration) -> Bool {
        report(at: now)
        return false
    }

    private func report(at now: Duration) {
        if !isOnAir, watch.host.watch.onAir.canBeFound {
            isOnAir = true
            isStatusStale = true
            let age = ProcessAge.now.map { ", \($0) after the process began" } ?? ""
            log.notice("phones can find the watch\(age)")
            endStart()
        }
        if !isStartOver, startTime + Self.patience <= now { endStart() }
        guard let manager else { return }
        if !isReadyTold, isStartOver {
            isReadyTold = manager.tell("READY=1", "STATUS=\(status)")
        }
        if isStatusStale {
            isStatusStale = false
            let status = status
            guard status != lastStatus else { return }
            lastStatus = status
            manager.tell("STATUS=\(status)")
        }
    }

    /// The memory that only the start has needed is given back: what has read the settings, and brought the controller and the services
    /// up. Not earlier, since the start would need it again.
    private func endStart() {
        isStartOver = true
        ProgramMemory.release()
    }

    var nextDeadline: Duration? {
        let patienceEnds = isStartOver ? nil : startTime + Self.patience
        return [nextSign, patienceEnds].compactMap(\.self).min()
    }

    func beginStop(at now: Duration) { manager?.tell("STOPPING=1", "STATUS=says goodbye to its phones") }

    var isStopped: Bool { true }

    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}

    /// Half of the timeout, as sd_watchdog_enabled(3) recommends.
    private func giveSign(at now: Duration) {
        guard let manager, let timeout = manager.watchdogTimeout else { return }
        manager.tell("WATCHDOG=1")
        nextSign = now + timeout / 2
    }

    /// One line for `systemctl status`.
    private var status: String {
        let watch = watch.host.watch.status
        var parts: [String] = []
        switch watch.links.count {
        case 0: parts.append(WatchEvent.advertising(watch.onAir).storyLine.text)
        case 1: parts.append("a phone is connected")
        case let count: parts.append("\(count) phones are connected")
        }
        if !watch.pairing.waiting.isEmpty { parts.append("a pairing waits for an answer") }
        return "\(watch.identity.name): \(parts.joined(separator: "; "))".printable
    }
}

extension OnAir {
    /// Whether the controller has said that an advertisement is on the air, or a phone is connected already.
    fileprivate var canBeFound: Bool { silence == .connected || connectable?.state == .onAir }
}

extension WatchEvent {
    /// Whether the line of status for the service manager may have changed: what is on the air, who is connected, whether a
    /// phone can pair.
    var concernsStatus: Bool {
        switch self {
        case .started, .failed, .advertising, .connected, .disconnected, .pairable, .pairingPrompt, .paired,
            .pairingFailed, .pairingRefused, .buttonPressed:
            true
        default: false
        }
    }
}
