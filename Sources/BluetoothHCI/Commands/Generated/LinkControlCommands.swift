// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Ends a connection. Disconnection Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.1.6.
public struct Disconnect: HCICommand {
    public static let id = HCICommandID("Disconnect", .linkControl, 0x0006, bit: (0, 5))

    /// Which connection.
    public var handle: ConnectionHandle
    /// What the peer is told, usually `.remoteUserTerminatedConnection`.
    public var reason: HCIStatus

    /// Makes the command with these parameters.
    public init(handle: ConnectionHandle, reason: HCIStatus) {
        self.handle = handle
        self.reason = reason
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("disconnect.handle")
        reason = try HCIStatus(reading: &reader, "disconnect.reason")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(reason.rawValue)
    }
}

/// Asks the peer for its version. Read Remote Version Information Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.1.23.
public struct ReadRemoteVersionInformation: HCICommand {
    public static let id = HCICommandID("ReadRemoteVersionInformation", .linkControl, 0x001D, bit: (2, 7))

    /// Which connection.
    public var handle: ConnectionHandle

    /// Makes the command with these parameters.
    public init(handle: ConnectionHandle) {
        self.handle = handle
    }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("read_remote_version_information.handle")
    }

    public func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
