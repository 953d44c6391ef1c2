import BluetoothHCI
import ByteCoding

/// The Security Manager's view of one link.
struct SecurityLink: ConnectionMachine {
    /// What is going on.
    enum Procedure: Sendable {
        /// This peripheral asked for security.
        case securityRequestSent
        /// The peripheral asked this central for security.
        case securityRequestReceived
        /// This central sent a Pairing Request.
        case pairingRequested(PairingFeatures)
        /// Both agreed on how to pair.
        case pairing(Pairing)
    }

    /// Where the key comes from that the link is being encrypted with.
    enum KeySource: Sendable {
        case pairing
        case bond(LEAddress)
    }

    let handle: ConnectionHandle
    let role: PairingRole
    let ownAddress: LEAddress
    let peerAddress: LEAddress
    /// Who the peer says it is, as far as there is a bond with it.
    var identity: LEAddress?
    /// Who the peer has proved to be, by the key that encrypts the link. It does not change while the link lasts.
    var provenIdentity: LEAddress?
    var security = LinkSecurity.none
    private(set) var procedure: Procedure?
    /// When the procedure has lasted too long.
    private(set) var deadline: Duration?
    /// Whether a procedure timed out: no command may be sent on this link any more.
    private(set) var hasTimedOut = false
    /// What the user was asked last, and has not answered.
    var prompt: PairingPrompt?
    /// The key that is being taken into use.
    var keySource: KeySource?
    private var outbound = PacketQueue()

    /// How long a procedure may stand still.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 3.4.
    static let procedureTimeout = Duration.seconds(30)

    /// How many commands may wait for the channel. A peer that answers properly never makes that many; to one that
    /// sends nonsense faster than it listens nothing more is said.
    static let maximumOutboundCount = 16

    init(_ handle: ConnectionHandle, role: PairingRole, ownAddress: LEAddress, peerAddress: LEAddress) {
        self.handle = handle
        self.role = role
        self.ownAddress = ownAddress.withoutIdentityType
        self.peerAddress = peerAddress.withoutIdentityType
    }

    /// The name under which failures of the peer are counted.
    var peer: LEAddress { identity ?? peerAddress }

    /// The initiator's address on the air.
    var initiatorAddress: LEAddress { role == .initiator ? ownAddress : peerAddress }
    /// The responder's address on the air.
    var responderAddress: LEAddress { role == .initiator ? peerAddress : ownAddress }

    /// Whether a pairing is going on or was asked for by this device.
    var isPairing: Bool {
        switch procedure {
        case .pairing, .pairingRequested: true
        case .securityRequestSent, .securityRequestReceived, nil: false
        }
    }

    /// The pairing that is going on.
    var pairing: Pairing? {
        if case .pairing(let pairing) = procedure { pairing } else { nil }
    }

    // MARK: The procedure and its timer

    /// Begins a procedure, or its next part, and gives it 30 seconds.
    mutating func begin(_ procedure: Procedure, at now: Duration) {
        self.procedure = procedure
        restartTimer(at: now)
    }

    /// Puts back a procedure that went on.
    mutating func update(_ pairing: Pairing) { procedure = .pairing(pairing) }

    /// Ends the procedure.
    mutating func endProcedure() {
        procedure = nil
        deadline = nil
        prompt = nil
    }

    /// Ends the procedure, and with it all security procedures on this link.
    mutating func timeOut(
        _ attempts: inout RepeatedAttempts,
        _ output: inout SecurityOutput,
        at now: Duration
    ) {
        fail(.timedOut, &attempts, &output, at: now)
        hasTimedOut = true
        outbound.removeAll()
    }

    /// Gives the procedure 30 more seconds.
    mutating func restartTimer(at now: Duration) { deadline = now + Self.procedureTimeout }

    // MARK: Commands to the peer

    /// Queues a command.
    mutating func send(_ pdu: SMPPDU, at now: Duration) {
        guard !hasTimedOut, outbound.count < Self.maximumOutboundCount else { return }
        outbound.append { buffer in pdu.encode(to: &buffer) }
        if procedure != nil { restartTimer(at: now) }
    }

    /// Takes the next command that is to be sent.
    mutating func nextPDU(into buffer: inout [UInt8]) -> Bool { outbound.popFirst(into: &buffer) }
}
