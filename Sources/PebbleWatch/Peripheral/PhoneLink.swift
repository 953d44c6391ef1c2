import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// Everything that the watch keeps for one connected phone.
struct PhoneLink: Sendable {
    /// Which characteristic carries a transport's packets.
    enum Carrier: Hashable, Sendable {
        /// The phone's data characteristic: the watch writes, the phone notifies.
        case forward(AttributeHandle)
        /// The watch's own pair: the watch notifies, the phone writes.
        case reversed
    }

    /// One PPoGATT link and the session that runs over it.
    struct Transport: Sendable {
        var link: PPoGATTLink
        /// Where the phone's service is; nil for the watch's own.
        let service: PhoneServiceFinder.FoundTransport?
        var session: SessionID?
        /// A packet that the GATT layer had no room for; it goes first when there is.
        var unsentPacket: [UInt8] = []
    }

    /// Who waits for the end of a GATT procedure.
    enum Purpose: Sendable {
        case finder
        case meta(Carrier)
        case subscription(Carrier)
    }

    let peer: LEAddress
    var finder = PhoneServiceFinder()
    var transports: [Carrier: Transport] = [:]
    var procedures: [GATTProcedureID: Purpose] = [:]
    var mtu = ATT.defaultMTU
}
