// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Says that the host can do something that peers see in the features of the link layer.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.115.
package struct LESetHostFeature: HCICommandWithReturn {
    package static let id = HCICommandID("LESetHostFeature", .lowEnergy, 0x0074, bit: (44, 1))

    /// The number of the feature's bit, such as 38: Connection Subrating (Host Support).
    package var bit: UInt8
    /// Whether the host can do it.
    package var isSupported: Bool

    /// Makes the command with these parameters.
    package init(bit: UInt8, isSupported: Bool) {
        self.bit = bit
        self.isSupported = isSupported
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        bit = try reader.readUInt8("le_set_host_feature.bit")
        isSupported = try reader.readBool("le_set_host_feature.is_supported")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(bit)
        buffer.append(isSupported ? 1 : 0)
    }
}

/// Sets which subrating the peripherals of new connections may ask for.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.123.
package struct LESetDefaultSubrate: HCICommandWithReturn {
    package static let id = HCICommandID("LESetDefaultSubrate", .lowEnergy, 0x007D, bit: (46, 0))

    /// The limits.
    package var acceptable: SubrateParameters

    /// Makes the command with these parameters.
    package init(acceptable: SubrateParameters) {
        self.acceptable = acceptable
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        acceptable = try SubrateParameters(reading: &reader, "le_set_default_subrate.acceptable")
    }

    package func encode(to buffer: inout [UInt8]) {
        acceptable.encode(to: &buffer)
    }
}

/// Subrates a connection, or asks the central to. LE Subrate Change follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.124.
package struct LESubrateRequest: HCICommand {
    package static let id = HCICommandID("LESubrateRequest", .lowEnergy, 0x007E, bit: (46, 1))

    /// Which connection.
    package var handle: ConnectionHandle
    /// The limits.
    package var wanted: SubrateParameters

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, wanted: SubrateParameters) {
        self.handle = handle
        self.wanted = wanted
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_subrate_request.handle")
        wanted = try SubrateParameters(reading: &reader, "le_subrate_request.wanted")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        wanted.encode(to: &buffer)
    }
}
