import BluetoothHCI

/// Which channels a connection uses: those that are bad at neither end.
///
/// Source: Core 5.4, Vol 6, Part B, 5.1.2, 5.1.21 and 5.1.22.
extension LinkLayerConnection {
    /// The host at one end says which channels are not bad there.
    mutating func classify(_ channels: DataChannelMap, by role: LinkRole, at now: Microseconds) {
        synchronize(to: now)
        guard sides[role].isPresent, sides[role].termination == nil, channels != sides[role].goodChannels else {
            return
        }
        sides[role].goodChannels = channels
        switch role {
        case .central: updateChannels(at: now)
        case .peripheral:
            if sides.peripheral.reportsChannels { sides.peripheral.send(.channelStatusIndication(channels)) }
        }
    }

    /// The central wants to know of the peripheral's channels, if both link layers can.
    mutating func beginChannelReports(at now: Microseconds) {
        let theirs = sides.central.remoteFeatures ?? []
        guard sides.central.capabilities.features.contains(.channelClassification),
            theirs.contains(.channelClassification), !sides.central.reportsChannels
        else { return }
        sides.central.reportsChannels = true
        sides.central.send(.channelReportingIndication(isEnabled: true))
    }

    mutating func receiveChannels(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch (message, role) {
        case (.channelMapIndication(_, let instant), .peripheral): learn(instant, by: .peripheral)
        case (.channelReportingIndication(let isEnabled), .peripheral):
            sides.peripheral.reportsChannels = isEnabled
            let channels = sides.peripheral.goodChannels
            if isEnabled, channels != .all { sides.peripheral.send(.channelStatusIndication(channels)) }
        case (.channelStatusIndication(let channels), .central):
            sides.central.reportedChannels = channels
            updateChannels(at: now)
        default: break
        }
    }

    /// The channels that are bad at neither end; those of the central where the two leave too few.
    private var goodChannels: DataChannelMap {
        let both = sides.central.goodChannels.intersection(sides.central.reportedChannels)
        return both.isValid ? both : sides.central.goodChannels
    }

    private mutating func updateChannels(at now: Microseconds) {
        let isQueued = sides.central.queuedProcedures.contains { procedure in
            if case .channelMap = procedure { true } else { false }
        }
        // One that waits will take the channels as they are when it begins.
        if !isQueued { _ = begin(.channelMap, by: .central, at: now) }
    }

    /// Begins a change of channels, unless they stay as they are.
    mutating func announceChannels(at now: Microseconds) {
        let channels = goodChannels
        guard channels != hopping.channels else { return finish(.central, at: now) }
        let instant = nextInstant
        changes.append(InstantChange(change: .channels(channels), instant: instant))
        sides.central.send(.channelMapIndication(channels, instant: instant))
        stopTimer(of: .central)
    }

    mutating func applyChannels(_ channels: DataChannelMap, at anchor: Microseconds) {
        hopping.channels = channels
        if case .channelMap = sides.central.active?.procedure { finish(.central, at: anchor) }
    }
}
