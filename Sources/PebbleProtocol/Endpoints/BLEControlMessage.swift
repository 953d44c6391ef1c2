import ByteCoding

/// Endpoint 0x0033, phone to watch: makes the watch discoverable. Layout: `04`, flag, seconds (UInt16,
/// little-endian).
package struct BLEControlMessage: EndpointMessage {
    /// Watches ignore it: the message always switches discoverability on.
    package var isDiscoverable: Bool
    /// For how long.
    package var durationSeconds: UInt16

    /// A request.
    package init(isDiscoverable: Bool, durationSeconds: UInt16) {
        self.isDiscoverable = isDiscoverable
        self.durationSeconds = durationSeconds
    }

    private static let command: UInt8 = 0x04

    package static var endpoint: Endpoint { .bleControl }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("ble_control.opcode")
        guard command == Self.command else {
            throw ByteDecodingError("ble_control.opcode", .invalidValue(UInt64(command)))
        }
        isDiscoverable = try reader.readUInt8("ble_control.discoverable") != 0
        durationSeconds = try reader.readLittleEndian("ble_control.duration")
    }

    package func encodePayload(to payload: inout [UInt8]) {
        payload += [Self.command, isDiscoverable ? 1 : 0]
        payload.appendLittleEndian(durationSeconds)
    }
}
