import ByteCoding

/// A command has begun, or has failed at once.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.15.
package struct CommandStatus: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x0F)

    /// `.success` when it has begun.
    package var status: HCIStatus
    /// How many more commands the controller takes now.
    package var commandCredits: UInt8
    /// Which command; `.none` when this only says how many commands the controller takes.
    package var opcode: HCIOpcode

    /// Makes the event: the command has begun, or the status says why it failed.
    package init(status: HCIStatus, commandCredits: UInt8, opcode: HCIOpcode) {
        self.status = status
        self.commandCredits = commandCredits
        self.opcode = opcode
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "command_status.status")
        commandCredits = try reader.readUInt8("command_status.command_credits")
        opcode = try HCIOpcode(reading: &reader, "command_status.opcode")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.append(commandCredits)
        buffer.appendLittleEndian(opcode.rawValue)
    }
}

/// The controller has failed in some way of its own.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.16.
package struct HardwareError: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x10)

    /// The manufacturer's code of the failure.
    package var code: UInt8

    /// Makes the event with a code that only the manufacturer defines.
    package init(code: UInt8) {
        self.code = code
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        code = try reader.readUInt8("hardware_error.code")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(code)
    }
}

/// The controller has sent, or flushed, data packets, so it has room again.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.19.
package struct NumberOfCompletedPackets: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x13)

    /// How many packets of which connection.
    package var packets: CompletedPacketsList

    /// Makes the event. One event tells of at most 63 connections.
    package init(packets: CompletedPacketsList) {
        self.packets = packets
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        packets = try CompletedPacketsList(reading: &reader)
    }

    /// Whether an HCI packet, type byte first, is such an event. Its first octets say so: nothing is decoded.
    package static func isIn(_ packet: ArraySlice<UInt8>) -> Bool {
        packet.count > 1 && packet[packet.startIndex] == HCIPacketType.event.rawValue
            && packet[packet.startIndex + 1] == code.rawValue
    }

    package func encode(to buffer: inout [UInt8]) {
        packets.encode(to: &buffer)
    }
}

/// The host sent more data packets than the controller has room for.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.26.
package struct DataBufferOverflow: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x1A)

    /// For which data: 0 synchronous, 1 ACL, 2 isochronous.
    package var linkType: UInt8

    /// Makes the event for one kind of data: 0 synchronous, 1 ACL, 2 isochronous.
    package init(linkType: UInt8) {
        self.linkType = linkType
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        linkType = try reader.readUInt8("data_buffer_overflow.link_type")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(linkType)
    }
}
