import BluetoothHCI
import BluetoothHost
import Faults
import PebbleProtocol

// Faults that are added on purpose: which part of the watch has which, and what they do to the watch as a whole.

extension Watch {
    /// The faults that are there, by their numbers. Those of the radio and of the HCI boundary are not the watch's.
    public var runningFaults: [RunningFault] {
        let all =
            (faults?.faults.running ?? []) + (core.transportFaults?.faults.running ?? [])
            + (core.system.faults?.faults.running ?? [])
        return all.sorted { $0.id < $1.id }
    }

    /// What a line of faults at the HCI boundary has to know of the host, so that it can come between the two while they work.
    public var faultBasis: HCIFaultLine.Basis { core.host.faultBasis }

    /// Whether any fault is there, or has something to tell.
    package var hasFaults: Bool { faults != nil || core.transportFaults != nil || core.system.faults != nil }

    /// Adds a fault of the watch's.
    mutating func add(_ fault: Fault, as id: FaultID, at now: Duration) throws(WatchCommandError) {
        do throws(FaultError) {
            switch fault.kind {
            case .radio, .hci: throw .notHere(fault.name, "is not the watch's: its controller has it")
            case .ppogatt:
                var line = core.transportFaults ?? PPoGATTFaultLine()
                try line.faults.add(fault, as: id, at: now)
                core.transportFaults = line
            case .message: try core.system.add(fault, as: id, at: now)
            case .watch(let kind):
                if kind.isOfMessages {
                    try core.system.add(fault, as: id, at: now)
                } else {
                    try check(kind, fault)
                    var list = faults ?? WatchFaults()
                    list.note(now)
                    try list.faults.add(fault, as: id, at: now)
                    faults = list
                }
            }
        } catch {
            throw .fault(error)
        }
        advanceFaults(to: now)
    }

    private func check(_ kind: WatchFault, _ fault: Fault) throws(FaultError) {
        switch kind {
        case .addressRotates where !configuration.hidesIdentity:
            throw .notHere(fault.name, "needs private addresses: start the watch with --private-address")
        case .databaseChanged where profiles.services.battery == nil || !configuration.isBondable:
            throw .notHere(fault.name, "needs a watch that keeps keys and has a battery service, which comes or goes")
        case .bondForgotten where !configuration.isBondable:
            throw .notHere(fault.name, "needs a watch that keeps keys: start it without --no-bonding")
        case .addressRotates, .databaseChanged, .bondForgotten, .appCrashes, .appSlow, .reboot, .factoryReset, .battery,
            .clockJump, .timeZone, .memoryShort, .buttonStuck, .storageFull, .storageSlow, .storageReadOnly,
            .storageCorrupt:
            break
        }
    }

    /// Takes a fault away, or all of the watch's.
    mutating func clearFault(_ id: FaultID?, at now: Duration) throws(WatchCommandError) {
        let stuck = stuckButtons
        let transport = core.transportFaults?.faults.clear(id) ?? false
        let messages = core.system.faults?.faults.clear(id) ?? false
        let own = faults?.faults.clear(id) ?? false
        if let id, !transport, !messages, !own { throw .fault(.unknownNumber(id.rawValue)) }
        release(stuck, at: now)
        advanceFaults(to: now)
    }

    // MARK: Time

    /// When a fault has something to do.
    var faultDeadline: Duration? {
        (faults?.nextDeadline).earlier(core.transportFaults?.nextDeadline)
    }

    /// Lets time pass for faults.
    mutating func advanceFaults(to now: Duration) {
        for (place, packet) in core.transportFaults?.advance(to: now) ?? [] {
            links[place.connection]?.transports.receive(packet[...], over: place.carrier, at: now)
        }
        guard faults != nil else { return }
        let stuck = stuckButtons
        faults?.note(now)
        _ = faults?.faults.removeOver(at: now)
        release(stuck, at: now)
        for answer in faults?.takeAnswers() ?? [] { finish(answer.id, failure: answer.failure, at: now) }
        begin(at: now)
        moveBattery(at: now)
        fireByThemselves(at: now)
    }

    /// Tells what faults did, and does what they want of transports.
    /// - Returns: whether there may be more to do.
    mutating func settleFaults(at now: Duration) -> Bool {
        let resets = core.transportFaults?.takeResets() ?? []
        for place in resets { links[place.connection]?.transports[place.carrier]?.link.reset(at: now) }
        restartIfTriggered(at: now)
        while let firing = core.transportFaults?.faults.nextFiring() { core.emit(.fault(firing)) }
        while let firing = core.system.faults?.faults.nextFiring() { core.emit(.fault(firing)) }
        while let firing = faults?.faults.nextFiring() { core.emit(.fault(firing)) }
        if core.transportFaults?.isIdle == true { core.transportFaults = nil }
        if core.system.faults?.isIdle == true { core.system.faults = nil }
        if faults?.isIdle == true { faults = nil }
        return !resets.isEmpty
    }

    // MARK: What they do

    /// Faults that hold all the time begin.
    private mutating func begin(at now: Duration) {
        for index in faults?.faults.running.indices ?? 0..<0 {
            guard let fault = faults?.faults.running[index], fault.fault.definition.occasion == .standing,
                faults?.faults.update(index, { $0.begins(at: now) }) == true
            else { continue }
            if let begun = faults?.faults.running[index] { faults?.faults.tell(begun, "it begins") }
            if let button = fault.fault.word(.button).flatMap(WatchButton.init(rawValue:)) {
                for change in controls.buttons.hold(controls.buttons.held.union([button]), since: now) {
                    take(change, at: now)
                }
            }
        }
    }

    /// The buttons that a fault holds down.
    private var stuckButtons: Set<WatchButton> {
        guard let faults else { return [] }
        return Set(
            faults.faults.indices(of: .watch(.buttonStuck)).filter { faults.faults.running[$0].firings > 0 }
                .compactMap { faults.faults.running[$0].fault.word(.button).flatMap(WatchButton.init(rawValue:)) }
        )
    }

    private mutating func release(_ before: Set<WatchButton>, at now: Duration) {
        let free = before.subtracting(stuckButtons)
        guard !free.isEmpty else { return }
        for change in controls.buttons.hold(controls.buttons.held.subtracting(free), since: now) {
            take(change, at: now)
        }
    }

    private mutating func moveBattery(at now: Duration) {
        guard let curve = faults?.faults.atWork(.watch(.battery), at: now), let percent = faults?.percent(of: curve)
        else {
            faults?.batteryPercent = nil
            return
        }
        guard percent != faults?.batteryPercent else { return }
        faults?.batteryPercent = percent
        let isCharging = (curve.fault.number(.to) ?? 0) > (curve.fault.number(.from) ?? 100)
        // A level between those of the table is possible.
        try? take(.battery(percent: UInt8(clamping: percent), isCharging: isCharging), at: now)
    }

    private mutating func fireByThemselves(at now: Duration) {
        if faults?.fire(.factoryReset, "the watch is as from the factory") != nil {
            beginRestart(.factoryReset, at: now)
        }
        if let fault = faults?.fire(.clockJump, "the clock jumps") {
            let jump = Int64(fault.fault.number(.seconds) ?? 0)
            core.system.handle(at: now) { _, context in
                let seconds = UInt32(clamping: Int64(context.clock.seconds(at: context.now)) + jump)
                TimeService.set(seconds, offsetMinutes: context.clock.zone?.offsetMinutes, zone: nil, in: &context)
            }
        }
        if let fault = faults?.fire(.timeZone, "the watch is in another time zone") {
            let minutes = fault.fault.number(.minutes) ?? 0
            core.system.handle(at: now) { _, context in
                // Local time that has no zone yet is taken for UTC's.
                TimeService.set(context.clock.seconds(at: context.now), offsetMinutes: minutes, zone: nil, in: &context)
            }
        }
        if faults?.fire(.appCrashes, "the running app crashes") != nil {
            _ = core.system.withApps(at: now) { apps, context in apps.stop(apps.runningUUID, in: &context) }
        }
        if faults?.fire(.addressRotates, "the watch has another address") != nil {
            presence.changeAddressNow(&core, at: now)
        }
        if let fault = faults?.fire(.databaseChanged, "the database has changed") {
            let before = database.changes
            database.update(&profiles, &core, at: now) { services in
                let isShown = services.battery?.isShown ?? false
                services.battery?.show(!isShown)
            }
            if fault.fault.word(.told) == "no" { database.changes = before }
        }
        // It waits for a bond that is its to forget.
        for identity in bondedPhones
        where faults?.fire(.bondForgotten, phone: identity.address, "a bond is forgotten") != nil {
            core.removeBond(identity)
            core.store.append(.forget(identity))
            core.emit(.forgotten(identity))
            presence.updatePairability(&core, at: now)
        }
    }

    /// The watch restarts, now or when what the fault waits for is under way.
    private mutating func restartIfTriggered(at now: Duration) {
        guard faults?.faults.isAtWork(.watch(.reboot), at: now) == true, life.restart == nil else { return }
        let uploaded = core.system.services.putBytes.uploadedByteCount
        let isWaiting = core.system.apps.isAwaitingAnswer
        let fired = faults?.faults.fire(.watch(.reboot), at: now) { fault in
            switch fault.word(.during) {
            case "upload": uploaded.map { $0 >= fault.number(.bytes) ?? 0 } ?? false
            case "outbox": isWaiting
            case .some, nil: true
            }
        }
        guard let fired else { return }
        faults?.faults.tell(fired, "the watch restarts")
        beginRestart(.reboot, at: now)
    }
}

// MARK: - Transports

extension PhoneTransports {
    /// Takes the packet that goes next, as faults leave it.
    mutating func nextFaultyPacket(
        of carrier: Carrier,
        on handle: ConnectionHandle,
        _ core: inout WatchCore,
        into packet: inout [UInt8],
        at now: Duration
    ) -> Bool {
        if let unsent = self[carrier]?.unsentPacket, !unsent.isEmpty {
            packet = unsent
            self[carrier]?.unsentPacket = []
            return true
        }
        let place = PPoGATTFaultLine.Place(connection: handle, carrier: carrier)
        let phone = core.host.connection(handle)?.peer.address ?? .zero
        while core.transportFaults?.nextPacket(for: place, into: &packet) == false {
            var next: [UInt8] = []
            guard self[carrier]?.link.nextPacket(into: &next, at: now) == true else { return false }
            core.transportFaults?.send(next, at: place, phone: phone, at: now)
        }
        return true
    }
}

extension PhoneConnection {
    /// Takes a packet of the phone's, as faults leave it.
    mutating func receiveTransportPacket(
        _ packet: ArraySlice<UInt8>,
        over carrier: PhoneTransports.Carrier,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        guard core.transportFaults != nil else { return transports.receive(packet, over: carrier, at: now) }
        let place = PPoGATTFaultLine.Place(connection: handle, carrier: carrier)
        guard let rest = core.transportFaults?.receive(packet, at: place, phone: identity.address, at: now) else {
            return
        }
        transports.receive(rest, over: carrier, at: now)
    }
}

// MARK: - Messages

extension WatchSystem {
    /// Adds a fault of messages.
    mutating func add(_ fault: Fault, as id: FaultID, at now: Duration) throws(FaultError) {
        var line = faults ?? MessageFaultLine()
        try line.faults.add(fault, as: id, at: now)
        faults = line
    }

    /// Lets time pass for messages that are late.
    mutating func advanceFaults(to now: Duration) {
        for late in faults?.advance(to: now) ?? [] {
            switch late.direction {
            case .fromPhone:
                handle(late.message, on: late.session, at: now)
                handle(at: now) { _, _ in }
            case .toPhone: deliver(ServiceContext.Reply(session: late.session, message: late.message))
            }
        }
    }

    /// Takes in a message of a phone's, as faults leave it.
    mutating func bend(_ message: PebbleMessage, on id: SessionID, at now: Duration) {
        guard let outcome = faults?.receive(message, on: id, at: now) else { return }
        for message in outcome.messages { handle(message, on: id, at: now) }
        guard let answer = outcome.answer else { return }
        outbox.emit(.message(id, .fromPhone, message))
        deliver(ServiceContext.Reply(session: id, message: answer))
    }

    /// Gives a message to its session, as faults leave it.
    mutating func bend(_ reply: ServiceContext.Reply) {
        guard let outcome = faults?.send(reply.message, on: reply.session) else { return }
        for message in outcome.messages { deliver(ServiceContext.Reply(session: reply.session, message: message)) }
    }

    /// Whether an AppMessage of the running app goes to its session as it is; otherwise what is left of it has gone.
    mutating func passes(_ message: PebbleMessage, on session: SessionID) -> Bool {
        guard let outcome = faults?.send(message, on: session), outcome.messages != [message] else { return true }
        for message in outcome.messages { deliver(ServiceContext.Reply(session: session, message: message)) }
        return false
    }
}

extension WatchFault {
    /// Whether it is about messages, so that it stands with those.
    fileprivate var isOfMessages: Bool {
        switch self {
        case .appSlow, .memoryShort: true
        case .appCrashes, .reboot, .factoryReset, .battery, .clockJump, .timeZone, .buttonStuck, .addressRotates,
            .bondForgotten, .databaseChanged, .storageFull, .storageSlow, .storageReadOnly, .storageCorrupt:
            false
        }
    }
}
