import BluetoothHCI
import BluetoothHost

/// Puts on the air what the advertising policy wants there, and sees to it that it stays: what a controller refuses or
/// ends is offered again within `retryDelay`, for as long as it takes.
struct WatchAdvertiser: Sendable {
    /// How long after a refusal the same is tried again. With the commands that it takes, the watch is back on the air
    /// within 50 ms of the moment when the controller would have it.
    static let retryDelay: Duration = .milliseconds(30)
    /// After how many refusals in a row the controller is usually reset: it may believe in a link that the host knows nothing
    /// of.
    static let patience = 100

    /// After how many refusals to take a set off the air the wait becomes longer: it may well be off.
    static let stopPatience = 50
    static let longStopDelay: Duration = .seconds(1)

    /// Something that the controller refused.
    private struct Refusal: Sendable {
        var count = 0
        var status: HCIStatus
        var retryTime: Duration
    }

    private(set) var policy: AdvertisingPolicy
    private var identity: WatchIdentity
    /// What stands before the four digits in the name of a watch that hides its address.
    private let namePrefix: String
    /// How strongly to send; nil leaves it to the controller.
    private let power: Int8?
    /// What is said for each purpose, encoded once for each address.
    private var discoveryBytes: (data: [UInt8], scanResponse: [UInt8])
    private var reconnectionBytes: (data: [UInt8], scanResponse: [UInt8])
    private let beaconData: [UInt8]?
    /// The address to advertise with; nil for the identity address.
    var privateAddress: LEAddress? {
        didSet {
            hasChanged = true
            if privateAddress != nil { encode() }
        }
    }

    /// What the host was told to keep on the air.
    private var told: [AdvertisingSetID: AdvertisingSet] = [:]
    /// What the controller has said to be there.
    private var confirmed: Set<AdvertisingSetID> = []
    private var refusals: [AdvertisingSetID: Refusal] = [:]
    /// Sets that should have left the air.
    private var overdue: [AdvertisingSetID: Refusal] = [:]
    /// Whether anything of this has changed since the host was told last.
    private var hasChanged = true

    init(_ configuration: WatchConfiguration) {
        identity = configuration.identity
        namePrefix = configuration.personality.namePrefix
        power = configuration.advertisingPower
        discoveryBytes = ([], [])
        reconnectionBytes = ([], [])
        let beacon = configuration.shownBeacon
        beaconData = beacon?.data.bytes
        policy = AdvertisingPolicy(configuration.advertising, beaconHoldOff: beacon?.holdOff)
        encode()
    }

    /// Says from now on that the watch is this one.
    mutating func take(_ identity: WatchIdentity) {
        self.identity = identity
        hasChanged = true
        encode()
    }

    /// Encodes what is said with the address that the watch has on the air.
    private mutating func encode() {
        let shown = privateAddress.map { identity.alias(at: $0, namePrefix: namePrefix) } ?? identity
        // How strongly the watch sends is its owner's choice, by which one that hides could be known.
        let power = privateAddress == nil ? power ?? 0 : 0
        discoveryBytes = Self.bytes(for: .discovery, of: shown, by: policy.profile, transmitPower: power)
        reconnectionBytes = Self.bytes(for: .reconnection, of: shown, by: policy.profile, transmitPower: power)
    }

    private static func bytes(
        for purpose: AdvertisingPolicy.Purpose,
        of identity: WatchIdentity,
        by profile: AdvertisingProfile,
        transmitPower: Int8
    ) -> (data: [UInt8], scanResponse: [UInt8]) {
        let said = Advertisement(for: purpose, of: identity, by: profile, transmitPower: transmitPower)
        return (said.data.bytes, said.scanResponse.bytes)
    }

    // MARK: What happens

    mutating func receive(_ event: AdvertisingEvent, at now: Duration) {
        hasChanged = true
        policy.receive(event, at: now)
        guard case .controllerLost = event else { return }
        // The host remembers what it was told, and the controller, once it is back, knows of no refusals.
        confirmed = []
        refusals = [:]
        overdue = [:]
    }

    /// What the host says about a set.
    /// - Returns: what is worth a line in the log.
    mutating func receive(_ report: Report, of id: AdvertisingSetID, at now: Duration) -> String? {
        hasChanged = true
        switch report {
        case .started:
            confirmed.insert(id)
            guard let refusal = refusals.removeValue(forKey: id) else { return nil }
            return "the controller takes \(id.name) again, after \(refusal.count) refusals"
        case .ended(.stopped):
            confirmed.remove(id)
            overdue[id] = nil
            return nil
        case .notStopped(let status):
            let count = (overdue[id]?.count ?? 0) + 1
            let delay = count < Self.stopPatience ? Self.retryDelay : Self.longStopDelay
            overdue[id] = Refusal(count: count, status: status, retryTime: now + delay)
            return count == 1 ? "the controller does not stop advertising \(id.name): \(status)" : nil
        case .ended(.connected):
            confirmed.remove(id)
            told[id] = nil
            return nil
        case .ended(.controller(let status)), .failed(let status):
            confirmed.remove(id)
            told[id] = nil
            let count = (refusals[id]?.count ?? 0) + 1
            refusals[id] = Refusal(count: count, status: status, retryTime: now + Self.retryDelay)
            return count == 1
                ? "the controller does not advertise \(id.name): \(status); trying again until it does" : nil
        }
    }

    enum Report: Sendable {
        case started
        case failed(HCIStatus)
        case ended(AdvertisingEnd)
        case notStopped(HCIStatus)
    }

    /// How often in a row the controller has refused what phones connect to.
    var refusalCount: Int { refusals[.watch]?.count ?? 0 }

    /// Whether the controller has refused what phones connect to so often that only a reset can help; once for each time.
    /// - Parameter patience: how many refusals that takes.
    mutating func takesResetToAdvertise(after patience: Int) -> Bool {
        guard let refusal = refusals[.watch], refusal.count >= patience else { return false }
        refusals[.watch] = nil
        return true
    }

    // MARK: Time

    mutating func advance(to now: Duration) {
        if let deadline = policy.nextDeadline, deadline <= now { hasChanged = true }
        policy.advance(to: now)
    }

    var nextDeadline: Duration? {
        var deadline = policy.nextDeadline
        guard !refusals.isEmpty || !overdue.isEmpty else { return deadline }
        // What is on the air already, or not wanted any more, need not be tried again.
        for (set, refusal) in refusals where told[set] == nil && wanted(set) != nil {
            deadline = deadline.earlier(refusal.retryTime)
        }
        for refusal in overdue.values { deadline = deadline.earlier(refusal.retryTime) }
        return deadline
    }

    // MARK: The air

    /// Whether there may be something to tell the host, or anyone else. Asked after every packet, of which hardly any concerns
    /// the air; what was refused waits for its time.
    var needsUpdate: Bool { hasChanged || !refusals.isEmpty || !overdue.isEmpty }

    /// Tells the host what changed since it was told last.
    mutating func update(_ host: inout LEHost, at now: Duration) {
        hasChanged = false
        guard policy.isRunning || !told.isEmpty || !overdue.isEmpty else { return }
        // What leaves the air goes first: a controller with one set has no room for another.
        for id in [AdvertisingSetID.watch, .beacon] where wanted(id) == nil {
            let isOverdue = overdue[id].map { $0.retryTime <= now } ?? false
            guard told[id] != nil || isOverdue else { continue }
            host.stopAdvertising(id, at: now)
            // Until the controller has answered, there is no other time to look at it.
            overdue[id]?.retryTime = now + Self.retryDelay
            told[id] = nil
            confirmed.remove(id)
        }
        for id in [AdvertisingSetID.watch, .beacon] {
            guard let set = wanted(id), set != told[id] else { continue }
            if let refusal = refusals[id], told[id] == nil, now < refusal.retryTime { continue }
            told[id] = set
            confirmed.remove(id)
            overdue[id] = nil
            host.startAdvertising(set, at: now)
        }
    }

    /// What should be on the air now as one of the sets.
    private func wanted(_ id: AdvertisingSetID) -> AdvertisingSet? {
        switch id {
        case .watch: policy.connectable.map { connectableSet($0.purpose, $0.interval) }
        case .beacon: policy.isBeaconOnAir ? beaconData.map(beaconSet) : nil
        default: nil
        }
    }

    private func connectableSet(_ purpose: AdvertisingPolicy.Purpose, _ interval: AdvertisingInterval) -> AdvertisingSet
    {
        let bytes = purpose == .discovery ? discoveryBytes : reconnectionBytes
        var set = AdvertisingSet(
            id: .watch,
            kind: .connectable,
            interval: interval,
            ownAddress: privateAddress,
            data: bytes.data,
            scanResponse: bytes.scanResponse
        )
        set.powerDBm = power
        return set
    }

    private func beaconSet(_ data: [UInt8]) -> AdvertisingSet {
        var set = AdvertisingSet(
            id: .beacon,
            kind: .nonConnectable,
            interval: .beacon,
            ownAddress: privateAddress.map(Beacon.address(besidesPrivate:))
                ?? Beacon.address(besides: identity.address),
            data: data
        )
        set.powerDBm = power
        // A phone that connects hears the beacon no more, before anybody is told of the phone.
        set.endsOnConnection = true
        return set
    }
}

// MARK: - Seeing it

extension WatchAdvertiser {
    /// What is on the air, or has its turns there.
    var onAir: OnAir {
        guard policy.isControllerReady else { return OnAir(entries: [], silence: .controllerNotReady) }
        guard !policy.isConnected else { return OnAir(entries: [], silence: .connected) }
        guard !policy.isSilent else { return OnAir(entries: [], silence: .changingAddress) }
        var entries: [OnAir.Entry] = []
        let purposes = AdvertisingPolicy.Purpose.allCases.filter { policy[$0].isWanted }
        for purpose in purposes where policy.takesTurns || purpose == policy.airedPurpose {
            entries.append(entry(for: purpose))
        }
        if let beaconData, let since = policy.beaconSince { entries.append(entry(forBeacon: beaconData, since: since)) }
        return OnAir(entries: entries, silence: nil)
    }

    private func entry(for purpose: AdvertisingPolicy.Purpose) -> OnAir.Entry {
        let course = policy[purpose]
        let set = connectableSet(purpose, policy.interval(of: purpose))
        let isHurried = policy.isHurried(purpose)
        var next: AdvertisingInterval?
        if course.remaining != nil, !isHurried {
            let following = course.schedule.interval(at: course.step + 1)
            next = policy.beaconSince == nil ? following : min(following, policy.profile.slowestWithBeacon)
        }
        return OnAir.Entry(
            role: purpose == .discovery ? .discovery : .reconnection,
            interval: set.intervalMinimum,
            address: set.ownAddress ?? identity.address,
            data: set.data,
            scanResponse: set.scanResponse,
            reason: isHurried ? .strangers : course.reason,
            since: course.since,
            remaining: isHurried ? nil : course.remaining,
            next: next,
            turn: policy.takesTurns ? policy.profile.turn : policy.isSliced ? AdvertisingPolicy.connectableSlice : nil,
            state: state(of: .watch, hasTurn: policy.connectable?.purpose == purpose)
        )
    }

    private func entry(forBeacon data: [UInt8], since: Duration) -> OnAir.Entry {
        let set = beaconSet(data)
        return OnAir.Entry(
            role: .beacon,
            interval: set.intervalMinimum,
            address: set.ownAddress ?? identity.address,
            data: set.data,
            scanResponse: [],
            reason: .noPhoneConnected,
            since: since,
            remaining: nil,
            next: nil,
            turn: policy.isSliced ? AdvertisingPolicy.beaconSlice : nil,
            state: state(of: .beacon, hasTurn: policy.isBeaconOnAir)
        )
    }

    private func state(of id: AdvertisingSetID, hasTurn: Bool) -> OnAir.State {
        if let refusal = refusals[id], told[id] == nil { return .refused(refusal.status) }
        guard hasTurn else { return .waitingForTurn }
        return confirmed.contains(id) ? .onAir : .starting
    }
}

extension OnAir {
    /// The same without what changes all the time: how long it has been there, and whose turn it is.
    var withoutTime: OnAir {
        OnAir(entries: entries.map(\.withoutTime), silence: silence)
    }
}

extension OnAir.Entry {
    fileprivate var withoutTime: OnAir.Entry {
        OnAir.Entry(
            role: role,
            interval: interval,
            address: address,
            data: data,
            scanResponse: scanResponse,
            reason: reason,
            since: since,
            remaining: nil,
            next: next,
            turn: turn,
            state: {
                if case .refused = state { state } else { .onAir }
            }()
        )
    }
}

extension AdvertisingSetID {
    /// The watch's own advertisement, to which phones connect.
    static let watch = AdvertisingSetID(rawValue: 0)
    /// The beacon.
    static let beacon = AdvertisingSetID(rawValue: 1)

    fileprivate var name: String { self == .beacon ? "the beacon" : "the watch" }
}
