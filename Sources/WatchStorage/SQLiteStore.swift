import BluetoothHCI
import BluetoothHost
import ByteCoding
import CSQLite
import Glibc
import PebbleWatch
import PrivateFiles

/// A watch's memory in one SQLite file.
///
/// The directory is the owner's alone (0700) and so is the file (0600), for it holds keys; others are refused. Every change is
/// one transaction, on the disk before `apply` returns. The latest are in a log beside the file until ``close()``.
public final class SQLiteStore: WatchStore {
    /// The file's name within the state directory.
    public static let fileName = "watch.sqlite"

    /// Where the file is.
    public let directory: String
    /// What SQLite puts beside a file, by the ends of their names.
    private static let helpers = ["-wal", "-shm", "-journal"]

    private let path: String
    let connection: SQLiteConnection

    /// Opens the store in a directory, making both if they are not there.
    public init(directory: String) throws(WatchStoreError) {
        self.directory = directory
        path = directory + "/" + Self.fileName
        do {
            let folder = try PrivateDirectory(directory)
            // SQLite gives its helpers the file's mode; those of an earlier run may have had another.
            let file = try folder.makeFile(Self.fileName)
            for helper in Self.helpers { try folder.secureFile(Self.fileName + helper) }
            let path = path
            connection = try Self.openFile(path)
            // SQLite opens by path: it has to be the file that was checked.
            try folder.confirm(file)
            let connection = connection
            try connection.read { try Schema.check(connection, path: path) }
            try Schema.migrate(connection)
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    /// Ends the use of the store: all of it is in the one file then, and nothing beside it. Nothing can be changed afterwards.
    public func close() throws(WatchStoreError) {
        do {
            try connection.close()
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    /// Opens a file for this process alone.
    static func openFile(_ path: String) throws -> SQLiteConnection {
        if let wanted = try StoreFile.missingSize(of: path) {
            let reason = "its end is missing: it has \(StoreFile.size(of: path) ?? 0) of \(wanted) bytes"
            throw WatchStoreError.corrupt(path: path, reason: reason)
        }
        // Two processes on one state directory would fight over one watch's identity.
        return try SQLiteConnection(path, journal: .log, isExclusive: true)
    }

    public func load() throws(WatchStoreError) -> WatchMemory {
        do {
            return try connection.read {
                WatchMemory(
                    identity: try IdentityRecord.load(from: connection),
                    phones: try PhoneRecord.all(in: connection),
                    services: try ServiceTables.load(from: connection)
                )
            }
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    public func apply(_ change: MemoryChange) throws(WatchStoreError) {
        do {
            try connection.write { try write(change) }
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    private func write(_ change: MemoryChange) throws {
        switch change {
        case .identity(let identity): try IdentityRecord.save(identity, in: connection)
        case .bond(let bond, let replacingOthers, let keepingClient):
            if replacingOthers { try PhoneRecord.deleteOthers(than: bond.identity, in: connection) }
            var record = PhoneRecord(RememberedPhone(bond: bond))
            if keepingClient, let known = try PhoneRecord.find(bond.identity, in: connection) {
                record = known
                record.bond = PhoneRecord.encode(bond)
                record.services = nil
            }
            // As the newest of all.
            try PhoneRecord.delete(bond.identity, in: connection)
            try record.insert(in: connection)
        case .forget(let identity): try PhoneRecord.delete(identity, in: connection)
        case .client(let identity, let client, let hash):
            guard var known = try PhoneRecord.find(identity, in: connection) else { return }
            known.set(client, seenDatabaseHash: hash)
            try known.update(in: connection)
        case .phoneServices(let identity, let services):
            guard var known = try PhoneRecord.find(identity, in: connection) else { return }
            known.services = PhoneRecord.encode(services)
            try known.update(in: connection)
        case .service(let change): try ServiceTables.apply(change, in: connection)
        }
    }

    /// Says what went wrong, in the words of the person who runs the watch; never what was stored.
    static func describe(_ error: any Error, path: String) -> WatchStoreError {
        switch error {
        case let error as WatchStoreError: error
        case let error as SystemCallError where error.code == EROFS: .readOnly(path: path)
        case let error as SystemCallError where error.code == ENOSPC: .full(path: path)
        case let error as SystemCallError: .unusable(path: path, reason: error.description)
        case let error as SQLiteError:
            switch error.code {
            case SQLITE_FULL: .full(path: path)
            case SQLITE_READONLY: .readOnly(path: path)
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(path: path, reason: error.description)
            case SQLITE_BUSY: .unusable(path: path, reason: "another process has it open; stop it first")
            default: .unusable(path: path, reason: error.description)
            }
        case let error as PrivateFileError where error.code == EROFS: .readOnly(path: path)
        case let error as PrivateFileError where error.code == ENOSPC: .full(path: path)
        case let error as PrivateFileError:
            if let advice = error.advice {
                .refused(path: error.path, reason: error.reason, advice: advice)
            } else {
                .unusable(path: error.path, reason: error.reason)
            }
        case let error as ByteDecodingError: .corrupt(path: path, reason: error.description)
        default:
            .unusable(path: path, reason: "\(error)")
        }
    }
}
