import ByteCoding
import Foundation

/// What a program's file consists of, from its section headers and its symbols.
struct BinaryMakeup {
    /// The whole file, and what is left of it without what no running program has in memory: symbols, debugging information.
    let fileSize: Int
    let strippedSize: Int
    /// What is loaded from the file, the largest first.
    let sections: [(name: String, size: Int)]
    /// Whose symbols take how much of that, the largest first. What no symbol stands for, such as exception tables and
    /// Swift's descriptions of types, comes last.
    let owners: [(name: String, size: Int)]

    init(of path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw WorkloadFailure(
                "\(path) cannot be read: build it with swift build -c release, or name another with --program"
            )
        }
        do throws(ByteDecodingError) {
            let file = try ELFFile([UInt8](data))
            let loaded = file.sections.filter(\.isLoaded)
            fileSize = data.count
            strippedSize = loaded.map(\.range.upperBound).max() ?? 0
            sections = loaded.map { ($0.name, $0.range.count) }.sorted { $0.size > $1.size }
            var owned: [String: Int] = [:]
            for symbol in try file.symbols() { owned[SymbolOwner.name(for: symbol.name), default: 0] += symbol.size }
            let known = owned.map { (name: $0.key, size: $0.value) }.sorted { $0.size > $1.size }
            let unknown = sections.reduce(0) { $0 + $1.size } - known.reduce(0) { $0 + $1.size }
            owners = known + [("what no symbol stands for", unknown)]
        } catch {
            throw WorkloadFailure("\(path) is no 64-bit ELF file that can be understood: \(error)")
        }
    }
}

/// Sections and symbols of a 64-bit little-endian ELF file.
///
/// Source: ELF-64 Object File Format, version 1.5: file header (section 3), section headers (4), symbol table (6).
private struct ELFFile {
    struct Section {
        fileprivate(set) var name = ""
        let nameOffset: Int
        let type: UInt32
        let address: UInt64
        /// Where it stands in the file.
        let range: Range<Int>
        let link: Int
        /// Whether a running program has it in memory, and the file is where that comes from.
        let isLoaded: Bool
    }

    struct Symbol {
        let name: String
        let size: Int
    }

    private static let fileHeaderSize = 64
    private static let sectionHeaderSize = 64
    private static let symbolSize = 24
    private static let symbolTable: UInt32 = 2
    private static let noBits: UInt32 = 8
    private static let allocated: UInt64 = 2

    private let bytes: [UInt8]
    private(set) var sections: [Section] = []

    init(_ bytes: [UInt8]) throws(ByteDecodingError) {
        self.bytes = bytes
        var header = try reader(0..<Self.fileHeaderSize, "file header")
        let magic: UInt32 = try header.readLittleEndian("e_ident.magic")
        guard magic == 0x464C_457F else { throw ByteDecodingError("e_ident.magic", .invalidValue(UInt64(magic))) }
        _ = try header.readBytes(36, "e_ident to e_phoff")
        let offset = try Self.readOffset(&header, "e_shoff")
        _ = try header.readBytes(12, "e_flags to e_shentsize")
        let count: UInt16 = try header.readLittleEndian("e_shnum")
        let namesIndex: UInt16 = try header.readLittleEndian("e_shstrndx")
        var table = try reader(offset..<offset + Int(count) * Self.sectionHeaderSize, "section headers")
        for _ in 0..<count { sections.append(try Self.readSection(&table)) }
        guard sections.indices.contains(Int(namesIndex)) else {
            throw ByteDecodingError("e_shstrndx", .invalidValue(UInt64(namesIndex)))
        }
        let names = sections[Int(namesIndex)]
        for index in sections.indices { sections[index].name = try string(at: sections[index].nameOffset, in: names) }
    }

    /// Everything that has a name and bytes in the file.
    func symbols() throws(ByteDecodingError) -> [Symbol] {
        var found: [Symbol] = []
        for table in sections where table.type == Self.symbolTable && sections.indices.contains(table.link) {
            let names = sections[table.link]
            var entries = try reader(table.range, table.name)
            var raw: [(name: Int, section: Int, address: UInt64, size: Int)] = []
            while entries.count >= Self.symbolSize {
                let name: UInt32 = try entries.readLittleEndian("st_name")
                let info = try entries.readUInt8("st_info")
                _ = try entries.readUInt8("st_other")
                let section: UInt16 = try entries.readLittleEndian("st_shndx")
                let address: UInt64 = try entries.readLittleEndian("st_value")
                let size = try Self.readOffset(&entries, "st_size")
                // Untyped, data or code, where there are bytes.
                guard info & 0x0F <= 2, sections.indices.contains(Int(section)), sections[Int(section)].isLoaded else {
                    continue
                }
                raw.append((Int(name), Int(section), address, size))
            }
            raw.sort { ($0.section, $0.address) < ($1.section, $1.address) }
            var previous: (section: Int, address: UInt64)?
            for (index, symbol) in raw.enumerated() {
                let name = try string(at: symbol.name, in: names)
                // Marks of where code and data begin, on ARM, and of where sections do.
                if name.isEmpty || name.hasPrefix("$x") || name.hasPrefix("$d")
                    || name.hasPrefix("__") && symbol.size == 0
                {
                    continue
                }
                // Several names for the same bytes count once.
                if let previous, previous == (symbol.section, symbol.address) { continue }
                previous = (symbol.section, symbol.address)
                var size = symbol.size
                // What assembly made, such as ICU's data, says no size: it ends where the next symbol begins.
                if size == 0 {
                    let next = raw[index...].first { $0.section != symbol.section || $0.address > symbol.address }
                    let section = sections[symbol.section]
                    let end =
                        next.flatMap { $0.section == symbol.section ? $0.address : nil }
                        ?? section.address &+ UInt64(section.range.count)
                    // A section's own end may be a symbol, and stands behind its bytes.
                    size = end > symbol.address ? Int(clamping: end - symbol.address) : 0
                }
                found.append(Symbol(name: name, size: size))
            }
        }
        return found
    }

    private static func readSection(_ table: inout ByteReader) throws(ByteDecodingError) -> Section {
        let name: UInt32 = try table.readLittleEndian("sh_name")
        let type: UInt32 = try table.readLittleEndian("sh_type")
        let flags: UInt64 = try table.readLittleEndian("sh_flags")
        let address: UInt64 = try table.readLittleEndian("sh_addr")
        let offset = try readOffset(&table, "sh_offset")
        let size = try readOffset(&table, "sh_size")
        let link: UInt32 = try table.readLittleEndian("sh_link")
        _ = try table.readBytes(20, "sh_info to sh_entsize")
        return Section(
            nameOffset: Int(name),
            type: type,
            address: address,
            range: offset..<offset + size,
            link: Int(link),
            isLoaded: flags & allocated != 0 && type != noBits
        )
    }

    /// An offset or a size: such that two of them can be added.
    private static func readOffset(_ reader: inout ByteReader, _ field: String) throws(ByteDecodingError) -> Int {
        let value: UInt64 = try reader.readLittleEndian(field)
        guard value <= UInt64(UInt32.max) else { throw ByteDecodingError(field, .invalidValue(value)) }
        return Int(value)
    }

    private func reader(_ range: Range<Int>, _ field: String) throws(ByteDecodingError) -> ByteReader {
        guard range.upperBound <= bytes.count else {
            throw ByteDecodingError(field, .truncated(needed: range.upperBound, available: bytes.count))
        }
        return ByteReader(bytes[range])
    }

    private func string(at offset: Int, in table: Section) throws(ByteDecodingError) -> String {
        var text = try reader(table.range, table.name)
        _ = try text.readBytes(offset, "name")
        return String(decoding: text.remaining.prefix { $0 != 0 }, as: UTF8.self)
    }
}
