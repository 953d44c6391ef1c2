import GRDB
import PebbleWatch

/// The tables, and how older files become newer ones.
enum Schema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("identity and phones") { database in
            try database.create(table: IdentityRecord.databaseTableName) { table in
                // One row: a watch is one device.
                table.primaryKey("id", .integer).check { $0 == IdentityRecord.onlyID }
                table.column("addressType", .integer).notNull()
                table.column("address", .integer).notNull()
                table.column("identityResolvingKey", .blob).notNull()
            }
            try database.create(table: PhoneRecord.databaseTableName) { table in
                table.primaryKey("identity", .text)
                table.column("bond", .blob).notNull()
                table.column("subscriptions", .blob).notNull()
                table.column("supportedFeatures", .integer).notNull()
                table.column("isChangeAware", .boolean).notNull()
                table.column("seenDatabaseHash", .blob)
            }
        }
        migrator.registerMigration("services") { database in try ServiceTables.create(in: database) }
        migrator.registerMigration("phone services") { database in
            try database.alter(table: PhoneRecord.databaseTableName) { table in table.add(column: "services", .blob) }
        }
        return migrator
    }

    /// The version of the tables that this program makes: each migration makes one more.
    static var version: Int { migrator.migrations.count }

    /// The version of a file's tables, which stands in it: SQLite's own place for that, and the migrations that it went
    /// through.
    static func version(of database: Database) throws -> Int {
        let known = Set(migrator.migrations)
        let applied = try migrator.appliedIdentifiers(database)
        let unknown = applied.subtracting(known)
        let counted = unknown.isEmpty ? applied.count : known.count + unknown.count
        return max(counted, try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0)
    }

    /// Refuses a file that this program would ruin: one of a newer program, and one that is no watch's.
    static func check(_ database: Database, path: String) throws {
        // A first start that was cut short may have left the migrations' own table, and nothing in it.
        let tables = "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'"
        if try Int.fetchOne(database, sql: tables) == 0 { return }
        let applied = try migrator.appliedIdentifiers(database)
        guard let first = migrator.migrations.first, applied.contains(first) else {
            throw WatchStoreError.foreign(path: path)
        }
        let found = try version(of: database)
        guard found <= version else { throw WatchStoreError.newer(path: path, found: found, known: version) }
    }

    /// Makes what an older program wrote, or an empty file, into tables of this program's version.
    static func migrate(_ writer: some DatabaseWriter) throws {
        try migrator.migrate(writer)
        try writer.write { database in
            guard try Int.fetchOne(database, sql: "PRAGMA user_version") != version else { return }
            try database.execute(sql: "PRAGMA user_version = \(version)")
        }
    }
}
