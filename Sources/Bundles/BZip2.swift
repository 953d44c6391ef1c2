/// Files that bzip2 has packed, such as the flash images of the SDK's emulator.
///
/// A file is one or more streams: `BZh` and the size of a block, blocks, and a checksum of all. A block is sorted (Burrows and
/// Wheeler), moved to the front, and written with up to six tables of Huffman's.
public struct BZip2: Sendable {
    /// Why a file cannot be unpacked.
    public enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// It is nothing that bzip2 has written.
        case notPacked
        /// It ends too soon.
        case truncated
        /// Something in it is impossible.
        case damaged
        /// What comes out is not what went in.
        case wrongChecksum
        /// It holds more than it may.
        case tooLarge(limit: Int)

        public var description: String {
            switch self {
            case .notPacked: "it is no bzip2 file"
            case .truncated: "it ends too soon"
            case .damaged: "it is damaged"
            case .wrongChecksum: "it is damaged: its checksum is wrong"
            case .tooLarge(let limit): "it holds more than \(limit) bytes"
            }
        }
    }

    private static let blockMark: UInt64 = 0x3141_5926_5359
    private static let endMark: UInt64 = 0x1772_4538_5090

    private var bits: Bits
    private var left: Int
    private let limit: Int

    /// Unpacks a file.
    /// - Parameters:
    ///   - limit: how many bytes may come out.
    ///   - write: is given what comes out, in pieces.
    public static func unpack<Failure>(
        _ packed: [UInt8],
        limit: Int,
        to write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) -> Problem? {
        var unpacker = BZip2(bits: Bits(packed), left: limit, limit: limit)
        var isFirst = true
        repeat {
            let level: Int
            do throws(Problem) {
                level = try unpacker.readHeader()
            } catch {
                return isFirst ? .notPacked : error
            }
            isFirst = false
            var checksum: UInt32 = 0
            while true {
                let piece: [UInt8]
                do throws(Problem) {
                    guard let block = try unpacker.readBlock(level: level, &checksum) else { break }
                    piece = block
                } catch {
                    return error
                }
                try write(piece)
            }
        } while !unpacker.bits.isAtEnd
        return nil
    }

    private mutating func readHeader() throws(Problem) -> Int {
        guard try bits.read(24) == 0x425A68 else { throw .notPacked }
        let level = Int(try bits.read(8)) - 0x30
        guard (1...9).contains(level) else { throw .notPacked }
        return level
    }

    /// - Returns: what was in the next block; nil after the last of a stream.
    private mutating func readBlock(level: Int, _ checksum: inout UInt32) throws(Problem) -> [UInt8]? {
        let mark = UInt64(try bits.read(24)) << 24 | UInt64(try bits.read(24))
        let expected = try bits.read(32)
        if mark == Self.endMark {
            guard expected == checksum else { throw .wrongChecksum }
            bits.skipToByte()
            return nil
        }
        guard mark == Self.blockMark else { throw .damaged }
        // Randomised blocks have not been written since 1999.
        guard try bits.read(1) == 0 else { throw .damaged }
        let origin = Int(try bits.read(24))
        let sorted = try readSorted(limit: level * 100_000)
        guard origin < sorted.count else { throw .damaged }
        let block = try Self.withoutRuns(Self.unsorted(sorted, origin: origin), limit: left)
        left -= block.count
        guard Self.checksum(of: block) == expected else { throw .wrongChecksum }
        checksum = (checksum << 1 | checksum >> 31) ^ expected
        return block
    }

    /// Reads the sorted bytes of a block.
    private mutating func readSorted(limit: Int) throws(Problem) -> [UInt8] {
        var symbols = try readSymbols()
        let tableCount = Int(try bits.read(3))
        let selectorCount = Int(try bits.read(15))
        guard (2...6).contains(tableCount), selectorCount > 0, !symbols.isEmpty else { throw .damaged }
        var order = Array(0..<tableCount)
        var selectors: [Int] = []
        for _ in 0..<selectorCount {
            var place = 0
            while try bits.read(1) == 1 { place += 1 }
            guard place < tableCount else { throw .damaged }
            let table = order.remove(at: place)
            order.insert(table, at: 0)
            selectors.append(table)
        }
        let alphabet = symbols.count + 2
        var tables: [Codes] = []
        for _ in 0..<tableCount { tables.append(try readCodes(alphabet)) }

        var sorted: [UInt8] = []
        var run = 0
        var weight = 1
        var leftInGroup = 0
        var group = 0
        while true {
            if leftInGroup == 0 {
                guard group < selectors.count else { throw .damaged }
                leftInGroup = 50
                group += 1
            }
            leftInGroup -= 1
            let symbol = try tables[selectors[group - 1]].read(&bits)
            if symbol < 2 {
                // A run's length in a numbering with the digits 1 and 2.
                guard weight <= limit else { throw .damaged }
                run += weight << symbol
                weight <<= 1
                continue
            }
            if run > 0 {
                guard sorted.count + run <= limit else { throw .damaged }
                sorted.append(contentsOf: repeatElement(symbols[0], count: run))
                run = 0
                weight = 1
            }
            if symbol == alphabet - 1 { return sorted }
            guard sorted.count < limit else { throw .damaged }
            let byte = symbols.remove(at: symbol - 1)
            symbols.insert(byte, at: 0)
            sorted.append(byte)
        }
    }

    /// Which bytes there are in a block.
    private mutating func readSymbols() throws(Problem) -> [UInt8] {
        let rows = try bits.read(16)
        var symbols: [UInt8] = []
        for row in 0..<16 where rows >> (15 - row) & 1 == 1 {
            let columns = try bits.read(16)
            for column in 0..<16 where columns >> (15 - column) & 1 == 1 { symbols.append(UInt8(row << 4 | column)) }
        }
        return symbols
    }

    private mutating func readCodes(_ count: Int) throws(Problem) -> Codes {
        var length = Int(try bits.read(5))
        var lengths: [Int] = []
        for _ in 0..<count {
            while true {
                guard (1...Codes.longest).contains(length) else { throw .damaged }
                guard try bits.read(1) == 1 else { break }
                length += try bits.read(1) == 0 ? 1 : -1
            }
            lengths.append(length)
        }
        return Codes(lengths)
    }

    private static func unsorted(_ sorted: [UInt8], origin: Int) -> [UInt8] {
        var places = [Int](repeating: 0, count: 256)
        for byte in sorted { places[Int(byte)] += 1 }
        var sum = 0
        for byte in 0..<256 {
            let count = places[byte]
            places[byte] = sum
            sum += count
        }
        var next = [UInt32](repeating: 0, count: sorted.count)
        for (place, byte) in sorted.enumerated() {
            next[places[Int(byte)]] = UInt32(place)
            places[Int(byte)] += 1
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sorted.count)
        var place = Int(next[origin])
        for _ in sorted.indices {
            bytes.append(sorted[place])
            place = Int(next[place])
        }
        return bytes
    }

    /// Four equal bytes are followed by how many more of them there are.
    private static func withoutRuns(_ bytes: [UInt8], limit: Int) throws(Problem) -> [UInt8] {
        var output: [UInt8] = []
        var equal = 0
        var last: UInt8?
        for byte in bytes {
            if equal == 4 {
                output.append(contentsOf: repeatElement(last ?? 0, count: Int(byte)))
                equal = 0
                last = nil
            } else {
                equal = byte == last ? equal + 1 : 1
                last = byte
                output.append(byte)
            }
            guard output.count <= limit else { throw .tooLarge(limit: limit) }
        }
        return output
    }

    /// CRC-32 with the polynomial 0x04C11DB7, the highest bit first.
    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { $0 << 8 ^ table[Int($0 >> 24) ^ Int($1)] }
    }

    private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { byte in
        (0..<8).reduce(byte << 24) { word, _ in word << 1 ^ (word >> 31 == 1 ? 0x04C1_1DB7 : 0) }
    }

    /// Bits, the highest of a byte first.
    private struct Bits: Sendable {
        private let bytes: [UInt8]
        private var position = 0
        private var kept: UInt64 = 0
        private var keptCount = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position >= bytes.count && keptCount < 8 }

        mutating func read(_ count: Int) throws(Problem) -> UInt32 {
            while keptCount < count {
                guard position < bytes.count else { throw .truncated }
                kept = kept << 8 | UInt64(bytes[position])
                position += 1
                keptCount += 8
            }
            keptCount -= count
            return UInt32(truncatingIfNeeded: kept >> UInt64(keptCount) & (1 << UInt64(count) - 1))
        }

        mutating func skipToByte() { keptCount -= keptCount % 8 }
    }

    /// A table of Huffman's, by the lengths of its codes.
    private struct Codes {
        static let longest = 20

        /// For each length, the last code of that length.
        private var limits = [Int](repeating: -1, count: longest + 1)
        /// For each length, what leads from a code to its place in the order of codes.
        private var offsets = [Int](repeating: 0, count: longest + 1)
        private var symbols: [Int] = []

        init(_ lengths: [Int]) {
            var code = 0
            for length in 1...Self.longest {
                offsets[length] = symbols.count - code
                for (symbol, own) in lengths.enumerated() where own == length {
                    symbols.append(symbol)
                    code += 1
                }
                limits[length] = code - 1
                code <<= 1
            }
        }

        func read(_ bits: inout Bits) throws(Problem) -> Int {
            var code = 0
            for length in 1...Self.longest {
                code = code << 1 | Int(try bits.read(1))
                guard code <= limits[length] else { continue }
                let place = code + offsets[length]
                guard symbols.indices.contains(place) else { throw .damaged }
                return symbols[place]
            }
            throw .damaged
        }
    }
}
