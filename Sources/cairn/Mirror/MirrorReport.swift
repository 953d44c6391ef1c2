import ByteCoding
import Control
import FoundationEssentials
import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleProtocol
import PebbleWatch
import Timeline

/// What is told of a comparison: to a person on standard output, and to programs in a file.
final class MirrorReport {
    private let path: String?
    private let descriptor: Int32?
    private var failure: SystemError?

    /// - Parameter path: the file; nil for none.
    init(path: String?) throws(ProgramError) {
        self.path = path
        descriptor = if let path { try ResultFile.create(path, what: "report") } else { nil }
    }

    deinit { if let descriptor { close(descriptor) } }

    /// Takes what happens on the watch.
    func take(_ event: WatchEvent, at now: Duration) {
        guard case .mirrorDiffers(let difference) = event else { return }
        let lines = difference.lines
        for line in lines { Console.print(line.printable, lostReader: .isNoticed) }
        guard let event = ControlEvent(event, text: lines.joined(separator: "\n"), at: now) else { return }
        write(event.line)
    }

    /// The comparison has ended.
    /// - Returns: how the process ends.
    func end(with tally: MirrorTally) -> ExitStatus {
        for line in tally.lines { Console.print(line, lostReader: .isNoticed) }
        write(tally.json)
        if let failure, let path {
            return Console.report(ResultFile.failure(failure, path, "report"))
        }
        if tally.differentCount > 0 { return .demonstrationFailed }
        return tally.compared == 0 && tally.lost > 0 ? .unavailable : .success
    }

    private func write(_ line: [UInt8]) {
        guard let descriptor, failure == nil else { return }
        let bytes = line.last == UInt8(ascii: "\n") ? line : line + [UInt8(ascii: "\n")]
        if !ResultFile.append(bytes, to: descriptor) { failure = .last }
    }
}

extension MirrorDifference {
    /// For a person: what was asked, what each answered, and when.
    fileprivate var lines: [String] {
        let time = "\(asked.wholeMilliseconds / 1000).\(String(1000 + asked.wholeMilliseconds % 1000).dropFirst())"
        let late = delay.map { ", \($0.wholeMilliseconds) ms after it had gone on" } ?? ""
        return [
            "message \(number), \(question.endpoint), at \(time) s: \(kind.words)\(late)",
            "  asked:    \(question.words(isFromWatch: false))",
        ] + Self.lines(watch, of: "watch:   ") + Self.lines(firmware, of: "firmware:")
    }

    private static func lines(_ messages: [MirroredMessage], of who: String) -> [String] {
        guard !messages.isEmpty else { return ["  \(who) nothing"] }
        return messages.map { "  \(who) \($0.words(isFromWatch: true))" }
    }
}

extension MirroredMessage {
    private static let shownByteCount = 48

    fileprivate func words(isFromWatch: Bool) -> String {
        let shown = bytes.prefix(Self.shownByteCount).hexadecimal
        let octets = length == 0 ? "no bytes" : length > Self.shownByteCount ? "\(shown)… (\(length) bytes)" : shown
        let number = [UInt8(truncatingIfNeeded: endpoint.rawValue >> 8), UInt8(truncatingIfNeeded: endpoint.rawValue)]
        let words = whole.flatMap { PPoGATTStream.words(of: $0, isFromWatch: isFromWatch) }
        return "\(number.hexadecimal):\(octets)" + (words.map { " (\($0))" } ?? "")
    }
}

extension MirrorTally {
    /// For a person, at the end.
    fileprivate var lines: [String] {
        var lines = [
            "compared \(compared): \(same) the same, \(differentCount) different; "
                + "neither answered \(unanswered), the watch alone did not answer \(unansweredByWatch), "
                + "the firmware alone did not answer \(unansweredByFirmware)"
        ]
        let kinds = MirrorDifference.Kind.allCases.compactMap { kind in different[kind].map { "\(kind.words): \($0)" } }
        if !kinds.isEmpty { lines.append("different: " + kinds.joined(separator: ", ")) }
        let reasons = MirrorWithholding.allCases.compactMap { reason in
            withheld[reason].map { "\(reason.words): \($0)" }
        }
        if !reasons.isEmpty { lines.append("not asked of the firmware: " + reasons.joined(separator: ", ")) }
        if lost > 0 { lines.append("not compared, since the firmware was not there or was too slow: \(lost)") }
        return lines
    }

    /// For programs, at the end.
    fileprivate var json: [UInt8] {
        struct Summary: Encodable {
            let event = "mirror-summary"
            let compared, same, different, unanswered, unansweredByWatch, unansweredByFirmware, lost, unasked: UInt64
            let kinds, withheld: [String: UInt64]
        }
        let summary = Summary(
            compared: compared,
            same: same,
            different: differentCount,
            unanswered: unanswered,
            unansweredByWatch: unansweredByWatch,
            unansweredByFirmware: unansweredByFirmware,
            lost: lost,
            unasked: unasked,
            kinds: Dictionary(uniqueKeysWithValues: different.map { ($0.key.rawValue, $0.value) }),
            withheld: Dictionary(uniqueKeysWithValues: withheld.map { ($0.key.rawValue, $0.value) })
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(summary)).map(Array.init) ?? []
    }
}

extension MirrorWithholding {
    fileprivate var words: String {
        switch self {
        case .reset: "resets"
        case .update: "updates of the firmware"
        case .hardware: "what the emulator is made of"
        case .answer: "answers to the watch"
        case .upload: "uploads that it has not begun"
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 { Int64(self / .milliseconds(1)) }
}
