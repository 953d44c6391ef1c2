import ArgumentParser
import Control
import Daemon

/// `cairn status`
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: ControlCommands.Status.help
    )

    @Flag(help: "As JSON, for programs.")
    var json = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try watch.ask(ControlCommands.Status.blank) { reply in
            let status = reply.content.status
            return json ? status.json : status.lines.map(\.printable).joined(separator: "\n")
        }
    }
}

extension ControlStatus {
    /// For a person at a terminal.
    var lines: [String] {
        var rows = [
            ("watch", "\(name), \(address), firmware \(firmware)"),
            ("process", process),
            ("controller", isReady ? "ready" : "not ready"),
            ("on the air", air),
        ]
        rows += Self.rows(labelled: "link", links.map(\.words), none: "no phone is connected")
        if let lastDisconnection { rows.append(("last lost", lastDisconnection.words)) }
        if let lastStranger { rows.append(("stranger", lastStranger.words)) }
        if strangersTurnedAway > 0 { rows.append(("", "\(strangersTurnedAway) were turned away at once")) }
        rows += Self.rows(labelled: "phone", phones.map(\.words), none: "none is remembered")
        rows.append(("pairing", pairing.words))
        rows += pairing.waiting.map { ("", $0.words) }
        if let refused = pairing.refused {
            rows += [("", "refused \(refused.secondsAgo.inWords) ago: \(refused.text)"), ("", refused.advice)]
        }
        if !sessions.isEmpty {
            rows += Self.rows(
                labelled: "session",
                sessions.map(\.words),
                none: ""
            )
        }
        rows += Self.rows(
            labelled: "stream",
            streams.map { "\($0.stream), PSM \($0.psm)" },
            none: "none can be opened"
        )
        rows.append(("app", app.name))
        rows.append(("battery", "\(battery.percent) %\(battery.isCharging ? ", charging" : "")"))
        if let mirror { rows.append(("firmware", mirror.words)) }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { label, text in
            label + String(repeating: " ", count: width - label.count + 2) + text
        }
    }

    private var process: String {
        let ports = [ports?.air.map { "air port \($0)" }, ports?.qemu.map { "emulator's port \($0)" }].compactMap(
            \.self
        )
        let time = uptimeSeconds.map { "up \($0.inWords)" }
        let facts = [pid.map { "\($0)" }, version.map { "Cairn \($0)" }, controller, time].compactMap(\.self)
        return (facts + ports).joined(separator: ", ")
    }

    private static func rows(labelled label: String, _ texts: [String], none: String) -> [(String, String)] {
        guard !texts.isEmpty else { return [(label, none)] }
        return texts.enumerated().map { ($0.offset == 0 ? label : "", $0.element) }
    }
}

extension ControlStatus.Link {
    fileprivate var words: String {
        let security =
            switch (isEncrypted, isAuthenticated) {
            case (false, _): "not encrypted"
            case (true, false): "encrypted"
            case (true, true): "encrypted, authenticated"
            }
        let used = services.isEmpty ? "" : ", its \(services.joined(separator: ", "))"
        return "\(phone), \(security)\(isBonded ? "" : ", not bonded"), MTU \(mtu)\(used)"
    }
}

extension ControlStatus.Comparison {
    fileprivate var words: String {
        let rest = waiting > 0 ? ", \(waiting) not decided yet" : ""
        return "in the watch's shadow: \(compared) answers compared, \(different) different\(rest)"
    }
}

extension ControlStatus.Session {
    fileprivate var words: String {
        let companion =
            switch kind {
            case "system": "the phone's Pebble app"
            case "hybrid": "the phone's Pebble app, for every watchapp"
            default: "companion of \(app)"
            }
        return "\(session): \(companion), over \(transport)"
    }
}

extension ControlStatus.Disconnection {
    fileprivate var words: String {
        let cause = cause.map { ", since \($0)" } ?? ""
        let outcome = absenceSeconds.map { "back after \($0.inWords)" } ?? remedy
        return "\(phone), \(secondsAgo.inWords) ago, after \(linkSeconds.inWords): \(reason)\(cause); \(outcome)"
    }
}

extension Double {
    /// Seconds as a person says them: `4.2 s`, `12 min`, `3 h`.
    fileprivate var inWords: String {
        switch self {
        case ..<60: "\((self * 10).rounded() / 10) s"
        case ..<3600: "\(Int(self / 60)) min"
        default: "\(Int(self / 3600)) h"
        }
    }
}

extension ControlStatus.Phone {
    fileprivate var words: String {
        let bond = isAuthenticated ? "bonded, authenticated" : "bonded"
        return "\(phone), \(bond)\(isStored ? "" : ", not stored yet")\(isConnected ? ", connected" : "")"
    }
}

extension ControlStatus.Pairing {
    fileprivate var words: String {
        guard isBondable else { return "not possible: the watch keeps no keys" }
        let window = windowSeconds.map { " for \(Int($0.rounded(.up))) seconds" } ?? ""
        switch mode {
        case "open": return "open to anybody, at any time, without asking: a bench"
        case "button": return "any phone may ask, and a person answers" + (window.isEmpty ? "" : "; opened\(window)")
        case "reject": return "refused, always"
        default: return isOpen ? "open to a new phone\(window)" : "closed to new phones (cairn pair opens it)"
        }
    }
}

extension ControlStatus.Waiting {
    fileprivate var words: String {
        let number = number ?? ""
        return switch question {
        case "confirm": "\(phone) wants to pair: cairn confirm, or cairn refuse"
        case "compare": "\(phone) should show \(number): cairn confirm, or cairn refuse"
        case "show": "type \(number) on \(phone)"
        default: "\(phone) shows a passkey: cairn passkey NNNNNN"
        }
    }
}
