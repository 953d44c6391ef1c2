/// What a column of a row holds. No column of ours has a number that is not whole.
enum SQLiteValue: Equatable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])
}

/// A Swift value that a column can hold.
protocol SQLiteStorable {
    /// As it is stored.
    var stored: SQLiteValue { get }
    /// What was stored; nil for a value of another type or out of range.
    init?(stored: SQLiteValue)
}

extension FixedWidthInteger where Self: SQLiteStorable {
    init?(stored: SQLiteValue) {
        guard case .integer(let number) = stored else { return nil }
        self.init(exactly: number)
    }
}

// Integers that SQLite's 64 bits with a sign have room for.

extension UInt8: SQLiteStorable {
    var stored: SQLiteValue { .integer(Int64(self)) }
}

extension UInt16: SQLiteStorable {
    var stored: SQLiteValue { .integer(Int64(self)) }
}

extension UInt32: SQLiteStorable {
    var stored: SQLiteValue { .integer(Int64(self)) }
}

extension Int: SQLiteStorable {
    var stored: SQLiteValue { .integer(Int64(self)) }
}

extension Int64: SQLiteStorable {
    var stored: SQLiteValue { .integer(self) }
}

extension Bool: SQLiteStorable {
    var stored: SQLiteValue { .integer(self ? 1 : 0) }

    init?(stored: SQLiteValue) {
        guard case .integer(let number) = stored else { return nil }
        self = number != 0
    }
}

extension String: SQLiteStorable {
    var stored: SQLiteValue { .text(self) }

    init?(stored: SQLiteValue) {
        guard case .text(let text) = stored else { return nil }
        self = text
    }
}

extension [UInt8]: SQLiteStorable {
    var stored: SQLiteValue { .blob(self) }

    init?(stored: SQLiteValue) {
        guard case .blob(let bytes) = stored else { return nil }
        self = bytes
    }
}

extension Optional: SQLiteStorable where Wrapped: SQLiteStorable {
    var stored: SQLiteValue { map(\.stored) ?? .null }

    init?(stored: SQLiteValue) {
        guard stored != .null else {
            self = .none
            return
        }
        guard let value = Wrapped(stored: stored) else { return nil }
        self = .some(value)
    }
}
