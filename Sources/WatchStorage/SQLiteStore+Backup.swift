import CSQLite
import Glibc
import PebbleWatch

// Copies of a store: one whole file each, in which nothing is half done.

extension SQLiteStore {
    /// Copies everything into a new file that only its owner can read. The watch may go on right away.
    /// - Parameter path: the file, which must not exist.
    /// - Returns: what is in the copy, which was read again and found whole.
    public func backUp(to path: String) throws(WatchStoreError) -> StoreSummary {
        try Self.copy(connection, to: path)
    }

    /// Copies the store of a watch that does not run. The store itself stays as it is.
    public static func backUp(directory: String, to path: String) throws(WatchStoreError) -> StoreSummary {
        let source = directory + "/" + fileName
        guard StoreFile.size(of: source) != nil else {
            throw .unusable(path: source, reason: "there is no such file")
        }
        // SQLite needs to write beside a file even to read it whole, and says no more than that this failed.
        guard StoreFile.isWritable(directory) else { throw .readOnly(path: source) }
        let connection: SQLiteConnection
        do {
            connection = try openFile(source)
            // What changes nothing, and shows that changes are possible.
            try connection.write { try Schema.check(connection, path: source) }
        } catch {
            throw describe(error, path: source)
        }
        defer { try? connection.close() }
        return try copy(connection, to: path)
    }

    private static func copy(_ connection: SQLiteConnection, to path: String) throws(WatchStoreError) -> StoreSummary {
        do {
            try StoreFile.create(path)
        } catch {
            throw describe(error, path: path)
        }
        do {
            try connection.execute("VACUUM INTO ?", [path])
            let summary = try verify(path)
            try StoreFile.synchronize(path)
            return summary
        } catch {
            unlink(path)
            throw describe(error, path: path)
        }
    }

    /// Reads a copy to its end, and counts what it has.
    private static func verify(_ path: String) throws -> StoreSummary {
        // A copy is one file, without helpers beside it.
        let copy = try SQLiteConnection(path, journal: .none, isExclusive: false)
        defer { try? copy.close() }
        return try copy.read {
            let faults = try copy.all("PRAGMA quick_check", as: String.self)
            guard faults == ["ok"] else { throw SQLiteError(SQLITE_CORRUPT, faults.first ?? "it cannot be read") }
            return try StoreSummary(of: copy, size: StoreFile.size(of: path) ?? 0)
        }
    }
}
