import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime
import PebbleWatch

/// `cairn screen`
struct ScreenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screen",
        abstract: "Show the watch's screen in the terminal, and take keys for its buttons.",
        discussion: """
            The terminal has to know 24-bit colours. A picture that does not fit is made smaller.

              up         arrow up, w
              down       arrow down, s
              select     arrow right, enter, d
              back       arrow left, escape, backspace, a
              held long  the same with shift: W S D A, or an arrow with shift
              leave      q, Ctrl-C

            It is drawn when the picture has changed, at most ten times a second. Without a terminal it prints the picture once, and \
            ends.
            """
    )

    /// How often the picture is looked at.
    private static let interval: Duration = .milliseconds(100)

    @OptionGroup var watch: WatchReference

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var client = try watch.connect()
            guard isatty(STDOUT_FILENO) == 1, isatty(STDIN_FILENO) == 1 else {
                let picture = TerminalPicture(try Self.screen(&client))
                for line in picture.lines(columns: .max, rows: .max) { Console.print(line) }
                return .success
            }
            // Made before the terminal is changed: what fails here leaves it as it is.
            let signals = try StopSignals.catching()
            let terminal = try RawTerminal()
            defer { terminal.restore() }
            try Self.show(&client, on: terminal, until: signals)
            return .success
        }
    }

    private static func screen(_ client: inout ControlClient) throws(ProgramError) -> ControlScreen {
        try client.ask(ControlCommands.Screenshot { $0.format = .raw }).content.screen
    }

    private static func show(
        _ client: inout ControlClient,
        on terminal: RawTerminal,
        until signals: StopSignals
    ) throws(ProgramError) {
        let clock = ContinuousClock()
        var keys = KeyReader()
        var painter = ScreenPainter()
        var next = clock.now
        while true {
            if clock.now >= next {
                next = clock.now + interval
                painter.paint(try screen(&client), in: terminal.size)
            }
            let wait = max(Duration.zero, next - clock.now)
            let (hasKeys, hasSignal) = terminal.wait(for: signals, atMost: wait)
            if hasSignal, signals.next() != nil { return }
            guard hasKeys else {
                // An escape that nothing follows is the key itself.
                try press(keys.finish(), &client)
                continue
            }
            guard let bytes = terminal.read() else { return }
            for key in keys.take(bytes) {
                if key == .leave { return }
                try press(key, &client)
            }
        }
    }

    private static func press(_ key: KeyReader.Key?, _ client: inout ControlClient) throws(ProgramError) {
        guard case .button(let button, let isLong)? = key else { return }
        _ = try client.ask(
            ControlCommands.Press {
                $0.button = button
                $0.isLong = isLong
            }
        )
    }
}

/// Draws pictures one over the other: only the lines that have changed.
struct ScreenPainter {
    private static let hint = "arrows or w s d a: buttons, with shift held long; q leaves"

    private var shown: [String] = []
    private var size: TerminalSize?

    /// Draws a picture from the top left corner, and below it what the keys are.
    mutating func paint(_ screen: ControlScreen, in size: TerminalSize) {
        var output = ""
        if size != self.size {
            output = "\u{1B}[0m\u{1B}[2J"
            shown = []
            self.size = size
        }
        let lines =
            TerminalPicture(screen).lines(columns: size.columns, rows: size.rows - 1) + [
                String(Self.hint.prefix(size.columns))
            ]
        for (row, line) in lines.enumerated() where row >= shown.count || shown[row] != line {
            output += "\u{1B}[\(row + 1);1H\(line)\u{1B}[0m\u{1B}[K"
        }
        shown = lines
        if !output.isEmpty { Console.write(Array(output.utf8)) }
    }
}
