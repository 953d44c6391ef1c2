/// Packets as the two interfaces carry them.
extension Netsim_Packet_HCIPacket {
    init(_ message: HCIMessage) {
        self.init()
        packetType = PacketType(rawValue: message.type) ?? .hciPacketUnspecified
        packet = .init(message.body)
    }

    var message: HCIMessage { HCIMessage(type: packetType.rawValue, body: Array(packet)) }
}

extension Android_Emulation_Bluetooth_HCIPacket {
    init(_ message: HCIMessage) {
        self.init()
        type = PacketType(rawValue: message.type) ?? .unspecified
        packet = .init(message.body)
    }

    var message: HCIMessage { HCIMessage(type: type.rawValue, body: Array(packet)) }
}
