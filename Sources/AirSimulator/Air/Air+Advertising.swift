import BluetoothHCI

/// Advertising events, packet by packet.
///
/// Each step of a set is the end of what its stage has on the air.
///
/// Source: Core 5.4, Vol 6, Part B, 4.4.2.
extension Air {
    /// An advertising set: its controller, and its place among the controller's sets.
    struct AdvertiserPlace {
        let slot: Int
        let index: Int
    }

    /// How far ahead a set looks for an event that anyone may hear, before it looks again.
    private static let lookahead = 10_000

    func place(of handle: AdvertisingHandle, _ slot: Int) -> AdvertiserPlace? {
        let index = controllers[slot].advertisers.firstIndex { $0.handle == handle }
        return index.map { AdvertiserPlace(slot: slot, index: $0) }
    }

    subscript(place: AdvertiserPlace) -> Advertiser {
        _read { yield controllers[place.slot].advertisers[place.index] }
        _modify { yield &controllers[place.slot].advertisers[place.index] }
    }

    // MARK: Turning on and off

    mutating func startAdvertising(_ place: AdvertiserPlace, duration: Microseconds?, maximumEvents: Int?) {
        advertisingCount += 1
        self[place].isEnabled = true
        self[place].stage = .waiting
        self[place].timeline = AdvertisingTimeline(
            start: now,
            interval: self[place].interval,
            random: SeededRandom(seed: seed, .advertising, advertisingCount)
        )
        self[place].end = duration.map { now + $0 }
        self[place].maximumEvents = maximumEvents
        self[place].completedEvents = 0
        planNextEvent(place)
    }

    mutating func stopAdvertising(_ place: AdvertiserPlace) {
        passUnheardEvents(place)
        self[place].isEnabled = false
        self[place].stage = .waiting
        deadlines.set(nil, for: self[place].actor)
    }

    /// Ends advertising for a reason that the host hears, if it used extended commands.
    mutating func terminate(_ place: AdvertiserPlace, _ status: HCIStatus, connection: ConnectionHandle? = nil) {
        let set = self[place]
        stopAdvertising(place)
        guard controllers[place.slot].commandFamily == .extended else { return }
        let event = LEAdvertisingSetTerminated(
            status: status,
            set: set.handle,
            connection: connection,
            completedEvents: set.maximumEvents == nil ? 0 : UInt8(clamping: set.completedEvents)
        )
        controllers[place.slot].send(event)
    }

    // MARK: Waiting

    /// Accounts for the events before now that were not stepped through because no scanner could hear them.
    mutating func passUnheardEvents(_ place: AdvertiserPlace) {
        guard self[place].isEnabled, case .waiting = self[place].stage, var timeline = self[place].timeline else {
            return
        }
        var count: Int64 = 0
        while timeline.next < now {
            timeline.advance()
            count += 1
        }
        self[place].timeline = timeline
        guard count > 0 else { return }
        let each = self[place].radioPerEvent
        self[place].completedEvents &+= Int(count)
        controllers[place.slot].radio.advertising.transmit += each.transmit * count
        controllers[place.slot].radio.advertising.receive += each.receive * count
    }

    /// Finds the next event that has to be stepped through.
    mutating func planNextEvent(_ place: AdvertiserPlace) {
        guard self[place].isEnabled, case .waiting = self[place].stage, var timeline = self[place].timeline else {
            return
        }
        var next: Microseconds?
        if self[place].maximumEvents != nil || recordsPackets {
            next = timeline.next
        } else {
            let schedules = listeningSchedules(within: place.slot, phy: self[place].parameters.primaryPHY)
            if !schedules.isEmpty {
                let channels = self[place].channels
                let spacing = self[place].primaryAirTime + self[place].primaryGap
                for _ in 0..<Self.lookahead {
                    let isHeard = schedules.contains { $0.hears(channels, from: timeline.next, spacing: spacing) }
                    if isHeard { break }
                    timeline.advance()
                }
                next = timeline.next
            }
        }
        let start = next.map { max($0, now) }
        deadlines.set([start, self[place].end].compactMap { $0 }.min(), for: self[place].actor)
    }

    /// Plans all sets again, since the scanners that listen have changed.
    mutating func replanAdvertisers() {
        for slot in controllers.withAdvertisers {
            for index in controllers[slot].advertisers.indices {
                let place = AdvertiserPlace(slot: slot, index: index)
                guard self[place].isEnabled else { continue }
                passUnheardEvents(place)
                planNextEvent(place)
            }
        }
    }

    // MARK: Steps

    mutating func stepAdvertiser(_ slot: Int, _ handle: AdvertisingHandle) {
        guard let place = place(of: handle, slot), self[place].isEnabled else { return }
        switch self[place].stage {
        case .waiting:
            if let end = self[place].end, end <= now { return terminate(place, .advertisingTimeout) }
            passUnheardEvents(place)
            if let next = self[place].timeline?.next, next <= now { beginEvent(place) } else { planNextEvent(place) }
        case .postponed: beginEvent(place)
        case .primary(let index): finishPrimary(place, index)
        case .scanRequest(let scanner, let index): finishScanRequest(place, from: scanner, index)
        case .scanResponse(let scanner, let index): finishScanResponse(place, to: scanner, index)
        case .connectRequest(let initiator, let index): finishConnectRequest(place, from: initiator, index)
        case .collision(let index): goOn(place, after: index)
        case .auxiliary: finishAuxiliary(place)
        case .connectResponse(let initiator, let requestEnd):
            finishConnectResponse(place, to: initiator, requestEnd: requestEnd)
        }
    }

    mutating func enter(_ stage: Advertiser.Stage, _ place: AdvertiserPlace, until end: Microseconds) {
        self[place].stage = stage
        self[place].stageEnd = end
        controllers[place.slot].advertisesUntil = end
        deadlines.set(end, for: self[place].actor)
    }

    private mutating func beginEvent(_ place: AdvertiserPlace) {
        let busyUntil = max(controllers[place.slot].advertisesUntil, linksBusyUntil(place.slot))
        if busyUntil > now {
            self[place].stage = .postponed
            deadlines.set(busyUntil, for: self[place].actor)
            return
        }
        let parameters = self[place].parameters
        let random =
            parameters.isLegacy && controllers[place.slot].commandFamily == .legacy
            ? controllers[place.slot].randomAddress : self[place].randomAddress
        let own = ownAddress(place.slot, parameters.ownAddressType, towards: parameters.peer, random: random)
        self[place].address = own.address
        self[place].localResolvableAddress = own.resolvable
        self[place].auxiliaryListeners = []
        sendPrimary(place, 0, at: now)
    }

    private mutating func sendPrimary(_ place: AdvertiserPlace, _ index: Int, at start: Microseconds) {
        let set = self[place]
        let end = start + set.primaryAirTime
        controllers[place.slot].radio.advertising.transmit += set.primaryAirTime
        while let first = primaryPackets.first, first.end < start - Microseconds(20_000) {
            primaryPackets.removeFirst()
        }
        primaryPackets.append(
            PrimaryPacket(sender: place.slot, channel: set.channels[index], start: start, end: end)
        )
        enter(.primary(index), place, until: end)
    }

    private mutating func finishPrimary(_ place: AdvertiserPlace, _ index: Int) {
        let set = self[place]
        let start = set.stageEnd - set.primaryAirTime
        var requests: [AdvertisingRequest] = []
        var isReceived = false
        let channel = set.channels[index]
        let others = primaryPackets.filter { other in
            other.channel == channel && other.start < set.stageEnd && other.end > start && other.sender != place.slot
        }
        for receiver in controllers.listening where receiver != place.slot {
            let heard = hears(receiver, channel: channel, phy: set.parameters.primaryPHY, from: start)
            guard heard.scans || heard.initiates else { continue }
            traffic.listenings += 1
            guard !isHit(by: others, at: receiver) else {
                traffic.hits += 1
                continue
            }
            guard !losesPacket(between: place.slot, and: receiver, at: set.stageEnd) else { continue }
            isReceived = true
            if !set.parameters.isLegacy {
                if !set.auxiliaryListeners.contains(receiver) { self[place].auxiliaryListeners.append(receiver) }
            } else if heard.initiates, wantsToConnect(receiver, to: set) {
                requests.append(AdvertisingRequest(sender: receiver, connects: true))
            } else if heard.scans, receiveAdvertising(receiver, of: place, data: set.data[...], .complete) {
                requests.append(AdvertisingRequest(sender: receiver, connects: false))
            }
        }
        record(
            .advertising(channel: set.channels[index]),
            from: place.slot,
            set.parameters.primaryPHY,
            payloadLength: set.primaryPayloadLength,
            start: start,
            isReceived: isReceived
        )
        if set.parameters.isLegacy, set.parameters.isConnectable || set.parameters.isScannable {
            controllers[place.slot].radio.advertising.receive += AirTime.listenTimeout
        }
        answer(requests, place, channelIndex: index)
    }

    /// The next channel, the auxiliary packet, or the end of the event.
    mutating func goOn(_ place: AdvertiserPlace, after channelIndex: Int?) {
        let set = self[place]
        if let channelIndex, channelIndex + 1 < set.channels.count {
            let busyUntil = linksBusyUntil(place.slot)
            let start = max(now + set.primaryGap, busyUntil)
            sendPrimary(place, channelIndex + 1, at: start)
        } else if channelIndex != nil, !set.parameters.isLegacy {
            let chain = set.auxiliaryAirTime(ofChain: set.auxiliaryFragments)
            controllers[place.slot].radio.advertising += set.auxiliaryRadioTime
            enter(.auxiliary, place, until: now + AirTime.minimumAuxiliaryFrameSpace + chain)
        } else {
            finishEvent(place)
        }
    }

    private mutating func finishEvent(_ place: AdvertiserPlace) {
        self[place].completedEvents &+= 1
        self[place].timeline?.advance()
        self[place].stage = .waiting
        if let maximum = self[place].maximumEvents, self[place].completedEvents >= maximum {
            terminate(place, .limitReached)
        } else {
            planNextEvent(place)
        }
    }

    // MARK: Auxiliary packets

    private mutating func finishAuxiliary(_ place: AdvertiserPlace) {
        let set = self[place]
        var requests: [AdvertisingRequest] = []
        var longest: Int?
        for receiver in set.auxiliaryListeners {
            guard let length = receivedLength(set.auxiliaryFragments, from: place.slot, by: receiver) else { continue }
            longest = max(longest ?? 0, length)
            controllers[receiver].radio.scanning.receive += set.auxiliaryAirTime(ofChain: set.auxiliaryFragments)
            let isWhole = length == (set.parameters.isScannable ? 0 : set.data.count)
            if wantsToConnect(receiver, to: set) {
                requests.append(AdvertisingRequest(sender: receiver, connects: true))
            } else if controllers[receiver].scanner.isEnabled, controllers[receiver].scanner.isExtended {
                let status: ReportDataStatus = isWhole ? .complete : .truncated
                if receiveAdvertising(receiver, of: place, data: set.data.prefix(length), status) {
                    requests.append(AdvertisingRequest(sender: receiver, connects: false))
                }
            }
        }
        recordChain(set.auxiliaryFragments, of: place, receivedLength: longest) { .auxiliaryAdvertising(fragment: $0) }
        answer(requests, place, channelIndex: nil)
    }

    /// How much of the data in a chain of packets arrives: nil if not even the first packet does.
    mutating func receivedLength(_ fragments: [Int], from sender: Int, by receiver: Int) -> Int? {
        var length = 0
        for (index, fragment) in fragments.enumerated() {
            if losesPacket(between: sender, and: receiver, at: now) { return index == 0 ? nil : length }
            length += fragment
        }
        return length
    }
}
