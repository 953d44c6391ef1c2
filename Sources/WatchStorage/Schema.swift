import PebbleWatch

/// The tables, and how older files become newer ones.
///
/// Each migration has a name, which stands in a table of its own once a file has gone through it. The table is that of GRDB, a
/// library that wrote these files before: older programs and newer ones open each other's files, as far as versions allow.
enum Schema {
    private struct Migration {
        let name: String
        let statements: [String]
    }

    private static let migrations = [
        Migration(
            name: "identity and phones",
            statements: [
                // One row: a watch is one device.
                """
                CREATE TABLE "identity" ("id" INTEGER PRIMARY KEY CHECK ("id" = 1), "addressType" INTEGER NOT NULL, \
                "address" INTEGER NOT NULL, "identityResolvingKey" BLOB NOT NULL)
                """,
                """
                CREATE TABLE "phone" ("identity" TEXT PRIMARY KEY NOT NULL, "bond" BLOB NOT NULL, \
                "subscriptions" BLOB NOT NULL, "supportedFeatures" INTEGER NOT NULL, \
                "isChangeAware" BOOLEAN NOT NULL, "seenDatabaseHash" BLOB)
                """,
            ]
        ),
        Migration(name: "services", statements: ServiceTables.definitions),
        Migration(name: "phone services", statements: ["ALTER TABLE \"phone\" ADD COLUMN \"services\" BLOB"]),
    ]

    /// The version of the tables that this program makes: each migration makes one more.
    static var version: Int { migrations.count }

    /// The version of a file's tables, which stands in it: SQLite's own place for that, and the migrations that it went
    /// through.
    static func version(of connection: SQLiteConnection) throws -> Int {
        let known = Set(migrations.map(\.name))
        let applied = try applied(in: connection)
        let unknown = applied.subtracting(known)
        let counted = unknown.isEmpty ? applied.count : known.count + unknown.count
        return max(counted, try connection.first("PRAGMA user_version") ?? 0)
    }

    /// Refuses a file that this program would ruin: one of a newer program, and one that is no watch's.
    static func check(_ connection: SQLiteConnection, path: String) throws {
        // A first start of an older program that was cut short may have left the migrations' own table, and nothing in it.
        let tables = "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'"
        if try connection.first(tables) == 0 { return }
        let applied = try applied(in: connection)
        guard let first = migrations.first, applied.contains(first.name) else {
            throw WatchStoreError.foreign(path: path)
        }
        let found = try version(of: connection)
        guard found <= version else { throw WatchStoreError.newer(path: path, found: found, known: version) }
    }

    /// Makes what an older program wrote, or an empty file, into tables of this program's version, in one transaction.
    static func migrate(_ connection: SQLiteConnection) throws {
        let applied = try applied(in: connection)
        let missing = migrations.filter { !applied.contains($0.name) }
        let isMarked = try connection.first("PRAGMA user_version") == version
        guard !missing.isEmpty || !isMarked else { return }
        try connection.write {
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)"
            )
            for migration in missing {
                for statement in migration.statements { try connection.execute(statement) }
                try connection.execute("INSERT INTO grdb_migrations (identifier) VALUES (?)", [migration.name])
            }
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }

    private static func applied(in connection: SQLiteConnection) throws -> Set<String> {
        guard try connection.hasTable("grdb_migrations") else { return [] }
        return Set(try connection.all("SELECT identifier FROM grdb_migrations"))
    }
}
