import BluetoothHCI

/// What scanners and initiators say to an advertising packet, and what the advertiser answers.
///
/// Source: Core 5.4, Vol 6, Part B, 4.4.2.
extension Air {
    /// What comes after a packet that may be answered. Several answers at once destroy each other.
    mutating func answer(_ requests: [AdvertisingRequest], _ place: AdvertiserPlace, channelIndex: Int?) {
        guard let first = requests.first else { return goOn(place, after: channelIndex) }
        let phy = channelIndex == nil ? self[place].parameters.secondaryPHY : self[place].parameters.primaryPHY
        let start = now + AirTime.interFrameSpace
        let scanTime = phy.airTime(payloadLength: AirTime.scanRequestLength)
        let connectTime = phy.airTime(payloadLength: AirTime.connectIndicationLength)
        for request in requests {
            controllers[request.sender].radio.scanning.transmit += request.connects ? connectTime : scanTime
            if requests.count > 1 { recordRequest(request, phy, start: start, isReceived: false) }
            traffic.add(request, isAlone: requests.count == 1)
        }
        if requests.count > 1 {
            enter(.collision(channelIndex: channelIndex), place, until: start + max(scanTime, connectTime))
            for request in requests {
                if !request.connects {
                    controllers[request.sender].endScanRequest(success: false)
                } else if channelIndex != nil {
                    connect(request.sender, place, isTaken: false, end: start + connectTime)
                }
            }
        } else if first.connects {
            enter(.connectRequest(from: first.sender, channelIndex: channelIndex), place, until: start + connectTime)
        } else {
            enter(.scanRequest(from: first.sender, channelIndex: channelIndex), place, until: start + scanTime)
        }
    }

    // MARK: Scan requests

    mutating func finishScanRequest(_ place: AdvertiserPlace, from scanner: Int, _ channelIndex: Int?) {
        let set = self[place]
        let phy = channelIndex == nil ? set.parameters.secondaryPHY : set.parameters.primaryPHY
        controllers[place.slot].radio.advertising.receive += phy.airTime(payloadLength: AirTime.scanRequestLength)
        let address = scannerAddress(scanner, towards: set.address)
        let arrives =
            controllers[scanner].scanner.isEnabled
            && !losesPacket(between: scanner, and: place.slot, at: now)
        let request = AdvertisingRequest(sender: scanner, connects: false)
        let start = now - phy.airTime(payloadLength: AirTime.scanRequestLength)
        recordRequest(request, phy, start: start, isReceived: arrives)
        guard arrives, accepts(place.slot, address, set.parameters.filterPolicy, .scansFromAcceptList) else {
            controllers[scanner].endScanRequest(success: false)
            return goOn(place, after: channelIndex)
        }
        if set.parameters.notifiesScanRequests {
            let identity = controllers[place.slot].resolvingList.identity(of: address) ?? address
            controllers[place.slot].report(LEScanRequestReceived(set: set.handle, scanner: identity))
        }
        let onAir: Microseconds
        if channelIndex == nil {
            onAir = set.auxiliaryAirTime(ofChain: Advertiser.fragments(of: set.scanResponse.count))
        } else {
            onAir = phy.airTime(payloadLength: AirTime.legacyAdvertisingHeaderLength + set.scanResponse.count)
        }
        controllers[place.slot].radio.advertising.transmit += onAir
        let end = now + AirTime.interFrameSpace + onAir
        enter(.scanResponse(to: scanner, channelIndex: channelIndex), place, until: end)
    }

    mutating func finishScanResponse(_ place: AdvertiserPlace, to scanner: Int, _ channelIndex: Int?) {
        let response = self[place].scanResponse
        let fragments = channelIndex == nil ? Advertiser.fragments(of: response.count) : [response.count]
        let length =
            controllers[scanner].scanner.isEnabled
            ? receivedLength(fragments, from: place.slot, by: scanner) : nil
        if channelIndex == nil {
            recordChain(fragments, of: place, receivedLength: length) { _ in .scanResponse }
        } else {
            let payload = AirTime.legacyAdvertisingHeaderLength + response.count
            let phy = self[place].parameters.primaryPHY
            let start = now - phy.airTime(payloadLength: payload)
            record(
                .scanResponse,
                from: place.slot,
                phy,
                payloadLength: payload,
                start: start,
                isReceived: length != nil
            )
        }
        if let length {
            receiveScanResponse(scanner, of: place, response.prefix(length), isWhole: length == response.count)
        }
        controllers[scanner].endScanRequest(success: length != nil)
        goOn(place, after: channelIndex)
    }

    // MARK: Connecting

    mutating func finishConnectRequest(_ place: AdvertiserPlace, from initiator: Int, _ channelIndex: Int?) {
        let set = self[place]
        guard wantsToConnect(initiator, to: set) else { return goOn(place, after: channelIndex) }
        let address = initiatorAddress(initiator, towards: set.address)
        let arrives = !losesPacket(between: initiator, and: place.slot, at: now)
        let phy = channelIndex == nil ? set.parameters.secondaryPHY : set.parameters.primaryPHY
        let request = AdvertisingRequest(sender: initiator, connects: true)
        let start = now - phy.airTime(payloadLength: AirTime.connectIndicationLength)
        recordRequest(request, phy, start: start, isReceived: arrives)
        let isTaken =
            arrives
            && accepts(place.slot, address, set.parameters.filterPolicy, .connectionsFromAcceptList)
            && controllers[place.slot].connections.count < controllers[place.slot].configuration.connectionLimit
        if channelIndex != nil {
            connect(initiator, place, isTaken: isTaken, end: now)
            if !isTaken { goOn(place, after: channelIndex) }
        } else if isTaken {
            let onAir = phy.airTime(payloadLength: AirTime.auxiliaryConnectResponseLength)
            controllers[place.slot].radio.advertising.transmit += onAir
            let end = now + AirTime.interFrameSpace + onAir
            enter(.connectResponse(to: initiator, requestEnd: now), place, until: end)
        } else {
            goOn(place, after: nil)
        }
    }

    mutating func finishConnectResponse(
        _ place: AdvertiserPlace,
        to initiator: Int,
        requestEnd: Microseconds
    ) {
        let arrives =
            wantsToConnect(initiator, to: self[place])
            && !losesPacket(between: place.slot, and: initiator, at: now)
        let phy = self[place].parameters.secondaryPHY
        let length = AirTime.auxiliaryConnectResponseLength
        let start = now - phy.airTime(payloadLength: length)
        record(.connectResponse, from: place.slot, phy, payloadLength: length, start: start, isReceived: arrives)
        connect(initiator, place, isTaken: true, isAnswered: arrives, end: requestEnd)
    }

    /// Makes the connection that an initiator has asked for.
    /// - Parameters:
    ///   - isTaken: Whether the advertiser heard it. If not, the initiator of a legacy connection does not know.
    ///   - isAnswered: Whether the initiator, if it waits for an answer, got one.
    ///   - end: When the request ended.
    private mutating func connect(
        _ initiator: Int,
        _ place: AdvertiserPlace,
        isTaken: Bool,
        isAnswered: Bool = true,
        end: Microseconds
    ) {
        let set = self[place]
        let phy = set.parameters.isLegacy ? PHY.le1M : set.parameters.secondaryPHY
        guard let wanted = controllers[initiator].initiator, let parameters = wanted.parameters(for: phy) else {
            return
        }
        let own = ownAddress(
            initiator,
            wanted.ownAddressType,
            towards: set.address,
            random: controllers[initiator].randomAddress
        )
        if isAnswered { stopInitiating(initiator) }
        let delay: Int64 = set.parameters.isLegacy ? 1250 : phy == .leCoded ? 3750 : 2500
        if isTaken { stopAdvertising(place) }
        let handle = makeLink(
            NewLink(
                central: isAnswered ? initiator : nil,
                peripheral: isTaken ? place.slot : nil,
                parameters: parameters,
                phy: phy,
                centralAddress: own.address,
                peripheralAddress: set.address,
                centralResolvableAddress: own.resolvable,
                peripheralResolvableAddress: set.localResolvableAddress,
                created: end,
                transmitWindowDelay: Microseconds(delay)
            )
        )
        if isTaken { terminate(place, .success, connection: handle) }
    }
}
