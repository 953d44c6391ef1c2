import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// Everything that the phone keeps for its connection to the watch.
struct WatchLink: Sendable {
    /// Who waits for the end of a GATT procedure.
    enum Purpose: Sendable {
        case explorer
        case pairingTrigger
        case transportSubscription
        case psm
    }

    /// How far the phone is with pairing or encrypting the link.
    enum Security: Sendable {
        case notBegun
        case underway
        /// The link is encrypted, or will not be.
        case settled
    }

    /// Where PPoGATT packets go.
    enum Carrier: Sendable {
        /// The phone's own data characteristic, by notification.
        case notification(AttributeHandle)
        /// The watch's, by Write Without Response.
        case write(AttributeHandle)
    }

    let handle: ConnectionHandle
    let peer: LEAddress
    var mtu = ATT.defaultMTU
    var explorer: WatchExplorer
    /// Whether the explorer has been through with the watch.
    var isExplored = false
    var security = Security.notBegun
    /// What the owner is asked about the pairing.
    var question: PairingPrompt?
    /// Under way; there are two at most.
    var procedures: [GATTProcedureID: Purpose] = [:]
    /// Reversed: where the watch notifies packets, once it is subscribed to.
    var inboundData: AttributeHandle?
    var carrier: Carrier?
    var transport: PPoGATTLink?
    var stream = Stream.notBegun
    var session: PhoneSession?
    /// Whether there was ever a session on this link.
    var hadSession = false
    /// The packet that goes next, if the GATT layer had no room for it; else storage for one.
    var packet: [UInt8] = []
    var hasUnsentPacket = false

    init(_ connection: Connection, knowing watch: DiscoveredWatch?) {
        explorer = WatchExplorer(knowing: watch)
        handle = connection.handle
        peer = connection.peer
    }
}
