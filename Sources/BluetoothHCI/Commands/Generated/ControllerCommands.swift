// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Chooses which events the controller sends.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.1.
package struct SetEventMask: HCICommandWithReturn {
    package static let id = HCICommandID("SetEventMask", .controllerAndBaseband, 0x0001, bit: (5, 6))

    /// The events wanted.
    package var mask: EventMask

    /// Makes the command with these parameters.
    package init(mask: EventMask) {
        self.mask = mask
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        mask = EventMask(rawValue: try reader.readLittleEndian("set_event_mask.mask"))
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(mask.rawValue)
    }
}

/// Chooses which events of the second page the controller sends.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.69.
package struct SetEventMaskPage2: HCICommandWithReturn {
    package static let id = HCICommandID("SetEventMaskPage2", .controllerAndBaseband, 0x0063, bit: (22, 2))

    /// The events wanted.
    package var mask: EventMaskPage2

    /// Makes the command with these parameters.
    package init(mask: EventMaskPage2) {
        self.mask = mask
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        mask = EventMaskPage2(rawValue: try reader.readLittleEndian("set_event_mask_page2.mask"))
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(mask.rawValue)
    }
}

/// Returns the controller to its initial state: no links, no advertising, default masks.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.2.
package struct Reset: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("Reset", .controllerAndBaseband, 0x0003, bit: (5, 7))

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads how strongly a connection transmits.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.35.
package struct ReadTransmitPowerLevel: HCICommandWithReturn {
    package static let id = HCICommandID("ReadTransmitPowerLevel", .controllerAndBaseband, 0x002D, bit: (10, 2))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 3

        /// Which connection.
        package var handle: ConnectionHandle
        /// The level in dBm.
        package var powerDBm: Int8

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle, powerDBm: Int8) {
            self.handle = handle
            self.powerDBm = powerDBm
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("read_transmit_power_level.return.handle")
            powerDBm = try reader.readInt8("read_transmit_power_level.return.power_d_bm")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
            buffer.append(UInt8(bitPattern: powerDBm))
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle
    /// Which level.
    package var type: TransmitPowerLevelType

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, type: TransmitPowerLevelType) {
        self.handle = handle
        self.type = type
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("read_transmit_power_level.handle")
        type = try TransmitPowerLevelType(reading: &reader, "read_transmit_power_level.type")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(type.rawValue)
    }
}

/// Chooses whether the controller waits for Host Number Of Completed Packets.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.38.
package struct SetControllerToHostFlowControl: HCICommandWithReturn {
    package static let id = HCICommandID("SetControllerToHostFlowControl", .controllerAndBaseband, 0x0031, bit: (10, 5))

    /// For which data.
    package var flowControl: ControllerToHostFlowControl

    /// Makes the command with these parameters.
    package init(flowControl: ControllerToHostFlowControl) {
        self.flowControl = flowControl
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        flowControl = try ControllerToHostFlowControl(
            reading: &reader,
            "set_controller_to_host_flow_control.flow_control"
        )
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(flowControl.rawValue)
    }
}

/// Tells the controller how much data the host can hold.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.39.
package struct HostBufferSize: HCICommandWithReturn {
    package static let id = HCICommandID("HostBufferSize", .controllerAndBaseband, 0x0033, bit: (10, 6))

    /// The longest ACL data the host takes, in octets.
    package var aclDataLength: UInt16
    /// The longest synchronous data the host takes, in octets.
    package var synchronousDataLength: UInt8
    /// How many ACL packets the host can hold.
    package var aclPacketCount: UInt16
    /// How many synchronous packets the host can hold.
    package var synchronousPacketCount: UInt16

    /// Makes the command with these parameters.
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
        aclDataLength = try reader.readLittleEndian("host_buffer_size.acl_data_length")
        synchronousDataLength = try reader.readUInt8("host_buffer_size.synchronous_data_length")
        aclPacketCount = try reader.readLittleEndian("host_buffer_size.acl_packet_count")
        synchronousPacketCount = try reader.readLittleEndian("host_buffer_size.synchronous_packet_count")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(aclDataLength)
        buffer.append(synchronousDataLength)
        buffer.appendLittleEndian(aclPacketCount)
        buffer.appendLittleEndian(synchronousPacketCount)
    }
}

/// Gives buffers back to the controller. It may be sent at any time, takes no command credit and is answered only when
/// it is wrong.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.40.
package struct HostNumberOfCompletedPackets: HCICommandWithReturn {
    package static let id = HCICommandID("HostNumberOfCompletedPackets", .controllerAndBaseband, 0x0035, bit: (10, 7))

    /// How many packets of which connection.
    package var packets: CompletedPacketsList

    /// Makes the command with these parameters.
    package init(packets: CompletedPacketsList) {
        self.packets = packets
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        packets = try CompletedPacketsList(reading: &reader)
    }

    package func encode(to buffer: inout [UInt8]) {
        packets.encode(to: &buffer)
    }
}

/// Tells a dual-mode controller that the host speaks LE.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.79.
package struct WriteLEHostSupport: HCICommandWithReturn {
    package static let id = HCICommandID("WriteLEHostSupport", .controllerAndBaseband, 0x006D, bit: (24, 6))

    /// Whether it does.
    package var isSupported: Bool
    /// Reserved; 0 when sent.
    package var simultaneousHost: UInt8

    /// Makes the command with these parameters.
    package init(isSupported: Bool, simultaneousHost: UInt8) {
        self.isSupported = isSupported
        self.simultaneousHost = simultaneousHost
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isSupported = try reader.readBool("write_le_host_support.is_supported")
        simultaneousHost = try reader.readUInt8("write_le_host_support.simultaneous_host")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isSupported ? 1 : 0)
        buffer.append(simultaneousHost)
    }
}
