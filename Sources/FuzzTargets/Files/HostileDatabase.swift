import CSQLite
import PebbleWatch

/// A database file in SQLite's own hands: what no store would write is written, and what there is is counted by somebody else.
final class HostileDatabase {
    enum Value {
        case null
        case integer(Int64)
        case real(Double)
        case text(String)
        case blob([UInt8])
    }

    private static let isTransient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private var handle: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
            sqlite3_close(handle)
            throw FuzzFinding("the file cannot be opened")
        }
        // Neither a foreign key nor a check is in the way, and nothing waits for the disk.
        for pragma in ["foreign_keys = OFF", "ignore_check_constraints = ON", "synchronous = OFF"] {
            execute("PRAGMA \(pragma)")
        }
    }

    deinit { close() }

    func close() {
        sqlite3_close(handle)
        handle = nil
    }

    /// Carries something out, if the file allows it.
    func execute(_ text: String, _ values: [Value] = []) {
        guard let statement = prepare(text, values) else { return }
        _ = sqlite3_step(statement)
        sqlite3_finalize(statement)
    }

    /// The one number that a question is answered with; nil if the file has no answer.
    func number(_ text: String) -> Int? {
        guard let statement = prepare(text) else { return nil }
        defer { sqlite3_finalize(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { return nil }
        return Int(sqlite3_column_int64(statement, 0))
    }

    private func prepare(_ text: String, _ values: [Value] = []) -> OpaquePointer? {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, text, -1, &statement, nil) == SQLITE_OK else { return nil }
        for (index, value) in values.enumerated() {
            let place = Int32(index + 1)
            switch value {
            case .null: sqlite3_bind_null(statement, place)
            case .integer(let number): sqlite3_bind_int64(statement, place, number)
            case .real(let number): sqlite3_bind_double(statement, place, number)
            case .text(let text): sqlite3_bind_text(statement, place, text, -1, Self.isTransient)
            case .blob(let bytes):
                // A null pointer would be NULL, and no blob without bytes.
                if bytes.isEmpty {
                    sqlite3_bind_zeroblob(statement, place, 0)
                } else {
                    sqlite3_bind_blob(statement, place, bytes, Int32(bytes.count), Self.isTransient)
                }
            }
        }
        return statement
    }
}

/// How many rows a file has in the tables whose rows a watch remembers each.
struct RowCounts {
    private var counts: [String: Int] = [:]
    /// What a phone has not had yet.
    private var loggedBytes: Int?
    /// Of images that are being brought.
    private var imageBytes: Int?
    /// What there is one of, as far as it is text or bytes.
    private var facts: Int?

    /// Counts the rows themselves, and not the entries of an index.
    init(of path: String) throws {
        let database = try HostileDatabase(path)
        for (name, _) in DatabaseFiles.tables {
            counts[name] = database.number("SELECT count(*) FROM \(name) NOT INDEXED")
        }
        loggedBytes = database.number(
            "SELECT total(min(length(content), max(0, offset + length(content) - consumed))) "
                + "FROM loggingData JOIN loggingSession ON session = id"
        )
        imageBytes = database.number("SELECT total(length(content)) FROM updatePiece JOIN updateImage USING (part)")
        facts = database.number(
            "SELECT count(*) FROM fact WHERE name IN ('firmware', 'recovery firmware', 'core dump')"
        )
    }

    /// All of them are in what was loaded.
    func expectAll(in memory: WatchMemory) throws {
        let services = memory.services
        let loaded = [
            "identity": memory.identity == nil ? 0 : 1, "phone": memory.phones.count,
            "record": services.records.count, "appPart": services.appParts.count, "file": services.files.count,
            "loggingSession": services.logging.count,
        ]
        for (name, count) in loaded.sorted(by: { $0.key < $1.key }) {
            guard let rows = counts[name] else { continue }
            try expect(count == rows, "of \(rows) rows in \(name), \(count) are remembered")
        }
        let images = services.update.values.reduce(0) { $0 + $1.bytes.count }
        try expect(
            imageBytes.map { $0 == images } ?? true,
            "of \(imageBytes ?? 0) bytes of images \(images) are remembered"
        )
        let known = [services.firmware != nil, services.recoveryFirmware != nil, services.coreDump != nil].count { $0 }
        try expect(facts.map { $0 == known } ?? true, "of \(facts ?? 0) facts \(known) are remembered")
        let bytes = services.logging.values.reduce(0) { $0 + $1.bytes.count }
        try expect(
            loggedBytes.map { $0 == bytes } ?? true,
            "of \(loggedBytes ?? 0) logged bytes \(bytes) are remembered"
        )
    }
}
