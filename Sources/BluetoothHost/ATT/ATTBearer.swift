import BluetoothHCI
import ByteCoding
import DequeModule

/// One ATT bearer: its MTU, its link's security, and the PDUs that wait to leave in the order of their sending.
///
/// PDUs that an answer follows are few by the protocol's own rule. Those that none follows, notifications and
/// commands, are held to a limit here.
struct ATTBearer: Sendable {
    /// A PDU on its way out.
    enum Departure: Equatable {
        case request
        case response
        case indication
        case confirmation
        case unanswered(Unanswered)
    }

    /// A PDU that no answer follows.
    enum Unanswered: Equatable {
        case command
        /// One value, which the client must have subscribed to unless it is sent all the same.
        case notification(evenIfNotSubscribed: Bool)
        /// Several values in one PDU.
        case multipleNotification

        fileprivate var opcode: ATTOpcode {
            switch self {
            case .command: .writeCommand
            case .notification: .handleValueNotification
            case .multipleNotification: .multipleHandleValueNotification
            }
        }
    }

    let connection: ConnectionHandle
    /// Whether it is a credit-based channel, whose MTU it has, and not the fixed channel.
    let isEnhanced: Bool
    /// The MTU in force.
    private(set) var mtu = ATT.defaultMTU
    var security: LinkSecurity
    /// False once a transaction has timed out: nothing more may be sent or taken
    /// (Core 5.4, Vol 3, Part F, 3.3.3).
    private(set) var isOpen = true

    private(set) var outbox = PacketQueue()
    private let unansweredLimit: Int
    /// The notifications and commands in the outbox.
    private var unanswered = Deque<Unanswered>()
    private var roomIsWanted = false

    /// The bearer on the fixed channel, with the default MTU.
    init(connection: ConnectionHandle, security: LinkSecurity, unansweredLimit: Int) {
        self.connection = connection
        self.security = security
        self.unansweredLimit = max(1, unansweredLimit)
        isEnhanced = false
    }

    /// An enhanced bearer on a channel, whose MTU is the smaller one of both ends (Core 5.4, Vol 3, Part G, 5.3.1). It sends no
    /// notifications and no commands.
    init(connection: ConnectionHandle, security: LinkSecurity, channelMTU: Int) {
        self.connection = connection
        self.security = security
        unansweredLimit = 1
        isEnhanced = true
        mtu = channelMTU
    }

    /// The channel of an enhanced bearer takes longer PDUs from now on.
    mutating func setChannelMTU(_ channelMTU: Int) { mtu = channelMTU }

    /// Puts the smaller of two MTUs in force, but never less than the default
    /// (Core 5.4, Vol 3, Part F, 3.4.2.2).
    /// - Returns: whether that changed anything.
    mutating func agreeOnMTU(_ own: Int, _ peer: Int) -> Bool {
        let agreed = max(ATT.defaultMTU, min(own, peer))
        defer { mtu = agreed }
        return agreed != mtu
    }

    /// Queues a PDU that ends or begins a transaction.
    mutating func send(_ opcode: ATTOpcode, _ write: (inout [UInt8]) -> Void = { _ in }) {
        send { buffer in
            buffer.append(opcode.rawValue)
            write(&buffer)
        }
    }

    /// Queues a PDU that ends or begins a transaction and is written from its opcode on, unless that fails.
    mutating func send<Failure: Error>(_ write: (inout [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isOpen else { return }
        try outbox.append(write)
    }

    /// Queues a notification or a command, if there is room.
    mutating func sendUnanswered(_ kind: Unanswered, _ write: (inout [UInt8]) -> Void) throws(GATTError) {
        guard isOpen else { throw .notConnected(connection) }
        guard unanswered.count < unansweredLimit else {
            roomIsWanted = true
            throw .queueFull
        }
        unanswered.append(kind)
        send(kind.opcode, write)
    }

    /// Takes the oldest PDU into `buffer`, which is swapped for one to be used again.
    /// - Returns: what kind of PDU it is; nil, with `buffer` untouched, when none waits.
    mutating func nextPDU(into buffer: inout [UInt8]) -> Departure? {
        guard outbox.popFirst(into: &buffer), let opcode = buffer.first.flatMap(ATTOpcode.init(rawValue:)) else {
            return nil
        }
        switch opcode.role {
        case .request: return .request
        case .response: return .response
        case .indication: return .indication
        case .confirmation: return .confirmation
        case .notification, .command: return unanswered.popFirst().map(Departure.unanswered)
        }
    }

    /// Whether somebody was turned away for want of room, and half of the room is free again. Says so once.
    mutating func takeRoomNotice() -> Bool {
        guard roomIsWanted, unanswered.count <= unansweredLimit / 2 else { return false }
        roomIsWanted = false
        return true
    }

    /// Gives the bearer up, with everything that waits.
    mutating func close() {
        isOpen = false
        outbox.removeAll()
        unanswered.removeAll()
    }
}
