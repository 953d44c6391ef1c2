// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Suggests how much a link layer packet of a connection may carry. LE Data Length Change follows if anything changes.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.33.
package struct LESetDataLength: HCICommandWithReturn {
    package static let id = HCICommandID("LESetDataLength", .lowEnergy, 0x0022, bit: (33, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 2

        /// Which connection.
        package var handle: ConnectionHandle

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle) {
            self.handle = handle
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("le_set_data_length.return.handle")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle
    /// The most to transmit in one packet.
    package var transmit: DataLength

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, transmit: DataLength) {
        self.handle = handle
        self.transmit = transmit
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_set_data_length.handle")
        transmit = try DataLength(reading: &reader, "le_set_data_length.transmit")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        transmit.encode(to: &buffer)
    }
}

/// Reads the data length that new connections start from.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.34.
package struct LEReadSuggestedDefaultDataLength: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadSuggestedDefaultDataLength", .lowEnergy, 0x0023, bit: (33, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 4

        /// The most to transmit in one packet.
        package var transmit: DataLength

        /// Makes return parameters with these values.
        package init(transmit: DataLength) {
            self.transmit = transmit
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            transmit = try DataLength(reading: &reader, "le_read_suggested_default_data_length.return.transmit")
        }

        package func encode(to buffer: inout [UInt8]) {
            transmit.encode(to: &buffer)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Sets the data length that new connections start from.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.35.
package struct LEWriteSuggestedDefaultDataLength: HCICommandWithReturn {
    package static let id = HCICommandID("LEWriteSuggestedDefaultDataLength", .lowEnergy, 0x0024, bit: (34, 0))

    /// The most to transmit in one packet.
    package var transmit: DataLength

    /// Makes the command with these parameters.
    package init(transmit: DataLength) {
        self.transmit = transmit
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        transmit = try DataLength(reading: &reader, "le_write_suggested_default_data_length.transmit")
    }

    package func encode(to buffer: inout [UInt8]) {
        transmit.encode(to: &buffer)
    }
}

/// Reads the largest data length that the controller supports.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.46.
package struct LEReadMaximumDataLength: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadMaximumDataLength", .lowEnergy, 0x002F, bit: (35, 3))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The most it can transmit in one packet.
        package var transmit: DataLength
        /// The most it can receive in one packet.
        package var receive: DataLength

        /// Makes return parameters with these values.
        package init(transmit: DataLength, receive: DataLength) {
            self.transmit = transmit
            self.receive = receive
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            transmit = try DataLength(reading: &reader, "le_read_maximum_data_length.return.transmit")
            receive = try DataLength(reading: &reader, "le_read_maximum_data_length.return.receive")
        }

        package func encode(to buffer: inout [UInt8]) {
            transmit.encode(to: &buffer)
            receive.encode(to: &buffer)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}
