/// The block cipher of Bluetooth, as controllers have it in hardware: one block, encryption only.
///
/// Keys and blocks are numbers whose most significant octet is the cipher's first one, which at the HCI, where octets
/// are sent least significant first, is the last one. Simple rather than fast: it makes and resolves private addresses.
///
/// Source: FIPS 197; Core 5.4, Vol 3, Part H, 2.2.
struct AES128: Sendable {
    private let roundKeys: [[UInt8]]

    private static let rounds = 10

    /// Expands a key.
    init(key: UInt128) {
        var words = stride(from: 0, to: 16, by: 4).map { Array(Self.octets(key)[$0..<$0 + 4]) }
        var roundConstant: UInt8 = 1
        for index in 4..<4 * (Self.rounds + 1) {
            var word = words[index - 1]
            if index % 4 == 0 {
                word = [word[1], word[2], word[3], word[0]].map(Self.substitute)
                word[0] ^= roundConstant
                roundConstant = Self.double(roundConstant)
            }
            words.append(zip(words[index - 4], word).map { $0 ^ $1 })
        }
        roundKeys = stride(from: 0, to: words.count, by: 4).map { Array(words[$0..<$0 + 4].joined()) }
    }

    /// Encrypts one block.
    func encrypt(_ block: UInt128) -> UInt128 {
        var state = zip(Self.octets(block), roundKeys[0]).map { $0 ^ $1 }
        for round in 1...Self.rounds {
            // Substitution and the shift of rows: octet r + 4c comes from column c + r.
            let shifted = (0..<16).map { Self.substitute(state[($0 + 4 * ($0 % 4)) % 16]) }
            let mixed = round == Self.rounds ? shifted : Self.mixColumns(shifted)
            state = zip(mixed, roundKeys[round]).map { $0 ^ $1 }
        }
        return state.reduce(0) { $0 << 8 | UInt128($1) }
    }

    private static func octets(_ value: UInt128) -> [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
    }

    private static func mixColumns(_ state: [UInt8]) -> [UInt8] {
        (0..<16).map { index in
            let column = index / 4 * 4
            let row = index % 4
            let octets = (0..<4).map { state[column + (row + $0) % 4] }
            return double(octets[0]) ^ double(octets[1]) ^ octets[1] ^ octets[2] ^ octets[3]
        }
    }

    /// Twice an element of the cipher's field.
    private static func double(_ value: UInt8) -> UInt8 { value << 1 ^ (value & 0x80 == 0 ? 0 : 0x1B) }

    private static func substitute(_ value: UInt8) -> UInt8 { substitution[Int(value)] }

    /// The substitution box: the inverse in the cipher's field, then an affine transformation.
    private static let substitution: [UInt8] = {
        var box = [UInt8](repeating: 0x63, count: 256)
        var element: UInt8 = 1
        var inverse: UInt8 = 1
        repeat {
            // The element goes through all powers of 3, and its inverse through those of 3's inverse, 0xF6.
            element ^= double(element)
            inverse ^= inverse << 1
            inverse ^= inverse << 2
            inverse ^= inverse << 4
            if inverse & 0x80 != 0 { inverse ^= 0x09 }
            var spread = inverse ^ 0x63
            for shift: UInt8 in 1...4 { spread ^= inverse << shift | inverse >> (8 - shift) }
            box[Int(element)] = spread
        } while element != 1
        return box
    }()
}
