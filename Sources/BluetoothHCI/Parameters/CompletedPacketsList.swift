import ByteCoding

/// How many data packets of which connections are done with: pairs of connection handle and count.
///
/// It shares the bytes it was read from, so that reading it, which happens for about every packet, allocates nothing.
package struct CompletedPacketsList: Hashable, Sendable {
    /// How many packets of one connection.
    package struct Entry: Hashable, Sendable {
        /// Which connection.
        package var handle: ConnectionHandle
        /// How many packets.
        package var count: UInt16

        /// Makes the entry of one connection.
        package init(handle: ConnectionHandle, count: UInt16) {
            self.handle = handle
            self.count = count
        }
    }

    static let entrySize = 4
    private let bytes: ArraySlice<UInt8>

    /// These entries; at most 63 are kept, which is what fits an event.
    package init(_ entries: [Entry]) {
        var bytes: [UInt8] = []
        for entry in entries.prefix(63) {
            bytes.appendLittleEndian(entry.handle.rawValue)
            bytes.appendLittleEndian(entry.count)
        }
        self.bytes = bytes[...]
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let count = Int(try reader.readUInt8("number_of_completed_packets.num_handles"))
        bytes = try reader.readBytes(count * Self.entrySize, "number_of_completed_packets")
        var check = ByteReader(bytes)
        while !check.isEmpty {
            _ = try check.readConnectionHandle("number_of_completed_packets.handle")
            _ = try check.readLittleEndian("number_of_completed_packets.count", as: UInt16.self)
        }
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: bytes.count / Self.entrySize))
        buffer.append(contentsOf: bytes)
    }
}

extension CompletedPacketsList: Sequence {
    /// Goes through the entries in the order in which they were sent.
    package struct Iterator: IteratorProtocol {
        fileprivate var reader: ByteReader

        package mutating func next() -> Entry? {
            // The list was checked as a whole when it was made: reading only fails at its end.
            guard let handle = try? reader.readConnectionHandle(""),
                let count = try? reader.readLittleEndian("", as: UInt16.self)
            else { return nil }
            return Entry(handle: handle, count: count)
        }
    }

    package func makeIterator() -> Iterator { Iterator(reader: ByteReader(bytes)) }
    package var underestimatedCount: Int { bytes.count / Self.entrySize }
}
