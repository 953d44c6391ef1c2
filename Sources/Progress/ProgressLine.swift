import ArgumentParser
import Glibc
import Synchronization

/// What a long command shows of itself on a terminal: how much is done, and how long the rest takes.
///
/// It writes one line to standard error, again and again, and takes it away at the end. Where standard error is no terminal, it writes
/// nothing. It may be told of progress by several tasks at once.
package final class ProgressLine: Sendable {
    /// Whether to show anything.
    package enum Mode: String, ExpressibleByArgument, CaseIterable, Sendable {
        /// On a terminal.
        case auto
        /// Nowhere.
        case never
    }

    private struct State {
        var done = 0
        var shownAt: Duration?
    }

    /// The line changes so often at most.
    private static let pace: Duration = .milliseconds(200)

    private let what: String
    private let total: Int
    private let isShown: Bool
    private let start = ContinuousClock().now
    private let state = Mutex(State())

    /// Shows that nothing is done yet.
    /// - Parameters:
    ///   - what: what is done, such as `Installing app.pbw`.
    ///   - total: how much there is to do, in any unit.
    package init(_ what: String, of total: Int, _ mode: Mode) {
        self.what = what
        self.total = total
        isShown = mode == .auto && Self.isTerminal
        add(0)
    }

    /// Says that so much more is done.
    package func add(_ count: Int) {
        guard isShown else { return }
        let elapsed = ContinuousClock().now - start
        state.withLock { state in
            state.done += count
            if let shownAt = state.shownAt, elapsed - shownAt < Self.pace { return }
            state.shownAt = elapsed
            let text = ProgressText.line(what, state.done, of: total, after: elapsed, width: Self.width)
            Self.write("\r\(text)\u{1B}[K")
        }
    }

    /// Takes the line away, so that something else can be printed; it comes back with the next step.
    package func clear() {
        guard isShown else { return }
        state.withLock { state in
            state.shownAt = nil
            Self.write("\r\u{1B}[K")
        }
    }

    private static var isTerminal: Bool {
        guard isatty(STDERR_FILENO) == 1 else { return false }
        return getenv("TERM").map { String(cString: $0) } != "dumb"
    }

    private static var width: Int {
        var size = winsize()
        return ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }

    private static func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            // A terminal that takes nothing now misses a line.
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// The option of every command that shows progress.
package struct ProgressOption: ParsableArguments {
    @Option(help: "Show progress: auto, on a terminal; or never.")
    package var progress = ProgressLine.Mode.auto

    package init() {}
}

/// Progress as text.
package enum ProgressText {
    /// Less time than this says nothing about the rest.
    private static let leastElapsed: Duration = .seconds(1)
    private static let barWidth = 24

    /// A line such as `Trials  [######··················]  25 %  1 min 12 s left`, no longer than a terminal is wide.
    package static func line(
        _ what: String,
        _ done: Int,
        of total: Int,
        after elapsed: Duration,
        width: Int
    ) -> String {
        let share = total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1
        let filled = Int(share * Double(barWidth))
        let bar = String(repeating: "#", count: filled) + String(repeating: "·", count: barWidth - filled)
        var line = "\(what)  [\(bar)] \(Int(share * 100)) %"
        if elapsed >= leastElapsed, share > 0, share < 1 {
            line += "  \(time(elapsed * ((1 - share) / share))) left"
        }
        // A line as wide as the terminal would begin another.
        return String(line.prefix(max(0, width - 1)))
    }

    /// A time to the second, or to the minute from an hour on.
    package static func time(_ duration: Duration) -> String {
        let seconds = max(1, Int((duration / .seconds(1)).rounded()))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }
}
