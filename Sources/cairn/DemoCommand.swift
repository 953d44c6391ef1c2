import ArgumentParser
import BluetoothCryptography
import BluetoothHCI
import Daemon
import HCIRuntime
import PebblePhone
import PebbleWatch
import Settings

/// `cairn demo`: a watch and a phone in one process, and a transcript of what they do.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Show a phone and a watch at work on a virtual radio.",
        discussion: """
            A demonstration phone finds the watch, connects, discovers its database, opens the Pebble transport, and \
            exchanges AppMessages with the watch's Echo app. No Bluetooth hardware is needed: the radio between them is \
            simulated, in step with the clock. The transcript goes to standard output; the status is 0 if everything that \
            was sent came back.

            EXAMPLES

              cairn demo
              cairn demo --transport reversed --capture demo.btsnoop
              cairn demo --transport stream
              cairn demo --pair
              cairn demo --stay --air-port 6402

            With the last one, attach any Bluetooth host to tcp:127.0.0.1:6402 afterwards: it finds the watch.
            """
    )

    @Flag(help: "Keep the watch up after the demonstration, until Ctrl-C.")
    var stay = false

    @Option(
        help: ArgumentHelp(
            "Offer H4 controllers on the virtual radio to other Bluetooth hosts, on this port of 127.0.0.1; 0 takes any "
                + "free one and prints it. (default: 0 with --stay, else none)",
            valueName: "port"
        ),
        transform: portArgument
    )
    var airPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "What carries the Pebble Protocol: the phone's GATT service (forward), the watch's (reversed), or an L2CAP "
                + "channel (stream)."
        )
    )
    var transport: PhoneTransport = .forward

    @Flag(
        help: """
            Have the watch insist on pairing, as real ones do, and the phone pair. The watch then keeps the bond, and \
            advertises for that phone only; but any other on its radio may pair, too, for it is a bench (--pairing open).
            """
    )
    var pair = false

    @OptionGroup var watch: SettingGroupOptions<WatchSettings>

    @Option(
        help: ArgumentHelp("What the virtual radio leaves to chance follows from this number.", valueName: "number")
    )
    var airSeed: UInt64?

    @Option(
        help: ArgumentHelp(
            "What to log to standard error besides the transcript: LEVEL or LAYER=LEVEL, separated by commas.",
            valueName: "levels"
        ),
        transform: LogLevels.argument(over: LogLevels(.error))
    )
    var logLevel = LogLevels(.error)

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var plan = try RunPlan(watch.typed, of: WatchSettings.settings, command: "cairn demo")
            plan.watch.linkSecurity = pair ? .required : .insecureTestLink
            // A demonstration: every host on its radio may pair, at any time.
            plan.pairing = .open
            var configuration = plan.process
            configuration.makeWatch = { [plan] in plan.watch(at: $0) }
            configuration.airPort = airPort ?? (stay ? 0 : nil)
            if let airSeed { configuration.airSeed = airSeed }
            configuration.logLevels = logLevel
            let transcript = Transcript()
            let daemon = try WatchDaemon(configuration) { transcript.watch($0, at: $1) }
            var outcome: Demonstration.Outcome?
            // Not the daemon itself, which knows the phone: neither would ever be freed.
            let (loop, loggers, port) = (daemon.loop, daemon.loggers, daemon.airPort)
            let phone = HostRunner(DemonstrationHost(try demonstration()), log: loggers[.hci]) { event, now in
                switch event {
                case .story(let event):
                    transcript.phone(event, at: now)
                    if case .diagnostic(let diagnostic) = event { loggers.log(StoryLine(diagnostic)) }
                case .ended(let end):
                    outcome = end
                    transcript.end(end, at: now)
                    if stay, case .success = end {
                        transcript.stays(port: port)
                    } else {
                        loop.requestStop()
                    }
                }
            }
            daemon.attach(phone)
            let loopOutcome = try daemon.run()
            switch outcome {
            case .success?, nil: return loopOutcome.exitStatus
            case .failure?: return .demonstrationFailed
            }
        }
    }

    private func demonstration() throws(ProgramError) -> Demonstration {
        let utc = LocalTime.utc
        let clock = PhoneClock(secondsAtOrigin: utc.seconds, offsetMinutes: utc.offsetMinutes)
        var configuration = PhoneConfiguration(address: .demonstrationPhone, clock: clock)
        configuration.transport = transport
        configuration.pairing = pair ? .automatic : .never
        do {
            return Demonstration(try CompanionPhone(configuration, randomness: .system))
        } catch {
            throw ProgramError(.systemError, "the phone cannot be made: \(error)", advice: "report this as a defect")
        }
    }
}

extension PhoneTransport: ExpressibleByArgument {}

extension DeviceAddress {
    /// The demonstration phone's own static random address.
    fileprivate static let demonstrationPhone = DeviceAddress(0xF0CA_1200_0001)
}

/// The demonstration as the loop runs it: its end is an event like any other.
private struct DemonstrationHost: LoopHost {
    enum Event {
        case story(PhoneEvent)
        case ended(Demonstration.Outcome)
    }

    private var demonstration: Demonstration
    private var hasEnded = false

    init(_ demonstration: Demonstration) { self.demonstration = demonstration }

    mutating func start(at now: Duration) { demonstration.start(at: now) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { demonstration.receive(packet, at: now) }

    mutating func advance(to now: Duration) { demonstration.advance(to: now) }

    var nextDeadline: Duration? { demonstration.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { demonstration.nextPacket(into: &buffer) }

    mutating func nextEvent() -> Event? {
        if let event = demonstration.nextEvent() { return .story(event) }
        guard !hasEnded, let outcome = demonstration.outcome else { return nil }
        hasEnded = true
        return .ended(outcome)
    }

    /// Does nothing: the phone only has its demonstration, and the watch disconnects.
    mutating func beginShutdown(at now: Duration) {}

    var isShutDown: Bool { true }
}
