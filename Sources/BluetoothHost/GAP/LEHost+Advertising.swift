import BluetoothHCI

/// Advertising: what the owner wants on the air, and how the controller is told.
extension LEHost {
    /// Puts a set on the air, in place of the one with the same identifier if there is one.
    ///
    /// If only the data differ from what is on the air, advertising goes on without a gap. A controller without
    /// extended advertising has one set at a time. `advertisingStarted` or `advertisingFailed` follows; before the
    /// controller is ready, the set waits for it.
    public mutating func startAdvertising(_ set: AdvertisingSet, at now: Duration) {
        self.now = max(self.now, now)
        guard set.isValid else { return emit(.advertisingFailed(set.id, .invalidHCICommandParameters)) }
        let index: Int
        if let known = advertiser(set.id) {
            index = known
        } else {
            guard let handle = freeAdvertisingHandle() else { return emit(.advertisingFailed(set.id, .limitReached)) }
            index = advertisers.endIndex
            advertisers.append(Advertiser(set, handle: handle))
        }
        advertisers[index].set = set
        if isReady {
            putOnAir(index)
        } else {
            advertisers[index].phase = .wanted
        }
    }

    /// Takes a set off the air. `advertisingEnded` follows if it was there, or on its way there.
    public mutating func stopAdvertising(_ id: AdvertisingSetID, at now: Duration) {
        self.now = max(self.now, now)
        guard let index = advertiser(id) else { return }
        let mayBeOnAir = advertisers[index].mayBeOnAir || advertisers[index].isDoubtful
        if case .starting(let sequence) = advertisers[index].phase { commands.cancel(sequence) }
        advertisers[index].phase = .off
        if mayBeOnAir, isReady { disable(index, for: .disableAdvertising(id)) }
    }

    private func advertiser(_ id: AdvertisingSetID) -> Int? { advertisers.firstIndex { $0.set.id == id } }

    /// How many commands it takes at most to put a set on the air.
    private static let longestAdvertisingSequence = 8

    private func freeAdvertisingHandle() -> AdvertisingHandle? {
        let taken = Set(advertisers.map { $0.handle })
        return (0...AdvertisingHandle.maximum).lazy.compactMap(AdvertisingHandle.init(rawValue:))
            .first { !taken.contains($0) }
    }

    /// Tells the controller about a set.
    mutating func putOnAir(_ index: Int) {
        let id = advertisers[index].set.id
        guard makeRoom(for: index) else {
            advertisers[index].phase = .off
            return emit(.advertisingFailed(id, .limitReached))
        }
        guard commands.hasRoom(for: Self.longestAdvertisingSequence) else {
            if advertisers[index].mayBeOnAir { disable(index, for: .clearAdvertising) }
            advertisers[index].phase = .off
            return emit(.advertisingFailed(id, .memoryCapacityExceeded))
        }
        let sequence = commands.makeSequence()
        if advertisers[index].needsOnlyData {
            sendData(of: index, in: sequence)
            return emit(.advertisingStarted(id))
        }
        if case .starting(let earlier) = advertisers[index].phase { commands.cancel(earlier) }
        if advertisers[index].mayBeOnAir || isDoubtful(index) {
            disable(index, for: .clearAdvertising, in: sequence)
        }
        if capabilities.usesExtendedCommands {
            prepareExtended(index, in: sequence)
        } else {
            prepareLegacy(index, in: sequence)
        }
        if !advertisers[index].set.isDirected { sendData(of: index, in: sequence) }
        enable(index, in: sequence)
        advertisers[index].phase = .starting(sequence)
        advertisers[index].told = advertisers[index].set
    }

    /// Sees to it that the controller has room for a set: sets that are off the air make way.
    private mutating func makeRoom(for index: Int) -> Bool {
        guard capabilities.usesExtendedCommands else {
            return !advertisers.indices.contains { $0 != index && advertisers[$0].mayBeOnAir }
        }
        guard advertisers[index].told == nil else { return true }
        let held = advertisers.indices.filter {
            advertisers[$0].told != nil || ($0 != index && advertisers[$0].isDoubtful)
        }
        guard held.count >= capabilities.advertisingSetCount else { return true }
        guard let spare = held.first(where: { !advertisers[$0].mayBeOnAir }) else { return false }
        if advertisers[spare].isDoubtful { disable(spare, for: .clearAdvertising) }
        send(LERemoveAdvertisingSet(set: advertisers[spare].handle), for: .removeAdvertising(advertisers[spare].set.id))
        advertisers[spare].told = nil
        advertisers[spare].isDoubtful = false
        return true
    }

    /// Whether what the controller has on the air in a set's place is not certain; a legacy controller has one place.
    private func isDoubtful(_ index: Int) -> Bool {
        capabilities.usesExtendedCommands
            ? advertisers[index].isDoubtful : advertisers.contains { $0.isDoubtful }
    }

    private mutating func prepareLegacy(_ index: Int, in sequence: CommandQueue.Sequence) {
        let set = advertisers[index].set
        let address = set.ownAddress ?? ownAddress
        if address.type == .random, address.address != controllerRandomAddress {
            controllerRandomAddress = address.address
            send(LESetRandomAddress(address: address.address), for: .prepareAdvertising(set.id), in: sequence)
        }
        let parameters = LESetAdvertisingParameters(
            intervalMinimum: set.intervalMinimum,
            intervalMaximum: set.intervalMaximum,
            type: set.legacyType,
            ownAddressType: address.ownAddressType,
            peer: set.peer,
            channels: .all,
            filterPolicy: set.filterPolicy
        )
        send(parameters, for: .prepareAdvertising(set.id), in: sequence)
    }

    /// Gives a legacy controller, whose one random address advertising may have changed, the host's own again.
    mutating func useOwnAddress(in sequence: CommandQueue.Sequence? = nil) {
        guard !capabilities.usesExtendedCommands, ownAddress.type == .random,
            ownAddress.address != controllerRandomAddress
        else { return }
        controllerRandomAddress = ownAddress.address
        send(LESetRandomAddress(address: ownAddress.address), for: .other, in: sequence)
    }

    private mutating func prepareExtended(_ index: Int, in sequence: CommandQueue.Sequence) {
        let set = advertisers[index].set
        let handle = advertisers[index].handle
        let address = set.ownAddress ?? ownAddress
        if let told = advertisers[index].told, told.kind != set.kind {
            // A set may not become one that its data do not fit.
            send(LERemoveAdvertisingSet(set: handle), for: .removeAdvertising(set.id), in: sequence)
        }
        let parameters = LESetExtendedAdvertisingParameters(
            set: handle,
            properties: set.properties,
            intervalMinimum: set.intervalMinimum,
            intervalMaximum: set.intervalMaximum,
            channels: .all,
            ownAddressType: address.ownAddressType,
            peer: set.peer,
            filterPolicy: set.filterPolicy,
            powerDBm: set.powerDBm,
            primaryPHY: .le1M,
            secondaryMaximumSkip: 0,
            secondaryPHY: .le1M,
            sid: handle.rawValue & 0x0F,
            notifiesScanRequests: false
        )
        send(parameters, for: .prepareAdvertising(set.id), in: sequence)
        if address.type == .random {
            let command = LESetAdvertisingSetRandomAddress(set: handle, address: address.address)
            send(command, for: .prepareAdvertising(set.id), in: sequence)
        }
    }

    private mutating func sendData(of index: Int, in sequence: CommandQueue.Sequence) {
        let set = advertisers[index].set
        let handle = advertisers[index].handle
        let purpose = CommandPurpose.prepareAdvertising(set.id)
        advertisers[index].told = set
        guard capabilities.usesExtendedCommands else {
            send(LESetAdvertisingData(data: AdvertisingBytes(set.data)), for: purpose, in: sequence)
            send(LESetScanResponseData(data: AdvertisingBytes(set.scanResponse)), for: purpose, in: sequence)
            return
        }
        let data = LESetExtendedAdvertisingData(
            set: handle,
            operation: .complete,
            fragmentPreference: .shouldNotFragment,
            data: AdvertisingFragment(set.data)
        )
        send(data, for: purpose, in: sequence)
        guard set.isScannable else { return }
        let scanResponse = LESetExtendedScanResponseData(
            set: handle,
            operation: .complete,
            fragmentPreference: .shouldNotFragment,
            data: AdvertisingFragment(set.scanResponse)
        )
        send(scanResponse, for: purpose, in: sequence)
    }

    private mutating func enable(_ index: Int, in sequence: CommandQueue.Sequence) {
        let purpose = CommandPurpose.enableAdvertising(advertisers[index].set.id)
        if capabilities.usesExtendedCommands {
            let entry = LESetExtendedAdvertisingEnable.Entry(set: advertisers[index].handle)
            send(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [entry]), for: purpose, in: sequence)
        } else {
            send(LESetAdvertisingEnable(isEnabled: true), for: purpose, in: sequence)
        }
    }

    private mutating func disable(
        _ index: Int,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        if capabilities.usesExtendedCommands {
            let entry = LESetExtendedAdvertisingEnable.Entry(set: advertisers[index].handle)
            send(LESetExtendedAdvertisingEnable(isEnabled: false, sets: [entry]), for: purpose, in: sequence)
        } else {
            send(LESetAdvertisingEnable(isEnabled: false), for: purpose, in: sequence)
        }
    }
}

// MARK: - What the controller says

extension LEHost {
    mutating func advertisingBegan(_ id: AdvertisingSetID, _ command: CommandQueue.Answered) {
        guard let index = advertiser(id), case .starting(let sequence) = advertisers[index].phase,
            sequence == command.sequence
        else { return }
        advertisers[index].phase = .onAir
        advertisers[index].isDoubtful = false
        if !capabilities.usesExtendedCommands {
            for other in advertisers.indices { advertisers[other].isDoubtful = false }
        }
        emit(.advertisingStarted(id))
    }

    mutating func advertisingFailed(_ id: AdvertisingSetID, _ command: CommandQueue.Answered, _ status: HCIStatus) {
        report(.advertisingCommandFailed(command.opcode, status))
        if command.opcode == LESetRandomAddress.opcode { controllerRandomAddress = nil }
        if let sequence = command.sequence { commands.cancel(sequence) }
        guard let index = advertiser(id) else { return }
        switch advertisers[index].phase {
        case .starting(let sequence) where sequence == command.sequence: break
        case .onAir: disable(index, for: .clearAdvertising)
        case .off, .wanted, .starting: return
        }
        advertisers[index].phase = .off
        advertisers[index].told = nil
        advertisers[index].isDoubtful = true
        emit(.advertisingFailed(id, status))
    }

    mutating func advertisingDisabled(_ id: AdvertisingSetID, _ status: HCIStatus) {
        guard status != .success, status != .unknownAdvertisingIdentifier else {
            if let index = advertiser(id), advertisers[index].phase == .off { advertisers[index].isDoubtful = false }
            return emit(.advertisingEnded(id, .stopped))
        }
        report(.advertisingNotStopped(status))
        guard let index = advertiser(id), !advertisers[index].mayBeOnAir else { return }
        advertisers[index].isDoubtful = true
        emit(.advertisingNotStopped(id, status))
    }

    mutating func advertisingRemoved(_ id: AdvertisingSetID, _ status: HCIStatus) {
        guard status != .success, status != .unknownAdvertisingIdentifier, let index = advertiser(id) else { return }
        // It is still there, on the air perhaps.
        advertisers[index].isDoubtful = true
    }

    /// A peer connected to this peripheral: which set did it connect to?
    /// - Returns: the address that the set was advertised with; nil if several come into question, so that the
    ///   controller has to say.
    mutating func advertisingConnected(_ handle: ConnectionHandle) -> LEAddress? {
        let candidates = advertisers.indices.filter { advertisers[$0].mayBeOnAir && advertisers[$0].set.isConnectable }
        guard let index = candidates.first else { return ownAddress }
        guard candidates.count == 1 else { return nil }
        let wasStarting = advertisers[index].phase != .onAir
        end(index, .connected(handle))
        // The last command of the start, which is on its way already, would put it on the air beside the connection.
        if wasStarting { disable(index, for: .disableAdvertising(advertisers[index].set.id)) }
        return advertisers[index].set.ownAddress ?? ownAddress
    }

    /// A peer connected: sets that were to be heard only until then leave the air, before anybody is told.
    mutating func endAdvertisingBesides(_ handle: ConnectionHandle) {
        for index in advertisers.indices where advertisers[index].set.endsOnConnection {
            let isKnown = advertisers[index].mayBeOnAir
            guard isKnown || advertisers[index].isDoubtful else { continue }
            if isKnown { end(index, .connected(handle)) }
            disable(index, for: .disableAdvertising(advertisers[index].set.id))
        }
    }

    /// The controller says which set it took off the air.
    mutating func advertisingTerminated(_ event: LEAdvertisingSetTerminated) {
        let index = advertisers.firstIndex { $0.handle == event.set && $0.phase == .onAir }
        let address = index.map { advertisers[$0].set.ownAddress ?? ownAddress } ?? ownAddress
        if let index {
            end(index, event.connection.map(AdvertisingEnd.connected) ?? .controller(event.status))
        }
        guard let handle = event.connection, let link = link(handle), !links[link].isAnnounced else { return }
        links[link].connection.ownAddress = address
        announce(link)
    }

    /// Directed advertising with a high duty cycle was not answered.
    mutating func directedAdvertisingEnded(_ status: HCIStatus) {
        guard let index = advertisers.firstIndex(where: { $0.mayBeOnAir && $0.set.isDirected }) else { return }
        end(index, .controller(status))
    }

    /// A connection that a peer made failed at once; with it, advertising ended on most controllers.
    mutating func connectableAdvertisingEnded(_ status: HCIStatus) {
        for index in advertisers.indices where advertisers[index].mayBeOnAir && advertisers[index].set.isConnectable {
            end(index, .controller(status))
            advertisers[index].isDoubtful = true
        }
    }

    private mutating func end(_ index: Int, _ end: AdvertisingEnd) {
        if case .starting(let sequence) = advertisers[index].phase {
            commands.cancel(sequence)
            advertisers[index].isDoubtful = true
        }
        advertisers[index].phase = .off
        emit(.advertisingEnded(advertisers[index].set.id, end))
    }
}

extension LEAddress {
    /// How a command says that this is the address to use.
    var ownAddressType: OwnAddressType { type.withoutIdentity == .public ? .public : .random }
}
