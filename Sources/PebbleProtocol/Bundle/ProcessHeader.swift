import ByteCoding

/// The header of a watchapp's executable (`PebbleProcessInfo`).
///
/// Layout, 130 bytes, little-endian: `PBLAPP` and two NULs, struct version, SDK version, app version (two bytes each), load
/// size (UInt16), entry offset and CRC (UInt32 each), name and company (32 bytes each), icon, symbol table, flags, number of
/// relocations (UInt32 each), UUID, CRC and time of the resources (UInt32 each), virtual size (UInt16).
package struct ProcessHeader: Equatable, Sendable {
    /// What it was built with.
    package var sdk: SDKVersion
    /// The app's own version.
    package var majorVersion: UInt8
    /// The minor number of the app's own version.
    package var minorVersion: UInt8
    /// How much is loaded, this header included. Relocations follow in the file.
    package var loadSize: UInt16
    /// Where the app begins.
    package var entryOffset: UInt32
    /// ``LegacyChecksum`` of what is loaded after this header.
    package var crc: UInt32
    /// What the app is called. The field holds 32 bytes at most; it ends at the first NUL.
    package var name: String
    /// Who made the app. The field holds 32 bytes at most; it ends at the first NUL.
    package var company: String
    /// A resource.
    package var iconResourceID: UInt32
    /// What kind of app it is.
    package var flags: AppFlags
    /// Of four bytes each.
    package var relocationCount: UInt32
    /// Names the app. ``init(checking:)`` refuses one that is not ``PebbleUUID/isLaunchable``.
    package var uuid: PebbleUUID
    /// Of the resource pack's content; zero for none.
    package var resourceCRC: UInt32
    /// How much memory the app needs once it is loaded.
    package var virtualSize: UInt16

    /// How many bytes it takes.
    package static let encodedLength = 130
    private static let sentinel: [UInt8] = Array("PBLAPP".utf8) + [0, 0]
    /// The only layout there has been since firmware 2.0.
    private static let structVersion: UInt8 = 0x10
    private static let textWidth = 32
    private static let relocationLength = 4

    /// Reads the header; what follows it stays in the reader.
    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        guard try reader.readBytes(Self.sentinel.count, "process.header").elementsEqual(Self.sentinel) else {
            throw ByteDecodingError("process.header", .invalidValue(0))
        }
        let structVersion = try reader.readUInt8("process.struct_version")
        guard structVersion == Self.structVersion else {
            throw ByteDecodingError("process.struct_version", .invalidValue(UInt64(structVersion)))
        }
        _ = try reader.readUInt8("process.struct_version_minor")
        sdk = SDKVersion(
            major: try reader.readUInt8("process.sdk_version_major"),
            minor: try reader.readUInt8("process.sdk_version_minor")
        )
        majorVersion = try reader.readUInt8("process.app_version_major")
        minorVersion = try reader.readUInt8("process.app_version_minor")
        loadSize = try reader.readLittleEndian("process.load_size")
        entryOffset = try reader.readLittleEndian("process.offset")
        crc = try reader.readLittleEndian("process.crc")
        name = try reader.readFixedString(width: Self.textWidth, "process.name")
        company = try reader.readFixedString(width: Self.textWidth, "process.company")
        iconResourceID = try reader.readLittleEndian("process.icon_resource_id")
        _ = try reader.readLittleEndian("process.sym_table_addr", as: UInt32.self)
        flags = AppFlags(rawValue: try reader.readLittleEndian("process.flags"))
        relocationCount = try reader.readLittleEndian("process.num_reloc_entries")
        uuid = try PebbleUUID(reading: &reader, "process.uuid")
        resourceCRC = try reader.readLittleEndian("process.resource_crc")
        _ = try reader.readLittleEndian("process.resource_timestamp", as: UInt32.self)
        virtualSize = try reader.readLittleEndian("process.virtual_size")
    }

    /// Reads the header of a whole executable, and checks that sizes and checksum are those of the file.
    package init(checking executable: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(executable)
        try self.init(reading: &reader)
        let loaded = Int(loadSize)
        guard loaded >= Self.encodedLength, loaded <= executable.count else {
            throw ByteDecodingError("process.load_size", .invalidLength(loaded))
        }
        guard entryOffset >= UInt32(Self.encodedLength), entryOffset < UInt32(loaded) else {
            throw ByteDecodingError("process.offset", .invalidValue(UInt64(entryOffset)))
        }
        guard UInt64(relocationCount) * UInt64(Self.relocationLength) == UInt64(executable.count - loaded) else {
            throw ByteDecodingError("process.num_reloc_entries", .invalidValue(UInt64(relocationCount)))
        }
        guard virtualSize >= loadSize else {
            throw ByteDecodingError("process.virtual_size", .invalidLength(Int(virtualSize)))
        }
        let code = try reader.readBytes(loaded - Self.encodedLength, "process.code")
        guard LegacyChecksum.checksum(of: code) == crc else {
            throw ByteDecodingError("process.crc", .invalidValue(UInt64(crc)))
        }
        guard uuid.isLaunchable else { throw ByteDecodingError("process.uuid", .invalidValue(0)) }
    }

    /// What a phone would write into the watch's app database for this app.
    package var metadata: AppMetadata {
        AppMetadata(
            uuid: uuid,
            flags: flags,
            iconResourceID: iconResourceID,
            majorVersion: majorVersion,
            minorVersion: minorVersion,
            sdk: sdk,
            name: name
        )
    }
}
