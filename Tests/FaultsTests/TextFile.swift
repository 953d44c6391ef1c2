import Foundation

/// A file of the project.
enum TextFile {
    static func read(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }
}
