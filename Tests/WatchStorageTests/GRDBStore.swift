import Foundation
import GRDB

@testable import WatchStorage

/// The store as programs before this one made it, with GRDB. It is an independent judge of what is in a file: what it wrote is
/// read by ours, and what ours wrote is read by it.
enum GRDBStore {
    /// The migrations of the last program that used GRDB.
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("identity and phones") { database in
            try database.create(table: "identity") { table in
                table.primaryKey("id", .integer).check { $0 == 1 }
                table.column("addressType", .integer).notNull()
                table.column("address", .integer).notNull()
                table.column("identityResolvingKey", .blob).notNull()
            }
            try database.create(table: "phone") { table in
                table.primaryKey("identity", .text)
                table.column("bond", .blob).notNull()
                table.column("subscriptions", .blob).notNull()
                table.column("supportedFeatures", .integer).notNull()
                table.column("isChangeAware", .boolean).notNull()
                table.column("seenDatabaseHash", .blob)
            }
        }
        migrator.registerMigration("services") { database in try createServices(in: database) }
        migrator.registerMigration("phone services") { database in
            try database.alter(table: "phone") { table in table.add(column: "services", .blob) }
        }
        return migrator
    }

    private static func createServices(in database: Database) throws {
        try database.create(table: "appPart") { table in
            table.column("application", .blob).notNull()
            table.column("kind", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["application", "kind"])
        }
        try database.create(table: "file") { table in
            table.primaryKey("name", .text)
            table.column("content", .blob).notNull()
        }
        try database.create(table: "updateImage") { table in
            table.primaryKey("part", .integer)
            table.column("progress", .integer).notNull()
        }
        try database.create(table: "updatePiece") { table in
            table.column("part", .integer).notNull().references("updateImage", onDelete: .cascade)
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["part", "offset"])
        }
        try database.create(table: "record") { table in
            table.column("database", .integer).notNull()
            table.column("key", .blob).notNull()
            table.column("value", .blob).notNull()
            table.column("timestamp", .integer).notNull()
            table.column("isDirty", .boolean).notNull()
            table.uniqueKey(["database", "key"])
        }
        try database.create(table: "loggingSession") { table in
            table.primaryKey("id", .integer)
            table.column("application", .blob).notNull()
            table.column("timestamp", .integer).notNull()
            table.column("tag", .integer).notNull()
            table.column("itemType", .integer).notNull()
            table.column("itemSize", .integer).notNull()
            table.column("consumed", .integer).notNull()
            table.column("isFinished", .boolean).notNull()
        }
        try database.create(table: "loggingData") { table in
            table.column("session", .integer).notNull().references("loggingSession", onDelete: .cascade)
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["session", "offset"])
        }
        try database.create(table: "fact") { table in
            table.primaryKey("name", .text)
            table.column("content", .blob).notNull()
        }
    }

    /// Makes a file as a program made it that had the migrations up to one.
    /// - Parameter last: nil for all; a file of the last of those programs says its version.
    static func make(_ file: String, upTo last: String? = nil) throws -> DatabaseQueue {
        let database = try DatabaseQueue(path: file)
        guard let last else {
            try migrator.migrate(database)
            try database.write { try $0.execute(sql: "PRAGMA user_version = 3") }
            return database
        }
        try migrator.migrate(database, upTo: last)
        return database
    }

    /// The statements that a file has its tables from, by the names of the tables.
    static func tables(of file: String) throws -> [String: String] {
        try DatabaseQueue(path: file).read { database in
            let rows = try Row.fetchAll(database, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["name"], $0["sql"]) })
        }
    }
}
