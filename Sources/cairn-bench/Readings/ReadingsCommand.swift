import ArgumentParser
import Foundation
import FuzzTargets

extension CairnBench {
    /// `cairn-bench readings`.
    struct ReadingsCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "readings",
            abstract: "Says what bytes are read as, for a judge with another decoder.",
            discussion: """
                Each line of standard input is bytes in hexadecimal. Each line of standard output is JSON: the kind, and \
                either what was read, written again in hexadecimal (written), and the numbers in it, or why it was refused \
                (refused). \
                Tests/Interop/test_readings.py compares them with other people's decoders.
                """
        )

        @Argument(
            help: ArgumentHelp(
                "Which decoder: \(Reading.decoders.keys.sorted().joined(separator: ", ")).",
                valueName: "decoder"
            )
        )
        var decoder: String

        func run() throws {
            guard let read = Reading.decoders[decoder] else {
                let names = Reading.decoders.keys.sorted().joined(separator: ", ")
                throw ValidationError("There is no decoder \(decoder). Name one of these: \(names).")
            }
            while let line = readLine() {
                guard let bytes = Self.bytes(of: line) else {
                    throw ValidationError("This is not hexadecimal: \(line)")
                }
                print(Self.line(of: read(bytes[...])))
                fflush(nil)
            }
        }

        private static func bytes(of text: String) -> [UInt8]? {
            let digits = text.compactMap(\.hexDigitValue)
            guard digits.count == text.count, digits.count % 2 == 0 else { return nil }
            return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }

        private static func line(of reading: Reading) -> String {
            var line = Line(kind: reading.kind, numbers: reading.numbers)
            switch reading.result {
            case .written(let bytes): line.written = bytes.map { String(format: "%02x", $0) }.joined()
            case .refused(let reason): line.refused = reason
            }
            guard let data = try? JSONEncoder().encode(line) else { return "{}" }
            return String(decoding: data, as: UTF8.self)
        }

        private struct Line: Encodable {
            let kind: String
            let numbers: [Int64]
            var written: String?
            var refused: String?
        }
    }
}
