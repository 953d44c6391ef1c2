import BluetoothHCI

/// Everything that one run of `cairn-bench discovery` finds out.
struct DiscoveryReport {
    struct Sighting {
        let interval: AdvertisingInterval
        let scanner: ScannerProfile
        let time: Distribution
    }

    struct Return {
        let policy: WatchPolicy
        let scanner: ScannerProfile
        let absence: Duration
        let connected: Distribution
        let message: Distribution

        /// In seconds, for the 99th percentile of the first message: for a link that was lost just now.
        var target: Double? {
            guard absence <= .seconds(10) else { return nil }
            switch scanner.name {
            case ScannerProfile.foreground.name: return 1
            case ScannerProfile.tenth.name: return 10
            default: return nil
            }
        }

        var isGood: Bool { target.map { message.quantile(0.99) <= $0 } ?? true }
    }

    struct Region {
        let policy: WatchPolicy
        let scanner: ScannerProfile
        let absence: Duration
        let entry: Distribution
        let message: Distribution

        /// What iOS gives an app that it wakes, in seconds.
        static let target = 10.0

        var isGood: Bool { message.quantile(0.99) <= Self.target }
    }

    var sightings: [Sighting] = []
    var returns: [Return] = []
    var regions: [Region] = []
    var days: [RadioDay] = []

    var isGood: Bool { returns.allSatisfy(\.isGood) && regions.allSatisfy(\.isGood) }
}

// MARK: - All of it

extension DiscoveryReport {
    /// Prints the tables, and leaves them and the plots in a folder.
    func show(_ output: OutputDirectory) throws {
        for (text, file) in [
            (sightingText, "sighting.md"), (returnText, "return.md"), (regionText, "region.md"), (dayText, "radio.md"),
        ] {
            try output.show(text, as: file)
        }
        try writePlots(output)
    }

    func writePlots(_ output: OutputDirectory) throws {
        for plot in plots { try output.write(plot.chart.svg.document, to: plot.name) }
    }
}

// MARK: - Tables

extension DiscoveryReport {
    /// The sections in the order in which they are found out, each with its table.
    static func section(_ title: String, _ table: TextTable) -> String { "\(title)\n\n\(table.text)\n" }

    private static func quantiles(_ times: Distribution) -> [String] {
        [times.median, times.quantile(0.95), times.quantile(0.99)].map { $0.text($0 < 10 ? 2 : 1) }
    }

    var sightingText: String {
        var table = TextTable(["advertising interval", "scanner", "mean", "median", "p95", "p99"])
        for sighting in sightings {
            table.append(
                ["\(sighting.interval.milliseconds) ms", sighting.scanner.name, sighting.time.mean.text(2)]
                    + Self.quantiles(sighting.time)
            )
        }
        return Self.section("Seconds until a phone hears a watch that advertises all the time", table)
    }

    var returnText: String {
        var table = TextTable([
            "policy", "away for", "scanner", "connected", "p95", "p99", "first message", "p95", "p99", "target", "",
        ])
        for one in returns {
            table.append(
                [one.policy.name, one.absence.wholeSeconds, one.scanner.name]
                    + Self.quantiles(one.connected) + Self.quantiles(one.message)
                    + [one.target?.axisLabel ?? "", one.target == nil ? "" : one.isGood ? "ok" : "MISSED"]
            )
        }
        return Self.section(
            "Seconds from a phone's return into range to its connection, and to its app's first acknowledged AppMessage",
            table
        )
    }

    var regionText: String {
        var table = TextTable([
            "policy", "away for", "scanner", "region entry", "p95", "p99", "first message", "p95", "p99", "target", "",
        ])
        for one in regions {
            table.append(
                [one.policy.name, one.absence.wholeSeconds, one.scanner.name]
                    + Self.quantiles(one.entry) + Self.quantiles(one.message)
                    + [Region.target.axisLabel, one.isGood ? "ok" : "MISSED"]
            )
        }
        return Self.section(
            "Seconds from a force-quit, or the return after it, until the phone hears the beacon, and from then to the first message",
            table
        )
    }

    var dayText: String {
        var table = TextTable(["policy", "", "transmitting", "receiving", "radio on", "mAh"])
        for day in days {
            table.append([
                day.policy.name, day.situation.rawValue,
                (day.usage.total.transmitting / .seconds(1)).text(1),
                (day.usage.total.receiving / .seconds(1)).text(1),
                day.seconds.text(1),
                day.milliampereHours().text(2),
            ])
        }
        return Self.section(
            "Seconds a day for which the watch's radio is on, and the charge that an nRF52840 takes",
            table
        )
    }
}

// MARK: - Plots

extension DiscoveryReport {
    /// Files by name.
    var plots: [(name: String, chart: CurveChart)] {
        ScannerProfile.all.flatMap { scanner in
            [
                ("sighting-\(scanner.fileName).svg", sightingChart(scanner)),
                ("return-\(scanner.fileName).svg", returnChart(scanner)),
                ("region-\(scanner.fileName).svg", regionChart(scanner)),
            ]
        }
        .filter { !$0.1.curves.isEmpty }
    }

    private func sightingChart(_ scanner: ScannerProfile) -> CurveChart {
        CurveChart(
            title: "Heard by a scanner, \(scanner.name)",
            axis: "seconds",
            curves: sightings.filter { $0.scanner.name == scanner.name && $0.interval.isOnPlots }.map {
                CurveChart.Curve("\($0.interval.milliseconds) ms", $0.time)
            }
        )
    }

    private func returnChart(_ scanner: ScannerProfile) -> CurveChart {
        let shown = returns.filter { $0.scanner.name == scanner.name }
        return CurveChart(
            title: "First AppMessage after the phone's return, \(scanner.name)",
            axis: "seconds",
            curves: shown.map {
                CurveChart.Curve("\($0.policy.name), away \($0.absence.wholeSeconds)", $0.message)
            },
            mark: shown.compactMap(\.target).first.map { .init(value: $0, label: "target after 10 s") }
        )
    }

    private func regionChart(_ scanner: ScannerProfile) -> CurveChart {
        CurveChart(
            title: "First AppMessage after region entry, \(scanner.name)",
            axis: "seconds",
            curves: regions.filter { $0.scanner.name == scanner.name }.map {
                CurveChart.Curve("\($0.policy.name), away \($0.absence.wholeSeconds)", $0.message)
            },
            mark: .init(value: Region.target, label: "what iOS grants")
        )
    }
}

extension CurveChart.Curve {
    init(_ name: String, _ times: Distribution) {
        self.init(name: name, points: times.curve().map { (max($0.seconds, 0.001), $0.share) })
    }
}

extension Duration {
    fileprivate var wholeSeconds: String { "\(components.seconds) s" }
}

extension AdvertisingInterval {
    /// Without zeros that say nothing.
    var milliseconds: String { (duration / .milliseconds(1)).axisLabel }

    /// A few are enough to see how they differ.
    fileprivate var isOnPlots: Bool { [32, 244, 338, 668, 1636, 2056].contains(rawValue) }
}
