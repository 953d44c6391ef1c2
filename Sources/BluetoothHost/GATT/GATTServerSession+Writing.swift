import BluetoothHCI
import ByteCoding
import DequeModule

/// Writing values (Core 5.4, Vol 3, Part F, 3.4.5 and 3.4.6).
extension GATTServerSession {
    mutating func write(
        _ value: ArraySlice<UInt8>,
        to handle: AttributeHandle,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        let attribute = try database.writable(handle, by: .write, over: link.security)
        try attribute.checkLength(value)
        switch attribute.content {
        case .owner:
            return askToWrite(value, to: attribute, .write, link)
        case .clientConfiguration(let slot):
            let change = try setSubscription(Int(slot), to: value, link, database)
            guard change.cause == .requested else {
                events.append(.subscriptionChanged(change))
                return .respond
            }
            return .ask(OwnerQuestion(change, at: handle, .write), .subscriptionChanged(change))
        case .constant, .stored, .clientSupportedFeatures:
            try commit(value, to: attribute, link, &database, &events)
            return .respond
        }
    }

    /// Takes a write command, which is never answered: what would be refused is ignored
    /// (Core 5.4, Vol 3, Part F, 3.4.5.3).
    mutating func writeCommand(
        _ value: ArraySlice<UInt8>,
        to handle: AttributeHandle,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>,
        at now: Duration
    ) {
        do throws(ATTRefusal) {
            // Nothing that a client says about a database that it does not know can be meant.
            guard client.awareness.isInSync else { throw ATTRefusal(.databaseOutOfSync, at: handle) }
            let attribute = try database.writable(handle, by: .writeWithoutResponse, over: link.security)
            try attribute.checkLength(value)
            switch attribute.content {
            case .owner:
                events.append(.written(AttributeWrite(connection: link.connection, handle: handle, value: value)))
            case .clientConfiguration(let slot):
                let change = try setSubscription(Int(slot), to: value, link, database)
                if change.cause == .requested {
                    let question = OwnerQuestion(change, at: handle, .write)
                    guard questions.askAboutCommand(question, at: now) else {
                        client.takeBack(question.id)
                        throw ATTRefusal(.insufficientResources, at: handle)
                    }
                }
                events.append(.subscriptionChanged(change))
            case .constant, .stored, .clientSupportedFeatures:
                try commit(value, to: attribute, link, &database, &events)
            }
        } catch {
            let refused = error.response(to: ATTOpcode.writeCommand.rawValue)
            events.append(.pduIgnored(link.connection, .refusedCommand(refused)))
        }
    }

    /// Queues a part of a value; its offset and length are looked at when the queue is executed.
    mutating func prepareWrite(
        _ value: ArraySlice<UInt8>,
        at offset: Int,
        to handle: AttributeHandle,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        _ = try database.writable(handle, by: .write, over: link.security)
        guard prepared.append(handle, offset: offset, value: value) else {
            throw ATTRefusal(.prepareQueueFull, at: handle)
        }
        response.bytes.append(handle)
        response.bytes.appendLittleEndian(UInt16(clamping: offset))
        response.bytes.append(contentsOf: value)
        return .respond
    }

    /// Writes everything that is queued; the queue is empty afterwards, whatever comes of it.
    ///
    /// The owner is asked about its values one after the other, in the client's order. What the database and the connection
    /// keep is written when the owner has accepted all of them, and not at all when it refuses one. The client must not
    /// rely on that (Core 5.4, Vol 3, Part F, 3.4.6.3).
    mutating func executeWrite(
        isCancelled: Bool,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        defer { prepared.removeAll() }
        guard !isCancelled else { return .respond }
        let staged = try prepared.staged(client, over: link.security, database)
        return try continueExecution(staged, from: 0, link, &database, &events)
    }

    /// Asks the owner about the next of its values, or writes the others if there is none.
    private mutating func continueExecution(
        _ staged: StagedWrites,
        from first: Int,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        for index in staged.values.indices.dropFirst(first) {
            let value = staged.values[index]
            let kind = OwnerQuestion.Kind.executeWrite(staged, index: index)
            switch value.attribute.content {
            case .owner:
                return askToWrite(value.result, to: value.attribute, kind, link)
            case .clientConfiguration(let slot) where database.clientConfigurations[Int(slot)].ownerAnswers:
                let change = try setSubscription(Int(slot), to: value.result, link, database)
                let question = OwnerQuestion(change, at: value.attribute.handle, kind)
                return .ask(question, .subscriptionChanged(change))
            case .clientConfiguration, .constant, .stored, .clientSupportedFeatures:
                continue
            }
        }
        for value in staged.values { try commit(value.result, to: value.attribute, link, &database, &events) }
        return .respond
    }

    /// The owner has accepted a write.
    mutating func resumeAccepted(
        _ question: OwnerQuestion,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        switch question.kind {
        case .write:
            return .respond
        case .executeWrite(let staged, let index):
            return try continueExecution(staged, from: index + 1, link, &database, &events)
        case .read, .readBlob, .readByType, .readMultiple:
            // A read wants a value.
            throw ATTRefusal(.unlikelyError, at: question.handle)
        }
    }

    private mutating func askToWrite(
        _ value: ArraySlice<UInt8>,
        to attribute: Attribute,
        _ kind: OwnerQuestion.Kind,
        _ link: Link
    ) -> Outcome {
        let id = requestIDs.next()
        let handle = attribute.handle
        let request = WriteRequest(connection: link.connection, id: id, handle: handle, value: value)
        return .ask(OwnerQuestion(id: id, handle: handle, kind: kind), .writeRequested(request))
    }
}

// MARK: - What the database and the connection keep

extension GATTServerSession {
    /// Writes a value that the database or the connection keeps, and reports it.
    private mutating func commit(
        _ value: ArraySlice<UInt8>,
        to attribute: Attribute,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) {
        switch attribute.content {
        case .owner:
            // The owner has taken it.
            return
        case .clientConfiguration(let slot):
            // The owner has accepted it.
            guard !database.clientConfigurations[Int(slot)].ownerAnswers else { return }
            events.append(.subscriptionChanged(try setSubscription(Int(slot), to: value, link, database)))
            return
        case .clientSupportedFeatures:
            try client.setFeatures(value, at: attribute.handle)
        case .constant, .stored:
            database.store(value, in: attribute)
        }
        let write = AttributeWrite(connection: link.connection, handle: attribute.handle, value: value)
        events.append(.written(write))
    }

    private mutating func setSubscription(
        _ slot: Int,
        to value: ArraySlice<UInt8>,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> SubscriptionChange {
        let configuration = database.clientConfigurations[Int(slot)]
        return try client.setSubscription(Int(slot), to: value, configuration, link.connection, &requestIDs)
    }
}
