// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Reads the PHYs of a connection.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.47.
package struct LEReadPHY: HCICommandWithReturn {
    package static let id = HCICommandID("LEReadPHY", .lowEnergy, 0x0030, bit: (35, 4))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 4

        /// Which connection.
        package var handle: ConnectionHandle
        /// What this side transmits on.
        package var transmit: PHY
        /// What this side receives on.
        package var receive: PHY

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle, transmit: PHY, receive: PHY) {
            self.handle = handle
            self.transmit = transmit
            self.receive = receive
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("le_read_phy.return.handle")
            transmit = try PHY(reading: &reader, "le_read_phy.return.transmit")
            receive = try PHY(reading: &reader, "le_read_phy.return.receive")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
            buffer.append(transmit.rawValue)
            buffer.append(receive.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_read_phy.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}

/// Sets which PHYs new connections should use.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.48.
package struct LESetDefaultPHY: HCICommandWithReturn {
    package static let id = HCICommandID("LESetDefaultPHY", .lowEnergy, 0x0031, bit: (35, 5))

    /// The PHYs wanted.
    package var preferences: PHYPreferences

    /// Makes the command with these parameters.
    package init(preferences: PHYPreferences) {
        self.preferences = preferences
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        preferences = try PHYPreferences(reading: &reader, "le_set_default_phy.preferences")
    }

    package func encode(to buffer: inout [UInt8]) {
        preferences.encode(to: &buffer)
    }
}

/// Asks for other PHYs on a connection. LE PHY Update Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.49.
package struct LESetPHY: HCICommand {
    package static let id = HCICommandID("LESetPHY", .lowEnergy, 0x0032, bit: (35, 6))

    /// Which connection.
    package var handle: ConnectionHandle
    /// The PHYs wanted.
    package var preferences: PHYPreferences
    /// How the coded PHY is to be coded.
    package var options: PHYOptions

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, preferences: PHYPreferences, options: PHYOptions) {
        self.handle = handle
        self.preferences = preferences
        self.options = options
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_set_phy.handle")
        preferences = try PHYPreferences(reading: &reader, "le_set_phy.preferences")
        options = PHYOptions(rawValue: try reader.readLittleEndian("le_set_phy.options"))
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        preferences.encode(to: &buffer)
        buffer.appendLittleEndian(options.rawValue)
    }
}
