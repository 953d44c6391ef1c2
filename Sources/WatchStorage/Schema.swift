import GRDB

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
}
