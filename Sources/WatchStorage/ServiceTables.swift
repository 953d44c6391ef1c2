import GRDB

/// What the services keep, as tables. Numbers and names in them are those of the protocol.
enum ServiceTables {
    static func create(in database: Database) throws {
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
        // An image comes in pieces, over minutes; each is a row of its own.
        try database.create(table: "updateImage") { table in
            table.primaryKey("part", .integer)
            table.column("progress", .integer).notNull()
        }
        try database.create(table: "updatePiece") { table in
            table.column("part", .integer).notNull()
                .references("updateImage", onDelete: .cascade)
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["part", "offset"])
        }
        // The row's own number is the order in which keys were first inserted.
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
            table.column("session", .integer).notNull()
                .references("loggingSession", onDelete: .cascade)
            // Bytes that were logged before these.
            table.column("offset", .integer).notNull()
            table.column("content", .blob).notNull()
            table.primaryKey(["session", "offset"])
        }
        // What there is one of.
        try database.create(table: "fact") { table in
            table.primaryKey("name", .text)
            table.column("content", .blob).notNull()
        }
    }

    /// The names in the table of facts.
    enum Fact {
        static let firmware = "firmware"
        static let recoveryFirmware = "recovery firmware"
        static let isFaithful = "is faithful"
        static let appOrder = "app order"
        static let isDataLoggingDisabled = "data logging is disabled"
        static let coreDump = "core dump"
        static let coreDumpIsRead = "core dump is read"
    }
}
