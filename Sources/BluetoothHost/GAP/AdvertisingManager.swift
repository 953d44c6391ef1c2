import BluetoothHCI

/// Advertising: the sets that the owner wants on the air, and how the controller is told.
struct AdvertisingManager: Sendable {
    private var advertisers: [Advertiser] = []

    mutating func start(_ set: AdvertisingSet, _ core: inout HostCore) {
        guard set.isValid else { return core.emit(.advertisingFailed(set.id, .invalidHCICommandParameters)) }
        let index: Int
        if let known = advertiser(set.id) {
            index = known
        } else {
            guard let handle = freeHandle() else { return core.emit(.advertisingFailed(set.id, .limitReached)) }
            index = advertisers.endIndex
            advertisers.append(Advertiser(set, handle: handle))
        }
        advertisers[index].set = set
        if core.isReady {
            putOnAir(index, &core)
        } else {
            advertisers[index].phase = .wanted
        }
    }

    mutating func stop(_ id: AdvertisingSetID, _ core: inout HostCore) {
        guard let index = advertiser(id) else { return }
        let mayBeOnAir = advertisers[index].mayBeOnAir || advertisers[index].isDoubtful
        if case .starting(let sequence) = advertisers[index].phase { core.commands.cancel(sequence) }
        advertisers[index].phase = .off
        if mayBeOnAir, core.isReady { disable(index, for: .disableAdvertising(id), &core) }
    }

    private func advertiser(_ id: AdvertisingSetID) -> Int? { advertisers.firstIndex { $0.set.id == id } }

    /// How many commands it takes at most to put a set on the air.
    private static let longestAdvertisingSequence = 8

    private func freeHandle() -> AdvertisingHandle? {
        let taken = Set(advertisers.map { $0.handle })
        return (0...AdvertisingHandle.maximum).lazy.compactMap(AdvertisingHandle.init(rawValue:))
            .first { !taken.contains($0) }
    }

    /// The controller is ready: the sets that waited for it go on the air.
    mutating func controllerReady(_ core: inout HostCore) {
        for index in advertisers.indices where advertisers[index].phase == .wanted { putOnAir(index, &core) }
    }

    /// The controller is reset: nothing is on the air, and what is wanted there waits for it.
    mutating func controllerLost() {
        for index in advertisers.indices { advertisers[index].controllerLost() }
    }

    /// Tells the controller about a set.
    private mutating func putOnAir(_ index: Int, _ core: inout HostCore) {
        let id = advertisers[index].set.id
        guard makeRoom(for: index, &core) else {
            advertisers[index].phase = .off
            return core.emit(.advertisingFailed(id, .limitReached))
        }
        guard core.commands.hasRoom(for: Self.longestAdvertisingSequence) else {
            if advertisers[index].mayBeOnAir { disable(index, for: .clearAdvertising, &core) }
            advertisers[index].phase = .off
            return core.emit(.advertisingFailed(id, .memoryCapacityExceeded))
        }
        let sequence = core.commands.makeSequence()
        if advertisers[index].needsOnlyData {
            sendData(of: index, in: sequence, &core)
            return core.emit(.advertisingStarted(id))
        }
        if case .starting(let earlier) = advertisers[index].phase { core.commands.cancel(earlier) }
        if advertisers[index].mayBeOnAir || isDoubtful(index, core) {
            disable(index, for: .clearAdvertising, in: sequence, &core)
        }
        if core.capabilities.usesExtendedCommands {
            prepareExtended(index, in: sequence, &core)
        } else {
            prepareLegacy(index, in: sequence, &core)
        }
        if !advertisers[index].set.isDirected { sendData(of: index, in: sequence, &core) }
        enable(index, in: sequence, &core)
        advertisers[index].phase = .starting(sequence)
        advertisers[index].told = advertisers[index].set
    }

    /// Sees to it that the controller has room for a set: sets that are off the air make way.
    private mutating func makeRoom(for index: Int, _ core: inout HostCore) -> Bool {
        guard core.capabilities.usesExtendedCommands else {
            return !advertisers.indices.contains { $0 != index && advertisers[$0].mayBeOnAir }
        }
        guard advertisers[index].told == nil else { return true }
        let held = advertisers.indices.filter {
            advertisers[$0].told != nil || ($0 != index && advertisers[$0].isDoubtful)
        }
        guard held.count >= core.capabilities.advertisingSetCount else { return true }
        guard let spare = held.first(where: { !advertisers[$0].mayBeOnAir }) else { return false }
        if advertisers[spare].isDoubtful { disable(spare, for: .clearAdvertising, &core) }
        core.send(
            LERemoveAdvertisingSet(set: advertisers[spare].handle),
            for: .removeAdvertising(advertisers[spare].set.id)
        )
        advertisers[spare].told = nil
        advertisers[spare].isDoubtful = false
        return true
    }

    /// Whether what the controller has on the air in a set's place is not certain; a legacy controller has one place.
    private func isDoubtful(_ index: Int, _ core: HostCore) -> Bool {
        core.capabilities.usesExtendedCommands
            ? advertisers[index].isDoubtful : advertisers.contains { $0.isDoubtful }
    }

    private mutating func prepareLegacy(_ index: Int, in sequence: CommandQueue.Sequence, _ core: inout HostCore) {
        let set = advertisers[index].set
        let address = set.ownAddress ?? core.ownAddress
        if address.type == .random, address.address != core.controllerRandomAddress {
            core.controllerRandomAddress = address.address
            core.send(LESetRandomAddress(address: address.address), for: .prepareAdvertising(set.id), in: sequence)
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
        core.send(parameters, for: .prepareAdvertising(set.id), in: sequence)
    }

    private mutating func prepareExtended(_ index: Int, in sequence: CommandQueue.Sequence, _ core: inout HostCore) {
        let set = advertisers[index].set
        let handle = advertisers[index].handle
        let address = set.ownAddress ?? core.ownAddress
        if let told = advertisers[index].told, told.kind != set.kind {
            // A set may not become one that its data do not fit.
            core.send(LERemoveAdvertisingSet(set: handle), for: .removeAdvertising(set.id), in: sequence)
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
        core.send(parameters, for: .prepareAdvertising(set.id), in: sequence)
        if address.type == .random {
            let command = LESetAdvertisingSetRandomAddress(set: handle, address: address.address)
            core.send(command, for: .prepareAdvertising(set.id), in: sequence)
        }
    }

    private mutating func sendData(of index: Int, in sequence: CommandQueue.Sequence, _ core: inout HostCore) {
        let set = advertisers[index].set
        let handle = advertisers[index].handle
        let purpose = CommandPurpose.prepareAdvertising(set.id)
        advertisers[index].told = set
        guard core.capabilities.usesExtendedCommands else {
            core.send(LESetAdvertisingData(data: AdvertisingBytes(set.data)), for: purpose, in: sequence)
            core.send(LESetScanResponseData(data: AdvertisingBytes(set.scanResponse)), for: purpose, in: sequence)
            return
        }
        let data = LESetExtendedAdvertisingData(
            set: handle,
            operation: .complete,
            fragmentPreference: .shouldNotFragment,
            data: AdvertisingFragment(set.data)
        )
        core.send(data, for: purpose, in: sequence)
        guard set.isScannable else { return }
        let scanResponse = LESetExtendedScanResponseData(
            set: handle,
            operation: .complete,
            fragmentPreference: .shouldNotFragment,
            data: AdvertisingFragment(set.scanResponse)
        )
        core.send(scanResponse, for: purpose, in: sequence)
    }

    private mutating func enable(_ index: Int, in sequence: CommandQueue.Sequence, _ core: inout HostCore) {
        let purpose = CommandPurpose.enableAdvertising(advertisers[index].set.id)
        if core.capabilities.usesExtendedCommands {
            let entry = LESetExtendedAdvertisingEnable.Entry(set: advertisers[index].handle)
            core.send(LESetExtendedAdvertisingEnable(isEnabled: true, sets: [entry]), for: purpose, in: sequence)
        } else {
            core.send(LESetAdvertisingEnable(isEnabled: true), for: purpose, in: sequence)
        }
    }

    private mutating func disable(
        _ index: Int,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil,
        _ core: inout HostCore
    ) {
        if core.capabilities.usesExtendedCommands {
            let entry = LESetExtendedAdvertisingEnable.Entry(set: advertisers[index].handle)
            core.send(LESetExtendedAdvertisingEnable(isEnabled: false, sets: [entry]), for: purpose, in: sequence)
        } else {
            core.send(LESetAdvertisingEnable(isEnabled: false), for: purpose, in: sequence)
        }
    }
}

// MARK: - What the controller says

extension AdvertisingManager {
    mutating func began(_ id: AdvertisingSetID, _ command: CommandQueue.Answered, _ core: inout HostCore) {
        guard let index = advertiser(id), case .starting(let sequence) = advertisers[index].phase,
            sequence == command.sequence
        else { return }
        advertisers[index].phase = .onAir
        advertisers[index].isDoubtful = false
        if !core.capabilities.usesExtendedCommands {
            for other in advertisers.indices { advertisers[other].isDoubtful = false }
        }
        core.emit(.advertisingStarted(id))
    }

    mutating func failed(
        _ id: AdvertisingSetID,
        _ command: CommandQueue.Answered,
        _ status: HCIStatus,
        _ core: inout HostCore
    ) {
        core.report(.advertisingCommandFailed(command.opcode, status))
        if command.opcode == LESetRandomAddress.opcode { core.controllerRandomAddress = nil }
        if let sequence = command.sequence { core.commands.cancel(sequence) }
        guard let index = advertiser(id) else { return }
        switch advertisers[index].phase {
        case .starting(let sequence) where sequence == command.sequence: break
        case .onAir: disable(index, for: .clearAdvertising, &core)
        case .off, .wanted, .starting: return
        }
        advertisers[index].phase = .off
        advertisers[index].told = nil
        advertisers[index].isDoubtful = true
        core.emit(.advertisingFailed(id, status))
    }

    mutating func disabled(_ id: AdvertisingSetID, _ status: HCIStatus, _ core: inout HostCore) {
        guard status != .success, status != .unknownAdvertisingIdentifier else {
            if let index = advertiser(id), advertisers[index].phase == .off { advertisers[index].isDoubtful = false }
            return core.emit(.advertisingEnded(id, .stopped))
        }
        core.report(.advertisingNotStopped(status))
        guard let index = advertiser(id), !advertisers[index].mayBeOnAir else { return }
        advertisers[index].isDoubtful = true
        core.emit(.advertisingNotStopped(id, status))
    }

    mutating func removed(_ id: AdvertisingSetID, _ status: HCIStatus) {
        guard status != .success, status != .unknownAdvertisingIdentifier, let index = advertiser(id) else { return }
        // It is still there, on the air perhaps.
        advertisers[index].isDoubtful = true
    }

    /// A peer connected to this peripheral: which set did it connect to?
    /// - Returns: the address that the set was advertised with; nil if several come into question, so that the
    ///   controller has to say.
    mutating func connected(_ handle: ConnectionHandle, _ core: inout HostCore) -> LEAddress? {
        let candidates = advertisers.indices.filter { advertisers[$0].mayBeOnAir && advertisers[$0].set.isConnectable }
        guard let index = candidates.first else { return core.ownAddress }
        guard candidates.count == 1 else { return nil }
        let wasStarting = advertisers[index].phase != .onAir
        end(index, .connected(handle), &core)
        // The last command of the start, which is on its way already, would put it on the air beside the connection.
        if wasStarting { disable(index, for: .disableAdvertising(advertisers[index].set.id), &core) }
        return advertisers[index].set.ownAddress ?? core.ownAddress
    }

    /// A peer connected: sets that were to be heard only until then leave the air, before anybody is told.
    mutating func endBesides(_ handle: ConnectionHandle, _ core: inout HostCore) {
        for index in advertisers.indices where advertisers[index].set.endsOnConnection {
            let isKnown = advertisers[index].mayBeOnAir
            guard isKnown || advertisers[index].isDoubtful else { continue }
            if isKnown { end(index, .connected(handle), &core) }
            disable(index, for: .disableAdvertising(advertisers[index].set.id), &core)
        }
    }

    /// The controller says which set it took off the air.
    /// - Returns: the address that the set was advertised with.
    mutating func terminated(_ event: LEAdvertisingSetTerminated, _ core: inout HostCore) -> LEAddress {
        guard let index = advertisers.firstIndex(where: { $0.handle == event.set && $0.phase == .onAir }) else {
            return core.ownAddress
        }
        end(index, event.connection.map(AdvertisingEnd.connected) ?? .controller(event.status), &core)
        return advertisers[index].set.ownAddress ?? core.ownAddress
    }

    /// Directed advertising with a high duty cycle was not answered.
    mutating func directedEnded(_ status: HCIStatus, _ core: inout HostCore) {
        guard let index = advertisers.firstIndex(where: { $0.mayBeOnAir && $0.set.isDirected }) else { return }
        end(index, .controller(status), &core)
    }

    /// A connection that a peer made failed at once; with it, advertising ended on most controllers.
    mutating func connectableEnded(_ status: HCIStatus, _ core: inout HostCore) {
        for index in advertisers.indices where advertisers[index].mayBeOnAir && advertisers[index].set.isConnectable {
            end(index, .controller(status), &core)
            advertisers[index].isDoubtful = true
        }
    }

    private mutating func end(_ index: Int, _ end: AdvertisingEnd, _ core: inout HostCore) {
        if case .starting(let sequence) = advertisers[index].phase {
            core.commands.cancel(sequence)
            advertisers[index].isDoubtful = true
        }
        advertisers[index].phase = .off
        core.emit(.advertisingEnded(advertisers[index].set.id, end))
    }
}

extension LEAddress {
    /// How a command says that this is the address to use.
    var ownAddressType: OwnAddressType { type.withoutIdentity == .public ? .public : .random }
}
