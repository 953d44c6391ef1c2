import ByteCoding
import Glibc

/// A store's file, as it lies there: what can be said of it before and without opening it as a watch's memory.
enum StoreFile {
    /// What begins every file of SQLite's.
    private static let headerLength = 100

    /// Makes a file that no other user can read; it must not exist.
    static func create(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemCallError.last }
        // The process's mask may have taken something away, and must not add anything.
        fchmod(descriptor, 0o600)
        Glibc.close(descriptor)
    }

    /// Has the disk, and not only its cache, hold a file.
    static func synchronize(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemCallError.last }
        defer { Glibc.close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SystemCallError.last }
    }

    /// Whether this process may make files in a directory.
    static func isWritable(_ directory: String) -> Bool { access(directory, W_OK) == 0 }

    /// How many bytes a file has; nil if there is none.
    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Finds out whether a file's end is missing: SQLite itself notices only when it needs that part.
    ///
    /// A file whose last changes are still in the log beside it may be shorter than it will be. Layout of the header, all
    /// big-endian: page size at 16 (UInt16, 1 for 65536), change counter at 24, number of pages at 28, and at 92 the change
    /// counter that this number belongs to (UInt32 each). Source: SQLite, Database File Format, 1.3.
    /// - Returns: the size that it should have, if it has less.
    static func missingSize(of path: String) throws -> Int? {
        guard let size = size(of: path), size > 0, (Self.size(of: path + "-wal") ?? 0) == 0 else { return nil }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { Glibc.close(descriptor) }
        let header = try [UInt8](unsafeUninitializedCapacity: headerLength) { buffer, count in
            let length = read(descriptor, buffer.baseAddress, headerLength)
            guard length >= 0 else { throw SystemCallError.last }
            count = length
        }
        var reader = ByteReader(header)
        guard reader.count == headerLength else { return headerLength }
        _ = try reader.readBytes(16, "magic")
        let pageSize = try reader.readBigEndian("page size", as: UInt16.self)
        _ = try reader.readBytes(6, "formats")
        let changeCounter = try reader.readBigEndian("change counter", as: UInt32.self)
        let pageCount = try reader.readBigEndian("pages", as: UInt32.self)
        _ = try reader.readBytes(60, "settings")
        let validFor = try reader.readBigEndian("version valid for", as: UInt32.self)
        guard changeCounter == validFor else { return nil }
        let wanted = Int(pageCount) * (pageSize == 1 ? 65536 : Int(pageSize))
        return size < wanted ? wanted : nil
    }
}

/// What the kernel refused.
struct SystemCallError: Error, CustomStringConvertible {
    /// An `errno` value.
    let code: Int32

    /// That of the last call.
    static var last: SystemCallError { SystemCallError(code: errno) }

    var description: String { String(cString: strerror(code)) }
}
