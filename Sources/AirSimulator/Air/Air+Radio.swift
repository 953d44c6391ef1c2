/// What a controller does with its radio as a whole.
extension Air {
    /// How long a radio has been on up to now.
    mutating func radioUsage(_ slot: Int) -> RadioUsage {
        for index in controllers[slot].advertisers.indices {
            passUnheardEvents(AdvertiserPlace(slot: slot, index: index))
        }
        var usage = controllers[slot].radio
        if controllers[slot].scanner.isEnabled { usage.scanning += controllers[slot].scanner.usage(until: now) }
        if let initiator = controllers[slot].initiator { usage.scanning += initiator.usage(until: now) }
        for connection in controllers[slot].connections {
            links[connection.link].machine.synchronize(to: now)
            usage.connections += links[connection.link].machine.sides[connection.role].radio
        }
        return usage
    }

    /// Stops everything that a controller does, without events or packets.
    mutating func abandonEverything(_ slot: Int) {
        abandonConnections(slot)
        controllers[slot].stopScanning(at: now)
        controllers[slot].stopInitiating(at: now)
        deadlines.set(nil, for: controllers[slot].scannerActor)
        for index in controllers[slot].advertisers.indices {
            stopAdvertising(AdvertiserPlace(slot: slot, index: index))
            removeActor(controllers[slot].advertisers[index].actor)
        }
        controllers[slot].advertisers.removeAll()
    }
}
