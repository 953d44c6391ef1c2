import ArgumentParser
import Progress

extension CairnBench {
    /// `cairn-bench crowd`.
    struct CrowdCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "crowd",
            abstract: "Measures what many watches on one air cost, each with a phone, and how they find each other.",
            discussion: """
                Two things for each number of pairs. Pairs that have met talk: each phone sends one AppMessage a second, and \
                its watch sends it back. And pairs that all come to the air at one instant look for each other, each phone \
                for a watch of its own.

                With the usual numbers it takes a few minutes. --seeds has the pairs of --meeting meet many times instead, \
                and prints nothing but what the seeds decide: such trials run on all processors, and in parts on many \
                machines.
                """
        )

        @Option(help: "How many pairs talk; a list, with commas.")
        var pairs = "1,10,50,100,300,1000"

        @Option(help: "How many pairs look for each other; a list, with commas.")
        var meeting = "1,10,50,100,200"

        @Option(help: "How many simulated seconds the pairs talk.")
        var seconds = 20

        @Option(help: "How many simulated seconds the pairs that look for each other have.")
        var limit = 300

        @Option(help: "How many times each number of pairs meets, with the seeds 1 to that.")
        var seeds: Int?

        @OptionGroup var trials: TrialOptions

        @Option(help: "What determines everything that is left to chance.")
        var seed: UInt64 = 1

        @Flag(help: "Print a number that stands for every packet of a meeting: the same in every run.")
        var transcript = false

        @OptionGroup var output: OutputDirectory
        @OptionGroup var option: ProgressOption

        mutating func validate() throws {
            for (name, list) in [("pairs", pairs), ("meeting", meeting)] where Self.numbers(list) == nil {
                throw ValidationError("--\(name) \(list): give numbers from 1 to 10000, with commas between them")
            }
            guard (2...3600).contains(seconds) else {
                throw ValidationError("--seconds \(seconds): give a number from 2 to 3600")
            }
            guard (1...3600).contains(limit) else {
                throw ValidationError("--limit \(limit): give a number from 1 to 3600")
            }
            if let seeds, !(1...1_000_000).contains(seeds) {
                throw ValidationError("--seeds \(seeds): give a number from 1 to 1000000")
            }
            guard seeds != nil || (trials.shard == nil && trials.jobs == nil) else {
                throw ValidationError("--jobs and --shard are for many trials: give --seeds as well")
            }
        }

        /// The numbers of a list; nil if it is none. Nothing makes an empty one.
        static func numbers(_ list: String) -> [Int]? {
            let numbers = list.split(separator: ",").map { Int($0) }
            guard numbers.allSatisfy({ $0.map((1...10_000).contains) == true }) else { return nil }
            return numbers.compactMap(\.self)
        }

        func run() async throws {
            Interruption.take()
            if let seeds { return try await runTrials(seeds) }
            var report = CrowdReport()
            let talking = Self.numbers(pairs) ?? []
            let looking = Self.numbers(meeting) ?? []
            let progress = ProgressLine("Crowds", of: talking.count + looking.count, option.progress)
            defer { progress.clear() }
            for count in talking where !Interruption.isRequested {
                report.talks.append(try CrowdTalk(pairs: count, seconds: seconds, seed: seed))
                progress.add(1)
            }
            progress.clear()
            if !report.talks.isEmpty { try output.show(report.talkText, as: "crowd-talk.md") }
            for count in looking where !Interruption.isRequested {
                report.meetings.append(
                    try CrowdMeeting(pairs: count, limit: limit, seed: seed, hasTranscript: transcript)
                )
                progress.add(1)
            }
            progress.clear()
            if !report.meetings.isEmpty { try output.show(report.meetingText, as: "crowd-meeting.md") }
            for plot in report.plots { try output.write(plot.chart.svg.document, to: plot.name) }
            if Interruption.isRequested { throw ExitCode(Interruption.exitStatus) }
        }

        private func runTrials(_ seeds: Int) async throws {
            let plan = trials.plan
            let counts = Self.numbers(meeting) ?? []
            let progress = ProgressLine(
                "Trials",
                of: counts.count * plan.shard.seeds(upTo: seeds).count,
                option.progress
            )
            defer { progress.clear() }
            var report = CrowdReport()
            for pairs in counts where !Interruption.isRequested {
                report.samples.append(
                    try await CrowdSample(pairs: pairs, seeds: seeds, limit: limit, plan, progress)
                )
            }
            progress.clear()
            if trials.shard == nil {
                try report.showSamples(output)
                if Interruption.isRequested {
                    print(
                        "Interrupted: the last row has fewer than \(seeds) trials, and what would follow is left out."
                    )
                }
            }
            if Interruption.isRequested { throw ExitCode(Interruption.exitStatus) }
            if trials.shard != nil {
                print(try CrowdPart(report.samples, seeds: seeds, limit: limit, shard: plan.shard).line())
            }
        }
    }
}
