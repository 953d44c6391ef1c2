import ByteCoding

/// Reads the attributes and actions of a timeline item, of which the last bytes may be missing.
///
/// The firmware trusts the length that an item declares, and reads whatever lies in memory behind a value that is shorter. Here
/// a text ends where the value ends, and what would follow is left out.
struct TimelineElementReader {
    var reader: ByteReader
    /// How many bytes the item declares beyond those that are there; 0 if everything has to be there.
    let missing: Int
    private(set) var isCut = false

    init(reader: ByteReader, missing: Int) {
        self.reader = reader
        self.missing = missing
    }

    mutating func readAttributes(_ count: UInt8) throws(ByteDecodingError) -> [TimelineAttribute] {
        var attributes: [TimelineAttribute] = []
        for _ in 0..<count {
            guard let attribute = try readAttribute() else { break }
            attributes.append(attribute)
        }
        return attributes
    }

    mutating func readActions(_ count: UInt8) throws(ByteDecodingError) -> [TimelineItemAction] {
        var actions: [TimelineItemAction] = []
        for _ in 0..<count where !isCut {
            guard hasHeader(TimelineItemAction.headerLength) else { break }
            let id = try reader.readUInt8("action.id")
            let kind = TimelineItemAction.Kind(rawValue: try reader.readUInt8("action.type"))
            let attributeCount = try reader.readUInt8("action.attribute_count")
            actions.append(TimelineItemAction(id: id, kind: kind, attributes: try readAttributes(attributeCount)))
        }
        return actions
    }

    /// The actions up to the first that is not whole.
    mutating func readActionsThatAreThere(_ count: UInt8) -> [TimelineItemAction] {
        var actions: [TimelineItemAction] = []
        while actions.count < Int(count), let action = try? readActions(1).first { actions.append(action) }
        return actions
    }

    private mutating func readAttribute() throws(ByteDecodingError) -> TimelineAttribute? {
        guard !isCut, hasHeader(TimelineAttribute.headerLength) else { return nil }
        let id = TimelineAttribute.ID(rawValue: try reader.readUInt8("attribute.id"))
        let length = Int(try reader.readLittleEndian("attribute.length", as: UInt16.self))
        if length > reader.count, length <= reader.count + missing { isCut = true }
        return TimelineAttribute(id, value: try reader.readBytes(isCut ? reader.count : length, "attribute.content"))
    }

    /// Whether a header is there, or its absence is an error for the reader to report.
    private mutating func hasHeader(_ length: Int) -> Bool {
        if reader.count < length, length <= reader.count + missing { isCut = true }
        return !isCut
    }
}
