import CSQLite

/// A statement with its arguments, which gives rows one after the other.
///
/// It is compiled when it is made and freed when nothing holds it any more.
final class SQLiteStatement {
    private let statement: OpaquePointer

    /// Compiles a statement.
    /// - Parameters:
    ///   - sql: one statement, and nothing after it.
    ///   - arguments: the values of its `?`, or of `?1`, `?2` and so on.
    init(_ sql: String, _ arguments: [any SQLiteStorable], on connection: OpaquePointer) throws(SQLiteError) {
        var compiled: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, sql, -1, &compiled, nil)
        guard code == SQLITE_OK, let compiled else { throw Self.failure(code, connection) }
        statement = compiled
        guard sqlite3_bind_parameter_count(statement) == arguments.count else {
            throw SQLiteError(SQLITE_RANGE, "\(arguments.count) arguments are too many or too few for: \(sql)")
        }
        for (index, argument) in arguments.enumerated() { try bind(argument.stored, at: Int32(index + 1)) }
    }

    deinit { sqlite3_finalize(statement) }

    /// Goes on to the next row.
    /// - Returns: nil after the last row. A row's values are there until the next one is asked for.
    func next() throws(SQLiteError) -> SQLiteRow? {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return SQLiteRow(owner: self, statement: statement)
        case SQLITE_DONE: return nil
        case let code: throw Self.failure(code, sqlite3_db_handle(statement))
        }
    }

    private func bind(_ value: SQLiteValue, at index: Int32) throws(SQLiteError) {
        let code =
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let number): sqlite3_bind_int64(statement, index, number)
            case .text(let text): sqlite3_bind_text(statement, index, text, Int32(text.utf8.count), Self.copies)
            // Without a first byte there is no address, which SQLite would take for NULL.
            case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
            case .blob(let bytes): sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), Self.copies)
            }
        guard code == SQLITE_OK else { throw Self.failure(code, sqlite3_db_handle(statement)) }
    }

    /// Has SQLite copy what it is handed: `SQLITE_TRANSIENT`, a macro that Swift does not import.
    private static var copies: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    static func failure(_ code: Int32, _ connection: OpaquePointer?) -> SQLiteError {
        // The connection's words are about its last failure, which this one is.
        guard let connection, sqlite3_errcode(connection) & 0xFF == code & 0xFF else { return SQLiteError(code) }
        return SQLiteError(code, sqlite3_errmsg(connection).map { String(cString: $0) })
    }
}

/// One row of what a statement found.
struct SQLiteRow {
    /// Keeps the statement from being freed.
    fileprivate let owner: SQLiteStatement
    fileprivate let statement: OpaquePointer

    /// The value of a column, counted from 0.
    /// - Throws: if it is of another type, or out of its range: then the file is damaged, or somebody else wrote to it.
    func read<Value: SQLiteStorable>(_ column: Int32, as type: Value.Type = Value.self) throws(SQLiteError) -> Value {
        guard let stored = self[column], let value = Value(stored: stored) else {
            throw SQLiteError(SQLITE_CORRUPT, "a value of the column \(name(of: column)) cannot be read")
        }
        return value
    }

    /// What a column is called.
    func name(of column: Int32) -> String {
        sqlite3_column_name(statement, column).map { String(cString: $0) } ?? "\(column)"
    }

    /// nil for a number that is not whole.
    private subscript(column: Int32) -> SQLiteValue? {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return .null
        case SQLITE_TEXT: return text(of: column).map { .text($0) } ?? .null
        case SQLITE_BLOB: return .blob(bytes(of: column))
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, column))
        default: return nil
        }
    }

    // Neither is inlined: where a value of another type is wanted, nobody looks at the copy, and the compiler (Swift 6.3.1, optimizing) then frees
    // it before it is filled.

    @inline(never)
    private func text(of column: Int32) -> String? {
        guard let text = sqlite3_column_text(statement, column) else { return nil }
        let count = Int(sqlite3_column_bytes(statement, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    @inline(never)
    private func bytes(of column: Int32) -> [UInt8] {
        // An empty one has no address.
        guard let bytes = sqlite3_column_blob(statement, column) else { return [] }
        let count = Int(sqlite3_column_bytes(statement, column))
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
