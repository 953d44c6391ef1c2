import ByteCoding

/// Which part of an L2CAP PDU an ACL packet carries.
///
/// Source: Core 5.4, Vol 4, Part E, 5.4.2.
package enum PacketBoundary: UInt8, Hashable, Sendable, CaseIterable {
    /// The first part, which the controller may not flush; host to controller.
    case firstNonFlushable = 0b00
    /// A further part.
    case continuing = 0b01
    /// The first part, which the controller may flush; controller to host, where LE uses it too.
    case firstFlushable = 0b10
    /// A whole PDU that the controller may flush; not on LE.
    case complete = 0b11
}

/// An ACL data packet: a part of an L2CAP PDU on a connection.
///
/// Layout: handle (12 bits), packet boundary (2), broadcast (2), length (16), data.
///
/// Source: Core 5.4, Vol 4, Part E, 5.4.2.
package struct ACLPacket: Hashable, Sendable {
    /// Which connection.
    package var handle: ConnectionHandle
    /// Which part of a PDU the data is.
    package var boundary: PacketBoundary
    /// Who it is for: 0 the peer, which is all that LE has.
    package var broadcast: UInt8
    /// The data, sharing the storage of the packet it was read from.
    package var data: ArraySlice<UInt8>

    /// How many octets come before the data, the packet type byte not counted. Inlined: another module would look for each packet whether
    /// a stored one has been initialized.
    @inlinable
    package static var headerSize: Int { 4 }

    /// What comes before the data.
    package struct Header: Hashable, Sendable {
        /// Which connection.
        package let handle: ConnectionHandle
        /// Which part of a PDU the data is.
        package let boundary: PacketBoundary
        /// Who it is for.
        package let broadcast: UInt8
        /// How many octets of data follow.
        package let length: Int

        /// Whether a PDU begins with the data.
        @inlinable
        package var isStart: Bool { if case .continuing = boundary { false } else { true } }

        /// Reads a header that begins `offset` octets after the first; nil if it is not whole, or has a value that is not allowed.
        package init?(_ bytes: borrowing ArraySlice<UInt8>, at offset: Int) {
            guard let fields = bytes.littleEndian(at: offset, as: UInt32.self) else { return nil }
            let word = UInt16(truncatingIfNeeded: fields)
            let bits = UInt8(truncatingIfNeeded: word >> ACLPacket.boundaryShift & 0b11)
            guard let handle = ConnectionHandle(rawValue: word & ACLPacket.handleMask),
                let boundary = PacketBoundary(rawValue: bits)
            else { return nil }
            self.handle = handle
            self.boundary = boundary
            broadcast = UInt8(truncatingIfNeeded: word >> ACLPacket.broadcastShift)
            length = Int(fields >> 16)
        }
    }

    private static let handleMask: UInt16 = 0x0FFF
    private static let boundaryShift: UInt16 = 12
    private static let broadcastShift: UInt16 = 14

    /// Makes a point-to-point packet, the only kind that LE has: `broadcast` is 0.
    package init(handle: ConnectionHandle, boundary: PacketBoundary, data: ArraySlice<UInt8>) {
        self.handle = handle
        self.boundary = boundary
        self.broadcast = 0
        self.data = data
    }

    /// Reads a packet without its packet type byte: header, data, and nothing after it.
    package init(body: ArraySlice<UInt8>) throws(ByteDecodingError) {
        if let header = Header(body, at: 0), body.count == Self.headerSize + header.length {
            self.init(header, data: body.dropFirst(Self.headerSize))
        } else {
            try self.init(checking: body)
        }
    }

    private init(_ header: Header, data: ArraySlice<UInt8>) {
        handle = header.handle
        boundary = header.boundary
        broadcast = header.broadcast
        self.data = data
    }

    /// Reads field by field, and says what is wrong with which.
    private init(checking body: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(body)
        let word = try reader.readLittleEndian("acl.handle", as: UInt16.self)
        guard let handle = ConnectionHandle(rawValue: word & Self.handleMask) else {
            throw ByteDecodingError("acl.handle", .invalidValue(UInt64(word & Self.handleMask)))
        }
        let bits = UInt8(truncatingIfNeeded: word >> Self.boundaryShift & 0b11)
        guard let boundary = PacketBoundary(rawValue: bits) else {
            throw ByteDecodingError("acl.packet_boundary", .invalidValue(UInt64(bits)))
        }
        self.handle = handle
        self.boundary = boundary
        broadcast = UInt8(truncatingIfNeeded: word >> Self.broadcastShift)
        let length = try reader.readLittleEndian("acl.length", as: UInt16.self)
        data = try reader.readBytes(Int(length), "acl.data")
        try reader.expectEnd("acl")
    }

    /// Appends the whole packet, from the packet type byte on.
    package func encodePacket(to buffer: inout [UInt8]) {
        Self.encodeHeader(handle: handle, boundary: boundary, broadcast: broadcast, length: data.count, to: &buffer)
        buffer.append(contentsOf: data)
    }

    /// The whole packet, from the packet type byte on.
    package var packet: [UInt8] {
        var buffer: [UInt8] = []
        encodePacket(to: &buffer)
        return buffer
    }

    /// Appends the packet type byte and the header of a packet whose data the caller appends: `length` octets of it.
    package static func encodeHeader(
        handle: ConnectionHandle,
        boundary: PacketBoundary,
        broadcast: UInt8 = 0,
        length: Int,
        to buffer: inout [UInt8]
    ) {
        let word =
            handle.rawValue | UInt16(boundary.rawValue) << boundaryShift | UInt16(broadcast & 0b11) << broadcastShift
        buffer.append(HCIPacketType.acl.rawValue)
        // Both fields at once: this is done for every packet.
        buffer.appendLittleEndian(UInt32(word) | UInt32(UInt16(clamping: length)) << 16)
    }
}
