import BluetoothHCI
import ByteCoding

/// Turns HCI packets into text for logs, without the keys that some of them carry.
///
/// Keys pass between host and controller in a few commands, and between two devices in the key distribution of a
/// pairing. A log is read, sent and kept by people who have no use for them.
package struct PacketTranscript: Sendable {
    /// Connections whose next continuation fragments belong to a frame with a key, by direction.
    private var hidden: Set<Direction> = []

    private struct Direction: Hashable {
        let connection: ConnectionHandle
        let isFromHost: Bool
    }

    /// The commands that carry a key: their parameters are not shown.
    package static let commandsWithKeys: Set<HCIOpcode> = [
        LEEncrypt.opcode, LEEnableEncryption.opcode, LELongTermKeyRequestReply.opcode,
        LEAddDeviceToResolvingList.opcode,
    ]
    static let pdusWithKeys: Set<UInt8> = [
        SMPCode.encryptionInformation.rawValue, SMPCode.centralIdentification.rawValue,
        SMPCode.identityInformation.rawValue, SMPCode.signingInformation.rawValue,
    ]

    /// A transcript with nothing written yet.
    package init() {}

    /// A packet's bytes in hexadecimal; what is secret of it only as a number of bytes.
    /// - Parameter packet: packet type byte first.
    package mutating func text(of packet: ArraySlice<UInt8>, isFromHost: Bool) -> String {
        let shown = visibleByteCount(of: packet, isFromHost: isFromHost)
        let text = packet.prefix(shown).hexadecimal
        return shown < packet.count ? text + " <\(packet.count - shown) secret bytes>" : text
    }

    private mutating func visibleByteCount(of packet: ArraySlice<UInt8>, isFromHost: Bool) -> Int {
        var reader = ByteReader(packet)
        switch (try? reader.readUInt8("h4.type")).flatMap(HCIPacketType.init(rawValue:)) {
        case .command:
            let opcode = (try? reader.readLittleEndian("hci.opcode", as: UInt16.self)).map(HCIOpcode.init(rawValue:))
            // Packet type, opcode and length say what was done.
            return opcode.map(Self.commandsWithKeys.contains) == true ? min(4, packet.count) : packet.count
        case .acl:
            guard let data = try? ACLPacket(body: reader.remaining) else { return packet.count }
            let direction = Direction(connection: data.handle, isFromHost: isFromHost)
            // Packet type and ACL header.
            let headerCount = packet.count - data.data.count
            if data.boundary == .continuing { return hidden.contains(direction) ? headerCount : packet.count }
            guard Self.carriesKey(data.data) else {
                hidden.remove(direction)
                return packet.count
            }
            hidden.insert(direction)
            return min(headerCount + L2CAPFrame.headerSize + 1, packet.count)
        case .event, .sco, .iso, nil:
            return packet.count
        }
    }

    /// Whether the first fragment of a frame is of one with a key, or may be.
    private static func carriesKey(_ fragment: ArraySlice<UInt8>) -> Bool {
        var reader = ByteReader(fragment)
        guard (try? reader.readLittleEndian("l2cap.length", as: UInt16.self)) != nil,
            let channel = try? reader.readLittleEndian("l2cap.channel", as: UInt16.self)
        else { return true }
        guard ChannelID(rawValue: channel) == .securityManager else { return false }
        // Too short to show what it is.
        guard let code = try? reader.readUInt8("smp.code") else { return true }
        return pdusWithKeys.contains(code)
    }
}
