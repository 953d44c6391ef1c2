import ByteCoding
import Foundation
import PebbleProtocol
import Testing

/// What the real firmware answered, as `Vectors/pebbleos-answers.json` has it.
struct FirmwareAnswers: Decodable {
    /// A run of its own against a freshly booted firmware.
    struct Group: Decodable {
        let name: String
        let cases: [Case]
    }

    struct Case: Decodable {
        let name: String
        let steps: [Step]
        /// What came, besides the answers of upload steps; nil where that is held back.
        let also: [String]?
    }

    struct Step: Decodable {
        let send: String
        /// The answer of an upload step, with `TTTTTTTT` for the upload's token; nil where it is held back.
        let answer: String?
    }

    let groups: [Group]

    static func load() throws -> FirmwareAnswers {
        let url = try #require(Bundle.module.url(forResource: "Vectors/pebbleos-answers", withExtension: "json"))
        return try JSONDecoder().decode(FirmwareAnswers.self, from: Data(contentsOf: url))
    }
}

extension FirmwareAnswers.Case {
    /// What the firmware answered, in order; nil if all of that is held back.
    var expected: [String]? {
        let answers = steps.enumerated().compactMap { index, step in step.answer.map { "\(index): \($0)" } }
        return also.map { answers + $0 } ?? (answers.isEmpty ? nil : answers)
    }
}

extension FirmwareAnswers.Step {
    /// Whether it is a request to upload something, whose answer stands apart from what else comes.
    var isUpload: Bool { send.hasPrefix("beef:") }

    /// The bytes of the whole message.
    /// - Parameter token: of the upload that goes on, as eight digits.
    func bytes(token: String) throws -> [UInt8] {
        var text = send.replacingOccurrences(of: "TTTTTTTT", with: token)
        if isUpload { text = String(text.dropFirst("beef:".count)) }
        var length: Int?
        if let dots = text.range(of: "..(") {
            length = Int(text[dots.upperBound...].dropLast())
            text = String(text[..<dots.lowerBound])
        }
        var bytes = try #require([UInt8](hexadecimal: text))
        if let length {
            // The last byte goes on, or in uploads the numbers from 0 to 255 over and over.
            let isCounting = isUpload && bytes.count > 10 && bytes[bytes.count - 1] == bytes[bytes.count - 2] &+ 1
            while bytes.count < length {
                bytes.append(isCounting ? bytes[bytes.count - 1] &+ 1 : bytes[bytes.count - 1])
            }
        }
        guard isUpload else { return bytes }
        return [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF), 0xBE, 0xEF] + bytes
    }
}
