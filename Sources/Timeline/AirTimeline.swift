import BluetoothHCI

/// What lasts on the air, as the commands and events of one controller tell it.
struct AirTimeline: Sendable {
    private struct Open {
        var span: Timeline.Span
        /// Which advertising set, which link; for scanning and connecting, nothing.
        var name: Int
    }

    /// How many spans are kept.
    private static let limit = 5000

    private var open: [Open] = []
    private var closed: [Timeline.Span] = []
    private var advertisingInterval: [Int: String] = [:]
    private var scanning = ""

    // The names of the advertisers: legacy advertising, and the sets.
    private static let legacy = -1
    private static let connecting = -2

    /// Takes a command that may begin or end something. That the controller refuses it is rare, and shows in the HCI lane.
    mutating func take(_ command: any HCICommand, at now: Int64) {
        switch command {
        case let command as LESetAdvertisingParameters:
            advertisingInterval[Self.legacy] = Milliseconds.text(command.intervalMinimum)
        case let command as LESetExtendedAdvertisingParameters:
            advertisingInterval[Int(command.set.rawValue)] = Milliseconds.text(command.intervalMinimum)
        case let command as LESetAdvertisingEnable:
            if command.isEnabled { advertisingBegan(Self.legacy, at: now) } else { legacyAdvertisingEnded(at: now) }
        case let command as LESetExtendedAdvertisingEnable:
            if command.sets.isEmpty, !command.isEnabled {
                close(.advertising, at: now)
            }
            for entry in command.sets {
                if command.isEnabled {
                    advertisingBegan(Int(entry.set.rawValue), at: now)
                } else {
                    advertisingEnded(set: entry.set, at: now)
                }
            }
        case let command as LESetScanParameters:
            scanning = "\(Milliseconds.text(command.window)) of \(Milliseconds.text(command.interval))"
        case let command as LESetExtendedScanParameters:
            if let scan = command.le1M ?? command.leCoded {
                scanning = "\(Milliseconds.text(scan.window)) of \(Milliseconds.text(scan.interval))"
            }
        case let command as LESetScanEnable:
            if command.isEnabled { scanningBegan(at: now) } else { scanningEnded(at: now) }
        case let command as LESetExtendedScanEnable:
            if command.isEnabled { scanningBegan(at: now) } else { scanningEnded(at: now) }
        case is LECreateConnection, is LEExtendedCreateConnection:
            begin(.scanning, Self.connecting, "Connecting", at: now, ["Waits for the advertiser, to connect to it"])
        default: break
        }
    }

    private mutating func advertisingBegan(_ set: Int, at now: Int64) {
        let interval = advertisingInterval[set].map { " every \($0)" } ?? ""
        let name = set == Self.legacy ? "" : " set \(set)"
        end(.advertising, set, at: now)
        begin(.advertising, set, "Advertising\(name)\(interval)", at: now, ["Advertising\(name)\(interval)"])
    }

    mutating func advertisingEnded(set: AdvertisingHandle, at now: Int64) {
        end(.advertising, Int(set.rawValue), at: now)
    }

    mutating func legacyAdvertisingEnded(at now: Int64) { end(.advertising, Self.legacy, at: now) }

    private mutating func scanningBegan(at now: Int64) {
        end(.scanning, 0, at: now)
        begin(.scanning, 0, "Scanning, \(scanning)", at: now, ["Scanning: \(scanning)"])
    }

    mutating func scanningEnded(at now: Int64) { end(.scanning, 0, at: now) }

    mutating func connectingEnded(at now: Int64) { end(.scanning, Self.connecting, at: now) }

    mutating func linkBegan(_ link: Int, peer: String, interval: String, at now: Int64, _ details: [String]) {
        begin(.link, link, "Link \(link) to \(peer), \(interval)", at: now, ["Link \(link) to \(peer)"] + details)
    }

    /// The link goes on with another interval: a new span in the same row.
    mutating func linkChanged(_ link: Int, interval: String, at now: Int64, _ details: [String]) {
        guard let row = end(.link, link, at: now) else { return }
        open.append(
            Open(
                span: Timeline.Span(
                    row: row,
                    kind: .link,
                    link: link,
                    start: now,
                    end: .max,
                    label: interval,
                    details: ["Link \(link), parameters changed"] + details
                ),
                name: link
            )
        )
    }

    mutating func linkEnded(_ link: Int, at now: Int64, _ reason: String) {
        for index in open.indices where open[index].span.kind == .link && open[index].name == link {
            open[index].span.details.append("ended: \(reason)")
        }
        end(.link, link, at: now)
    }

    /// What overlaps a time, cut to it.
    func spans(from start: Int64, to end: Int64, link: Int?) -> [Timeline.Span] {
        (closed + open.map(\.span)).filter { span in
            span.start <= end && span.end >= start && (link == nil || span.link == nil || span.link == link)
        }
        .map { span in
            var span = span
            span.start = max(span.start, start)
            span.end = min(span.end, end)
            return span
        }
        .sorted { ($0.start, $0.row) < ($1.start, $1.row) }
    }

    private mutating func begin(
        _ kind: Timeline.Span.Kind,
        _ name: Int,
        _ label: String,
        at now: Int64,
        _ details: [String]
    ) {
        guard open.count + closed.count < Self.limit else { return }
        let taken = Set(open.map(\.span.row))
        let row = (0...).first { !taken.contains($0) } ?? 0
        let span = Timeline.Span(
            row: row,
            kind: kind,
            link: kind == .link ? name : nil,
            start: now,
            end: .max,
            label: label,
            details: details
        )
        open.append(Open(span: span, name: name))
    }

    /// - Returns: the row that is free now.
    @discardableResult
    private mutating func end(_ kind: Timeline.Span.Kind, _ name: Int, at now: Int64) -> Int? {
        guard let index = open.firstIndex(where: { $0.span.kind == kind && $0.name == name }) else { return nil }
        var span = open.remove(at: index).span
        span.end = now
        closed.append(span)
        return span.row
    }

    private mutating func close(_ kind: Timeline.Span.Kind, at now: Int64) {
        for each in open where each.span.kind == kind { end(kind, each.name, at: now) }
    }
}
