import BluetoothHCI
import PebbleWatch

/// What reconnection costs with each way of finding the phone's services.
struct ReconnectReport: Sendable {
    struct Row: Sendable {
        let personality: Personality
        let handset: ReconnectTrial.Handset
        let interval: ConnectionInterval
        let remembering: ReconnectTrial.Cost
        let afresh: ReconnectTrial.Cost
        let everything: ReconnectTrial.Cost

        /// Whether the watch has anything to find: it has not where the phone is the client.
        var isForward: Bool { handset.transport(to: personality) == .forward }
        /// Of the events that a Pebble needs, how many the watch does with.
        var ratio: Double { Double(remembering.events) / Double(everything.events) }
        var isGood: Bool { !isForward || ratio <= ReconnectReport.target }
    }

    /// At most half of a Pebble's events.
    static let target = 0.5
    static let intervals: [ConnectionInterval] = [.milliseconds(15), .milliseconds(30), .milliseconds(50)]

    private(set) var rows: [Row] = []

    init(
        of personalities: [Personality] = Personality.generations,
        intervals: [ConnectionInterval] = intervals
    ) throws {
        for personality in personalities {
            for handset in ReconnectTrial.Handset.allCases {
                for interval in intervals { rows.append(try Self.row(personality, handset, interval)) }
            }
        }
    }

    private static func row(
        _ personality: Personality,
        _ handset: ReconnectTrial.Handset,
        _ interval: ConnectionInterval
    ) throws -> Row {
        func cost(_ discovery: PhoneDiscovery) throws -> ReconnectTrial.Cost {
            let trial = ReconnectTrial(
                personality: personality,
                handset: handset,
                interval: interval,
                discovery: discovery
            )
            return try trial.run()
        }
        return Row(
            personality: personality,
            handset: handset,
            interval: interval,
            remembering: try cost(.remembering),
            afresh: try cost(.afresh),
            everything: try cost(.everything)
        )
    }

    var isGood: Bool { rows.allSatisfy(\.isGood) }

    var text: String {
        var table = TextTable([
            "personality", "phone", "interval", "remembered", "by UUID", "as a Pebble", "ratio", "session",
            "time, remembered", "time, as a Pebble",
        ])
        for row in rows {
            table.append([
                row.personality.name,
                "\(row.handset.rawValue), \(row.isForward ? "hosts PPoGATT" : "uses the watch's")",
                "\(row.interval)",
                "\(row.remembering.events)",
                "\(row.afresh.events)",
                "\(row.everything.events)",
                (row.isForward ? row.ratio.text(2) : "–") + (row.isGood ? "" : " !"),
                "\(row.remembering.sessionEvents) of \(row.everything.sessionEvents)",
                "\((row.remembering.time / .milliseconds(1)).text(0)) ms",
                "\((row.everything.time / .milliseconds(1)).text(0)) ms",
            ])
        }
        return table.text
    }
}
