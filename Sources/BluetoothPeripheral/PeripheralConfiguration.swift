import BluetoothHCI
import BluetoothHost

/// What can be chosen about a peripheral.
public struct PeripheralConfiguration: Sendable {
    /// Who may pair.
    public enum Pairing: Hashable, Sendable {
        /// No peer. The peripheral knows no keys.
        case none
        /// Any peer, without asking: Just Works, or a comparison that no person makes. The key protects against eavesdroppers
        /// only.
        case anyone
        /// A person answers: `PeripheralEvent.prompt` is followed by `Peripheral.answer`.
        case person(IOCapability)
    }

    /// What peers find on the air.
    public struct Advertising: Sendable {
        /// The time between advertising events: 20 ms to 10.24 s.
        public var interval: AdvertisingInterval
        /// The services that are named in the advertisement: 31 bytes hold the flags and fourteen 16-bit UUIDs, or one of 128 bits.
        public var services: [BluetoothUUID]
        /// More AD structures, for the scan response, behind the name.
        public var more: [ADStructure]

        /// Every 100 ms, naming these services, unless told otherwise.
        public init(
            interval: AdvertisingInterval = .milliseconds(100),
            services: [BluetoothUUID] = [],
            more: [ADStructure] = []
        ) {
            self.interval = interval
            self.services = services
            self.more = more
        }
    }

    /// With so many bytes waiting to be sent on a channel, what comes in on it is not read.
    static let unsentLimit = 65_536

    /// The name on the air and in GAP.
    public var name: String
    /// What kind of device it is (Bluetooth Assigned Numbers, 2.6); 0 for unknown.
    public var appearance: UInt16
    /// Its address: a static random one, or `.public`, whose value the controller decides.
    public var address: LEAddress
    /// What is on the air while no peer is connected; nil for nothing.
    public var advertising: Advertising?
    /// What is on the air besides, always: beacons, for example. Identifiers from 1 on; 0 is the peripheral's own.
    public var beacons: [AdvertisingSet]
    /// Who may pair.
    public var pairing: Pairing
    /// The bonds that the store has.
    public var bonds: [Bond]
    /// Whether `Peripheral.bondStored` is called once a bond is stored. Without, bonds count at once, and last as long as the process.
    public var storesBonds: Bool
    /// How long a service has for an answer that comes later: less than the 30 s that clients wait.
    public var answerTime: Duration

    /// A peripheral that is named in its advertisement, and that does not pair, unless told otherwise.
    public init(
        name: String,
        address: LEAddress,
        appearance: UInt16 = 0,
        advertising: Advertising? = Advertising(),
        beacons: [AdvertisingSet] = [],
        pairing: Pairing = .none,
        bonds: [Bond] = [],
        storesBonds: Bool = false,
        answerTime: Duration = GATTLayer.defaultAnswerTime
    ) {
        self.name = name
        self.address = address
        self.appearance = appearance
        self.advertising = advertising
        self.beacons = beacons
        self.pairing = pairing
        self.bonds = bonds
        self.storesBonds = storesBonds
        self.answerTime = answerTime
    }
}

/// What a peripheral reports to its application.
public enum PeripheralEvent: Sendable {
    /// The controller has been started, or started again.
    case ready(ControllerCapabilities)
    /// The controller cannot be used.
    case failed(StartUpFailure)
    /// The controller could not put a set on the air; it is tried again when a peer disconnects.
    case advertisingFailed(AdvertisingSetID, HCIStatus)
    /// A peer has connected.
    case connected(Peer)
    /// A peer has disconnected.
    case disconnected(Peer, HCIStatus)
    /// A pairing needs a person: call `Peripheral.answer`.
    case prompt(PairingPrompt)
    /// A peer has paired.
    case paired(Peer, PairingSummary)
    /// A pairing failed.
    case pairingFailed(ConnectionHandle, PairingFailure)
    /// A bond is new, or replaces another: store it, and call `Peripheral.bondStored` if the configuration says so.
    case bonded(Bond)
    /// A value that a service sent did not leave, because the peer's queue is full or it has not subscribed.
    case notSent(ConnectionHandle, GATTError)
    /// A value that the database keeps was not changed, because it is longer than it may be: the service's name for it, and why.
    case notSet(String, GATTError)
    /// The host has something for the log.
    case notice(HostNotice)
}

extension LEAddress {
    /// A static random address made of the low 46 bits of a number: the two above them are set, as such addresses have them
    /// (Core 5.4, Vol 6, Part B, 1.3.2.1).
    public static func staticRandom(_ number: UInt64) -> LEAddress { .random(DeviceAddress(staticRandomFrom: number)) }
}
