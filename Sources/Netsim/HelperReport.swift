import BluetoothHCI
import Glibc
import LinuxBluetooth

/// What the process that started this one is told, line by line on standard output; `NetsimHelper` reads it.
public struct HelperReport: Sendable {
    /// Writes a line; the newline is not part of it.
    let say: @Sendable (String) -> Void

    public init(say: @escaping @Sendable (String) -> Void) { self.say = say }

    /// Over standard output.
    public static let standardOutput = HelperReport { line in
        let bytes = Array("\(line)\n".utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }

    func ready() { say("ready") }

    func skipped(_ message: HCIMessage) {
        let digits = message.beginning.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        say("skipped \(message.body.count) \(digits)")
    }

    /// A text may come from the other side: it becomes one line of bounded length.
    public func ended(_ end: NetsimEnd) { say("ended \(end.kind.rawValue) \(PlainText.line(end.text))") }
}

/// Text of the other side's, for a person.
enum PlainText {
    /// The most characters that are shown of it.
    static let longest = 200

    /// One line of it, without control characters.
    static func line(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(longest + 1).map { scalar -> Character in
            let isControl =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                || scalar.value == 0x2028 || scalar.value == 0x2029
            return isControl ? " " : Character(scalar)
        }
        return String(scalars.prefix(longest)) + (scalars.count > longest ? "…" : "")
    }
}
