import ByteCoding

/// A connection ended, or could not be ended.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.5.
package struct DisconnectionComplete: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x05)

    /// Whether it ended.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// Why it ended.
    package var reason: HCIStatus

    /// Makes the event: a connection ended for this reason, or the status says why it could not be ended.
    package init(status: HCIStatus, handle: ConnectionHandle, reason: HCIStatus) {
        self.status = status
        self.handle = handle
        self.reason = reason
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "disconnection_complete.status")
        handle = try reader.readConnectionHandle("disconnection_complete.handle")
        reason = try HCIStatus(reading: &reader, "disconnection_complete.reason")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(reason.rawValue)
    }
}

/// The encryption of a connection was turned on or off: version 1 of the event.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.8.
package struct EncryptionChange: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x08)

    /// Whether it worked; if not, why.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// Whether the connection is encrypted now.
    package var isEncrypted: Bool

    /// Makes version 1 of the event, which does not tell the key size.
    package init(status: HCIStatus, handle: ConnectionHandle, isEncrypted: Bool) {
        self.status = status
        self.handle = handle
        self.isEncrypted = isEncrypted
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "encryption_change.status")
        handle = try reader.readConnectionHandle("encryption_change.handle")
        isEncrypted = try reader.readUInt8("encryption_change.is_encrypted") != 0
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(isEncrypted ? 1 : 0)
    }
}

/// The encryption of a connection was turned on or off: version 2 of the event.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.8.
package struct EncryptionChangeV2: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x59)

    /// Whether it worked; if not, why.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// Whether the connection is encrypted now.
    package var isEncrypted: Bool
    /// How many octets of the key are secret.
    package var keySize: UInt8

    /// Makes version 2 of the event, which tells the key size, in octets.
    package init(status: HCIStatus, handle: ConnectionHandle, isEncrypted: Bool, keySize: UInt8) {
        self.status = status
        self.handle = handle
        self.isEncrypted = isEncrypted
        self.keySize = keySize
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "encryption_change_v2.status")
        handle = try reader.readConnectionHandle("encryption_change_v2.handle")
        isEncrypted = try reader.readUInt8("encryption_change_v2.is_encrypted") != 0
        keySize = try reader.readUInt8("encryption_change_v2.key_size")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(isEncrypted ? 1 : 0)
        buffer.append(keySize)
    }
}

/// The key of an encrypted connection was renewed.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.39.
package struct EncryptionKeyRefreshComplete: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x30)

    /// Whether it worked; if not, why.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the event: the key was renewed, or the status says why it was not.
    package init(status: HCIStatus, handle: ConnectionHandle) {
        self.status = status
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "encryption_key_refresh_complete.status")
        handle = try reader.readConnectionHandle("encryption_key_refresh_complete.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
    }
}

/// What version the peer says it implements.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.12.
package struct ReadRemoteVersionInformationComplete: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x0C)

    /// Whether it said so.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// The version of its link layer.
    package var version: CoreVersion
    /// The manufacturer.
    package var company: CompanyIdentifier
    /// The manufacturer's subversion.
    package var subversion: UInt16

    /// Makes the event: the peer told its version, or the status says why it did not.
    package init(
        status: HCIStatus,
        handle: ConnectionHandle,
        version: CoreVersion,
        company: CompanyIdentifier,
        subversion: UInt16
    ) {
        self.status = status
        self.handle = handle
        self.version = version
        self.company = company
        self.subversion = subversion
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "read_remote_version_information_complete.status")
        handle = try reader.readConnectionHandle("read_remote_version_information_complete.handle")
        version = try CoreVersion(reading: &reader, "read_remote_version_information_complete.version")
        company = try CompanyIdentifier(reading: &reader, "read_remote_version_information_complete.company")
        subversion = try reader.readLittleEndian("read_remote_version_information_complete.subversion")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(version.rawValue)
        buffer.appendLittleEndian(company.rawValue)
        buffer.appendLittleEndian(subversion)
    }
}
