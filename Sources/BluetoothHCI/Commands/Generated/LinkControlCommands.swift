// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Ends a connection. Disconnection Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.1.6.
package struct Disconnect: HCICommand {
    package static let id = HCICommandID("Disconnect", .linkControl, 0x0006, bit: (0, 5))

    /// Which connection.
    package var handle: ConnectionHandle
    /// What the peer is told, usually `.remoteUserTerminatedConnection`.
    package var reason: HCIStatus

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, reason: HCIStatus) {
        self.handle = handle
        self.reason = reason
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("disconnect.handle")
        reason = try HCIStatus(reading: &reader, "disconnect.reason")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(reason.rawValue)
    }
}

/// Asks the peer for its version. Read Remote Version Information Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.1.23.
package struct ReadRemoteVersionInformation: HCICommand {
    package static let id = HCICommandID("ReadRemoteVersionInformation", .linkControl, 0x001D, bit: (2, 7))

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("read_remote_version_information.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
