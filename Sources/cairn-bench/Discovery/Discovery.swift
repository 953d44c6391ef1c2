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

    static func sightings(seeds: Int, _ progress: ProgressLine? = nil) async throws -> [DiscoveryReport.Sighting] {
        var results: [DiscoveryReport.Sighting] = []
        for scanner in ScannerProfile.all {
            for interval in intervals {
                let trial = SightingTrial(interval: interval, scanner: scanner)
                let times = try await Trials.run(
                    seeds,
                    progress,
                    prepare: {},
                    trial: { _, seed in try trial.run(seed: seed) }
                )
                guard !times.isEmpty else { return results }
                results.append(.init(interval: interval, scanner: scanner, time: Distribution(times)))
            }
        }
        return results
    }

    static func returns(
        seeds: Int,
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = ScannerProfile.all,
        absences: [Duration] = absences,
        _ progress: ProgressLine? = nil
    ) async throws -> [DiscoveryReport.Return] {
        var results: [DiscoveryReport.Return] = []
        for policy in policies {
            for absence in absences {
                for scanner in scanners {
                    let trial = ReturnTrial(policy: policy, scanner: scanner, absence: absence)
                    let times = try await Trials.run(seeds, progress, prepare: trial.prepare, trial: trial.run)
                    guard !times.isEmpty else { return results }
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
            }
        }
        return results
    }

    static func regions(
        seeds: Int,
        policies: [WatchPolicy] = WatchPolicy.all,
        scanners: [ScannerProfile] = [.foreground, .tenth],
        _ progress: ProgressLine? = nil
    ) async throws -> [DiscoveryReport.Region] {
        var results: [DiscoveryReport.Region] = []
        for policy in policies {
            for absence in absencesAfterQuitting {
                for scanner in scanners {
                    let trial = RegionTrial(policy: policy.withBeacon, scanner: scanner, absence: absence)
                    let times = try await Trials.run(seeds, progress, prepare: trial.prepare, trial: trial.run)
                    guard !times.isEmpty else { return results }
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
            }
        }
        return results
    }

    /// How many trials all three kinds have.
    static func trialCount(seeds: Int) -> Int {
        let sightings = ScannerProfile.all.count * intervals.count
        let returns = WatchPolicy.all.count * absences.count * ScannerProfile.all.count
        let regions = WatchPolicy.all.count * absencesAfterQuitting.count * 2
        return seeds * (sightings + returns + regions)
    }

    static func days() throws -> [RadioDay] {
        try WatchPolicy.all.flatMap { policy in
            try RadioDay.Situation.allCases.map { try RadioDay(policy, $0) }
        }
    }
}
