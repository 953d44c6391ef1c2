import ByteCoding

/// Reading values (Core 5.4, Vol 3, Part F, 3.4.4).
extension GATTServerSession {
    /// The longest value that fits beside its handle in an entry of a Read By Type Response, whose length is a byte.
    private static let longestListedValue = 253

    mutating func read(
        _ handle: AttributeHandle,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        let attribute = try readable(handle, link, database)
        guard let value = value(of: attribute, database) else {
            return ask(.read, about: handle, link)
        }
        noteRead(of: attribute)
        return respond(with: value, link)
    }

    mutating func readBlob(
        _ handle: AttributeHandle,
        _ offset: Int,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        let attribute = try readable(handle, link, database)
        guard let value = value(of: attribute, database) else {
            return ask(.readBlob(offset: offset), about: handle, link, offset: offset)
        }
        return try respond(with: value, from: offset, of: handle, link)
    }

    mutating func readByType(
        _ handles: RequestedHandles,
        _ type: BluetoothUUID,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        var valueLength: Int?
        for attribute in database.attributes(in: try handles.range()) where attribute.type == type {
            // The first attribute decides between an error and a list, which ends in front of anything
            // that does not fit in with it.
            if let error = attribute.readRefusal(of: link.security) {
                guard valueLength != nil else { throw ATTRefusal(error, at: attribute.handle) }
                break
            }
            guard let value = value(of: attribute, database) else {
                guard valueLength != nil else { return ask(.readByType, about: attribute.handle, link) }
                break
            }
            guard valueLength == nil || valueLength == value.count else { break }
            guard valueLength == nil || fits(2 + value.count, link) else { break }
            valueLength = value.count
            appendListed(value, of: attribute.handle, link)
            noteRead(of: attribute)
        }
        guard valueLength != nil else { throw ATTRefusal(.attributeNotFound, at: handles.start) }
        return .respond
    }

    mutating func readMultiple(
        _ handles: AttributeHandleList,
        isVariable: Bool,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        // All or nothing: the first attribute that may not be read refuses the whole request.
        var unchecked = handles
        while let handle = unchecked.popFirst() { _ = try readable(handle, link, database) }
        return try continueReadMultiple(handles, isVariable: isVariable, link, database)
    }

    private mutating func continueReadMultiple(
        _ handles: AttributeHandleList,
        isVariable: Bool,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        var remaining = handles
        while fits(1, link), let handle = remaining.popFirst() {
            let attribute = try readable(handle, link, database)
            guard let value = value(of: attribute, database) else {
                return ask(.readMultiple(remaining: remaining, isVariable: isVariable), about: handle, link)
            }
            appendMultiple(value, isVariable: isVariable, link)
        }
        return .respond
    }

    /// Takes the value that the owner was asked for.
    mutating func resume(
        _ question: Question,
        with value: ArraySlice<UInt8>,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        switch question.kind {
        case .read:
            return respond(with: value, link)
        case .readBlob(let offset):
            return try respond(with: value, from: offset, of: question.handle, link)
        case .readByType:
            appendListed(value, of: question.handle, link)
            return .respond
        case .readMultiple(let remaining, let isVariable):
            appendMultiple(value, isVariable: isVariable, link)
            return try continueReadMultiple(remaining, isVariable: isVariable, link, database)
        case .write, .executeWrite:
            // A value is no answer to a write.
            throw ATTRefusal(.unlikelyError, at: question.handle)
        }
    }

    /// The value of an attribute; nil when only the owner knows it.
    func value(of attribute: Attribute, _ database: GATTDatabase) -> ArraySlice<UInt8>? {
        switch attribute.content {
        case .constant, .stored:
            return database.storedValue(of: attribute)?[...]
        case .owner:
            return nil
        case .clientConfiguration(let slot):
            var value: [UInt8] = []
            value.appendLittleEndian(subscriptions.indices.contains(slot) ? subscriptions[slot].rawValue : 0)
            return value[...]
        case .clientSupportedFeatures:
            return [awareness.features]
        }
    }

    /// The attribute with a handle, if it may be read over this link.
    private func readable(
        _ handle: AttributeHandle,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Attribute {
        guard let attribute = database.attribute(at: handle) else { throw ATTRefusal(.invalidHandle, at: handle) }
        if let error = attribute.readRefusal(of: link.security) { throw ATTRefusal(error, at: handle) }
        return attribute
    }

    private mutating func ask(
        _ kind: Question.Kind,
        about handle: AttributeHandle,
        _ link: Link,
        offset: Int = 0
    ) -> Outcome {
        let id = makeRequestID()
        let request = ReadRequest(connection: link.connection, id: id, handle: handle, offset: offset)
        return .ask(Question(id: id, handle: handle, kind: kind), .readRequested(request))
    }

    private mutating func respond(with value: ArraySlice<UInt8>, _ link: Link) -> Outcome {
        response.append(contentsOf: value.prefix(link.mtu - 1))
        return .respond
    }

    private mutating func respond(
        with value: ArraySlice<UInt8>,
        from offset: Int,
        of handle: AttributeHandle,
        _ link: Link
    ) throws(ATTRefusal) -> Outcome {
        guard offset <= value.count else { throw ATTRefusal(.invalidOffset, at: handle) }
        return respond(with: value.dropFirst(offset), link)
    }

    private mutating func appendListed(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, _ link: Link) {
        let listed = value.prefix(min(link.mtu - 4, Self.longestListedValue))
        if response.isEmpty { response.append(UInt8(truncatingIfNeeded: 2 + listed.count)) }
        response.append(handle)
        response.append(contentsOf: listed)
    }

    /// Appends a value, a variable one with its whole length in front, and cuts the list off where the PDU ends
    /// (Core 5.4, Vol 3, Part F, 3.4.4.8 and 3.4.4.12).
    private mutating func appendMultiple(_ value: ArraySlice<UInt8>, isVariable: Bool, _ link: Link) {
        if isVariable { response.appendLittleEndian(UInt16(clamping: value.count)) }
        response.append(contentsOf: value)
        response.removeLast(max(0, 1 + response.count - link.mtu))
    }

    private mutating func noteRead(of attribute: Attribute) {
        if attribute.type == .databaseHash { awareness.databaseHashRead() }
    }
}
