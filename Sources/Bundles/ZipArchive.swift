import ByteCoding

/// A zip archive in memory, as far as bundles use the format: stored and deflated files, no encryption, no zip64.
///
/// Everything is checked before anything is unpacked: names lead nowhere else, files do not overlap, and neither one file nor
/// all together are larger than a limit, even if they claim less. Nothing is ever written to a disk.
public struct ZipArchive: Sendable {
    /// How much an archive may hold.
    public struct Limits: Sendable {
        public var fileCount = 512
        /// Unpacked.
        public var fileByteCount = 8 * 1024 * 1024
        /// Unpacked, all together.
        public var totalByteCount = 32 * 1024 * 1024

        /// What suffices for every app and every firmware that there is.
        public init() {}
    }

    private enum Signature {
        static let localFile: UInt32 = 0x0403_4B50
        static let centralDirectory: UInt32 = 0x0201_4B50
        static let endOfCentralDirectory: UInt32 = 0x0605_4B50
    }

    private enum Method: UInt16 {
        case stored = 0
        case deflated = 8
    }

    private struct Entry: Sendable {
        let name: String
        let method: Method
        let crc: UInt32
        let compressedByteCount: Int
        let byteCount: Int
        let headerOffset: Int
    }

    private static let endRecordLength = 22
    private static let longestComment = 65535
    private static let localHeaderLength = 30
    private static let encryptedFlag: UInt16 = 1 << 0

    private let bytes: [UInt8]
    private var entries: [String: Entry] = [:]

    /// Reads an archive's directory.
    public init(_ bytes: [UInt8], limits: Limits = Limits()) throws(BundleError) {
        self.bytes = bytes
        let directory = try Self.findDirectory(in: bytes, limits: limits)
        let all: [Entry]
        do throws(ByteDecodingError) {
            all = try Self.readDirectory(directory)
        } catch {
            throw .damagedArchive(reason: "\(error)")
        }
        var total = 0
        for entry in all where !entry.name.hasSuffix("/") {
            try Self.checkPath(entry.name)
            guard entry.byteCount <= limits.fileByteCount else {
                throw .tooLarge(
                    what: entry.name,
                    byteCount: UInt64(entry.byteCount),
                    limit: limits.fileByteCount
                )
            }
            total += entry.byteCount
            guard total <= limits.totalByteCount else {
                throw .tooLarge(what: "the unpacked archive", byteCount: UInt64(total), limit: limits.totalByteCount)
            }
            guard entries.updateValue(entry, forKey: entry.name) == nil else {
                throw .damagedArchive(reason: "\(entry.name) is there twice")
            }
        }
        try Self.checkPlaces(entries.values, end: bytes.count)
    }

    /// The names of the files, in order.
    public var names: [String] { entries.keys.sorted() }

    /// Whether there is a file.
    public func contains(_ name: String) -> Bool { entries[name] != nil }

    /// A file's bytes, unpacked and with the right checksum.
    public func contents(of name: String) throws(BundleError) -> [UInt8] {
        guard let entry = entries[name] else { throw .missing(name) }
        let packed: ArraySlice<UInt8>
        do throws(ByteDecodingError) {
            packed = try packedBytes(of: entry)
        } catch {
            throw .damagedArchive(reason: "\(name): \(error)")
        }
        let unpacked: [UInt8]
        switch entry.method {
        case .stored: unpacked = Array(packed)
        case .deflated:
            guard let inflated = Inflate.inflate(packed, byteCount: entry.byteCount) else {
                throw .damagedArchive(
                    reason: "\(name) cannot be unpacked to the \(entry.byteCount) bytes it should have"
                )
            }
            unpacked = inflated
        }
        guard unpacked.count == entry.byteCount else {
            throw .damagedArchive(reason: "\(name) has \(unpacked.count) bytes instead of \(entry.byteCount)")
        }
        guard Inflate.crc32(unpacked) == entry.crc else { throw .wrongChecksum(file: name) }
        return unpacked
    }
}

// MARK: - Reading the directory

extension ZipArchive {
    private struct Directory {
        let bytes: ArraySlice<UInt8>
        let count: Int
    }

    private static func findDirectory(in bytes: [UInt8], limits: Limits) throws(BundleError) -> Directory {
        guard bytes.count >= endRecordLength else { throw .damagedArchive(reason: "it has \(bytes.count) bytes") }
        let last = bytes.count - endRecordLength
        for start in stride(from: last, through: max(0, last - longestComment), by: -1) {
            var reader = ByteReader(bytes[start...])
            guard let end = try? EndRecord(&reader), end.commentLength == reader.count else { continue }
            guard end.disk == 0, end.directoryDisk == 0, end.countOnDisk == end.count else {
                throw .unsupportedArchive(reason: "is one of several")
            }
            guard end.count != .max, end.directoryOffset != .max, end.directoryLength != .max else {
                throw .unsupportedArchive(reason: "is in the zip64 format")
            }
            guard end.count <= limits.fileCount else {
                throw .tooLarge(what: "the archive's directory", byteCount: UInt64(end.count), limit: limits.fileCount)
            }
            let (offset, length) = (Int(end.directoryOffset), Int(end.directoryLength))
            guard offset + length <= start else {
                throw .damagedArchive(reason: "its directory is not where it should be")
            }
            return Directory(bytes: bytes[offset..<(offset + length)], count: Int(end.count))
        }
        throw .damagedArchive(reason: "it has no directory")
    }

    private struct EndRecord {
        let disk: UInt16
        let directoryDisk: UInt16
        let countOnDisk: UInt16
        let count: UInt16
        let directoryLength: UInt32
        let directoryOffset: UInt32
        let commentLength: Int

        init(_ reader: inout ByteReader) throws(ByteDecodingError) {
            let signature: UInt32 = try reader.readLittleEndian("end.signature")
            guard signature == Signature.endOfCentralDirectory else {
                throw ByteDecodingError("end.signature", .invalidValue(UInt64(signature)))
            }
            disk = try reader.readLittleEndian("end.disk")
            directoryDisk = try reader.readLittleEndian("end.directory_disk")
            countOnDisk = try reader.readLittleEndian("end.count_on_disk")
            count = try reader.readLittleEndian("end.count")
            directoryLength = try reader.readLittleEndian("end.directory_length")
            directoryOffset = try reader.readLittleEndian("end.directory_offset")
            commentLength = Int(try reader.readLittleEndian("end.comment_length", as: UInt16.self))
        }
    }

    private static func readDirectory(_ directory: Directory) throws(ByteDecodingError) -> [Entry] {
        var reader = ByteReader(directory.bytes)
        var entries: [Entry] = []
        for _ in 0..<directory.count { entries.append(try readEntry(&reader)) }
        try reader.expectEnd("directory")
        return entries
    }

    private static func readEntry(_ reader: inout ByteReader) throws(ByteDecodingError) -> Entry {
        let signature: UInt32 = try reader.readLittleEndian("file.signature")
        guard signature == Signature.centralDirectory else {
            throw ByteDecodingError("file.signature", .invalidValue(UInt64(signature)))
        }
        _ = try reader.readBytes(4, "file.versions")
        let flags: UInt16 = try reader.readLittleEndian("file.flags")
        let methodNumber: UInt16 = try reader.readLittleEndian("file.method")
        guard flags & encryptedFlag == 0, let method = Method(rawValue: methodNumber) else {
            throw ByteDecodingError("file.method", .invalidValue(UInt64(methodNumber)))
        }
        _ = try reader.readBytes(4, "file.time")
        let crc: UInt32 = try reader.readLittleEndian("file.crc")
        let compressed: UInt32 = try reader.readLittleEndian("file.compressed_size")
        let size: UInt32 = try reader.readLittleEndian("file.size")
        let nameLength: UInt16 = try reader.readLittleEndian("file.name_length")
        let extraLength: UInt16 = try reader.readLittleEndian("file.extra_length")
        let commentLength: UInt16 = try reader.readLittleEndian("file.comment_length")
        _ = try reader.readBytes(8, "file.attributes")
        let offset: UInt32 = try reader.readLittleEndian("file.offset")
        let name = try reader.readBytes(Int(nameLength), "file.name")
        _ = try reader.readBytes(Int(extraLength) + Int(commentLength), "file.extra")
        return Entry(
            name: String(decoding: name, as: UTF8.self),
            method: method,
            crc: crc,
            compressedByteCount: Int(compressed),
            byteCount: Int(size),
            headerOffset: Int(offset)
        )
    }

    /// A name that any unpacker would keep inside of its folder.
    private static func checkPath(_ name: String) throws(BundleError) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isSafe =
            !name.isEmpty && name.utf8.count <= 255
            && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\\" && $0 != ":" && $0.value != 0x7F }
            && parts.allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
        guard isSafe else { throw .unsafePath(name) }
    }

    /// No two files share bytes: archives whose files do are made to unpack to more than they are.
    private static func checkPlaces(_ entries: some Sequence<Entry>, end: Int) throws(BundleError) {
        var free = 0
        for entry in entries.sorted(by: { $0.headerOffset < $1.headerOffset }) {
            guard entry.headerOffset >= free else {
                throw .damagedArchive(reason: "\(entry.name) overlaps another file")
            }
            free = entry.headerOffset + localHeaderLength + entry.name.utf8.count + entry.compressedByteCount
            guard free <= end else { throw .damagedArchive(reason: "\(entry.name) is cut off") }
        }
    }

    private func packedBytes(of entry: Entry) throws(ByteDecodingError) -> ArraySlice<UInt8> {
        var reader = ByteReader(bytes[min(entry.headerOffset, bytes.count)...])
        let signature: UInt32 = try reader.readLittleEndian("local.signature")
        guard signature == Signature.localFile else {
            throw ByteDecodingError("local.signature", .invalidValue(UInt64(signature)))
        }
        // Version, flags, method, time, checksum and sizes are the directory's, which alone is believed.
        _ = try reader.readBytes(22, "local.header")
        let nameLength: UInt16 = try reader.readLittleEndian("local.name_length")
        let extraLength: UInt16 = try reader.readLittleEndian("local.extra_length")
        let name = try reader.readBytes(Int(nameLength), "local.name")
        guard String(decoding: name, as: UTF8.self) == entry.name else {
            throw ByteDecodingError("local.name", .invalidLength(Int(nameLength)))
        }
        _ = try reader.readBytes(Int(extraLength), "local.extra")
        return try reader.readBytes(entry.compressedByteCount, "local.data")
    }
}
