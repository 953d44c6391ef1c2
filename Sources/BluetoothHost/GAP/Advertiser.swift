import BluetoothHCI

/// One advertising set of the owner's, and what the controller has of it.
struct Advertiser: Sendable {
    enum Phase: Hashable, Sendable {
        /// It is not wanted.
        case off
        /// It is to go on the air as soon as the controller is ready.
        case wanted
        /// The controller is being told.
        case starting(CommandQueue.Sequence)
        /// It is on the air.
        case onAir
    }

    /// What is to be advertised.
    var set: AdvertisingSet
    /// What the controller calls it, if it has several.
    let handle: AdvertisingHandle
    var phase = Phase.off
    /// What the controller was told last; nil if nothing.
    var told: AdvertisingSet?
    /// Whether the controller has refused something of it, so that what it has on the air is not certain.
    var isDoubtful = false

    init(_ set: AdvertisingSet, handle: AdvertisingHandle) {
        self.set = set
        self.handle = handle
    }

    /// Whether the controller may be advertising it.
    var mayBeOnAir: Bool {
        switch phase {
        case .off, .wanted: false
        case .starting, .onAir: true
        }
    }

    /// Whether what is on the air differs from what is wanted in its data alone, which can be changed meanwhile.
    var needsOnlyData: Bool {
        guard phase == .onAir, !set.isDirected, var told else { return false }
        told.data = set.data
        told.scanResponse = set.scanResponse
        return told == set
    }

    /// The controller has been reset.
    mutating func controllerLost() {
        if mayBeOnAir { phase = .wanted }
        told = nil
        isDoubtful = false
    }
}

extension AdvertisingSet {
    /// What legacy advertising calls its kind.
    var legacyType: AdvertisingType {
        switch kind {
        case .connectable: .connectableScannable
        case .directed(_, let isHighDutyCycle): isHighDutyCycle ? .directedHighDutyCycle : .directedLowDutyCycle
        case .scannable: .scannable
        case .nonConnectable: .nonConnectable
        }
    }

    /// What extended advertising calls its kind, with legacy packets, so that everyone can hear it.
    var properties: AdvertisingEventProperties {
        switch kind {
        case .connectable: [.legacy, .connectable, .scannable]
        case .directed(_, isHighDutyCycle: true): [.legacy, .connectable, .directed, .highDutyCycleDirected]
        case .directed(_, isHighDutyCycle: false): [.legacy, .connectable, .directed]
        case .scannable: [.legacy, .scannable]
        case .nonConnectable: [.legacy]
        }
    }

    /// Whom it is for.
    var peer: LEAddress {
        if case .directed(let peer, _) = kind { peer } else { .public(.zero) }
    }
}
