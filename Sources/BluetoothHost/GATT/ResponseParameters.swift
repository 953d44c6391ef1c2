import ByteCoding

/// The Attribute Parameters of a response under construction: what follows its opcode
/// (Core 5.4, Vol 3, Part F, 3.3.1).
struct ResponseParameters: Sendable {
    /// The longest value that fits beside its handle in an entry of a Read By Type Response, whose length is a byte.
    private static let longestListedValue = 253

    var bytes: [UInt8] = []
    /// The MTU in force. It can change while the owner is being asked.
    var mtu = ATT.defaultMTU

    /// Begins another response, in the storage of the one before.
    mutating func begin(mtu: Int) {
        bytes.removeAll(keepingCapacity: true)
        self.mtu = mtu
    }

    /// Whether the response has room for this many bytes more, after its opcode.
    func fits(_ count: Int) -> Bool { 1 + bytes.count + count <= mtu }

    /// Refuses a request for the attributes in a range of which none was found.
    func checkFound(in handles: RequestedHandles) throws(ATTRefusal) {
        guard !bytes.isEmpty else { throw ATTRefusal(.attributeNotFound, at: handles.start) }
    }

    /// Appends a value from an offset on, cut off at the MTU (Core 5.4, Vol 3, Part F, 3.4.4.4 and 3.4.4.6).
    mutating func append(
        _ value: ArraySlice<UInt8>,
        from offset: Int = 0,
        of handle: AttributeHandle
    ) throws(ATTRefusal) {
        guard offset <= value.count else { throw ATTRefusal(.invalidOffset, at: handle) }
        bytes.append(contentsOf: value.dropFirst(offset).prefix(mtu - 1))
    }

    /// Appends a handle and its value, and in front of the first one the length of both
    /// (Core 5.4, Vol 3, Part F, 3.4.4.2).
    mutating func appendListed(_ value: ArraySlice<UInt8>, of handle: AttributeHandle) {
        let listed = value.prefix(min(mtu - 4, Self.longestListedValue))
        if bytes.isEmpty { bytes.append(UInt8(truncatingIfNeeded: 2 + listed.count)) }
        bytes.append(handle)
        bytes.append(contentsOf: listed)
    }

    /// Appends a value, a variable one with its whole length in front, and cuts the list off where the PDU ends
    /// (Core 5.4, Vol 3, Part F, 3.4.4.8 and 3.4.4.12).
    mutating func appendMultiple(_ value: ArraySlice<UInt8>, isVariable: Bool) {
        if isVariable { bytes.appendLittleEndian(UInt16(clamping: value.count)) }
        bytes.append(contentsOf: value)
        bytes.removeLast(max(0, 1 + bytes.count - mtu))
    }
}
