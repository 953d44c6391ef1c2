import ArgumentParser
import Foundation

/// Where a command leaves its plots.
struct OutputDirectory: ParsableArguments {
    @Option(name: .customLong("output"), help: "Write the table and the plots (SVG) into this folder as well.")
    var path: String?

    /// Prints a text, and writes it into a file as well.
    func show(_ text: String, as name: String) throws {
        print(text)
        try write(text, to: name)
    }

    /// Writes a file, if a folder was named.
    func write(_ text: String, to name: String) throws {
        guard let path else { return }
        let folder = URL(fileURLWithPath: path, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }
}
