import ByteCoding

/// Endpoint 0x07D3, phone to watch, one byte, never answered: the link closes once the watch has acted.
package enum ResetMessage: UInt8, EndpointMessage {
    /// Reboots.
    case reboot = 0x00
    /// Writes a core dump, then reboots.
    case dumpCore = 0x01
    /// Forgets everything, phones too, then reboots.
    case factoryReset = 0xFE
    /// Reboots into recovery firmware.
    case rebootIntoRecovery = 0xFF

    package static var endpoint: Endpoint { .reset }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("reset.command")
        guard let message = ResetMessage(rawValue: command) else {
            throw ByteDecodingError("reset.command", .invalidValue(UInt64(command)))
        }
        self = message
    }

    package func encodePayload(to payload: inout [UInt8]) { payload.append(rawValue) }
}
