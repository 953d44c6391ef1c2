import BluetoothHCI

/// An end of a connection.
enum LinkRole: Int, Sendable, CaseIterable {
    case central = 0
    case peripheral = 1

    /// Kept, rather than made again for every loop of the simulation's innermost code.
    static let allCases: [LinkRole] = [.central, .peripheral]

    /// The other end.
    var peer: LinkRole { self == .central ? .peripheral : .central }
}

/// Something that each end of a connection has. It is kept out of line, so that a connection is small to copy.
struct PerRole<Value> {
    private var values: [Value]

    init(central: Value, peripheral: Value) { values = [central, peripheral] }

    subscript(role: LinkRole) -> Value {
        _read { yield values[role.rawValue] }
        _modify { yield &values[role.rawValue] }
    }

    var central: Value {
        _read { yield values[LinkRole.central.rawValue] }
        _modify { yield &values[LinkRole.central.rawValue] }
    }

    var peripheral: Value {
        _read { yield values[LinkRole.peripheral.rawValue] }
        _modify { yield &values[LinkRole.peripheral.rawValue] }
    }
}

extension PerRole: Sendable where Value: Sendable {}

/// The timing that both ends of a connection keep.
struct LinkParameters: Hashable, Sendable {
    var interval: ConnectionInterval
    /// How many connection events in a row the peripheral may sleep through, of those that are not left out.
    var latency: UInt16
    var supervisionTimeout: SupervisionTimeout
    /// Both ends use every Nth connection event, and this is N. The latency counts those events.
    var subrateFactor: UInt16 = 1
    /// How many connection events after data both ends use as well.
    var continuationNumber: UInt16 = 0
}

/// How much one data packet may carry, in each direction as one end sees it.
struct DataLengthLimits: Hashable, Sendable {
    var transmit: DataLength
    var receive: DataLength

    /// What every link layer can do, and all it does before a data length update.
    static let minimum = DataLengthLimits(transmit: .minimum, receive: .minimum)
}

extension DataLength {
    /// The least time that a limit may name while a direction uses the coded PHY.
    ///
    /// Source: Core 5.4, Vol 6, Part B, 4.5.10.
    static let minimumCodedTimeMicroseconds: UInt16 = 2704

    /// What one end may send if the other takes no more than `other`.
    func agreed(with other: DataLength, on phy: PHY) -> DataLength {
        let least = phy == .leCoded ? Self.minimumCodedTimeMicroseconds : Self.minimum.timeMicroseconds
        return DataLength(
            octets: max(Self.minimum.octets, min(octets, other.octets)),
            timeMicroseconds: max(least, min(timeMicroseconds, other.timeMicroseconds))
        )
    }
}

/// What a link layer says about itself in a version exchange.
struct LinkVersion: Hashable, Sendable {
    var version: CoreVersion
    var company: CompanyIdentifier
    var subversion: UInt16
}

/// Which PHYs one end would use in each direction.
struct PHYPair: Hashable, Sendable {
    var transmit: PHYSet
    var receive: PHYSet
}

/// What a controller brings into a connection.
struct LinkCapabilities: Sendable {
    var features: LEFeatures
    var version: LinkVersion
    /// What this end can receive, and what it wants to send.
    var dataLength: DataLengthLimits
    var phys: PHYPair
    var eventLimits: ConnectionEventLimits
    /// Whether the central asks the peripheral's host before it changes the timing.
    var negotiatesParametersAsCentral: Bool
    /// Which subrating the central grants a peripheral.
    var acceptableSubrating: SubrateParameters
    /// The channels that are not bad where this end is.
    var goodChannels: DataChannelMap
}

/// What a host asks its link layer to arrange with the other one.
enum LinkProcedure: Sendable {
    case features
    case version
    case dataLength
    case phy(PHYPair)
    case parameters(ConnectionParameters)
    case encryption(random: UInt64, diversifier: UInt16, key: UInt128)
    case subrating(SubrateParameters)
    /// The central gives the link the channels that are good at both ends.
    case channelMap

    /// Whether it ends in a change at an instant, of which there may be only one at a time on a link.
    var hasInstant: Bool {
        switch self {
        case .phy, .parameters, .channelMap: true
        case .features, .version, .dataLength, .encryption, .subrating: false
        }
    }
}

/// What a link tells one of its ends.
enum LinkEvent: Sendable {
    /// Data from the peer: a link layer PDU's payload.
    case data(isStart: Bool, ArraySlice<UInt8>)
    /// The peer has acknowledged all of the oldest packet.
    case packetCompleted
    case parametersUpdated(HCIStatus, LinkParameters)
    case subrateChanged(HCIStatus, LinkParameters)
    /// The peer wants other timing: answered by `answerParameterRequest`.
    case parametersRequested(ConnectionParameters)
    case dataLengthChanged(DataLengthLimits)
    case phyUpdated(HCIOutcome<LinkPHYs>)
    case remoteFeatures(HCIStatus, LEFeatures)
    case remoteVersion(HCIStatus, LinkVersion)
    /// The central wants to encrypt: answered by `answerKeyRequest`.
    case keyRequested(random: UInt64, diversifier: UInt16)
    case encryptionChanged(HCIStatus, isEncrypted: Bool)
    case keyRefreshed(HCIStatus)
    case disconnected(HCIStatus)
}

/// How much a controller does in one connection event.
public struct ConnectionEventLimits: Hashable, Sendable {
    /// How many exchanges (a packet each way) fit if no packet has more than 27 octets; nil: as many as time allows.
    public var shortExchanges: Int?
    /// How many exchanges fit if one of their packets is longer; nil: as many as time allows.
    public var longExchanges: Int?
    /// How long an event may last; nil: until the next one.
    public var length: Duration?

    /// Limits; none unless said otherwise.
    public init(shortExchanges: Int? = nil, longExchanges: Int? = nil, length: Duration? = nil) {
        self.shortExchanges = shortExchanges
        self.longExchanges = longExchanges
        self.length = length
    }

    /// Whether an event may have this many exchanges. Where both limits are set, each kind uses up its share.
    func allows(short: Int, long: Int) -> Bool {
        switch (shortExchanges.map { max(1, $0) }, longExchanges.map { max(1, $0) }) {
        case (nil, nil): true
        case (let shortLimit?, nil): short <= shortLimit
        case (nil, let longLimit?): long <= longLimit
        case (let shortLimit?, let longLimit?): short * longLimit + long * shortLimit <= shortLimit * longLimit
        }
    }

    /// Only time limits.
    public static let none = ConnectionEventLimits()
    /// An iPhone of 2017: seven short exchanges or three long ones, derived from the throughput figures that Apple
    /// published for it.
    public static let ios2017 = ConnectionEventLimits(shortExchanges: 7, longExchanges: 3)
}
