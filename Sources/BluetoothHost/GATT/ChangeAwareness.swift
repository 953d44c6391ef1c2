/// Whether a client knows the database as it is now, for clients that cache it
/// (Core 5.4, Vol 3, Part G, 2.5.2.1).
struct ChangeAwareness: Sendable {
    private enum State: Sendable {
        case aware
        case unaware
        /// Has read the Database Hash: its next request shows that it knows.
        case hashRead
    }

    private var state = State.aware
    /// Counts the changes that the client may not know of.
    private var change: UInt32 = 0
    /// How many ATT bearers the client uses.
    var bearerCount = 1
    /// The client's Client Supported Features (Core 5.4, Vol 3, Part G, 7.2).
    private(set) var features: UInt8 = 0

    /// The bits of Client Supported Features.
    static let robustCaching: UInt8 = 0x01
    static let enhancedBearer: UInt8 = 0x02
    static let multipleNotifications: UInt8 = 0x04
    private static let known = robustCaching | enhancedBearer | multipleNotifications

    /// Whether the client takes several values in one notification.
    var takesMultipleNotifications: Bool { features & Self.multipleNotifications != 0 }

    var isAware: Bool { state == .aware }

    /// Whether the client may be sent values and may send commands.
    var isInSync: Bool { state == .aware || features & Self.robustCaching == 0 }

    /// Takes back what was stored of a bonded client.
    mutating func restore(features: UInt8, isAware: Bool) {
        self.features = features & Self.known
        if isAware { state = .aware } else { databaseChanged() }
    }

    /// The client writes its features: bits may be set, but not cleared again.
    mutating func write(_ value: ArraySlice<UInt8>) throws(ATTError) {
        guard let written = value.first else { throw .invalidAttributeValueLength }
        guard written & features == features else { throw .valueNotAllowed }
        features = written & Self.known
    }

    mutating func databaseChanged() {
        state = .unaware
        change &+= 1
    }

    /// The client confirmed an indication of Service Changed. On several bearers that does not say in which order the client
    /// takes it and other answers: such a client reads the Database Hash.
    mutating func serviceChangedConfirmed() { if bearerCount == 1 { state = .aware } }

    /// The client has read the Database Hash.
    mutating func databaseHashRead() { if state == .unaware { state = .hashRead } }

    /// A request came from the client. A client that does not know of a change is told, once on each bearer, when it uses
    /// handles that it can only have from before. With one bearer, its next request shows that it knows.
    /// - Parameter told: the last change that the client was told of on the request's bearer.
    mutating func receive(_ request: ATTRequest, told: inout UInt32) throws(ATTRefusal) {
        switch state {
        case .aware:
            break
        case .hashRead:
            state = .aware
        case .unaware where told == change:
            if bearerCount == 1 { state = .aware }
        case .unaware:
            guard features & Self.robustCaching != 0, let handle = request.cachedHandle else { return }
            told = change
            throw ATTRefusal(.databaseOutOfSync, at: handle)
        }
    }
}

extension ATTRequest {
    /// A handle that the client must have kept from an earlier discovery to send the request; nil for requests
    /// that discover.
    fileprivate var cachedHandle: AttributeHandle? {
        switch self {
        case .read(let handle), .readBlob(let handle, _), .write(let handle, _), .prepareWrite(let handle, _, _):
            handle
        case .readMultiple(var handles), .readMultipleVariable(var handles):
            handles.popFirst()
        case .readByType(let handles, let type):
            type == .include || type == .characteristic || (handles.start == .first && handles.end == .last)
                ? nil : handles.start
        case .exchangeMTU, .findInformation, .findByTypeValue, .readByGroupType, .executeWrite:
            nil
        }
    }
}
