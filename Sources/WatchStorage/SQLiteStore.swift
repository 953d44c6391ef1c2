import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import GRDB
import PebbleWatch

/// A watch's memory in one SQLite file.
///
/// The directory is the owner's alone (0700) and so is the file (0600), for it holds keys. Every change is one
/// transaction, on the disk before `apply` returns.
public final class SQLiteStore: WatchStore {
    /// The file's name within the state directory.
    public static let fileName = "watch.sqlite"

    private let path: String
    private let database: DatabaseQueue

    /// Opens the store in a directory, making both if they are not there.
    public init(directory: String) throws(WatchStoreError) {
        path = directory + "/" + Self.fileName
        do {
            try Self.prepare(directory: directory, file: path)
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
            database = try DatabaseQueue(path: path, configuration: configuration)
            try Schema.migrator.migrate(database)
        } catch {
            throw Self.describe(error, path: path)
        }
    }

    private static func prepare(directory: String, file: String) throws {
        let files = FileManager.default
        try files.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        // Made first, so that it never exists with wider permissions; SQLite gives its helpers the same.
        if !files.fileExists(atPath: file) {
            let made = files.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600])
            if !made { throw CocoaError(.fileWriteNoPermission) }
        }
        try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
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
                case .bond(let bond, let replacingOthers):
                    let key = PhoneRecord.key(of: bond.identity)
                    if replacingOthers {
                        try PhoneRecord.filter(sql: "identity <> ?", arguments: [key]).deleteAll(database)
                    }
                    if var known = try PhoneRecord.fetchOne(database, key: key) {
                        known.bond = PhoneRecord.encode(bond)
                        known.services = nil
                        try known.update(database)
                    } else {
                        try PhoneRecord(RememberedPhone(bond: bond)).insert(database)
                    }
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

    /// Says in the words of whoever runs the watch what went wrong; never what was stored.
    private static func describe(_ error: any Error, path: String) -> WatchStoreError {
        switch error {
        case let error as DatabaseError:
            switch error.resultCode {
            case .SQLITE_FULL: .full(path: path)
            case .SQLITE_READONLY: .readOnly(path: path)
            case .SQLITE_CORRUPT, .SQLITE_NOTADB: .corrupt(path: path, reason: error.message ?? "not a database")
            case .SQLITE_BUSY: .unusable(path: path, reason: "another process has it open; stop it first")
            default: .unusable(path: path, reason: error.message ?? "SQLite error \(error.resultCode.rawValue)")
            }
        case let error as ByteDecodingError:
            .corrupt(path: path, reason: error.description)
        default:
            .unusable(path: path, reason: error.localizedDescription)
        }
    }
}
