import CSQLite

/// A connection to one SQLite file, used by one thread at a time.
final class SQLiteConnection {
    /// How changes reach the file.
    enum Journal: String {
        /// Through a log beside the file (write-ahead logging): a change is one write, and readers see the last whole state.
        case log = "WAL"
        /// Through the file itself, with nothing beside it afterwards.
        case none = "DELETE"
    }

    /// nil when it is closed.
    private var connection: OpaquePointer?

    /// Opens a file, making it if it is not there.
    /// - Parameter isExclusive: whether no other process may have it open at the same time.
    init(_ path: String, journal: Journal, isExclusive: Bool) throws(SQLiteError) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(path, &connection, flags, nil)
        guard code == SQLITE_OK else {
            defer { shut() }
            throw SQLiteStatement.failure(code, connection)
        }
        do throws(SQLiteError) {
            try execute("PRAGMA foreign_keys = ON")
            if isExclusive { try execute("PRAGMA locking_mode = EXCLUSIVE") }
            try execute("PRAGMA journal_mode = \(journal.rawValue)")
            // FULL makes a commit reach the disk before it returns; what is deleted leaves no trace.
            try execute("PRAGMA synchronous = FULL")
            try execute("PRAGMA secure_delete = ON")
        } catch {
            shut()
            throw error
        }
    }

    deinit { shut() }

    /// Ends the use of the file; everything else fails afterwards.
    func close() throws(SQLiteError) {
        guard let connection else { return }
        let code = sqlite3_close(connection)
        guard code == SQLITE_OK else { throw SQLiteStatement.failure(code, connection) }
        self.connection = nil
    }

    /// Closes as soon as the last statement is freed.
    private func shut() {
        sqlite3_close_v2(connection)
        connection = nil
    }

    // MARK: Statements

    /// Compiles a statement that is stepped through by its owner.
    func prepare(_ sql: String, _ arguments: [any SQLiteStorable] = []) throws(SQLiteError) -> SQLiteStatement {
        guard let connection else { throw SQLiteError(SQLITE_MISUSE, "the file is closed") }
        return try SQLiteStatement(sql, arguments, on: connection)
    }

    /// Carries a statement out, and passes over what it finds.
    func execute(_ sql: String, _ arguments: [any SQLiteStorable] = []) throws(SQLiteError) {
        let statement = try prepare(sql, arguments)
        while try statement.next() != nil {}
    }

    /// The first column of the first row; nil if there is no row.
    func first<Value: SQLiteStorable>(
        _ sql: String,
        _ arguments: [any SQLiteStorable] = [],
        as type: Value.Type = Value.self
    ) throws(SQLiteError) -> Value? {
        try prepare(sql, arguments).next()?.read(0, as: type)
    }

    /// The first column of all rows.
    func all<Value: SQLiteStorable>(
        _ sql: String,
        _ arguments: [any SQLiteStorable] = [],
        as type: Value.Type = Value.self
    ) throws(SQLiteError) -> [Value] {
        let statement = try prepare(sql, arguments)
        var values: [Value] = []
        while let row = try statement.next() { values.append(try row.read(0, as: type)) }
        return values
    }

    /// Whether there is a table of this name.
    func hasTable(_ name: String) throws(SQLiteError) -> Bool {
        try first("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", [name], as: Int.self) == 1
    }

    // MARK: Transactions

    /// Changes the file in one transaction: all of it is on the disk afterwards, or after an error nothing.
    func write(_ changes: () throws -> Void) throws { try transaction("IMMEDIATE", changes) }

    /// Reads one state of the file.
    func read<Result>(_ reading: () throws -> Result) throws -> Result { try transaction("DEFERRED", reading) }

    private func transaction<Result>(_ kind: String, _ body: () throws -> Result) throws -> Result {
        try execute("BEGIN \(kind) TRANSACTION")
        do {
            let result = try body()
            try execute("COMMIT TRANSACTION")
            return result
        } catch {
            // Some failures, such as a full disk, have ended it already.
            if sqlite3_get_autocommit(connection) == 0 { try? execute("ROLLBACK TRANSACTION") }
            throw error
        }
    }
}
