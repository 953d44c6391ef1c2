import ByteCoding

/// A command has begun, or has failed at once.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.15.
public struct CommandStatus: HCIEventParameters {
    public static let code = HCIEventCode(rawValue: 0x0F)

    /// `.success` when it has begun.
    public var status: HCIStatus
    /// How many more commands the controller takes now.
    public var commandCredits: UInt8
    /// Which command; `.none` when this only says how many commands the controller takes.
    public var opcode: HCIOpcode

    /// Makes the event: the command has begun, or the status says why it failed.
    public init(status: HCIStatus, commandCredits: UInt8, opcode: HCIOpcode) {
        self.status = status
        self.commandCredits = commandCredits
        self.opcode = opcode
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "command_status.status")
        commandCredits = try reader.readUInt8("command_status.command_credits")
        opcode = try HCIOpcode(reading: &reader, "command_status.opcode")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.append(commandCredits)
        buffer.appendLittleEndian(opcode.rawValue)
    }
}

/// The controller has failed in some way of its own.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.16.
public struct HardwareError: HCIEventParameters {
    public static let code = HCIEventCode(rawValue: 0x10)

    /// The manufacturer's code of the failure.
    public var code: UInt8

    /// Makes the event with a code that only the manufacturer defines.
    public init(code: UInt8) {
        self.code = code
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        code = try reader.readUInt8("hardware_error.code")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.append(code)
    }
}

/// The controller has sent, or flushed, data packets, so it has room again.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.19.
public struct NumberOfCompletedPackets: HCIEventParameters {
    public static let code = HCIEventCode(rawValue: 0x13)

    /// How many packets of which connection.
    public var packets: CompletedPacketsList

    /// Makes the event. One event tells of at most 63 connections.
    public init(packets: CompletedPacketsList) {
        self.packets = packets
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        packets = try CompletedPacketsList(reading: &reader)
    }

    public func encode(to buffer: inout [UInt8]) {
        packets.encode(to: &buffer)
    }
}

/// The host sent more data packets than the controller has room for.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.26.
public struct DataBufferOverflow: HCIEventParameters {
    public static let code = HCIEventCode(rawValue: 0x1A)

    /// For which data: 0 synchronous, 1 ACL, 2 isochronous.
    public var linkType: UInt8

    /// Makes the event for one kind of data: 0 synchronous, 1 ACL, 2 isochronous.
    public init(linkType: UInt8) {
        self.linkType = linkType
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        linkType = try reader.readUInt8("data_buffer_overflow.link_type")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.append(linkType)
    }
}
