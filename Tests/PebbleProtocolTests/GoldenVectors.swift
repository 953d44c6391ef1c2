import ByteCoding
import Foundation
import Testing

/// One entry of the golden vector files, which other people's implementations produced.
struct GoldenVector: Sendable {
    let name: String
    let kind: String
    let endpoint: UInt16?
    let direction: String?
    let bytes: [UInt8]
    /// For kind `crc`: what the checksum of the bytes is.
    let crc: UInt32?

    /// Pebble Protocol messages, transcripts, checksums, frames and dictionaries.
    static let pebbleProtocol = load("pebble-protocol")
    /// Bluetooth LE: advertisements, PPoGATT, meta values and more.
    static let bleWatch = load("ble-watch")

    private struct Entry: Decodable {
        let name: String
        let kind: String?
        let endpoint: UInt16?
        let direction: String?
        let hex: String
        let crc: UInt32?
    }

    private static func load(_ file: String) -> [GoldenVector] {
        guard let url = Bundle.module.url(forResource: file, withExtension: "json", subdirectory: "Vectors"),
            let data = try? Data(contentsOf: url),
            let entries = try? JSONDecoder().decode([Entry].self, from: data)
        else {
            Issue.record("the vector file \(file).json cannot be read")
            return []
        }
        return entries.map { entry in
            guard let bytes = [UInt8](hexadecimal: entry.hex) else {
                Issue.record("vector \(entry.name) is not hexadecimal")
                return GoldenVector(
                    name: entry.name,
                    kind: "broken",
                    endpoint: nil,
                    direction: nil,
                    bytes: [],
                    crc: nil
                )
            }
            return GoldenVector(
                name: entry.name,
                kind: entry.kind ?? "",
                endpoint: entry.endpoint,
                direction: entry.direction,
                bytes: bytes,
                crc: entry.crc
            )
        }
    }
}

/// Bytes written as hexadecimal; a test that misspells them fails.
func hex(_ text: String) -> [UInt8] {
    guard let bytes = [UInt8](hexadecimal: text) else {
        Issue.record("not hexadecimal: \(text)")
        return []
    }
    return bytes
}
