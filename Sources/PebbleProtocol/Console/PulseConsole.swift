import ByteCoding
import DequeModule

/// The host's end of a firmware's console, which speaks PULSEv2: it reads the log, and gives commands at the prompt.
///
/// The log comes without any agreement. Commands need a link (LCP) and the reliable transport on it, which are agreed on as soon as
/// the firmware is ready, and again whenever it starts. A port that is spoken to before the firmware listens is deaf for good, so the
/// firmware speaks first: it does when it starts.
package struct PulseConsole: Sendable {
    /// What the console has to tell.
    package enum Event: Sendable, Equatable {
        /// Commands can be given.
        case opened
        /// They cannot any more. `hasRestarted`: the firmware has just started.
        case closed(hasRestarted: Bool)
        /// A line of the firmware's log.
        case log(PulseLogLine)
        /// A line that a command answered.
        case output(String)
        /// The commands that were given are carried out, or cannot be.
        case finished(isDone: Bool)
    }

    /// How long a command may take.
    package static let patience: Duration = .seconds(5)
    /// How long a firmware that says nothing may have been starting.
    package static let startPatience: Duration = .seconds(5)
    /// The longest command, in bytes: what the prompt keeps.
    package static let longestCommand = 127
    /// How many bytes may wait for a port that takes none.
    private static let outboundLimit = 64 * 1024
    /// How many events may wait.
    private static let eventLimit = 1024

    /// The kinds of a prompt's answers.
    private enum Answer {
        static let done: UInt8 = 101
        static let message: UInt8 = 102
    }

    private var deframer = PulseDeframer()
    private var link = PulseControlProtocol(.linkControl)
    private var control = PulseControlProtocol(.trainControl)
    /// The transport while it is open.
    private var transport: PulseTransport?
    private var outbound: [UInt8] = []
    /// Until when the firmware's first word is waited for; nil if it is not.
    private var startEnd: Duration?
    private var events: Deque<Event> = []
    /// What is left of the commands that were given; the first is being carried out.
    private var commands: Deque<String> = []
    private var commandEnd: Duration?

    /// The end of a port that cannot be reached yet.
    package init() {}

    /// Whether commands can be given.
    package var isOpen: Bool { transport != nil }

    /// The port can be reached from now on.
    package mutating func connected(at now: Duration) {
        lost()
        startEnd = now + Self.startPatience
    }

    private mutating func begin(at now: Duration) {
        startEnd = nil
        link.lowerLayerUp(at: now)
    }

    /// It cannot be reached any more.
    package mutating func lost() {
        closeTransport(hasRestarted: false)
        deframer = PulseDeframer()
        link.lowerLayerDown()
        control.lowerLayerDown()
        outbound = []
        startEnd = nil
    }

    /// Gives commands, one after the other: ``Event/finished(isDone:)`` tells when the last is carried out. Those before that are
    /// still being carried out are given up.
    package mutating func run(_ list: [String], at now: Duration) {
        if !commands.isEmpty { finish(isDone: false) }
        guard isOpen else { return tell(.finished(isDone: false)) }
        commands = Deque(list)
        giveCommand(at: now)
        collect()
    }

    /// Takes bytes of the port.
    package mutating func receive(_ bytes: ArraySlice<UInt8>, at now: Duration) {
        if startEnd != nil { begin(at: now) }
        deframer.receive(bytes)
        while let frame = deframer.nextFrame() { take(frame, at: now) }
        collect()
    }

    /// The next thing to tell.
    package mutating func nextEvent() -> Event? { events.popFirst() }

    /// Takes the bytes for the port; none when nothing waits.
    package mutating func nextBytes() -> [UInt8] {
        defer { outbound = [] }
        return outbound
    }

    /// When `advance` has something to do.
    package var nextDeadline: Duration? {
        let deadlines = [startEnd, link.nextDeadline, control.nextDeadline, transport?.nextDeadline, commandEnd]
        return deadlines.compactMap { $0 }.min()
    }

    /// Lets time pass.
    package mutating func advance(to now: Duration) {
        if let end = startEnd, end <= now { begin(at: now) }
        link.advance(to: now)
        control.advance(to: now)
        if transport?.advance(to: now) == false {
            closeTransport(hasRestarted: false)
            control.restart(at: now)
        }
        if let end = commandEnd, end <= now { finish(isDone: false) }
        collect()
    }

    private mutating func take(_ frame: PulseFrame, at now: Duration) {
        switch frame.protocolID {
        case .push: takePush(frame.information)
        case .linkControl:
            switch link.receive(frame.information, at: now) {
            case .none: break
            case .up: control.lowerLayerUp(at: now)
            case .down(let isFinished):
                closeTransport(hasRestarted: isFinished)
                control.lowerLayerDown()
            }
        case .trainControl:
            switch control.receive(frame.information, at: now) {
            case .none: break
            case .up:
                transport = PulseTransport()
                tell(.opened)
            case .down: closeTransport(hasRestarted: false)
            }
        case .trainCommand:
            guard let datagram = transport?.receive(command: frame.information, at: now) else { return }
            takeAnswer(datagram.information, at: now)
        case .trainResponse: transport?.receive(response: frame.information, at: now)
        default: link.rejectProtocol(of: frame)
        }
    }

    /// A packet of the simplex transport: port, length of all, information.
    private mutating func takePush(_ packet: [UInt8]) {
        var reader = ByteReader(packet)
        guard let port: UInt16 = try? reader.readBigEndian("push.port"), port == PulseLogLine.port,
            let length: UInt16 = try? reader.readBigEndian("push.length"),
            let information = try? reader.readBytes(max(0, Int(length) - 4), "push.information"),
            let line = try? PulseLogLine(information)
        else { return }
        tell(.log(line))
    }

    /// An answer of the prompt: kind, time in milliseconds (8 bytes), text.
    private mutating func takeAnswer(_ answer: [UInt8], at now: Duration) {
        guard !commands.isEmpty, let kind = answer.first else { return }
        switch kind {
        case Answer.message: tell(.output(PulseLogLine.printable(answer.dropFirst(9))))
        case Answer.done:
            _ = commands.popFirst()
            if commands.isEmpty { finish(isDone: true) } else { giveCommand(at: now) }
        default: break
        }
    }

    private mutating func giveCommand(at now: Duration) {
        guard let command = commands.first, command.utf8.count <= Self.longestCommand else {
            return finish(isDone: false)
        }
        commandEnd = now + Self.patience
        transport?.send(.init(port: PulseTransport.promptPort, information: Array(command.utf8)), at: now)
    }

    private mutating func finish(isDone: Bool) {
        commands = []
        commandEnd = nil
        tell(.finished(isDone: isDone))
    }

    private mutating func closeTransport(hasRestarted: Bool) {
        guard transport != nil else { return }
        transport = nil
        if !commands.isEmpty { finish(isDone: false) }
        tell(.closed(hasRestarted: hasRestarted))
    }

    private mutating func tell(_ event: Event) {
        // A log that nobody takes makes room for what the console itself says.
        if events.count >= Self.eventLimit { _ = events.popFirst() }
        events.append(event)
    }

    private mutating func collect() {
        var frames = link.takeOutgoing() + control.takeOutgoing()
        if var open = transport.take() {
            frames += open.takeOutgoing()
            transport = open
        }
        for frame in frames {
            let bytes = frame.bytes
            // Each is said again if it is not answered.
            if outbound.count + bytes.count <= Self.outboundLimit { outbound += bytes }
        }
    }
}
