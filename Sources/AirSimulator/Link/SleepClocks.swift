import BluetoothHCI

/// The clocks by which both ends of a link wake up for its connection events.
///
/// The central's packet begins the event. The peripheral expects it where its own clock says, and listens a little longer on both
/// sides: as much as both clocks may be wrong by since it last heard the central. A clock that is wrong by more than it claims
/// makes the peripheral listen beside the packet, at first only after long pauses, such as those of peripheral latency.
///
/// Source: Core 5.4, Vol 6, Part B, 4.2.2 and 4.2.4.
struct SleepClocks: Sendable {
    /// What each end claims: a clock that is wrong by 50 parts per million at most.
    static let claimedAccuracy: Int64 = 50
    /// How far a moment may be from where the clock's average has it, at each end.
    static let jitter = Microseconds(16)

    /// By how much each clock is fast, in parts per million.
    private var central: Int64 = 0
    private var peripheral: Int64 = 0
    /// Whether a peripheral can miss an event by it.
    private(set) var areOff = false

    /// By how much the peripheral's clock is fast, seen from the central, in parts per million.
    private var difference: Int64 { abs(peripheral - central) }

    mutating func setError(_ partsPerMillion: Int64, of role: LinkRole) {
        switch role {
        case .central: central = partsPerMillion
        case .peripheral: peripheral = partsPerMillion
        }
        areOff = difference > 2 * Self.claimedAccuracy
    }

    /// Whether the peripheral listens beside a packet.
    /// - Parameters:
    ///   - span: how long before the packet it last heard the central.
    ///   - interval: the connection interval; the window never reaches the middle between two events.
    func miss(after span: Microseconds, interval: Microseconds) -> Bool {
        guard areOff else { return false }
        let claimed = 2 * Self.claimedAccuracy * span.count / 1_000_000 + 2 * Self.jitter.count
        let widening = min(claimed, interval.count / 2 - AirTime.interFrameSpace.count)
        return difference * span.count / 1_000_000 > widening
    }
}

extension LinkLayerConnection {
    /// Makes one end's clock fast from `now` on, by parts per million.
    mutating func setClockError(_ partsPerMillion: Int64, of role: LinkRole, at now: Microseconds) {
        synchronize(to: now)
        clocks.setError(partsPerMillion, of: role)
    }
}
