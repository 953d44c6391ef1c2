/// An input as a program: numbers and pieces are read off its front. At its end there are zeros, so that no program is too short.
struct FuzzProgram {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func word() -> UInt16 { UInt16(byte()) | UInt16(byte()) << 8 }

    mutating func number(below limit: Int) -> Int { Int(byte()) % limit }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// A time: milliseconds up to 127, then seconds up to 63, then halves of a minute.
    mutating func span() -> Duration {
        let number = Int(byte())
        return switch number {
        case ..<128: .milliseconds(number)
        case ..<192: .seconds(number - 127)
        default: .seconds((number - 191) * 30)
        }
    }

    /// A piece of the program itself: a byte says how long it is.
    mutating func piece(upTo limit: Int = 255) -> [UInt8] {
        let count = min(Int(byte()), limit, rest.count)
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// A template with a few of its bytes changed, as the program says: a count, then that many places and values. A
    /// place beyond the end cuts the template, or makes it longer.
    mutating func variation(of template: [UInt8]) -> [UInt8] {
        var bytes = template
        for _ in 0..<number(below: 5) {
            let place = Int(byte())
            let value = byte()
            if place < bytes.count {
                bytes[place] = value
            } else if place >= 0xF0 {
                bytes.removeLast(min(bytes.count, Int(value & 0x0F)))
            } else if place >= 0xE0 {
                bytes.append(contentsOf: repeatElement(value, count: 1 + Int(place & 0x0F) * 40))
            } else {
                bytes.append(value)
            }
        }
        return bytes
    }
}
