import BluetoothHCI

/// The name that a host's owner gives to an advertising set.
public struct AdvertisingSetID: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// Something to advertise: to whom, how often, and what.
public struct AdvertisingSet: Hashable, Sendable {
    /// What those who hear it may do.
    public enum Kind: Hashable, Sendable {
        /// Anyone may connect, and ask for the scan response.
        case connectable
        /// Only this device may connect; there is no data. With a high duty cycle it ends by itself after 1.28 s.
        case directed(LEAddress, isHighDutyCycle: Bool)
        /// Any peer may ask for the scan response; none may connect.
        case scannable
        /// It is only to be heard.
        case nonConnectable
    }

    /// Which set it is: one that is started again takes the place of the one before.
    public var id: AdvertisingSetID
    /// What those who hear it may do.
    public var kind: Kind
    /// The shortest time between advertising events.
    public var intervalMinimum: AdvertisingInterval
    /// The longest time between advertising events.
    public var intervalMaximum: AdvertisingInterval
    /// The address to advertise with; nil for the host's own.
    public var ownAddress: LEAddress?
    /// Whose requests are answered.
    public var filterPolicy: AdvertisingFilterPolicy
    /// AD structures, at most 31 octets.
    public var data: [UInt8]
    /// AD structures for peers that ask for them, at most 31 octets.
    public var scanResponse: [UInt8]
    /// How strongly to send, in dBm, from -127 to 20; nil leaves it to the controller. One without extended advertising is
    /// not asked.
    public var powerDBm: Int8?
    /// Whether it leaves the air as soon as a peer connects to this device by another set. A set that is connected to
    /// leaves it in any case.
    public var endsOnConnection = false

    /// A set of one's own.
    /// - Parameters:
    ///   - id: which set it is.
    ///   - kind: what those who hear it may do.
    ///   - interval: the shortest time between advertising events.
    ///   - intervalMaximum: the longest; nil for no longer than the shortest.
    ///   - ownAddress: the address to advertise with; nil for the host's own.
    ///   - filterPolicy: whose requests are answered.
    ///   - data: AD structures, at most 31 octets.
    ///   - scanResponse: AD structures for peers that ask for them, at most 31 octets.
    public init(
        id: AdvertisingSetID,
        kind: Kind,
        interval: AdvertisingInterval,
        intervalMaximum: AdvertisingInterval? = nil,
        ownAddress: LEAddress? = nil,
        filterPolicy: AdvertisingFilterPolicy = .anyone,
        data: [UInt8],
        scanResponse: [UInt8] = []
    ) {
        self.id = id
        self.kind = kind
        intervalMinimum = interval
        self.intervalMaximum = intervalMaximum ?? interval
        self.ownAddress = ownAddress
        self.filterPolicy = filterPolicy
        self.data = data
        self.scanResponse = scanResponse
    }

    /// Whether a connection may come of it.
    package var isConnectable: Bool {
        switch kind {
        case .connectable, .directed: true
        case .scannable, .nonConnectable: false
        }
    }

    /// Whether there is somebody to answer with the scan response.
    var isScannable: Bool {
        switch kind {
        case .connectable, .scannable: true
        case .directed, .nonConnectable: false
        }
    }

    var isDirected: Bool {
        if case .directed = kind { true } else { false }
    }

    /// Whether a controller could take it at all.
    var isValid: Bool {
        let interval = AdvertisingInterval.legacyRange
        guard data.count <= AdvertisingBytes.capacity, scanResponse.count <= AdvertisingBytes.capacity else {
            return false
        }
        return interval.contains(intervalMinimum.rawValue) && interval.contains(intervalMaximum.rawValue)
            && intervalMinimum <= intervalMaximum
    }
}

/// Why an advertising set is not on the air any more.
public enum AdvertisingEnd: Hashable, Sendable {
    /// It was stopped.
    case stopped
    /// Somebody connected; `connected` says who.
    case connected(ConnectionHandle)
    /// The controller ended it, for instance because directed advertising was not answered.
    case controller(HCIStatus)
}

extension AdvertisingEnd: CustomStringConvertible {
    public var description: String {
        switch self {
        case .stopped: "stopped"
        case .connected(let handle): "connection \(handle) came of it"
        case .controller(let status): "ended by the controller: \(status)"
        }
    }
}
