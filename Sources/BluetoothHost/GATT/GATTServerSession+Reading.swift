import ByteCoding

/// Reading values (Core 5.4, Vol 3, Part F, 3.4.4).
extension GATTServerSession {
    mutating func read(
        _ handle: AttributeHandle,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        let attribute = try database.readable(handle, over: link.security)
        guard let value = client.value(of: attribute, database) else {
            return ask(.read, about: handle, link)
        }
        noteRead(of: attribute)
        try response.append(value, of: handle)
        return .respond
    }

    mutating func readBlob(
        _ handle: AttributeHandle,
        _ offset: Int,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        let attribute = try database.readable(handle, over: link.security)
        guard let value = client.value(of: attribute, database) else {
            return ask(.readBlob(offset: offset), about: handle, link, offset: offset)
        }
        try response.append(value, from: offset, of: handle)
        return .respond
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
            guard let value = client.value(of: attribute, database) else {
                guard valueLength != nil else { return ask(.readByType, about: attribute.handle, link) }
                break
            }
            guard valueLength == nil || valueLength == value.count else { break }
            guard valueLength == nil || response.fits(2 + value.count) else { break }
            valueLength = value.count
            response.appendListed(value, of: attribute.handle)
            noteRead(of: attribute)
        }
        try response.checkFound(in: handles)
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
        while let handle = unchecked.popFirst() { _ = try database.readable(handle, over: link.security) }
        return try continueReadMultiple(handles, isVariable: isVariable, link, database)
    }

    private mutating func continueReadMultiple(
        _ handles: AttributeHandleList,
        isVariable: Bool,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        var remaining = handles
        while response.fits(1), let handle = remaining.popFirst() {
            let attribute = try database.readable(handle, over: link.security)
            guard let value = client.value(of: attribute, database) else {
                return ask(.readMultiple(remaining: remaining, isVariable: isVariable), about: handle, link)
            }
            response.appendMultiple(value, isVariable: isVariable)
        }
        return .respond
    }

    /// Takes the value that the owner was asked for.
    mutating func resume(
        _ question: OwnerQuestion,
        with value: ArraySlice<UInt8>,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        switch question.kind {
        case .read:
            try response.append(value, of: question.handle)
            return .respond
        case .readBlob(let offset):
            try response.append(value, from: offset, of: question.handle)
            return .respond
        case .readByType:
            response.appendListed(value, of: question.handle)
            return .respond
        case .readMultiple(let remaining, let isVariable):
            response.appendMultiple(value, isVariable: isVariable)
            return try continueReadMultiple(remaining, isVariable: isVariable, link, database)
        case .write, .executeWrite:
            // A value is no answer to a write.
            throw ATTRefusal(.unlikelyError, at: question.handle)
        }
    }

    private mutating func ask(
        _ kind: OwnerQuestion.Kind,
        about handle: AttributeHandle,
        _ link: Link,
        offset: Int = 0
    ) -> Outcome {
        let id = requestIDs.next()
        let request = ReadRequest(connection: link.connection, id: id, handle: handle, offset: offset)
        return .ask(OwnerQuestion(id: id, handle: handle, kind: kind), .readRequested(request))
    }

    private mutating func noteRead(of attribute: Attribute) {
        if attribute.type == .databaseHash { client.awareness.databaseHashRead() }
    }
}
