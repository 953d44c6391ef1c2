import BluetoothHCI
import BluetoothHost

/// What the watch remembers from one run to the next.
public struct WatchMemory: Sendable, Equatable {
    /// The watch's own address and the key that its private addresses are made with; nil before the first start.
    /// Phones know the watch by them, so they must never change while a bond exists.
    public var identity: LocalIdentity?
    /// The phones that have paired.
    public var phones: [RememberedPhone]
    /// What the services keep.
    public var services: ServiceMemory

    /// A memory; without arguments that of a watch fresh from the factory.
    public init(
        identity: LocalIdentity? = nil,
        phones: [RememberedPhone] = [],
        services: ServiceMemory = ServiceMemory()
    ) {
        self.identity = identity
        self.phones = phones
        self.services = services
    }
}

/// A phone that has paired, what it knows of the watch's database, and what the watch knows of its services.
public struct RememberedPhone: Sendable, Equatable {
    /// Who it is, and the keys that encrypt its links.
    public var bond: Bond
    /// Its subscriptions and what it said about caching.
    public var client: GATTClientState
    /// The Database Hash of the database that it last saw; nil if it has seen none.
    public var seenDatabaseHash: [UInt8]?
    /// What it offers itself; nil if nothing is remembered.
    public var services: PhoneServiceCache?

    /// A phone; with a bond alone, one that has subscribed to nothing yet.
    public init(
        bond: Bond,
        client: GATTClientState = GATTClientState(),
        seenDatabaseHash: [UInt8]? = nil,
        services: PhoneServiceCache? = nil
    ) {
        self.bond = bond
        self.client = client
        self.seenDatabaseHash = seenDatabaseHash
        self.services = services
    }
}

/// One change of the memory, which a store carries out whole or not at all.
public enum MemoryChange: Sendable, Equatable {
    /// The watch chose who it is.
    case identity(LocalIdentity)
    /// A phone paired. `replacingOthers` forgets every other phone in the same step. What was remembered under its identity
    /// is forgotten, because it may have become another; but `keepingClient` leaves what it has subscribed to, for one that
    /// took another key with the old one in use.
    case bond(Bond, replacingOthers: Bool, keepingClient: Bool = false)
    /// A phone is forgotten, with everything that is kept about it.
    case forget(LEAddress)
    /// A bonded phone subscribed, unsubscribed, or saw a database. Ignored for a phone that is not bonded.
    case client(LEAddress, GATTClientState, seenDatabaseHash: [UInt8]?)
    /// What a bonded phone offers was found. Ignored for a phone that is not bonded.
    case phoneServices(LEAddress, PhoneServiceCache)
    /// A service has something to keep.
    case service(ServiceChange)
}

/// Why a store could not do what it was asked; the text is for the person who runs the watch.
public enum WatchStoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The place cannot be used at all.
    case unusable(path: String, reason: String)
    /// The place is not safe from others; what a person can do about it.
    case refused(path: String, reason: String, advice: String)
    /// There is no room for the change.
    case full(path: String)
    /// The place can be read but not written.
    case readOnly(path: String)
    /// What is stored there cannot be understood.
    case corrupt(path: String, reason: String)
    /// It was written by a later version of Cairn; the numbers are the versions of the store's tables.
    case newer(path: String, found: Int, known: Int)
    /// It is somebody else's.
    case foreign(path: String)

    public var description: String {
        switch self {
        case .unusable(let path, let reason): "\(path) cannot be used: \(reason)"
        case .refused(let path, let reason, _): "\(path): \(reason)"
        case .full(let path): "\(path): no space is left"
        case .readOnly(let path): "\(path) is read-only"
        case .corrupt(let path, let reason): "\(path) is damaged: \(reason)"
        case .newer(let path, let found, let known):
            "\(path) was written by a newer Cairn: its schema is version \(found), and this one knows versions up to \(known)"
        case .foreign(let path): "\(path) is a database, but not a watch's"
        }
    }
}

/// Where a watch keeps its memory.
///
/// A change that `apply` has returned from survives anything: the end of the process, a power cut, a torn write. A
/// change that it threw for, or never returned from, is there whole or not at all.
public protocol WatchStore: AnyObject {
    /// Everything that is remembered.
    func load() throws(WatchStoreError) -> WatchMemory
    /// Carries out one change.
    func apply(_ change: MemoryChange) throws(WatchStoreError)
}
