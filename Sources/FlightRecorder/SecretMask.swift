import BluetoothHCI

/// Takes keys out of HCI packets, for recordings without secrets. The lengths stay.
enum SecretMask {
    /// Where keys stand in commands: by opcode, the parameters that are blotted out, counted from the first byte of the packet.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 7.8.22 (LE Encrypt), 7.8.24 (LE Enable Encryption), 7.8.25 (LE Long Term Key Request
    /// Reply), 7.8.37 (LE Generate DHKey), 7.8.38 (LE Add Device To Resolving List).
    private static let commands: [UInt16: Range<Int>] = [
        0x2017: 4..<36, 0x2019: 6..<32, 0x201A: 6..<22, 0x2026: 4..<68, 0x2027: 11..<43, 0x205E: 4..<68,
    ]

    /// L2CAP's channel of the Security Manager (Core 5.4, Vol 3, Part A, 2.1).
    private static let securityManagerChannel: [UInt8] = [0x06, 0x00]
    /// Packet type, handle and length, then L2CAP's length.
    private static let channelOffset = 7
    /// The codes of the Security Manager whose values are secret: confirm values and nonces give a passkey away, and those from
    /// Encryption Information on are keys (Core 5.4, Vol 3, Part H, 3.5 and 3.6).
    private static let firstSecretCode: UInt8 = 0x03

    /// Whether a packet belongs to a pairing.
    static func isOfSecurityManager(_ packet: ArraySlice<UInt8>) -> Bool {
        guard packet.count > channelOffset + 2, packet.first == HCIPacketType.acl.rawValue else { return false }
        return packet.dropFirst(channelOffset).prefix(2).elementsEqual(securityManagerChannel)
    }

    /// The packet without keys.
    static func mask(_ packet: ArraySlice<UInt8>) -> [UInt8] {
        var bytes = Array(packet)
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .command:
            guard bytes.count > 3, let secret = commands[UInt16(bytes[1]) | UInt16(bytes[2]) << 8] else { break }
            blot(secret, of: &bytes)
        case .acl:
            guard bytes.count > channelOffset + 2,
                bytes[channelOffset..<channelOffset + 2].elementsEqual(securityManagerChannel),
                bytes[channelOffset + 2] >= firstSecretCode, bytes[channelOffset + 2] != 0x05
            else { break }
            blot(channelOffset + 3..<bytes.count, of: &bytes)
        case .event, .sco, .iso, nil: break
        }
        return bytes
    }

    private static func blot(_ range: Range<Int>, of bytes: inout [UInt8]) {
        for index in range where bytes.indices.contains(index) { bytes[index] = 0 }
    }
}
