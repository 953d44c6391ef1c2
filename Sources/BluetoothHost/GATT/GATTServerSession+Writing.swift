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
        let attribute = try writable(handle, by: .write, link, database)
        try checkLength(value, of: attribute)
        switch attribute.content {
        case .owner:
            return askToWrite(value, to: attribute, .write, link)
        case .clientConfiguration(let slot):
            let change = try setSubscription(slot, to: value, database.clientConfigurations[slot], link)
            guard change.cause == .requested else {
                events.append(.subscriptionChanged(change))
                return .respond
            }
            return .ask(Self.question(change, slot, at: handle, .write), .subscriptionChanged(change))
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
            guard awareness.isInSync else { throw ATTRefusal(.databaseOutOfSync, at: handle) }
            let attribute = try writable(handle, by: .writeWithoutResponse, link, database)
            try checkLength(value, of: attribute)
            switch attribute.content {
            case .owner:
                events.append(.written(AttributeWrite(connection: link.connection, handle: handle, value: value)))
            case .clientConfiguration(let slot):
                let change = try setSubscription(slot, to: value, database.clientConfigurations[slot], link)
                if change.cause == .requested {
                    try askAboutCommand(Self.question(change, slot, at: handle, .write), at: now)
                }
                events.append(.subscriptionChanged(change))
            case .constant, .stored, .clientSupportedFeatures:
                try commit(value, to: attribute, link, &database, &events)
            }
        } catch {
            events.append(.pduIgnored(link.connection, .refusedCommand(error.response(to: .writeCommand))))
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
        _ = try writable(handle, by: .write, link, database)
        guard prepared.append(handle, offset: offset, value: value) else {
            throw ATTRefusal(.prepareQueueFull, at: handle)
        }
        response.append(handle)
        response.appendLittleEndian(UInt16(clamping: offset))
        response.append(contentsOf: value)
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
        return try continueExecution(try stage(link, database), from: 0, link, &database, &events)
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
            let kind = Question.Kind.executeWrite(staged, index: index)
            switch value.attribute.content {
            case .owner:
                return askToWrite(value.result, to: value.attribute, kind, link)
            case .clientConfiguration(let slot) where database.clientConfigurations[slot].ownerAnswers:
                let change = try setSubscription(slot, to: value.result, database.clientConfigurations[slot], link)
                return .ask(Self.question(change, slot, at: value.attribute.handle, kind), .subscriptionChanged(change))
            case .clientConfiguration, .constant, .stored, .clientSupportedFeatures:
                continue
            }
        }
        for value in staged.values { try commit(value.result, to: value.attribute, link, &database, &events) }
        return .respond
    }

    /// The owner has accepted a write.
    mutating func resumeAccepted(
        _ question: Question,
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
        _ kind: Question.Kind,
        _ link: Link
    ) -> Outcome {
        let id = makeRequestID()
        let handle = attribute.handle
        let request = WriteRequest(connection: link.connection, id: id, handle: handle, value: value)
        return .ask(Question(id: id, handle: handle, kind: kind), .writeRequested(request))
    }

    private static func question(
        _ change: SubscriptionChange,
        _ slot: Int,
        at handle: AttributeHandle,
        _ kind: Question.Kind
    ) -> Question {
        let anticipated = AnticipatedSubscription(slot: slot, previous: change.previous)
        return Question(id: change.id, handle: handle, kind: kind, subscription: anticipated)
    }
}

// MARK: - Checking, staging, committing

extension GATTServerSession {
    /// The attribute with a handle, if it may be written in one way over this link.
    private func writable(
        _ handle: AttributeHandle,
        by operation: AttributeOperations,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Attribute {
        guard let attribute = database.attribute(at: handle) else { throw ATTRefusal(.invalidHandle, at: handle) }
        if let error = attribute.refusal(of: operation, over: link.security) { throw ATTRefusal(error, at: handle) }
        return attribute
    }

    private func checkLength(_ value: ArraySlice<UInt8>, of attribute: Attribute) throws(ATTRefusal) {
        guard value.count <= attribute.maximumLength else {
            throw ATTRefusal(.invalidAttributeValueLength, at: attribute.handle)
        }
    }

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
            let configuration = database.clientConfigurations[slot]
            // The owner has accepted it.
            guard !configuration.ownerAnswers else { return }
            events.append(.subscriptionChanged(try setSubscription(slot, to: value, configuration, link)))
            return
        case .clientSupportedFeatures:
            do throws(ATTError) {
                try awareness.write(value)
            } catch {
                throw ATTRefusal(error, at: attribute.handle)
            }
        case .constant, .stored:
            database.store(value, in: attribute)
        }
        let write = AttributeWrite(connection: link.connection, handle: attribute.handle, value: value)
        events.append(.written(write))
    }

    /// Works out what the prepared writes amount to.
    private func stage(_ link: Link, _ database: GATTDatabase) throws(ATTRefusal) -> StagedWrites {
        var staged = StagedWrites()
        for part in prepared.parts {
            let attribute = try writable(part.handle, by: .write, link, database)
            let current = value(of: attribute, database) ?? []
            do throws(ATTError) {
                try staged.stage(prepared.value(of: part), at: part.offset, of: attribute, current: current)
            } catch {
                throw ATTRefusal(error, at: part.handle)
            }
        }
        // Several values together are a reliable write, which has a property of its own
        // (Core 5.4, Vol 3, Part G, 3.3.3.1 and 4.9.5).
        if staged.values.count > 1, let value = staged.values.first(where: { !$0.attribute.allowsReliableWrite }) {
            throw ATTRefusal(.requestNotSupported, at: value.attribute.handle)
        }
        for value in staged.values { try validate(value, database) }
        return staged
    }

    /// Finds out beforehand what `commit` would refuse.
    private func validate(_ value: StagedWrites.Value, _ database: GATTDatabase) throws(ATTRefusal) {
        switch value.attribute.content {
        case .clientConfiguration(let slot):
            _ = try subscription(from: value.result, database.clientConfigurations[slot])
        case .clientSupportedFeatures:
            var trial = awareness
            do throws(ATTError) {
                try trial.write(value.result)
            } catch {
                throw ATTRefusal(error, at: value.attribute.handle)
            }
        case .constant, .stored, .owner:
            break
        }
    }
}

// MARK: - Subscriptions

extension GATTServerSession {
    /// Reads a client characteristic configuration; its reserved bits are ignored
    /// (Core 5.4, Vol 3, Part G, 3.3.3.3).
    private func subscription(
        from value: ArraySlice<UInt8>,
        _ configuration: ClientConfiguration
    ) throws(ATTRefusal) -> Subscription {
        var reader = ByteReader(value)
        guard value.count == 2, let bits: UInt16 = try? reader.readLittleEndian("configuration") else {
            throw ATTRefusal(.invalidAttributeValueLength, at: configuration.handle)
        }
        let wanted = Subscription(rawValue: bits).intersection(.known)
        guard wanted.isSubset(of: configuration.allowed) else {
            throw ATTRefusal(.clientConfigurationImproper, at: configuration.handle)
        }
        return wanted
    }

    private mutating func setSubscription(
        _ slot: Int,
        to value: ArraySlice<UInt8>,
        _ configuration: ClientConfiguration,
        _ link: Link
    ) throws(ATTRefusal) -> SubscriptionChange {
        let wanted = try subscription(from: value, configuration)
        let change = SubscriptionChange(
            connection: link.connection,
            id: makeRequestID(),
            handle: configuration.value,
            previous: subscriptions[slot],
            current: wanted,
            cause: configuration.ownerAnswers ? .requested : .written
        )
        subscriptions[slot] = wanted
        return change
    }
}

extension GATTServerSession {
    /// Takes back what was kept of a bonded client.
    mutating func restore(
        _ state: GATTClientState,
        _ connection: ConnectionHandle,
        _ database: GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) {
        awareness.restore(features: state.supportedFeatures, isAware: state.isChangeAware)
        for (slot, configuration) in database.clientConfigurations.enumerated() {
            guard let kept = state.subscriptions[configuration.handle], subscriptions.indices.contains(slot) else {
                continue
            }
            let previous = subscriptions[slot]
            subscriptions[slot] = kept.intersection(configuration.allowed)
            guard subscriptions[slot] != previous else { continue }
            let change = SubscriptionChange(
                connection: connection,
                id: makeRequestID(),
                handle: configuration.value,
                previous: previous,
                current: subscriptions[slot],
                cause: .restored
            )
            events.append(.subscriptionChanged(change))
        }
    }
}
