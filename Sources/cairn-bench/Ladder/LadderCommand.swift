import ArgumentParser
import Progress

extension CairnBench {
    /// `cairn-bench ladder`.
    struct LadderCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "ladder",
            abstract: "Measures what each way to send data carries, beside what packet formats allow.",
            discussion: """
                Real hosts at both ends of a simulated connection send for a while, in each of the ways of Apple's talk \
                "What's New in Core Bluetooth" (2017): with the phone of that talk, and with one of today. The exit \
                status is 1 if a figure is more than 2 % from the one that follows from packet formats, or if a channel \
                does not reach 98 % of what SDUs of 8192 octets without further framing would.

                Profiles: \(DeviceProfile.all.map { "\($0.name), \($0.description)" }.joined(separator: "; ")).
                """
        )

        @Option(help: "Only this profile.")
        var profile: String?

        @Option(help: "How many simulated seconds each rung sends.")
        var seconds = 30

        @OptionGroup var output: OutputDirectory
        @OptionGroup var option: ProgressOption

        mutating func validate() throws {
            guard (1...3600).contains(seconds) else {
                throw ValidationError("--seconds \(seconds): give a number from 1 to 3600")
            }
            if let profile, !DeviceProfile.all.contains(where: { $0.name == profile }) {
                let names = DeviceProfile.all.map(\.name).joined(separator: " or ")
                throw ValidationError("--profile \(profile): give \(names)")
            }
        }

        func run() throws {
            Interruption.take()
            var isGood = true
            let profiles = DeviceProfile.all.filter { profile in self.profile.map { $0 == profile.name } ?? true }
            let count = profiles.reduce(0) { $0 + Rung.ladder(of: $1).count }
            let progress = ProgressLine("Ladder", of: count, option.progress)
            defer { progress.clear() }
            for profile in profiles where !Interruption.isRequested {
                var results: [RungResult] = []
                for rung in Rung.ladder(of: profile) where !Interruption.isRequested {
                    results.append(try Ladder.climb(rung, profile, for: .seconds(Int64(seconds))))
                    progress.add(1)
                }
                guard !results.isEmpty else { break }
                progress.clear()
                let report = LadderReport(profile: profile, results: results)
                print(report.text)
                try output.write(report.text, to: "ladder-\(profile.name).md")
                try output.write(report.chart.svg.document, to: "ladder-\(profile.name).svg")
                isGood = isGood && results.allSatisfy(\.isGood)
            }
            if Interruption.isRequested { throw ExitCode(Interruption.exitStatus) }
            if !isGood { throw ExitCode.failure }
        }
    }
}

/// The ladder as people read it.
struct LadderReport {
    let profile: DeviceProfile
    let results: [RungResult]

    var text: String {
        var table = TextTable(["rung", "interval", "talk", "derived", "measured", "off", "limit", ""])
        for result in results {
            table.append([
                result.rung.name,
                "\((result.rung.interval.duration / .milliseconds(1)).axisLabel) ms",
                result.rung.published.map(\.axisLabel) ?? "",
                result.derived.text(2),
                result.measured.text(2),
                "\((result.deviation * 100).text(2)) %",
                result.limit?.text(1) ?? "",
                result.isGood ? "ok" : "OFF",
            ])
        }
        return """
            \(profile.name): \(profile.description)

            \(table.text)

            kbit/s of application data. derived: from packet formats, for this interval; limit: for an event without end.

            """
    }

    var chart: BarChart {
        let hasTalk = results.contains { $0.rung.published != nil }
        return BarChart(
            title: "Phone to watch, \(profile.name)",
            axis: "kbit/s of application data",
            series: ["measured", "derived"] + (hasTalk ? ["the talk"] : []),
            groups: results.map { result in
                BarChart.Group(
                    name: result.rung.name,
                    values: [result.measured, result.derived] + (hasTalk ? [result.rung.published] : [])
                )
            }
        )
    }
}
