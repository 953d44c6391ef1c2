// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Says which data channels are bad where the host is.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.19.
package struct LESetHostChannelClassification: HCICommandWithReturn {
    package static let id = HCICommandID("LESetHostChannelClassification", .lowEnergy, 0x0014, bit: (27, 3))

    /// The channels that are not known to be bad.
    package var channels: DataChannelMap

    /// Makes the command with these parameters.
    package init(channels: DataChannelMap) {
        self.channels = channels
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        channels = try DataChannelMap(reading: &reader, "le_set_host_channel_classification.channels")
    }

    package func encode(to buffer: inout [UInt8]) {
        channels.encode(to: &buffer)
    }
}

/// Reads which data channels a connection uses.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.20.
package struct LEReadChannelMap: HCICommandWithReturn {
    package static let id = HCICommandID("LEReadChannelMap", .lowEnergy, 0x0015, bit: (27, 4))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 7

        /// Which connection.
        package var handle: ConnectionHandle
        /// The channels in use.
        package var channels: DataChannelMap

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle, channels: DataChannelMap) {
            self.handle = handle
            self.channels = channels
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("le_read_channel_map.return.handle")
            channels = try DataChannelMap(reading: &reader, "le_read_channel_map.return.channels")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
            channels.encode(to: &buffer)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_read_channel_map.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
