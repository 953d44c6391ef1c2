import BluetoothHCI

/// When a scanner or an initiator listens on one PHY: a window at the start of each interval, on one channel each.
///
/// Source: Core 5.4, Vol 6, Part B, 4.4.3.
struct ListeningSchedule: Sendable {
    var start: Microseconds
    var interval: Microseconds
    var window: Microseconds
    /// The channel of the first window; the others take turns.
    var firstChannel: Int

    init(start: Microseconds, _ interval: ScanInterval, window: ScanInterval, _ firstChannel: Int) {
        self.start = start
        self.interval = Microseconds(interval.duration)
        self.window = Microseconds(window.duration)
        self.firstChannel = firstChannel
    }

    /// The channel listened to from a moment on, for at least as long as an access address takes; nil outside of a
    /// window. A packet that begins in a window is received even if the window ends before it.
    func channel(at moment: Microseconds) -> Int? {
        let since = moment - start
        guard since >= .zero else { return nil }
        let count = since / interval
        let inWindow = since - interval * count
        guard window >= interval || inWindow + AirTime.listenTimeout <= window else { return nil }
        return 37 + (firstChannel - 37 + Int(count % 3)) % 3
    }

    /// Whether any packet of an advertising event is heard: one on each channel, `spacing` apart.
    func hears(_ channels: [Int], from start: Microseconds, spacing: Microseconds) -> Bool {
        var packetStart = start
        for channel in channels {
            if self.channel(at: packetStart) == channel { return true }
            packetStart += spacing
        }
        return false
    }

    /// How long the windows up to a moment were, all together.
    func listened(until end: Microseconds) -> Microseconds {
        let since = max(.zero, end - start)
        let count = since / interval
        return min(window, interval) * count + min(since - interval * count, window)
    }
}

/// What a controller scans for, and what it has found.
struct Scanner: Sendable {
    /// What a report was about: each is reported once while duplicates are filtered.
    struct ReportKey: Hashable, Sendable {
        var address: LEAddress?
        var isScanResponse: Bool
        /// The data identifier and the set identifier of extended advertising.
        var dataInfo: UInt16?
    }

    /// How many advertisers are remembered to filter duplicates; then the oldest are forgotten.
    static let memory = 256

    var ownAddressType = OwnAddressType.public
    var filterPolicy = ScanFilterPolicy.anyone
    /// What the host has set for each PHY.
    var le1M: LESetExtendedScanParameters.Scan? = .init(
        type: .passive,
        interval: ScanInterval(rawValue: 0x10),
        window: ScanInterval(rawValue: 0x10)
    )
    var leCoded: LESetExtendedScanParameters.Scan?

    var isEnabled = false
    var isExtended = false
    var filtersDuplicates = false
    var renewsFilterEachPeriod = false
    var schedules: [PHY: ListeningSchedule] = [:]
    /// When it stops by itself, and how long after its start it starts again.
    var end: Microseconds?
    var duration: Microseconds?
    var period: Microseconds?
    /// When it starts again.
    var restart: Microseconds?

    private var reported: Set<ReportKey> = []
    private var reportOrder: [ReportKey] = []

    // Backoff after lost scan requests (Core 5.4, Vol 6, Part B, 4.4.3.2).
    private var backoffCount = 1
    private var backoffLimit = 1
    private var successes = 0
    private var failures = 0

    /// Begins to scan: on each PHY that the host has set, one after the other within an interval.
    mutating func start(at now: Microseconds, firstChannel: Int) {
        isEnabled = true
        schedules = [:]
        var start = now
        for (phy, scan) in [(PHY.le1M, le1M), (.leCoded, leCoded)] {
            guard let scan else { continue }
            schedules[phy] = ListeningSchedule(start: start, scan.interval, window: scan.window, firstChannel)
            start += Microseconds(scan.window.duration)
        }
        end = duration.map { now + $0 }
        restart = period.map { now + $0 }
        if renewsFilterEachPeriod { forgetReports() }
    }

    func isActive(on phy: PHY) -> Bool { (phy == .leCoded ? leCoded : le1M)?.type == .active }

    /// Whether something is to be reported; if so, it will not be again while duplicates are filtered.
    mutating func reports(_ key: ReportKey) -> Bool {
        guard filtersDuplicates else { return true }
        guard reported.insert(key).inserted else { return false }
        reportOrder.append(key)
        if reportOrder.count > Self.memory { reported.remove(reportOrder.removeFirst()) }
        return true
    }

    /// Whether something has been reported and will not be again.
    func hasReported(_ key: ReportKey) -> Bool { filtersDuplicates && reported.contains(key) }

    mutating func forgetReports() {
        reported.removeAll()
        reportOrder.removeAll()
    }

    /// How long it has listened since it began.
    func usage(until now: Microseconds) -> RadioTime {
        var usage = RadioTime()
        for schedule in schedules.values { usage.receive += schedule.listened(until: now) }
        return usage
    }

    /// Whether to send a scan request now.
    mutating func mayRequest() -> Bool {
        backoffCount -= 1
        return backoffCount <= 0
    }

    /// What became of a scan request.
    mutating func requestEnded(success: Bool, random: inout SeededRandom) {
        if success {
            successes += 1
            failures = 0
            if successes == 2 {
                successes = 0
                backoffLimit = max(1, backoffLimit / 2)
            }
        } else {
            failures += 1
            successes = 0
            if failures == 2 {
                failures = 0
                backoffLimit = min(256, backoffLimit * 2)
            }
        }
        backoffCount = 1 + Int(random.next(below: UInt64(backoffLimit)))
    }

    mutating func resetBackoff() {
        backoffCount = 1
        backoffLimit = 1
        successes = 0
        failures = 0
    }
}

/// A connection that a controller is trying to make.
struct Initiator: Sendable {
    var filterPolicy: InitiatorFilterPolicy
    var peer: LEAddress
    var ownAddressType: OwnAddressType
    /// The timing of a connection, by the PHY that it is made on.
    var parameters: [PHY: ConnectionParameters]
    var schedules: [PHY: ListeningSchedule]
    var isExtended: Bool

    /// How long it has listened since it began.
    func usage(until now: Microseconds) -> RadioTime {
        var usage = RadioTime()
        for schedule in schedules.values { usage.receive += schedule.listened(until: now) }
        return usage
    }

    /// The timing of a connection on a PHY: that of the next best one if the host has set none for it.
    func parameters(for phy: PHY) -> ConnectionParameters? {
        parameters[phy] ?? parameters[.le1M] ?? parameters[.le2M] ?? parameters[.leCoded]
    }
}
