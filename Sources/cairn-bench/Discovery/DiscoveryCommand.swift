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
            var report = DiscoveryReport()
            let progress = ProgressLine("Trials", of: Discovery.trialCount(seeds: seeds), option.progress)
            defer { progress.clear() }
            report.sightings = try await Discovery.sightings(seeds: seeds, progress)
            progress.clear()
            try show(report.sightingText, "sighting.md")
            try stopIfInterrupted()
            report.returns = try await Discovery.returns(seeds: seeds, progress)
            progress.clear()
            try show(report.returnText, "return.md")
            try stopIfInterrupted()
            report.regions = try await Discovery.regions(seeds: seeds, progress)
            progress.clear()
            try show(report.regionText, "region.md")
            try stopIfInterrupted()
            report.days = try Discovery.days()
            try show(report.dayText, "radio.md")
            for plot in report.plots { try output.write(plot.chart.svg.document, to: plot.name) }
            let seconds = (clock.now - start) / .seconds(1)
            print("\(seeds) trials of each kind, all in \(seconds.text(0)) s")
            if !report.isGood { throw ExitCode.failure }
        }

        /// What has been printed is of fewer trials than were asked for.
        private func stopIfInterrupted() throws {
            guard Interruption.isRequested else { return }
            print("Interrupted: the last row has fewer than \(seeds) trials, and what would follow is left out.")
            throw ExitCode(Interruption.exitStatus)
        }

        private func show(_ text: String, _ file: String) throws {
            print(text)
            try output.write(text, to: file)
        }
    }
}
