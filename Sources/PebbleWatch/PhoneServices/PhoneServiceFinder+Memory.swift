import BluetoothHost
import PebbleProtocol

// What the finder makes of memory, so that a phone that has not changed is asked for nothing twice, and one that has
// changed costs a question more and never a session.
//
// With a Database Hash, one read says whether everything is as it was (Core 5.4, Vol 3, Part G, 2.5.2.1). Without one,
// each PPoGATT service is asked for its meta value by the type, which says both that it is where it was and whose it is;
// the rest is as good as the phone's promise to indicate changes, also those that were made while the watch was away
// (2.5.2), and without such a promise it is looked for. Nothing is written to a companion's service before something was
// read that shows its handles to be right, and whatever is refused afterwards counts as a sign that memory is wrong.

extension PhoneServiceFinder {
    /// What to remember of the phone: nil while that is not known yet.
    var memory: PhoneServiceCache? {
        guard !isSearching, recalled.unchecked == nil, !searched.isEmpty, !recalled.isDistrusted else { return nil }
        var memory = PhoneServiceCache()
        memory.databaseHash = database.hash
        memory.genericAttribute = database.remembered
        memory.searched = searched
        memory.services = (found + forgotten).sorted { $0.range.start < $1.range.start }
        metas.save(in: &memory)
        return memory
    }

    /// Begins with what was remembered.
    mutating func recall(_ memory: PhoneServiceCache) {
        recalled.check(memory)
        guard memory.databaseHash == nil else {
            agenda.steps = [.readDatabaseHash]
            return
        }
        for service in memory.services {
            guard let transport = PPoGATTService(service), let meta = memory.metas[transport.meta] else { continue }
            agenda.steps.append(.checkMeta(transport, meta))
        }
        if agenda.steps.isEmpty { recallRest(of: memory) }
    }

    /// The meta value that a service's owner gave last, and whether that was on this link.
    func meta(of transport: PPoGATTService) -> (value: [UInt8], isFresh: Bool)? {
        metas[transport]
    }

    /// A client has read a service's meta value.
    mutating func metaRead(_ value: ArraySlice<UInt8>, of transport: PPoGATTService) {
        metas.read(value, of: transport)
    }

    /// A client has used a service as it is meant to be used: memory of it is right.
    mutating func proved(_ service: PhoneService) { _ = recalled.release(service) }

    /// A service could not be used, although nothing was refused. If memory is all that speaks for it, nothing of this link is
    /// to be remembered.
    /// - Returns: whether that is so.
    mutating func distrustMemory(of service: PhoneService) -> Bool { recalled.distrust(service) }

    /// A client was refused what it expected of a service.
    /// - Returns: whether memory may be to blame: then the service vanishes, and everything is looked for afresh.
    mutating func refused(_ service: PhoneService) -> Bool {
        guard recalled.release(service) else { return false }
        remove(service)
        outdated("the service \(service.uuid) at \(service.range) is not what it was")
        return true
    }

    /// A client was refused what no phone refuses that has the service where it was.
    mutating func refused(_ wanted: WantedService) {
        for service in recalled.services where service.uuid == wanted.uuid {
            _ = refused(service)
            return
        }
    }
}

extension ATTError {
    /// Whether a request went to an attribute that is not there, or is another.
    var saysThatHandlesAreWrong: Bool {
        switch self {
        case .invalidHandle, .attributeNotFound, .readNotPermitted, .writeNotPermitted, .invalidAttributeValueLength,
            .databaseOutOfSync:
            true
        default: false
        }
    }
}

// MARK: - Results

extension PhoneServiceFinder {
    /// The phone's Database Hash came, or it has none.
    mutating func receivedDatabaseHash(_ value: ArraySlice<UInt8>?) {
        let old = database.hash
        database.received(hash: value)
        if let memory = recalled.unchecked {
            guard database.hash == memory.databaseHash else { return outdated("the phone's database has changed") }
            recalled.prove()
            recallRest(of: memory)
        } else if old != nil, old != database.hash {
            lookAgain()
        }
    }

    /// What is where a PPoGATT service was has said whose it is.
    mutating func receivedMeta(_ values: [HandleValue], of transport: PPoGATTService, expecting meta: [UInt8]) {
        guard let value = values.first, value.handle == transport.meta, PPoGATTMeta.isSame(value.value, meta[...])
        else {
            return outdated("the PPoGATT service at \(transport.service.range) is another")
        }
        metaRead(value.value, of: transport)
        recall(transport.service)
        guard let memory = recalled.unchecked, !agenda.checksMemory else { return }
        recallRest(of: memory)
    }

    /// Takes from memory all that it is good for, and does what it leaves to do.
    private mutating func recallRest(of memory: PhoneServiceCache) {
        recalled.endCheck()
        if recalled.isProved || memory.isPromised {
            database.recall(memory, isProved: recalled.isProved)
            for wanted in wanted where memory.searched.contains(wanted) {
                // That there was no companion is not worth remembering without a proof.
                guard recalled.isProved || wanted != .ppogatt || memory.knowsEveryCompanion else { continue }
                searched.append(wanted)
                for service in memory.services where service.uuid == wanted.uuid {
                    guard recalled.isProved || wanted != .ppogatt else { continue }
                    metas.recall(service, from: memory)
                    recall(service)
                }
            }
        }
        if !agenda.hasExchangedMTU { agenda.steps.append(.exchangeMTU) }
        if let configuration = database.configuration {
            agenda.steps.append(.subscribeToServiceChanged(configuration))
        } else if !recalled.isProved {
            agenda.steps += [.readDatabaseHash, .find(.genericAttribute)]
        } else if database.genericAttribute == nil {
            agenda.steps.append(.find(.genericAttribute))
        }
        for wanted in wanted where !searched.contains(wanted) { lookAgain(for: wanted.uuid) }
    }

    private mutating func recall(_ service: PhoneService) {
        guard !found.contains(service) else { return }
        found.append(service)
        recalled.use(service)
        events.append(.found(service))
    }

    /// Memory is wrong somewhere: what nothing else vouches for is dropped, and everything is looked for afresh.
    mutating func outdated(_ why: String) {
        events.append(.problem("what is remembered of the phone's services is out of date: \(why)"))
        for service in recalled.services where !recalled.isProved && !metas.areFresh(of: service) { remove(service) }
        recalled.forget()
        searched = []
        forgotten = []
        metas.removeRecalled()
        database.forget()
        startAfresh()
    }

    /// The phone says that a range of its database changed: memory of it, if that is all there is, is worth nothing.
    mutating func doubtMemory(of range: AttributeHandleRange) {
        guard !recalled.isProved else { return }
        recalled.doubt()
        for service in recalled.services where service.range.overlaps(range) && !metas.areFresh(of: service) {
            remove(service)
            _ = recalled.release(service)
        }
    }
}
