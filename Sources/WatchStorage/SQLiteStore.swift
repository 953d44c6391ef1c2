import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import GRDB
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
    let database: DatabaseQueue

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
            database = try Self.openFile(path)
            // SQLite opens by path: it has to be the file that was checked.
            try folder.confirm(file)
            try database.read { try Schema.check($0, path: path) }
            try Schema.migrate(database)
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    /// Ends the use of the store: all of it is in the one file then, and nothing beside it. Nothing can be changed afterwards.
    public func close() throws(WatchStoreError) {
        do {
            try database.close()
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    /// Opens a file for this process alone.
    static func openFile(_ path: String) throws -> DatabaseQueue {
        if let wanted = try StoreFile.missingSize(of: path) {
            let reason = "its end is missing: it has \(StoreFile.size(of: path) ?? 0) of \(wanted) bytes"
            throw WatchStoreError.corrupt(path: path, reason: reason)
        }
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            // Two processes on one state directory would fight over one watch's identity.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            // FULL makes a commit reach the disk before it returns; what is deleted leaves no trace.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            try database.execute(sql: "PRAGMA secure_delete = ON")
        }
        configuration.busyMode = .immediateError
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    public func load() throws(WatchStoreError) -> WatchMemory {
        do {
            return try database.read { database in
                WatchMemory(
                    identity: try IdentityRecord.fetchOne(database)?.value,
                    phones: try PhoneRecord.order(sql: "rowid").fetchAll(database).map { try $0.value },
                    services: try ServiceTables.load(from: database)
                )
            }
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    public func apply(_ change: MemoryChange) throws(WatchStoreError) {
        do {
            try database.write { database in
                switch change {
                case .identity(let identity):
                    try IdentityRecord(identity).upsert(database)
                case .bond(let bond, let replacingOthers, let keepingClient):
                    let key = PhoneRecord.key(of: bond.identity)
                    if replacingOthers {
                        try PhoneRecord.filter(sql: "identity <> ?", arguments: [key]).deleteAll(database)
                    }
                    var record = PhoneRecord(RememberedPhone(bond: bond))
                    if keepingClient, let known = try PhoneRecord.fetchOne(database, key: key) {
                        record = known
                        record.bond = PhoneRecord.encode(bond)
                        record.services = nil
                    }
                    // As the newest of all, which is what the order of rows says.
                    try PhoneRecord.deleteOne(database, key: key)
                    try record.insert(database)
                case .forget(let identity):
                    try PhoneRecord.deleteOne(database, key: PhoneRecord.key(of: identity))
                case .client(let identity, let client, let hash):
                    guard var known = try PhoneRecord.fetchOne(database, key: PhoneRecord.key(of: identity)) else {
                        return
                    }
                    known.set(client, seenDatabaseHash: hash)
                    try known.update(database)
                case .phoneServices(let identity, let services):
                    guard var known = try PhoneRecord.fetchOne(database, key: PhoneRecord.key(of: identity)) else {
                        return
                    }
                    known.services = PhoneRecord.encode(services)
                    try known.update(database)
                case .service(let change):
                    try ServiceTables.apply(change, in: database)
                }
            }
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    /// Says what went wrong, in the words of the person who runs the watch; never what was stored.
    static func describe(_ error: any Error, path: String) -> WatchStoreError {
        switch error {
        case let error as WatchStoreError: error
        case let error as POSIXError where error.code == .EROFS: .readOnly(path: path)
        case let error as POSIXError where error.code == .ENOSPC: .full(path: path)
        case let error as POSIXError: .unusable(path: path, reason: String(cString: strerror(error.code.rawValue)))
        case let error as CocoaError where error.code == .fileWriteVolumeReadOnly: .readOnly(path: path)
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: .full(path: path)
            case .SQLITE_READONLY: .readOnly(path: path)
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt(path: path, reason: error.message ?? "not a database")
            case .SQLITE_BUSY: .unusable(path: path, reason: "another process has it open; stop it first")
            default: .unusable(path: path, reason: error.message ?? "SQLite error \(error.resultCode.rawValue)")
            }
        case let error as PrivateFileError where error.code == EROFS: .readOnly(path: path)
        case let error as PrivateFileError where error.code == ENOSPC: .full(path: path)
        case let error as PrivateFileError:
            if let advice = error.advice {
                .refused(path: error.path, reason: error.reason, advice: advice)
            } else {
                .unusable(path: error.path, reason: error.reason)
            }
        case let error as ByteDecodingError:
            .corrupt(path: path, reason: error.description)
        // Neither says what is stored.
        case is RowDecodingError, is DecodingError:
            .corrupt(path: path, reason: "a row has something that its column cannot have")
        default:
            .unusable(path: path, reason: error.localizedDescription)
        }
    }
}
