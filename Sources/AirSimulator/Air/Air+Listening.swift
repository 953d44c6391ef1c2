import BluetoothHCI

/// Scanning and initiating: which packets are heard, and the reports and connections that follow.
///
/// Source: Core 5.4, Vol 6, Part B, 4.4.3 and 4.4.4.
extension Air {
    /// What a listener sends after an advertising packet.
    struct AdvertisingRequest {
        var sender: Int
        var connects: Bool
    }

    // MARK: Who hears

    /// The schedules of all who might hear a controller's advertising.
    func listeningSchedules(within slot: Int, phy: PHY) -> [ListeningSchedule] {
        var schedules: [ListeningSchedule] = []
        for receiver in controllers.listening where receiver != slot {
            guard isInRange(slot, receiver) else { continue }
            if controllers[receiver].scanner.isEnabled, let one = controllers[receiver].scanner.schedules[phy] {
                schedules.append(one)
            }
            if let one = controllers[receiver].initiator?.schedules[phy] { schedules.append(one) }
        }
        return schedules
    }

    /// Whether a controller's scanner and its initiator listen to a channel when a packet begins. The initiator goes
    /// first if they would listen to different ones.
    func hears(_ slot: Int, channel: Int, phy: PHY, from start: Microseconds) -> (scans: Bool, initiates: Bool) {
        guard controllers[slot].listens else { return (false, false) }
        guard controllers[slot].advertisesUntil <= start, linksBusyUntil(slot) <= start else { return (false, false) }
        let initiating = controllers[slot].initiator?.schedules[phy]?.channel(at: start)
        guard controllers[slot].scanner.isEnabled else { return (false, initiating == channel) }
        let scanning = controllers[slot].scanner.schedules[phy]?.channel(at: start)
        return (scanning == channel && (initiating ?? channel) == channel, initiating == channel)
    }

    /// Whether one of the packets that were on a channel at the same time destroys another one where a controller is.
    func isHit(by others: some Sequence<PrimaryPacket>, at receiver: Int) -> Bool {
        others.contains { $0.sender != receiver && isInRange($0.sender, receiver) }
    }

    /// Until when a connection event takes, or has taken, a controller's radio.
    func linksBusyUntil(_ slot: Int) -> Microseconds {
        var end = Microseconds.zero
        for connection in controllers[slot].connections {
            end = max(end, links[connection.link].machine.radioBusyUntil(connection.role))
        }
        return end
    }

    // MARK: Addresses

    /// The address that a controller uses towards a peer, and the private one among them if it was made for that.
    mutating func ownAddress(
        _ slot: Int,
        _ type: OwnAddressType,
        towards peer: LEAddress,
        random: DeviceAddress?
    ) -> (address: LEAddress, resolvable: DeviceAddress) {
        if type == .resolvableOrPublic || type == .resolvableOrRandom {
            let identity = controllers[slot].resolvingList.identity(of: peer) ?? peer
            let made = controllers[slot].makeResolvableAddress(towards: identity, at: now)
            if let made { return (.random(made), made) }
        }
        switch type {
        case .public, .resolvableOrPublic: return (.public(controllers[slot].publicAddress), .zero)
        case .random, .resolvableOrRandom: return (.random(random ?? .zero), .zero)
        }
    }

    mutating func scannerAddress(_ slot: Int, towards peer: LEAddress) -> LEAddress {
        let type = controllers[slot].scanner.ownAddressType
        return ownAddress(slot, type, towards: peer, random: controllers[slot].randomAddress).address
    }

    mutating func initiatorAddress(_ slot: Int, towards peer: LEAddress) -> LEAddress {
        let type = controllers[slot].initiator?.ownAddressType ?? .public
        return ownAddress(slot, type, towards: peer, random: controllers[slot].randomAddress).address
    }

    /// Whether an advertiser's filter policy lets a request through.
    mutating func accepts(
        _ slot: Int,
        _ sender: LEAddress,
        _ policy: AdvertisingFilterPolicy,
        _ kind: AdvertisingFilterPolicy
    ) -> Bool {
        guard policy == kind || policy == .acceptListOnly else { return true }
        return isAccepted(slot, controllers[slot].resolvingList.identity(of: sender) ?? sender)
    }

    /// Whether a device is in the filter accept list.
    private func isAccepted(_ slot: Int, _ device: LEAddress) -> Bool {
        controllers[slot].acceptList
            .contains { $0.address == device.address && $0.type == device.type.withoutIdentity }
    }

    // MARK: Scanning

    /// Reports an advertisement to a scanner's host, unless something filters it out.
    /// - Returns: Whether the scanner asks for the scan response.
    mutating func receiveAdvertising(
        _ slot: Int,
        of place: AdvertiserPlace,
        data: ArraySlice<UInt8>,
        _ status: ReportDataStatus
    ) -> Bool {
        let set = self[place]
        let sender = reportedSender(slot, set)
        guard sender != .ignored else { return false }
        let scanner = controllers[slot].scanner
        if !set.parameters.isLegacy, !scanner.isExtended { return false }
        let dataInfo = set.parameters.isLegacy ? nil : set.dataIdentifier << 4 | UInt16(set.parameters.sid)
        let key = Scanner.ReportKey(address: sender.address, isScanResponse: false, dataInfo: dataInfo)
        if controllers[slot].scanner.reports(key) {
            report(slot, of: place, sender.address, data, status, isScanResponse: false)
        }
        guard set.parameters.isScannable, scanner.isActive(on: set.parameters.primaryPHY) else { return false }
        let responseKey = Scanner.ReportKey(address: sender.address, isScanResponse: true, dataInfo: dataInfo)
        return !scanner.hasReported(responseKey) && controllers[slot].scanner.mayRequest()
    }

    mutating func receiveScanResponse(
        _ slot: Int,
        of place: AdvertiserPlace,
        _ data: ArraySlice<UInt8>,
        isWhole: Bool
    ) {
        let set = self[place]
        let sender = reportedSender(slot, set)
        guard sender != .ignored else { return }
        let dataInfo = set.parameters.isLegacy ? nil : set.dataIdentifier << 4 | UInt16(set.parameters.sid)
        let key = Scanner.ReportKey(address: sender.address, isScanResponse: true, dataInfo: dataInfo)
        guard controllers[slot].scanner.reports(key) else { return }
        report(slot, of: place, sender.address, data, isWhole ? .complete : .truncated, isScanResponse: true)
    }

    /// Who a scanner says has sent something.
    private enum ReportedSender: Equatable {
        case device(LEAddress)
        case anonymous
        /// A sender that the host does not want to hear of.
        case ignored

        var address: LEAddress? {
            if case .device(let address) = self { address } else { nil }
        }
    }

    private mutating func reportedSender(_ slot: Int, _ set: Advertiser) -> ReportedSender {
        let policy = controllers[slot].scanner.filterPolicy
        let acceptsAnyone = policy == .anyone || policy == .anyoneAndUnresolvedDirected
        if set.parameters.properties.contains(.anonymous) { return acceptsAnyone ? .anonymous : .ignored }
        if controllers[slot].resolvingList.mustIgnore(identityAddress: set.address) { return .ignored }
        let sender = controllers[slot].resolvingList.identity(of: set.address) ?? set.address
        return acceptsAnyone || isAccepted(slot, sender) ? .device(sender) : .ignored
    }

    private mutating func report(
        _ slot: Int,
        of place: AdvertiserPlace,
        _ sender: LEAddress?,
        _ data: ArraySlice<UInt8>,
        _ status: ReportDataStatus,
        isScanResponse: Bool
    ) {
        let parameters = self[place].parameters
        let rssi = signalStrength(place.slot, slot)
        guard controllers[slot].scanner.isExtended else {
            guard let sender else { return }
            let type: AdvertisingReportType =
                isScanResponse
                ? .scanResponse
                : parameters.isConnectable
                    ? .connectableScannable : parameters.isScannable ? .scannable : .nonConnectable
            let report = LEAdvertisingReport.Report(type: type, address: sender, data: data, rssiDBm: rssi)
            controllers[slot].report(LEAdvertisingReport(reports: [report]))
            return
        }
        var properties: ExtendedReportProperties = []
        if parameters.isConnectable { properties.insert(.connectable) }
        if parameters.isScannable { properties.insert(.scannable) }
        if parameters.isLegacy { properties.insert(.legacy) }
        if isScanResponse { properties.insert(.scanResponse) }
        var rest = data
        repeat {
            let part = rest.prefix(LEExtendedAdvertisingReport.Report.dataCapacity)
            rest = rest.dropFirst(part.count)
            let report = LEExtendedAdvertisingReport.Report(
                properties: properties,
                dataStatus: rest.isEmpty ? status : .moreToCome,
                address: sender,
                primaryPHY: parameters.primaryPHY,
                secondaryPHY: parameters.isLegacy ? nil : parameters.secondaryPHY,
                sid: parameters.isLegacy ? nil : parameters.sid,
                txPowerDBm: parameters.properties.contains(.includesTxPower) ? parameters.powerDBm : nil,
                rssiDBm: rssi,
                data: part
            )
            controllers[slot].report(LEExtendedAdvertisingReport(reports: [report]))
        } while !rest.isEmpty
    }

    // MARK: Turning scanning on and off

    mutating func startScanning(_ slot: Int) {
        controllers[slot].scanner.start(at: now, firstChannel: controllers[slot].randomChannel())
        deadlines.set(controllers[slot].scanner.end, for: controllers[slot].scannerActor)
        replanAdvertisers()
    }

    mutating func stopScanning(_ slot: Int) {
        controllers[slot].stopScanning(at: now)
        deadlines.set(nil, for: controllers[slot].scannerActor)
        replanAdvertisers()
    }

    /// A scan's duration is over, or its next period begins.
    mutating func stepScanner(_ slot: Int) {
        if controllers[slot].scanner.isEnabled {
            controllers[slot].stopScanning(at: now)
            if let restart = controllers[slot].scanner.restart {
                deadlines.set(restart, for: controllers[slot].scannerActor)
            } else {
                controllers[slot].send(LEScanTimeout())
            }
            replanAdvertisers()
        } else if controllers[slot].scanner.restart != nil {
            startScanning(slot)
        }
    }

    // MARK: Initiating

    /// Whether an initiator connects to an advertising set that it hears.
    mutating func wantsToConnect(_ slot: Int, to set: Advertiser) -> Bool {
        guard let initiator = controllers[slot].initiator, set.parameters.isConnectable else { return false }
        if !set.parameters.isLegacy, !initiator.isExtended { return false }
        if controllers[slot].resolvingList.mustIgnore(identityAddress: set.address) { return false }
        let sender = controllers[slot].resolvingList.identity(of: set.address) ?? set.address
        switch initiator.filterPolicy {
        case .acceptList: return isAccepted(slot, sender)
        case .peerAddress:
            return sender.address == initiator.peer.address
                && sender.type.withoutIdentity == initiator.peer.type.withoutIdentity
        }
    }

    mutating func startInitiating(_ slot: Int, _ initiator: Initiator) {
        controllers[slot].initiator = initiator
        replanAdvertisers()
    }

    mutating func stopInitiating(_ slot: Int) {
        controllers[slot].stopInitiating(at: now)
        replanAdvertisers()
    }
}
