import Foundation

/// What one part of many trials has found out, as it is kept in a file. Numbers are written so that they are read as they were.
protocol TrialPart: Codable {
    /// The version of the format that this program writes.
    static var currentVersion: Int { get }
    /// That of the part.
    var version: Int { get }
    /// How many trials of each kind all parts have together.
    var seeds: Int { get }
    /// Which part it is.
    var shard: Shard { get }
}

extension TrialPart {
    /// As one line of JSON.
    func line() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Reads what `line()` has written.
    init(_ line: Data) throws { self = try JSONDecoder().decode(Self.self, from: line) }
}

/// Why parts do not make a whole.
struct MergeFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension Shard {
    /// Sees to it that parts, in any order, are a whole.
    static func check<Part: TrialPart>(_ parts: [Part]) throws(MergeFailure) {
        guard let first = parts.first else { throw MergeFailure("there is no part") }
        for part in parts {
            guard part.version == Part.currentVersion else {
                throw MergeFailure(
                    "part \(part.shard.text) is of version \(part.version), and this program knows \(Part.currentVersion)"
                )
            }
            guard part.seeds == first.seeds, part.shard.count == first.shard.count else {
                throw MergeFailure(
                    "part \(part.shard.text) of \(part.seeds) trials does not go with part \(first.shard.text) of \(first.seeds)"
                )
            }
        }
        for number in 1...first.shard.count {
            let found = parts.filter { $0.shard.number == number }.count
            guard found == 1 else {
                let what = found == 0 ? "is missing" : "is there \(found) times"
                throw MergeFailure("part \(number)/\(first.shard.count) \(what)")
            }
        }
    }
}
