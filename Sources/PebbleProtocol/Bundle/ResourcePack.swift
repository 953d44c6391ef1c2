import ByteCoding

/// The table of a resource pack (`.pbpack`).
///
/// Layout, little-endian: number of entries, CRC of the content, time (UInt32 each); then 256 entries (768 in the system's own
/// pack) of 16 bytes: id (from 1), offset in the content, length, CRC (UInt32 each); then the content.
package struct ResourcePack: Equatable, Sendable {
    /// A resource.
    package struct Entry: Equatable, Sendable {
        /// The number by which the app asks for the resource; the first has 1.
        package var id: UInt32
        /// In the content.
        package var offset: UInt32
        /// In bytes.
        package var length: UInt32
        /// ``LegacyChecksum`` of its bytes.
        package var crc: UInt32
    }

    /// How many entries a table has room for.
    package enum Kind: Int, Sendable {
        /// An app's pack: 256 entries, so that the content begins at byte 4108.
        case app = 256
        /// The system's own pack: 768 entries, so that the content begins at byte 12300.
        case system = 768
    }

    /// ``LegacyChecksum`` of the content.
    package var contentCRC: UInt32
    /// The entries that are in use, in the table's order; the empty ones behind them are left out.
    package var entries: [Entry]

    private static let headerLength = 12
    private static let entryLength = 16

    /// Reads a pack, and checks every length and checksum in it.
    package init(checking pack: ArraySlice<UInt8>, kind: Kind = .app) throws(ByteDecodingError) {
        var reader = ByteReader(pack)
        let count: UInt32 = try reader.readLittleEndian("resources.num_files")
        contentCRC = try reader.readLittleEndian("resources.crc")
        _ = try reader.readLittleEndian("resources.timestamp", as: UInt32.self)
        guard count <= kind.rawValue else {
            throw ByteDecodingError("resources.num_files", .invalidValue(UInt64(count)))
        }
        var table = ByteReader(try reader.readBytes(kind.rawValue * Self.entryLength, "resources.table"))
        let content = reader.readRemaining()
        guard LegacyChecksum.checksum(of: content) == contentCRC else {
            throw ByteDecodingError("resources.crc", .invalidValue(UInt64(contentCRC)))
        }
        entries = []
        for _ in 0..<count {
            let entry = Entry(
                id: try table.readLittleEndian("resource.id"),
                offset: try table.readLittleEndian("resource.offset"),
                length: try table.readLittleEndian("resource.length"),
                crc: try table.readLittleEndian("resource.crc")
            )
            guard UInt64(entry.offset) + UInt64(entry.length) <= UInt64(content.count) else {
                throw ByteDecodingError("resource.length", .invalidLength(Int(entry.length)))
            }
            let bytes = content.dropFirst(Int(entry.offset)).prefix(Int(entry.length))
            guard LegacyChecksum.checksum(of: bytes) == entry.crc else {
                throw ByteDecodingError("resource.crc", .invalidValue(UInt64(entry.crc)))
            }
            entries.append(entry)
        }
    }
}
