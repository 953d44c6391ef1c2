import CSQLite

/// Why SQLite did not do something.
struct SQLiteError: Error, Equatable, CustomStringConvertible {
    /// SQLite's primary result code, such as `SQLITE_FULL`.
    let code: Int32
    /// SQLite's own words, without anything that was stored.
    let description: String

    init(_ code: Int32, _ description: String? = nil) {
        // The bits above are SQLite's finer distinctions.
        self.code = code & 0xFF
        self.description = description ?? sqlite3_errstr(code).map { String(cString: $0) } ?? "SQLite error \(code)"
    }
}
