/// Which attributes a client may read and write over its link (Core 5.4, Vol 3, Part F, 3.2.5).
extension GATTDatabase {
    /// The attribute with a handle, if it may be read over a link.
    func readable(_ handle: AttributeHandle, over security: LinkSecurity) throws(ATTRefusal) -> Attribute {
        guard let attribute = attribute(at: handle) else { throw ATTRefusal(.invalidHandle, at: handle) }
        if let error = attribute.readRefusal(of: security) { throw ATTRefusal(error, at: handle) }
        return attribute
    }

    /// The attribute with a handle, if it may be written in one way over a link.
    func writable(
        _ handle: AttributeHandle,
        by operation: AttributeOperations,
        over security: LinkSecurity
    ) throws(ATTRefusal) -> Attribute {
        guard let attribute = attribute(at: handle) else { throw ATTRefusal(.invalidHandle, at: handle) }
        if let error = attribute.refusal(of: operation, over: security) { throw ATTRefusal(error, at: handle) }
        return attribute
    }
}

extension Attribute {
    /// Refuses a value that is longer than the attribute's may be.
    func checkLength(_ value: ArraySlice<UInt8>) throws(ATTRefusal) {
        guard value.count <= maximumLength else { throw ATTRefusal(.invalidAttributeValueLength, at: handle) }
    }
}
