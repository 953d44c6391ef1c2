// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Chooses which LE events the controller sends.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.1.
public struct LESetEventMask: HCICommandWithReturn {
    public static let id = HCICommandID("LESetEventMask", .lowEnergy, 0x0001, bit: (25, 0))

    /// The events wanted.
    public var mask: LEEventMask

    /// Makes the command with these parameters.
    public init(mask: LEEventMask) {
        self.mask = mask
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        mask = LEEventMask(rawValue: try reader.readLittleEndian("le_set_event_mask.mask"))
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(mask.rawValue)
    }
}

/// Reads the data buffers that LE has of its own; zeros mean that it shares those of Read Buffer Size.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.2.
public struct LEReadBufferSize: HCICommandWithReturn, HCICommandWithoutParameters {
    public static let id = HCICommandID("LEReadBufferSize", .lowEnergy, 0x0002, bit: (25, 1))

    /// What Command Complete carries after the status.
    public struct ReturnParameters: HCIReturnParameters {
        public static let size = 3

        /// The longest ACL data the controller takes, in octets.
        public var aclDataLength: UInt16
        /// How many ACL packets the controller can hold.
        public var aclPacketCount: UInt8

        /// Makes return parameters with these values.
        public init(aclDataLength: UInt16, aclPacketCount: UInt8) {
            self.aclDataLength = aclDataLength
            self.aclPacketCount = aclPacketCount
        }

        public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            aclDataLength = try reader.readLittleEndian("le_read_buffer_size.return.acl_data_length")
            aclPacketCount = try reader.readUInt8("le_read_buffer_size.return.acl_packet_count")
        }

        public func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(aclDataLength)
            buffer.append(aclPacketCount)
        }
    }

    /// Makes the command, which has no parameters.
    public init() {}
}

/// Reads the ACL and isochronous data buffers that LE has of its own.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.2.
public struct LEReadBufferSizeV2: HCICommandWithReturn, HCICommandWithoutParameters {
    public static let id = HCICommandID("LEReadBufferSizeV2", .lowEnergy, 0x0060, bit: (41, 5))

    /// What Command Complete carries after the status.
    public struct ReturnParameters: HCIReturnParameters {
        public static let size = 6

        /// The longest ACL data the controller takes, in octets.
        public var aclDataLength: UInt16
        /// How many ACL packets the controller can hold.
        public var aclPacketCount: UInt8
        /// The longest isochronous data the controller takes, in octets.
        public var isoDataLength: UInt16
        /// How many isochronous packets the controller can hold.
        public var isoPacketCount: UInt8

        /// Makes return parameters with these values.
        public init(aclDataLength: UInt16, aclPacketCount: UInt8, isoDataLength: UInt16, isoPacketCount: UInt8) {
            self.aclDataLength = aclDataLength
            self.aclPacketCount = aclPacketCount
            self.isoDataLength = isoDataLength
            self.isoPacketCount = isoPacketCount
        }

        public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            aclDataLength = try reader.readLittleEndian("le_read_buffer_size_v2.return.acl_data_length")
            aclPacketCount = try reader.readUInt8("le_read_buffer_size_v2.return.acl_packet_count")
            isoDataLength = try reader.readLittleEndian("le_read_buffer_size_v2.return.iso_data_length")
            isoPacketCount = try reader.readUInt8("le_read_buffer_size_v2.return.iso_packet_count")
        }

        public func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(aclDataLength)
            buffer.append(aclPacketCount)
            buffer.appendLittleEndian(isoDataLength)
            buffer.append(isoPacketCount)
        }
    }

    /// Makes the command, which has no parameters.
    public init() {}
}

/// Reads which features the link layer has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.3.
public struct LEReadLocalSupportedFeatures: HCICommandWithReturn, HCICommandWithoutParameters {
    public static let id = HCICommandID("LEReadLocalSupportedFeatures", .lowEnergy, 0x0003, bit: (25, 2))

    /// What Command Complete carries after the status.
    public struct ReturnParameters: HCIReturnParameters {
        public static let size = 8

        /// The features.
        public var features: LEFeatures

        /// Makes return parameters with these values.
        public init(features: LEFeatures) {
            self.features = features
        }

        public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            features = LEFeatures(
                rawValue: try reader.readLittleEndian("le_read_local_supported_features.return.features")
            )
        }

        public func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(features.rawValue)
        }
    }

    /// Makes the command, which has no parameters.
    public init() {}
}

/// Reads which combinations of link layer states are possible at once.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.27.
public struct LEReadSupportedStates: HCICommandWithReturn, HCICommandWithoutParameters {
    public static let id = HCICommandID("LEReadSupportedStates", .lowEnergy, 0x001C, bit: (28, 3))

    /// What Command Complete carries after the status.
    public struct ReturnParameters: HCIReturnParameters {
        public static let size = 8

        /// The combinations.
        public var states: LEStates

        /// Makes return parameters with these values.
        public init(states: LEStates) {
            self.states = states
        }

        public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            states = LEStates(rawValue: try reader.readLittleEndian("le_read_supported_states.return.states"))
        }

        public func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(states.rawValue)
        }
    }

    /// Makes the command, which has no parameters.
    public init() {}
}

/// Sets the random address of legacy advertising, scanning and initiating.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.4.
public struct LESetRandomAddress: HCICommandWithReturn {
    public static let id = HCICommandID("LESetRandomAddress", .lowEnergy, 0x0005, bit: (25, 4))

    /// The address.
    public var address: DeviceAddress

    /// Makes the command with these parameters.
    public init(address: DeviceAddress) {
        self.address = address
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        address = try DeviceAddress(reading: &reader, "le_set_random_address.address")
    }

    public func encode(to buffer: inout [UInt8]) {
        address.encode(to: &buffer)
    }
}

/// Reads the range of transmit power that the controller has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.74.
public struct LEReadTransmitPower: HCICommandWithReturn, HCICommandWithoutParameters {
    public static let id = HCICommandID("LEReadTransmitPower", .lowEnergy, 0x004B, bit: (38, 7))

    /// What Command Complete carries after the status.
    public struct ReturnParameters: HCIReturnParameters {
        public static let size = 2

        /// The least power in dBm.
        public var minimumDBm: Int8
        /// The most power in dBm.
        public var maximumDBm: Int8

        /// Makes return parameters with these values.
        public init(minimumDBm: Int8, maximumDBm: Int8) {
            self.minimumDBm = minimumDBm
            self.maximumDBm = maximumDBm
        }

        public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            minimumDBm = try reader.readInt8("le_read_transmit_power.return.minimum_d_bm")
            maximumDBm = try reader.readInt8("le_read_transmit_power.return.maximum_d_bm")
        }

        public func encode(to buffer: inout [UInt8]) {
            buffer.append(UInt8(bitPattern: minimumDBm))
            buffer.append(UInt8(bitPattern: maximumDBm))
        }
    }

    /// Makes the command, which has no parameters.
    public init() {}
}
