import PebbleWatch

/// What a person types at a terminal, as buttons of the watch.
struct KeyReader {
    /// What a key means.
    enum Key: Equatable {
        case button(WatchButton, isLong: Bool)
        case leave
    }

    /// No sequence of a key that matters is longer.
    private static let longestSequence = 8
    private static let escape: UInt8 = 0x1B

    /// The beginning of a sequence whose end has not come.
    private var pending: [UInt8] = []

    /// Takes bytes of the terminal.
    /// - Returns: the keys that are whole, in order; others that mean nothing are passed over.
    mutating func take(_ bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        for byte in bytes {
            if pending.isEmpty, byte != Self.escape {
                if let key = Self.key(byte) { keys.append(key) }
            } else if byte == Self.escape {
                if let key = finish() { keys.append(key) }
                pending = [byte]
            } else {
                pending.append(byte)
                guard let end = Self.sequence(pending) else { continue }
                pending = []
                if let key = end { keys.append(key) }
            }
        }
        return keys
    }

    /// Nothing more comes for now: an escape alone is the key of that name.
    mutating func finish() -> Key? {
        defer { pending = [] }
        return pending == [Self.escape] ? .button(.back, isLong: false) : nil
    }

    /// - Returns: nil while the sequence goes on; a nil key for one that means nothing.
    private static func sequence(_ bytes: [UInt8]) -> Key?? {
        // ESC [ or ESC O, parameters, and a last byte (ECMA-48, 5.4).
        guard bytes.count > 1, bytes[1] == UInt8(ascii: "[") || bytes[1] == UInt8(ascii: "O") else {
            return bytes.count > 1 ? .some(nil) : nil
        }
        guard bytes.count > 2, let last = bytes.last else { return nil }
        guard (0x40...0x7E).contains(last) else { return bytes.count < longestSequence ? nil : .some(nil) }
        // 2 is shift, as terminals say it: ESC [ 1 ; 2 A.
        let isLong = String(decoding: bytes.dropFirst(2).dropLast(), as: UTF8.self).hasSuffix(";2")
        switch last {
        case UInt8(ascii: "A"): return .button(.up, isLong: isLong)
        case UInt8(ascii: "B"): return .button(.down, isLong: isLong)
        case UInt8(ascii: "C"): return .button(.select, isLong: isLong)
        case UInt8(ascii: "D"): return .button(.back, isLong: isLong)
        default: return .some(nil)
        }
    }

    private static func key(_ byte: UInt8) -> Key? {
        switch byte {
        case UInt8(ascii: "w"): .button(.up, isLong: false)
        case UInt8(ascii: "W"): .button(.up, isLong: true)
        case UInt8(ascii: "s"): .button(.down, isLong: false)
        case UInt8(ascii: "S"): .button(.down, isLong: true)
        case UInt8(ascii: "d"), UInt8(ascii: "\r"), UInt8(ascii: "\n"): .button(.select, isLong: false)
        case UInt8(ascii: "D"): .button(.select, isLong: true)
        // Backspace is one of two bytes.
        case UInt8(ascii: "a"), 0x7F, 0x08: .button(.back, isLong: false)
        case UInt8(ascii: "A"): .button(.back, isLong: true)
        // Ctrl-C, and the end of input by Ctrl-D, where they are no signals.
        case UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x03, 0x04: .leave
        default: nil
        }
    }
}
