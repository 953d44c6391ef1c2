// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Chooses which LE events the controller sends.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.1.
package struct LESetEventMask: HCICommandWithReturn {
    package static let id = HCICommandID("LESetEventMask", .lowEnergy, 0x0001, bit: (25, 0))

    /// The events wanted.
    package var mask: LEEventMask

    /// Makes the command with these parameters.
    package init(mask: LEEventMask) {
        self.mask = mask
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        mask = LEEventMask(rawValue: try reader.readLittleEndian("le_set_event_mask.mask"))
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(mask.rawValue)
    }
}

/// Reads the data buffers that LE has of its own; zeros mean that it shares those of Read Buffer Size.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.2.
package struct LEReadBufferSize: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadBufferSize", .lowEnergy, 0x0002, bit: (25, 1))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 3

        /// The longest ACL data the controller takes, in octets.
        package var aclDataLength: UInt16
        /// How many ACL packets the controller can hold.
        package var aclPacketCount: UInt8

        /// Makes return parameters with these values.
        package init(aclDataLength: UInt16, aclPacketCount: UInt8) {
            self.aclDataLength = aclDataLength
            self.aclPacketCount = aclPacketCount
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            aclDataLength = try reader.readLittleEndian("le_read_buffer_size.return.acl_data_length")
            aclPacketCount = try reader.readUInt8("le_read_buffer_size.return.acl_packet_count")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(aclDataLength)
            buffer.append(aclPacketCount)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads the ACL and isochronous data buffers that LE has of its own.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.2.
package struct LEReadBufferSizeV2: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadBufferSizeV2", .lowEnergy, 0x0060, bit: (41, 5))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 6

        /// The longest ACL data the controller takes, in octets.
        package var aclDataLength: UInt16
        /// How many ACL packets the controller can hold.
        package var aclPacketCount: UInt8
        /// The longest isochronous data the controller takes, in octets.
        package var isoDataLength: UInt16
        /// How many isochronous packets the controller can hold.
        package var isoPacketCount: UInt8

        /// Makes return parameters with these values.
        package init(aclDataLength: UInt16, aclPacketCount: UInt8, isoDataLength: UInt16, isoPacketCount: UInt8) {
            self.aclDataLength = aclDataLength
            self.aclPacketCount = aclPacketCount
            self.isoDataLength = isoDataLength
            self.isoPacketCount = isoPacketCount
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            aclDataLength = try reader.readLittleEndian("le_read_buffer_size_v2.return.acl_data_length")
            aclPacketCount = try reader.readUInt8("le_read_buffer_size_v2.return.acl_packet_count")
            isoDataLength = try reader.readLittleEndian("le_read_buffer_size_v2.return.iso_data_length")
            isoPacketCount = try reader.readUInt8("le_read_buffer_size_v2.return.iso_packet_count")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(aclDataLength)
            buffer.append(aclPacketCount)
            buffer.appendLittleEndian(isoDataLength)
            buffer.append(isoPacketCount)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads which features the link layer has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.3.
package struct LEReadLocalSupportedFeatures: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadLocalSupportedFeatures", .lowEnergy, 0x0003, bit: (25, 2))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The features.
        package var features: LEFeatures

        /// Makes return parameters with these values.
        package init(features: LEFeatures) {
            self.features = features
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            features = LEFeatures(
                rawValue: try reader.readLittleEndian("le_read_local_supported_features.return.features")
            )
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(features.rawValue)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads which combinations of link layer states are possible at once.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.27.
package struct LEReadSupportedStates: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadSupportedStates", .lowEnergy, 0x001C, bit: (28, 3))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The combinations.
        package var states: LEStates

        /// Makes return parameters with these values.
        package init(states: LEStates) {
            self.states = states
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            states = LEStates(rawValue: try reader.readLittleEndian("le_read_supported_states.return.states"))
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(states.rawValue)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Sets the random address of legacy advertising, scanning and initiating.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.4.
package struct LESetRandomAddress: HCICommandWithReturn {
    package static let id = HCICommandID("LESetRandomAddress", .lowEnergy, 0x0005, bit: (25, 4))

    /// The address.
    package var address: DeviceAddress

    /// Makes the command with these parameters.
    package init(address: DeviceAddress) {
        self.address = address
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        address = try DeviceAddress(reading: &reader, "le_set_random_address.address")
    }

    package func encode(to buffer: inout [UInt8]) {
        address.encode(to: &buffer)
    }
}

/// Reads the range of transmit power that the controller has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.74.
package struct LEReadTransmitPower: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadTransmitPower", .lowEnergy, 0x004B, bit: (38, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 2

        /// The least power in dBm.
        package var minimumDBm: Int8
        /// The most power in dBm.
        package var maximumDBm: Int8

        /// Makes return parameters with these values.
        package init(minimumDBm: Int8, maximumDBm: Int8) {
            self.minimumDBm = minimumDBm
            self.maximumDBm = maximumDBm
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            minimumDBm = try reader.readInt8("le_read_transmit_power.return.minimum_d_bm")
            maximumDBm = try reader.readInt8("le_read_transmit_power.return.maximum_d_bm")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(UInt8(bitPattern: minimumDBm))
            buffer.append(UInt8(bitPattern: maximumDBm))
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}
