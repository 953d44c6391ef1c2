import ArgumentParser
import BluetoothHCI
import Progress

extension CairnBench {
    /// `cairn-bench discovery`.
    struct DiscoveryCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "discovery",
            abstract: "Measures how long phones need to find the watch and to talk to it, and what being found costs.",
            discussion: """
                Thousands of trials on a simulated air: how long a phone needs to hear a watch; how long, back in range or \
                woken by the beacon, until its app's first message is acknowledged, with the watch's firmware and a phone \
                at both ends; and how long the watch's radio is on in a day. The exit status is 1 if a target is missed.

                Scanners: \(ScannerProfile.all.map { "\($0.name), \($0.description)" }.joined(separator: "; ")).

                With 10000 seeds it takes some minutes.
                """
        )

        @Option(help: "How many trials of each kind.")
        var seeds = 10_000

        @OptionGroup var trials: TrialOptions
        @OptionGroup var output: OutputDirectory
        @OptionGroup var option: ProgressOption

        mutating func validate() throws {
            guard (1...1_000_000).contains(seeds) else {
                throw ValidationError("--seeds \(seeds): give a number from 1 to 1000000")
            }
        }

        func run() async throws {
            let clock = ContinuousClock()
            let start = clock.now
            Interruption.take()
            let plan = trials.plan
            var report = DiscoveryReport()
            let count = Discovery.trialCount(seeds: plan.shard.seeds(upTo: seeds).count)
            let progress = ProgressLine("Trials", of: count, option.progress)
            defer { progress.clear() }
            report.sightings = try await Discovery.sightings(seeds: seeds, plan, progress)
            try finish(progress, report.sightingText, "sighting.md")
            report.returns = try await Discovery.returns(seeds: seeds, plan, progress)
            try finish(progress, report.returnText, "return.md")
            report.regions = try await Discovery.regions(seeds: seeds, plan, progress)
            try finish(progress, report.regionText, "region.md")
            guard trials.shard == nil else {
                print(try DiscoveryPart(report, seeds: seeds, shard: plan.shard).line())
                return
            }
            report.days = try Discovery.days()
            try output.show(report.dayText, as: "radio.md")
            try report.writePlots(output)
            let seconds = (clock.now - start) / .seconds(1)
            // What is printed depends on the seeds alone; how long it took is for who watches.
            StandardError.print("\(seeds) trials of each kind, all in \(seconds.text(0)) s")
            if !report.isGood { throw ExitCode.failure }
        }

        /// A table is done: it is shown, unless all that is wanted is a part of it.
        private func finish(_ progress: ProgressLine, _ text: String, _ file: String) throws {
            progress.clear()
            if trials.shard == nil { try output.show(text, as: file) }
            guard Interruption.isRequested else { return }
            if trials.shard == nil {
                print("Interrupted: the last row has fewer than \(seeds) trials, and what would follow is left out.")
            }
            throw ExitCode(Interruption.exitStatus)
        }
    }
}
