import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// PPoGATT on the link to the watch: its machine, and between which characteristics its packets go.
struct PPoGATTTransport: Sendable {
    /// Where PPoGATT packets go.
    enum Carrier: Sendable {
        /// The phone's own data characteristic, by notification.
        case notification(AttributeHandle)
        /// The watch's, by Write Without Response.
        case write(AttributeHandle)
    }

    private(set) var carrier: Carrier?
    /// Reversed: where the watch notifies packets, once it is subscribed to.
    private(set) var inboundData: AttributeHandle?
    /// Nil while it is closed.
    var machine: PPoGATTLink?
    /// The packet that goes next, if the GATT layer had no room for it; else storage for one.
    private var packet: [UInt8] = []
    private var hasUnsentPacket = false

    /// The characteristics of the watch's own service are known.
    mutating func reverse(_ carrier: Carrier, notifiedFrom data: AttributeHandle) {
        self.carrier = carrier
        inboundData = data
    }

    mutating func open(
        _ rules: PPoGATTConfiguration.Carrier,
        _ carrier: Carrier,
        mtu: Int,
        at now: Duration
    ) {
        self.carrier = carrier
        machine = PPoGATTLink(.phone(rules), attMTU: mtu)
        machine?.start(at: now)
    }

    /// Its characteristics stay known.
    mutating func close() {
        machine = nil
        hasUnsentPacket = false
    }

    /// Its characteristics are to be looked for again.
    mutating func forgetCharacteristics() {
        carrier = nil
        inboundData = nil
    }

    /// Gives the GATT layer the machine's packets, as many as it has room for.
    mutating func sendPackets(on handle: ConnectionHandle, _ core: inout PhoneCore, at now: Duration) {
        guard let carrier else { return }
        while hasUnsentPacket || machine?.nextPacket(into: &packet, at: now) == true {
            do {
                switch carrier {
                case .notification(let data): try core.host.gatt.notify(packet[...], of: data, on: handle, at: now)
                case .write(let data):
                    try core.host.gatt.writeWithoutResponse(packet[...], to: data, on: handle, at: now)
                }
                hasUnsentPacket = false
            } catch .queueFull {
                hasUnsentPacket = true
                return
            } catch {
                core.log(.warning, .ppogatt, "\(error)")
                hasUnsentPacket = false
                return
            }
        }
    }
}
