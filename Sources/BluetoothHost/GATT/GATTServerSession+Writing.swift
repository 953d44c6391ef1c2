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
        let attribute = try writable(handle, link, database)
        try checkLength(value, of: attribute)
        switch attribute.content {
        case .owner:
            let id = makeRequestID()
            let request = WriteRequest(connection: link.connection, id: id, handle: handle, value: value)
            return .ask(Question(id: id, handle: handle, kind: .write), .writeRequested(request))
        case .clientConfiguration(let slot):
            let configuration = database.clientConfigurations[slot]
            let change = try setSubscription(slot, to: value, configuration, link)
            guard change.cause == .requested else {
                events.append(.subscriptionChanged(change))
                return .respond
            }
            let kind = Question.Kind.subscribe(slot: slot, previous: change.previous)
            return .ask(Question(id: change.id, handle: handle, kind: kind), .subscriptionChanged(change))
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
        _ events: inout Deque<GATTEvent>
    ) {
        do throws(ATTRefusal) {
            // Nothing that a client says about a database that it does not know can be meant.
            guard awareness.isInSync else { throw ATTRefusal(.databaseOutOfSync, at: handle) }
            let attribute = try writable(handle, link, database)
            try checkLength(value, of: attribute)
            switch attribute.content {
            case .owner:
                events.append(.written(AttributeWrite(connection: link.connection, handle: handle, value: value)))
            case .clientConfiguration, .constant, .stored, .clientSupportedFeatures:
                try commit(value, to: attribute, link, &database, &events)
            }
        } catch {
            let response = ATTErrorResponse(
                requestOpcode: ATTOpcode.writeCommand.rawValue,
                handle: error.handle,
                error: error.error
            )
            events.append(.pduIgnored(link.connection, .refusedCommand(response)))
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
        _ = try writable(handle, link, database)
        guard prepared.append(handle, offset: offset, value: value) else {
            throw ATTRefusal(.prepareQueueFull, at: handle)
        }
        response.append(handle)
        response.appendLittleEndian(UInt16(clamping: offset))
        response.append(contentsOf: value)
        return .respond
    }

    /// Writes everything that is queued, or nothing; either way the queue is empty afterwards.
    mutating func executeWrite(
        isCancelled: Bool,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        defer { prepared.removeAll() }
        guard !isCancelled else { return .respond }
        let staged = try stage(link, database)
        guard let first = staged.ownerWrites.first else {
            try commit(staged, link, &database, &events)
            return .respond
        }
        let id = makeRequestID()
        let request = ExecuteWriteRequest(connection: link.connection, id: id, writes: staged.ownerWrites)
        let question = Question(id: id, handle: first.handle, kind: .executeWrite(staged))
        return .ask(question, .executeWriteRequested(request))
    }

    /// The owner has accepted a write.
    mutating func resumeAccepted(
        _ question: Question,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) -> Outcome {
        switch question.kind {
        case .write, .subscribe:
            break
        case .executeWrite(let staged):
            try commit(staged, link, &database, &events)
        case .read, .readBlob, .readByType, .readMultiple:
            // A read wants a value.
            throw ATTRefusal(.unlikelyError, at: question.handle)
        }
        return .respond
    }

    /// The owner has refused a request.
    mutating func resumeRefused(
        _ question: Question,
        with error: ATTError,
        at handle: AttributeHandle?
    ) -> ATTRefusal {
        if case .subscribe(let slot, let previous) = question.kind, subscriptions.indices.contains(slot) {
            subscriptions[slot] = previous
        }
        return ATTRefusal(error, at: handle ?? question.handle)
    }
}

// MARK: - Checking, staging, committing

extension GATTServerSession {
    /// The attribute with a handle, if it may be written over this link.
    private func writable(
        _ handle: AttributeHandle,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Attribute {
        guard let attribute = database.attribute(at: handle) else { throw ATTRefusal(.invalidHandle, at: handle) }
        if let error = attribute.writeRefusal(of: link.security) { throw ATTRefusal(error, at: handle) }
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
        case .clientConfiguration(let slot):
            // Without an answer to wait for, the owner is only told.
            let configuration = database.clientConfigurations[slot]
            let change = try setSubscription(slot, to: value, configuration, link, cause: .written)
            events.append(.subscriptionChanged(change))
            return
        case .clientSupportedFeatures:
            do throws(ATTError) {
                try awareness.write(value)
            } catch {
                throw ATTRefusal(error, at: attribute.handle)
            }
        case .constant, .stored, .owner:
            database.store(value, in: attribute)
        }
        let write = AttributeWrite(connection: link.connection, handle: attribute.handle, value: value)
        events.append(.written(write))
    }

    /// Works out what the prepared writes amount to.
    private func stage(_ link: Link, _ database: GATTDatabase) throws(ATTRefusal) -> StagedWrites {
        var staged = StagedWrites()
        for part in prepared.parts {
            let attribute = try writable(part.handle, link, database)
            let bytes = prepared.value(of: part)
            do throws(ATTError) {
                if let current = value(of: attribute, database) {
                    try staged.stage(bytes, at: part.offset, of: attribute, current: current)
                } else {
                    try staged.stageForOwner(bytes, at: part.offset, of: attribute)
                }
            } catch {
                throw ATTRefusal(error, at: part.handle)
            }
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

    private mutating func commit(
        _ staged: StagedWrites,
        _ link: Link,
        _ database: inout GATTDatabase,
        _ events: inout Deque<GATTEvent>
    ) throws(ATTRefusal) {
        for value in staged.values {
            try commit(value.result, to: value.attribute, link, &database, &events)
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
        _ link: Link,
        cause: SubscriptionChange.Cause? = nil
    ) throws(ATTRefusal) -> SubscriptionChange {
        let wanted = try subscription(from: value, configuration)
        let change = SubscriptionChange(
            connection: link.connection,
            id: makeRequestID(),
            handle: configuration.value,
            previous: subscriptions[slot],
            current: wanted,
            cause: cause ?? (configuration.ownerAnswers ? .requested : .written)
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
