import Control
import Daemon
import PebblePhone
import PebbleWatch

/// The demonstration on standard output: when, who, what.
struct Transcript {
    /// What the watch did.
    func watch(_ event: WatchEvent, at now: Duration) {
        if case .diagnostic = event { return }
        let line = event.storyLine
        if line.level >= .info { print("watch", line.text, at: now) }
    }

    /// What the phone did.
    func phone(_ event: PhoneEvent, at now: Duration) {
        switch event {
        case .diagnostic, .message: return
        case .appMessageReceived(let push): print("phone", "AppMessage: \("\(push.dictionary)".inOneLine)", at: now)
        default: print("phone", "\(event)", at: now)
        }
    }

    /// How it ended.
    func end(_ outcome: Demonstration.Outcome, at now: Duration) {
        switch outcome {
        case .success(let summary):
            let links = summary.reconnections == 0 ? "" : ", on \(summary.reconnections + 1) links"
            Console.print("", lostReader: .isNoticed)
            Console.print(
                "The demonstration succeeded: \(summary.pings) \(summary.pings == 1 ? "ping" : "pings") answered, \(summary.echoes) dictionaries of "
                    + "\(summary.echoedByteCount) bytes echoed\(links).",
                lostReader: .isNoticed
            )
        case .failure(let reason):
            Console.print("", lostReader: .isNoticed)
            Console.print("The demonstration failed: \(reason.printable).", lostReader: .isNoticed)
        }
    }

    /// What a person can do now.
    func stays(port: UInt16?) {
        guard let port else { return }
        Console.print(
            "The watch stays up. Attach a Bluetooth host as its phone: H4 at tcp:127.0.0.1:\(port).",
            lostReader: .isNoticed
        )
        Console.print("Ctrl-C ends it.", lostReader: .isNoticed)
    }

    private func print(_ who: String, _ what: String, at now: Duration) {
        let milliseconds = Int64(now / .milliseconds(1))
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        let seconds = String(milliseconds / 1000)
        let time = String(repeating: " ", count: max(0, 3 - seconds.count)) + seconds + "." + fraction
        Console.print("\(time)  \(who)  \(what.printable)", lostReader: .isNoticed)
    }
}
