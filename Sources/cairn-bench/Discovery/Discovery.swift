import BluetoothHCI
import Progress

/// Runs the trials of all policies, scanners and situations.
enum Discovery {
    /// Apple's ten, the real watch's slow one, and the one that Linux takes if it is told nothing; in 0.625 ms slots.
    static let intervals: [AdvertisingInterval] =
        [32, 244, 338, 510, 668, 874, 1216, 1364, 1635, 1636, 2048, 2056].map(AdvertisingInterval.init(rawValue:))

    /// How long the phone is away: just now, and for so long that the watch has become slow.
    static let absences: [Duration] = [.seconds(10), .seconds(600)]

    /// How long a phone is away after its app was force-quit: not at all, and for so long that the watch has become slow.
    static let absencesAfterQuitting: [Duration] = [.zero, .seconds(600)]

    /// The rows of the table of sightings.
    static func sightingCases() -> [(scanner: ScannerProfile, interval: AdvertisingInterval)] {
        ScannerProfile.all.flatMap { scanner in intervals.map { (scanner, $0) } }
    }

    /// The rows of the table of returns.
    static func returnCases(
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = ScannerProfile.all,
        absences: [Duration] = absences
    ) -> [(policy: WatchPolicy, absence: Duration, scanner: ScannerProfile)] {
        policies.flatMap { policy in absences.flatMap { absence in scanners.map { (policy, absence, $0) } } }
    }

    /// The rows of the table of the beacon.
    static func regionCases(
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = [.foreground, .tenth]
    ) -> [(policy: WatchPolicy, absence: Duration, scanner: ScannerProfile)] {
        returnCases(policies: policies, scanners: scanners, absences: absencesAfterQuitting)
    }

    static func sightings(
        seeds: Int,
        _ plan: TrialPlan = TrialPlan(),
        _ progress: ProgressLine? = nil
    ) async throws -> [DiscoveryReport.Sighting] {
        var results: [DiscoveryReport.Sighting] = []
        for (scanner, interval) in sightingCases() {
            let trial = SightingTrial(interval: interval, scanner: scanner)
            let times = try await Trials.run(
                seeds,
                plan,
                progress,
                prepare: {},
                trial: { _, seed in try trial.run(seed: seed) }
            )
            guard !Interruption.isRequested || !times.isEmpty else { return results }
            results.append(.init(interval: interval, scanner: scanner, time: Distribution(times)))
        }
        return results
    }

    static func returns(
        seeds: Int,
        _ plan: TrialPlan = TrialPlan(),
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = ScannerProfile.all,
        absences: [Duration] = absences,
        _ progress: ProgressLine? = nil
    ) async throws -> [DiscoveryReport.Return] {
        var results: [DiscoveryReport.Return] = []
        for (policy, absence, scanner) in returnCases(policies: policies, scanners: scanners, absences: absences) {
            let trial = ReturnTrial(policy: policy, scanner: scanner, absence: absence)
            let times = try await Trials.run(seeds, plan, progress, prepare: trial.prepare, trial: trial.run)
            guard !Interruption.isRequested || !times.isEmpty else { return results }
            results.append(
                .init(
                    policy: policy,
                    scanner: scanner,
                    absence: absence,
                    connected: Distribution(times.map(\.connected)),
                    message: Distribution(times.map(\.acknowledged))
                )
            )
        }
        return results
    }

    static func regions(
        seeds: Int,
        _ plan: TrialPlan = TrialPlan(),
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = [.foreground, .tenth],
        _ progress: ProgressLine? = nil
    ) async throws -> [DiscoveryReport.Region] {
        var results: [DiscoveryReport.Region] = []
        for (policy, absence, scanner) in regionCases(policies: policies, scanners: scanners) {
            let trial = RegionTrial(policy: policy.withBeacon, scanner: scanner, absence: absence)
            let times = try await Trials.run(seeds, plan, progress, prepare: trial.prepare, trial: trial.run)
            guard !Interruption.isRequested || !times.isEmpty else { return results }
            results.append(
                .init(
                    policy: policy,
                    scanner: scanner,
                    absence: absence,
                    entry: Distribution(times.map(\.entry)),
                    message: Distribution(times.map(\.acknowledged))
                )
            )
        }
        return results
    }

    /// How many trials all three kinds have.
    static func trialCount(seeds: Int) -> Int {
        seeds * (sightingCases().count + returnCases().count + regionCases().count)
    }

    static func days() throws -> [RadioDay] {
        try WatchPolicy.all.flatMap { policy in
            try RadioDay.Situation.allCases.map { try RadioDay(policy, $0) }
        }
    }
}
