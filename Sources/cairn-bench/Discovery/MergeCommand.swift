import ArgumentParser
import Foundation

extension CairnBench {
    /// `cairn-bench merge`.
    struct MergeCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "merge",
            abstract: "Puts the parts of a run together that was made with --shard.",
            discussion: """
                It prints, and leaves in the folder that --output names, what the whole run would have, byte for byte. The \
                exit status is 1 if a target is missed, and 64 if a part is missing or does not belong to the others.
                """
        )

        @Argument(help: ArgumentHelp("What each part has printed, in any order.", valueName: "file"))
        var files: [String]

        @OptionGroup var output: OutputDirectory

        func run() throws {
            var discoveries: [DiscoveryPart] = []
            var crowds: [CrowdPart] = []
            for file in files {
                do {
                    let line = try Data(contentsOf: URL(fileURLWithPath: file))
                    if let crowd = try? CrowdPart(line) {
                        crowds.append(crowd)
                    } else {
                        discoveries.append(try DiscoveryPart(line))
                    }
                } catch {
                    throw ValidationError("\(file) is no part that cairn-bench with --shard has printed: \(error)")
                }
            }
            do {
                guard discoveries.isEmpty || crowds.isEmpty else {
                    throw MergeFailure("some parts are of cairn-bench discovery, and some of cairn-bench crowd")
                }
                guard crowds.isEmpty else { return try CrowdReport(merging: crowds).showSamples(output) }
                var report = try DiscoveryReport(merging: discoveries)
                report.days = try Discovery.days()
                try report.show(output)
                if !report.isGood { throw ExitCode.failure }
            } catch let failure as MergeFailure {
                throw ValidationError("\(failure)")
            }
        }
    }
}
