import BluetoothHCI
import BluetoothHost

/// What can be chosen about a central.
public struct CentralConfiguration: Sendable {
    /// Its address: a static random one, or a public one, whose value the controller decides.
    public var address: LEAddress
    /// How it listens for advertisements.
    public var scanning: ScanParameters
    /// The parameters that it opens connections with.
    public var connection: ConnectionParameters
    /// How it pairs; nil not to, and to know no keys. With it, a peripheral that asks for security gets it: the central encrypts
    /// with the bond's key, or pairs.
    public var security: SecurityManager.Configuration?
    /// The bonds that the store has.
    public var bonds: [Bond]
    /// Whether `Central.bondStored` is called once a bond is stored. Without, bonds count at once, and last as long as the process.
    public var storesBonds: Bool

    /// A central with the controller's public address that scans all the time, asks for a connection interval of 30 ms to 50 ms
    /// and a supervision timeout of 4 s, and does not pair, unless told otherwise.
    public init(
        address: LEAddress = .public(.zero),
        scanning: ScanParameters = ScanParameters(),
        connection: ConnectionParameters = ConnectionParameters(
            intervalMinimum: .milliseconds(30),
            intervalMaximum: .milliseconds(50),
            latency: 0,
            supervisionTimeout: .milliseconds(4000)
        ),
        security: SecurityManager.Configuration? = nil,
        bonds: [Bond] = [],
        storesBonds: Bool = false
    ) {
        self.address = address
        self.scanning = scanning
        self.connection = connection
        self.security = security
        self.bonds = bonds
        self.storesBonds = storesBonds
    }
}
