/// JSON as a person wrote it: each value with its line, so that an error in it can be found.
struct LocatedJSON: Sendable {
    enum Value: Sendable {
        case null
        case bool(Bool)
        case number(Double)
        case text(String)
        case array([LocatedJSON])
        case object([Member])
    }

    /// A name in an object, and what it stands for.
    struct Member: Sendable {
        let name: String
        let line: Int
        let value: LocatedJSON
    }

    let value: Value
    /// Where it begins; the first is 1.
    let line: Int

    /// Why a text is no JSON, and where.
    struct Fault: Error {
        let line: Int
        let problem: String
    }

    /// Reads a text in UTF-8.
    init(parsing bytes: [UInt8]) throws(Fault) {
        var parser = JSONParser(bytes)
        self = try parser.value(depth: 0)
        try parser.expectEnd()
    }

    fileprivate init(_ value: Value, line: Int) {
        self.value = value
        self.line = line
    }
}

/// Source: RFC 8259. Names that stand twice in an object are refused, and values that are nested deeper than any script's.
private struct JSONParser {
    private static let depthLimit = 32

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func value(depth: Int) throws(LocatedJSON.Fault) -> LocatedJSON {
        skipSpace()
        let start = line
        guard depth <= Self.depthLimit else { throw fault("this is nested more than \(Self.depthLimit) deep") }
        switch peek {
        case UInt8(ascii: "{"): return LocatedJSON(.object(try members(depth: depth)), line: start)
        case UInt8(ascii: "["): return LocatedJSON(.array(try elements(depth: depth)), line: start)
        case UInt8(ascii: "\""): return LocatedJSON(.text(try text()), line: start)
        default: return LocatedJSON(try word(), line: start)
        }
    }

    mutating func expectEnd() throws(LocatedJSON.Fault) {
        skipSpace()
        guard peek == nil else { throw fault("nothing may follow the value, but there is \(found)") }
    }

    // MARK: What is nested

    private mutating func members(depth: Int) throws(LocatedJSON.Fault) -> [LocatedJSON.Member] {
        position += 1
        var members: [LocatedJSON.Member] = []
        var names: Set<String> = []
        skipSpace()
        if take("}") { return members }
        repeat {
            skipSpace()
            guard peek == UInt8(ascii: "\"") else { throw fault("a name in quotation marks is needed, not \(found)") }
            let start = line
            let name = try text()
            guard names.insert(name).inserted else { throw fault("\"\(name)\" stands here twice") }
            skipSpace()
            guard take(":") else { throw fault("a colon is needed behind \"\(name)\", not \(found)") }
            members.append(LocatedJSON.Member(name: name, line: start, value: try value(depth: depth + 1)))
            skipSpace()
        } while take(",")
        guard take("}") else { throw fault("a comma or } is needed, not \(found)") }
        return members
    }

    private mutating func elements(depth: Int) throws(LocatedJSON.Fault) -> [LocatedJSON] {
        position += 1
        var elements: [LocatedJSON] = []
        skipSpace()
        if take("]") { return elements }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while take(",")
        guard take("]") else { throw fault("a comma or ] is needed, not \(found)") }
        return elements
    }

    // MARK: What is not

    /// A number, `true`, `false` or `null`.
    private mutating func word() throws(LocatedJSON.Fault) -> LocatedJSON.Value {
        let start = position
        while let byte = peek, Self.isOfWord(byte) { position += 1 }
        let word = String(decoding: bytes[start..<position], as: UTF8.self)
        switch word {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "": throw fault("a value is needed, not \(found)")
        default:
            guard Self.isNumber(word), let number = Double(word), number.isFinite else {
                throw fault("“\(word.prefix(40))” is no value: texts stand in quotation marks")
            }
            return .number(number)
        }
    }

    /// Swift reads more as numbers than JSON does: hexadecimal ones, a plus in front, zeros in front.
    private static func isNumber(_ word: String) -> Bool {
        let digits = word.drop { $0 == "-" }
        guard word.count - digits.count <= 1, let first = digits.first, first.isASCII, first.isNumber else {
            return false
        }
        if first == "0", let second = digits.dropFirst().first, second.isNumber { return false }
        let last = word.last == "." || word.contains(".e") || word.contains(".E")
        return !last && word.allSatisfy { $0.isASCII && ($0.isNumber || "+-.eE".contains($0)) }
    }

    private mutating func text() throws(LocatedJSON.Fault) -> String {
        position += 1
        var units: [UInt8] = []
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard let text = String(validating: units, as: UTF8.self) else { throw fault("this text is not UTF-8") }
                return text
            case UInt8(ascii: "\\"):
                units += String(try escaped()).utf8
            case 0..<0x20: throw fault("the text has no end on its line; a line break is written \\n")
            default:
                units.append(byte)
                position += 1
            }
        }
        throw fault("the text has no end")
    }

    private mutating func escaped() throws(LocatedJSON.Fault) -> Unicode.Scalar {
        position += 1
        let simple: [UInt8: Unicode.Scalar] = [
            UInt8(ascii: "\""): "\"", UInt8(ascii: "\\"): "\\", UInt8(ascii: "/"): "/", UInt8(ascii: "b"): "\u{8}",
            UInt8(ascii: "f"): "\u{C}", UInt8(ascii: "n"): "\n", UInt8(ascii: "r"): "\r", UInt8(ascii: "t"): "\t",
        ]
        guard let byte = peek else { throw fault("the text has no end") }
        position += 1
        if let scalar = simple[byte] { return scalar }
        guard byte == UInt8(ascii: "u") else { throw fault("\\\(Unicode.Scalar(byte)) means nothing in a text") }
        var code = try hexadecimal()
        if (0xD800..<0xDC00).contains(code), take("\\"), take("u") {
            let low = try hexadecimal()
            if (0xDC00..<0xE000).contains(low) { code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00) }
        }
        guard let scalar = Unicode.Scalar(code) else { throw fault("half of a character stands behind \\u") }
        return scalar
    }

    private mutating func hexadecimal() throws(LocatedJSON.Fault) -> UInt32 {
        let digits = bytes[position...].prefix(4)
        let areDigits = digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
        guard digits.count == 4, areDigits, let code = UInt32(String(decoding: digits, as: UTF8.self), radix: 16) else {
            throw fault("four hexadecimal digits are needed behind \\u")
        }
        position += 4
        return code
    }

    // MARK: Bytes

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: scalar) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
            if byte == 0x0A { line += 1 }
            position += 1
        }
    }

    private static func isOfWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }

    private var found: String {
        guard let byte = peek else { return "the end" }
        return (0x21..<0x7F).contains(byte) ? "\(Unicode.Scalar(byte))" : "the byte \(byte)"
    }

    private func fault(_ problem: String) -> LocatedJSON.Fault { LocatedJSON.Fault(line: line, problem: problem) }
}
