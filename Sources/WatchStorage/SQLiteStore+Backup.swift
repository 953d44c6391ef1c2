import Foundation
import GRDB
import PebbleWatch

// Copies of a store: one whole file each, in which nothing is half done.

extension SQLiteStore {
    /// Copies everything into a new file that only its owner can read. The watch may go on right away.
    /// - Parameter path: the file, which must not exist.
    /// - Returns: what is in the copy, which was read again and found whole.
    public func backUp(to path: String) throws(WatchStoreError) -> StoreSummary {
        try Self.copy(database, to: path)
    }

    /// Copies the store of a watch that does not run. The store itself stays as it is.
    public static func backUp(directory: String, to path: String) throws(WatchStoreError) -> StoreSummary {
        let source = directory + "/" + fileName
        guard StoreFile.size(of: source) != nil else {
            throw .unusable(path: source, reason: "there is no such file")
        }
        // SQLite needs to write beside a file even to read it whole, and says no more than that this failed.
        guard StoreFile.isWritable(directory) else { throw .readOnly(path: source) }
        let database: DatabaseQueue
        do {
            database = try openFile(source)
            try database.write { try Schema.check($0, path: source) }
        } catch {
            throw describe(error, path: source)
        }
        defer { try? database.close() }
        return try copy(database, to: path)
    }

    private static func copy(_ database: DatabaseQueue, to path: String) throws(WatchStoreError) -> StoreSummary {
        do {
            try StoreFile.create(path)
        } catch {
            throw describe(error, path: path)
        }
        do {
            try database.vacuum(into: path)
            let summary = try verify(path)
            try StoreFile.synchronize(path)
            return summary
        } catch {
            try? FileManager.default.removeItem(atPath: path)
            throw describe(error, path: path)
        }
    }

    /// Reads a copy to its end, and counts what it has.
    private static func verify(_ path: String) throws -> StoreSummary {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            // A copy is one file, without helpers beside it.
            try database.execute(sql: "PRAGMA journal_mode = DELETE")
        }
        let copy = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? copy.close() }
        return try copy.read { database in
            let faults = try String.fetchAll(database, sql: "PRAGMA quick_check")
            guard faults == ["ok"] else {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: faults.first ?? "it cannot be read")
            }
            return try StoreSummary(of: database, size: StoreFile.size(of: path) ?? 0)
        }
    }
}
