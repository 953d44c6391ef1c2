// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Connects to an advertiser. LE Connection Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.12.
package struct LECreateConnection: HCICommand {
    package static let id = HCICommandID("LECreateConnection", .lowEnergy, 0x000D, bit: (26, 4))

    /// The time between scans for the advertiser.
    package var scanInterval: ScanInterval
    /// How long each scan listens.
    package var scanWindow: ScanInterval
    /// Whether the peer or the filter accept list says whom to connect to.
    package var filterPolicy: InitiatorFilterPolicy
    /// Whom to connect to.
    package var peer: LEAddress
    /// The address to connect with.
    package var ownAddressType: OwnAddressType
    /// How often the two sides meet.
    package var parameters: ConnectionParameters

    /// Makes the command with these parameters.
    package init(
        scanInterval: ScanInterval,
        scanWindow: ScanInterval,
        filterPolicy: InitiatorFilterPolicy,
        peer: LEAddress,
        ownAddressType: OwnAddressType,
        parameters: ConnectionParameters
    ) {
        self.scanInterval = scanInterval
        self.scanWindow = scanWindow
        self.filterPolicy = filterPolicy
        self.peer = peer
        self.ownAddressType = ownAddressType
        self.parameters = parameters
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        scanInterval = try ScanInterval(reading: &reader, "le_create_connection.scan_interval")
        scanWindow = try ScanInterval(reading: &reader, "le_create_connection.scan_window")
        filterPolicy = try InitiatorFilterPolicy(reading: &reader, "le_create_connection.filter_policy")
        peer = try LEAddress(reading: &reader, "le_create_connection.peer")
        ownAddressType = try OwnAddressType(reading: &reader, "le_create_connection.own_address_type")
        parameters = try ConnectionParameters(reading: &reader, "le_create_connection.parameters")
    }

    package func encode(to buffer: inout [UInt8]) {
        scanInterval.encode(to: &buffer)
        scanWindow.encode(to: &buffer)
        buffer.append(filterPolicy.rawValue)
        peer.encode(to: &buffer)
        buffer.append(ownAddressType.rawValue)
        parameters.encode(to: &buffer)
    }
}

/// Gives up connecting. LE Connection Complete with `.unknownConnectionIdentifier` follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.13.
package struct LECreateConnectionCancel: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LECreateConnectionCancel", .lowEnergy, 0x000E, bit: (26, 5))

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Changes the parameters of a connection. LE Connection Update Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.18.
package struct LEConnectionUpdate: HCICommand {
    package static let id = HCICommandID("LEConnectionUpdate", .lowEnergy, 0x0013, bit: (27, 2))

    /// Which connection.
    package var handle: ConnectionHandle
    /// How often the two sides are to meet.
    package var parameters: ConnectionParameters

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, parameters: ConnectionParameters) {
        self.handle = handle
        self.parameters = parameters
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_connection_update.handle")
        parameters = try ConnectionParameters(reading: &reader, "le_connection_update.parameters")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        parameters.encode(to: &buffer)
    }
}

/// Accepts the parameters that the peer asked for.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.31.
package struct LERemoteConnectionParameterRequestReply: HCICommandWithReturn {
    package static let id = HCICommandID("LERemoteConnectionParameterRequestReply", .lowEnergy, 0x0020, bit: (33, 4))

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
            handle = try reader.readConnectionHandle("le_remote_connection_parameter_request_reply.return.handle")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle
    /// The parameters accepted.
    package var parameters: ConnectionParameters

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, parameters: ConnectionParameters) {
        self.handle = handle
        self.parameters = parameters
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_remote_connection_parameter_request_reply.handle")
        parameters = try ConnectionParameters(
            reading: &reader,
            "le_remote_connection_parameter_request_reply.parameters"
        )
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        parameters.encode(to: &buffer)
    }
}

/// Refuses the parameters that the peer asked for.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.32.
package struct LERemoteConnectionParameterRequestNegativeReply: HCICommandWithReturn {
    package static let id = HCICommandID(
        "LERemoteConnectionParameterRequestNegativeReply",
        .lowEnergy,
        0x0021,
        bit: (33, 5)
    )

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
            handle = try reader.readConnectionHandle(
                "le_remote_connection_parameter_request_negative_reply.return.handle"
            )
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle
    /// Why.
    package var reason: HCIStatus

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, reason: HCIStatus) {
        self.handle = handle
        self.reason = reason
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_remote_connection_parameter_request_negative_reply.handle")
        reason = try HCIStatus(reading: &reader, "le_remote_connection_parameter_request_negative_reply.reason")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(reason.rawValue)
    }
}

/// Asks for the peer's link layer features. LE Read Remote Features Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.21.
package struct LEReadRemoteFeatures: HCICommand {
    package static let id = HCICommandID("LEReadRemoteFeatures", .lowEnergy, 0x0016, bit: (27, 5))

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_read_remote_features.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
