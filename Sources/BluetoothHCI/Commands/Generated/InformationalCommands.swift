// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Reads which versions the controller implements.
///
/// Source: Core 5.4, Vol 4, Part E, 7.4.1.
package struct ReadLocalVersionInformation: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("ReadLocalVersionInformation", .informational, 0x0001, bit: (14, 3))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The version of HCI.
        package var hciVersion: CoreVersion
        /// The manufacturer's revision of it.
        package var hciRevision: UInt16
        /// The version of the link manager or link layer.
        package var lmpVersion: CoreVersion
        /// The manufacturer.
        package var company: CompanyIdentifier
        /// The manufacturer's subversion of the link layer.
        package var lmpSubversion: UInt16

        /// Makes return parameters with these values.
        package init(
            hciVersion: CoreVersion,
            hciRevision: UInt16,
            lmpVersion: CoreVersion,
            company: CompanyIdentifier,
            lmpSubversion: UInt16
        ) {
            self.hciVersion = hciVersion
            self.hciRevision = hciRevision
            self.lmpVersion = lmpVersion
            self.company = company
            self.lmpSubversion = lmpSubversion
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            hciVersion = try CoreVersion(reading: &reader, "read_local_version_information.return.hci_version")
            hciRevision = try reader.readLittleEndian("read_local_version_information.return.hci_revision")
            lmpVersion = try CoreVersion(reading: &reader, "read_local_version_information.return.lmp_version")
            company = try CompanyIdentifier(reading: &reader, "read_local_version_information.return.company")
            lmpSubversion = try reader.readLittleEndian("read_local_version_information.return.lmp_subversion")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(hciVersion.rawValue)
            buffer.appendLittleEndian(hciRevision)
            buffer.append(lmpVersion.rawValue)
            buffer.appendLittleEndian(company.rawValue)
            buffer.appendLittleEndian(lmpSubversion)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads which commands the controller understands.
///
/// Source: Core 5.4, Vol 4, Part E, 7.4.2.
package struct ReadLocalSupportedCommands: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("ReadLocalSupportedCommands", .informational, 0x0002)

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 64

        /// The commands.
        package var commands: SupportedCommands

        /// Makes return parameters with these values.
        package init(commands: SupportedCommands) {
            self.commands = commands
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            commands = try SupportedCommands(reading: &reader, "read_local_supported_commands.return.commands")
        }

        package func encode(to buffer: inout [UInt8]) {
            commands.encode(to: &buffer)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads which features of the link manager the controller has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.4.3.
package struct ReadLocalSupportedFeatures: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("ReadLocalSupportedFeatures", .informational, 0x0003, bit: (14, 5))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The features.
        package var features: LMPFeatures

        /// Makes return parameters with these values.
        package init(features: LMPFeatures) {
            self.features = features
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            features = LMPFeatures(
                rawValue: try reader.readLittleEndian("read_local_supported_features.return.features")
            )
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(features.rawValue)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads the data buffers that BR/EDR has, and that LE shares when LE Read Buffer Size returns zeros.
///
/// Source: Core 5.4, Vol 4, Part E, 7.4.5.
package struct ReadBufferSize: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("ReadBufferSize", .informational, 0x0005, bit: (14, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 7

        /// The longest ACL data the controller takes, in octets.
        package var aclDataLength: UInt16
        /// The longest synchronous data the controller takes, in octets.
        package var synchronousDataLength: UInt8
        /// How many ACL packets the controller can hold.
        package var aclPacketCount: UInt16
        /// How many synchronous packets the controller can hold.
        package var synchronousPacketCount: UInt16

        /// Makes return parameters with these values.
        package init(
            aclDataLength: UInt16,
            synchronousDataLength: UInt8,
            aclPacketCount: UInt16,
            synchronousPacketCount: UInt16
        ) {
            self.aclDataLength = aclDataLength
            self.synchronousDataLength = synchronousDataLength
            self.aclPacketCount = aclPacketCount
            self.synchronousPacketCount = synchronousPacketCount
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            aclDataLength = try reader.readLittleEndian("read_buffer_size.return.acl_data_length")
            synchronousDataLength = try reader.readUInt8("read_buffer_size.return.synchronous_data_length")
            aclPacketCount = try reader.readLittleEndian("read_buffer_size.return.acl_packet_count")
            synchronousPacketCount = try reader.readLittleEndian("read_buffer_size.return.synchronous_packet_count")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(aclDataLength)
            buffer.append(synchronousDataLength)
            buffer.appendLittleEndian(aclPacketCount)
            buffer.appendLittleEndian(synchronousPacketCount)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads the public device address; zeros when there is none.
///
/// Source: Core 5.4, Vol 4, Part E, 7.4.6.
package struct ReadBDADDR: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("ReadBDADDR", .informational, 0x0009, bit: (15, 1))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 6

        /// The address.
        package var address: DeviceAddress

        /// Makes return parameters with these values.
        package init(address: DeviceAddress) {
            self.address = address
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            address = try DeviceAddress(reading: &reader, "read_bdaddr.return.address")
        }

        package func encode(to buffer: inout [UInt8]) {
            address.encode(to: &buffer)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads how strongly the peer of a connection is received.
///
/// Source: Core 5.4, Vol 4, Part E, 7.5.4.
package struct ReadRSSI: HCICommandWithReturn {
    package static let id = HCICommandID("ReadRSSI", .status, 0x0005, bit: (15, 5))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 3

        /// Which connection.
        package var handle: ConnectionHandle
        /// The strength in dBm; nil if it is not available.
        package var rssiDBm: Int8?

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle, rssiDBm: Int8?) {
            self.handle = handle
            self.rssiDBm = rssiDBm
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("read_rssi.return.handle")
            rssiDBm = try reader.readDecibels("read_rssi.return.rssi_d_bm")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
            buffer.appendDecibels(rssiDBm)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("read_rssi.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
