/// What the services keep, as tables. Numbers and names in them are those of the protocol.
enum ServiceTables {
    /// The statements that make them. A file has their words, too, so that files of all programs are the same.
    static let definitions = [
        """
        CREATE TABLE "appPart" ("application" BLOB NOT NULL, "kind" INTEGER NOT NULL, "content" BLOB NOT NULL, \
        PRIMARY KEY ("application", "kind"))
        """,
        """
        CREATE TABLE "file" ("name" TEXT PRIMARY KEY NOT NULL, "content" BLOB NOT NULL)
        """,
        // An image comes in pieces, over minutes; each is a row of its own.
        """
        CREATE TABLE "updateImage" ("part" INTEGER PRIMARY KEY, "progress" INTEGER NOT NULL)
        """,
        """
        CREATE TABLE "updatePiece" ("part" INTEGER NOT NULL REFERENCES "updateImage"("part") ON DELETE CASCADE, \
        "offset" INTEGER NOT NULL, "content" BLOB NOT NULL, PRIMARY KEY ("part", "offset"))
        """,
        // The row's own number is the order in which keys were first inserted.
        """
        CREATE TABLE "record" ("database" INTEGER NOT NULL, "key" BLOB NOT NULL, "value" BLOB NOT NULL, \
        "timestamp" INTEGER NOT NULL, "isDirty" BOOLEAN NOT NULL, UNIQUE ("database", "key"))
        """,
        """
        CREATE TABLE "loggingSession" ("id" INTEGER PRIMARY KEY, "application" BLOB NOT NULL, \
        "timestamp" INTEGER NOT NULL, "tag" INTEGER NOT NULL, "itemType" INTEGER NOT NULL, \
        "itemSize" INTEGER NOT NULL, "consumed" INTEGER NOT NULL, "isFinished" BOOLEAN NOT NULL)
        """,
        // The offset is how many bytes were logged before these.
        """
        CREATE TABLE "loggingData" ("session" INTEGER NOT NULL REFERENCES "loggingSession"("id") ON DELETE CASCADE, \
        "offset" INTEGER NOT NULL, "content" BLOB NOT NULL, PRIMARY KEY ("session", "offset"))
        """,
        // What there is one of.
        """
        CREATE TABLE "fact" ("name" TEXT PRIMARY KEY NOT NULL, "content" BLOB NOT NULL)
        """,
    ]

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
