import BluetoothHCI
import BluetoothHost

/// Commands and events.
extension HCIFaultLine {
    // MARK: Commands

    mutating func receiveCommand(_ packet: ArraySlice<UInt8>) {
        guard let command = try? HCICommandPacket(body: packet.dropFirst()) else { return giveController(packet) }
        let opcode = command.opcode.rawValue
        if let fault = faults.fire(
            .hci(.commandRefused),
            at: now,
            where: { ($0.number(.opcode) ?? Int(opcode)) == Int(opcode) }
        ) {
            let status = HCIStatus(rawValue: UInt8(fault.fault.number(.status) ?? 0x0C))
            faults.tell(fault, "\(command.opcode) is refused: \(status)")
            return giveHost(CommandStatus(status: status, commandCredits: 1, opcode: command.opcode))
        }
        switch command.opcode {
        case Reset.opcode: reset()
        case LESetExtendedAdvertisingEnable.opcode: hasAdvertisingSets = true
        case LESetAdvertisingEnable.opcode: hasAdvertisingSets = false
        case LELongTermKeyRequestReply.opcode:
            if let changed = judgeKey(command) { return queue(changed, known: opcode) }
        case LERemoteConnectionParameterRequestReply.opcode:
            if let changed = judgeParameterReply(command) { return queue(changed, known: opcode) }
        case LEConnectionUpdate.opcode:
            if refusesUpdate(command) { return }
        default: break
        }
        queue(Array(packet), known: opcode)
    }

    /// A command in the host's stead, whose answer the host does not see.
    mutating func invent(_ command: some HCICommand) { queue(command.packet, known: nil) }

    private mutating func queue(_ packet: [UInt8], known: UInt16?) {
        let opcode = UInt16(packet[1]) | UInt16(packet[2]) << 8
        waitingCommands.append((packet, Command(opcode: opcode, known: known)))
    }

    /// The host keeps count of the commands that the controller takes. One that was invented has its turn when none of the
    /// host's is under way, and those wait for it.
    mutating func pumpCommands() {
        while let next = waitingCommands.first {
            if next.command.known == nil {
                guard commandsInFlight.isEmpty else { return }
            } else {
                guard commandsInFlight.allSatisfy({ $0.known != nil }) else { return }
            }
            waitingCommands.removeFirst()
            // Nobody answers it (Core 5.4, Vol 4, Part E, 7.3.40).
            if next.command.opcode != HostNumberOfCompletedPackets.opcode.rawValue {
                commandsInFlight.append(next.command)
            }
            giveController(next.packet)
        }
    }

    // MARK: Events

    mutating func receiveEvent(_ packet: ArraySlice<UInt8>) {
        guard let event = try? HCIEvent(body: packet.dropFirst()) else { return giveHost(packet) }
        let code = Int(packet.dropFirst().first ?? 0)
        let subevent = Int(packet.dropFirst(3).first ?? 0)
        let matches = { (fault: Fault) in
            (fault.number(.event) ?? code) == code && (fault.number(.code) ?? subevent) == subevent
        }
        let name = code == 0x3E ? "the LE event \(subevent)" : "the event \(code)"
        // What the line itself has to know of the event is noted all the same.
        if let fault = faults.fire(.hci(.eventLost), at: now, where: matches) {
            faults.tell(fault, "\(name) is lost")
            return note(event, packet, isSeen: false)
        }
        if let fault = faults.fire(.hci(.eventLate), at: now, where: matches) {
            let delay = fault.fault.time(.delay) ?? .zero
            faults.tell(fault, "\(name) is \(delay.faultText) late")
            held.append(Held(content: .late(Array(packet)), due: now + delay, fault: nil))
            return
        }
        note(event, packet, isSeen: true)
    }

    /// Takes note of an event, and hands it on if the host is to see it.
    mutating func note(_ event: HCIEvent, _ packet: ArraySlice<UInt8>, isSeen: Bool) {
        switch event {
        case .commandComplete(let complete): return answered(complete.opcode, packet, isSeen: isSeen)
        case .commandStatus(let status): return answered(status.opcode, packet, isSeen: isSeen)
        case .numberOfCompletedPackets(let packets):
            if isSeen { return completed(packets.packets) }
            for entry in packets.packets {
                if let index = link(entry.handle) {
                    links[index].inFlight.removeFirst(min(Int(entry.count), links[index].inFlight.count))
                }
            }
        case .leConnectionComplete(let event): made(event.outcome)
        case .leEnhancedConnectionComplete(let event): made(event.outcome)
        case .disconnectionComplete(let event) where event.status == .success: remove(event.handle)
        case .leLongTermKeyRequest(let event): trigger("encryption", on: event.handle)
        case .leRemoteConnectionParameterRequest(let event): trigger("parameter-update", on: event.handle)
        case .disconnectionComplete, .encryptionChange, .encryptionChangeV2, .encryptionKeyRefreshComplete,
            .readRemoteVersionInformationComplete, .hardwareError, .dataBufferOverflow, .leAdvertisingReport,
            .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete, .leDataLengthChange,
            .leDirectedAdvertisingReport,
            .lePHYUpdateComplete, .leExtendedAdvertisingReport, .leScanTimeout, .leAdvertisingSetTerminated,
            .leScanRequestReceived, .leChannelSelectionAlgorithm, .leSubrateChange, .unknown, .unknownLE:
            break
        }
        if isSeen { giveHost(packet) }
    }

    private mutating func made(_ outcome: HCIOutcome<LENewConnection>) {
        guard let connection = outcome.value else { return }
        links.append(FaultLink(handle: connection.handle, phone: connection.peer.address))
        fireByThemselves()
    }

    /// The controller has answered a command: of one that was invented the host hears nothing, and one that was changed goes by
    /// the name that the host knows.
    private mutating func answered(_ opcode: HCIOpcode, _ packet: ArraySlice<UInt8>, isSeen: Bool) {
        learnBuffers(opcode, packet)
        guard let index = commandsInFlight.firstIndex(where: { $0.opcode == opcode.rawValue }) else {
            return isSeen ? giveHost(packet) : ()
        }
        let command = commandsInFlight.remove(at: index)
        guard let known = command.known, isSeen else { return }
        var bytes = Array(packet)
        // The opcode stands behind the count of commands, and in Command Status behind the status as well.
        let place = bytes[1] == CommandStatus.code.rawValue ? 5 : 4
        if bytes.indices.contains(place + 1) {
            bytes[place] = UInt8(truncatingIfNeeded: known)
            bytes[place + 1] = UInt8(truncatingIfNeeded: known >> 8)
        }
        giveHost(bytes)
    }

    /// How many buffers there are, when the host asks for it while the line is there.
    private mutating func learnBuffers(_ opcode: HCIOpcode, _ packet: ArraySlice<UInt8>) {
        guard case .commandComplete(let complete)? = try? HCIEvent(body: packet.dropFirst()) else { return }
        let count: Int?
        switch opcode {
        case LEReadBufferSize.opcode:
            count = (try? complete.outcome(of: LEReadBufferSize.self).value).map { Int($0.aclPacketCount) }
        case LEReadBufferSizeV2.opcode:
            count = (try? complete.outcome(of: LEReadBufferSizeV2.self).value).map { Int($0.aclPacketCount) }
        case ReadBufferSize.opcode:
            count = (try? complete.outcome(of: ReadBufferSize.self).value).map { Int($0.aclPacketCount) }
        default: count = nil
        }
        if let count, count > 0 { packetCount = count }
    }

    mutating func giveHost(_ event: some HCIEventParameters) {
        var bytes: [UInt8] = []
        event.encodePacket(to: &bytes)
        giveHost(bytes)
    }

    // MARK: Links

    /// What a fault waits for has begun on a link.
    mutating func trigger(_ what: String, on handle: ConnectionHandle) {
        guard let index = link(handle) else { return }
        let phone = links[index].phone
        for fault in [HCIFault.linkLost, .linkDropped] {
            for place in faults.indices(of: .hci(fault))
            where faults.running[place].isAtWork(at: now) && faults.running[place].concerns(phone)
                && faults.running[place].fault.word(.during) == what
            {
                faults.update(place) { $0.isTriggered = true }
            }
        }
        endLinks(index)
    }

    /// An ACL packet passes on a link.
    mutating func countPacket(on index: Int) {
        let phone = links[index].phone
        for fault in [HCIFault.linkLost, .linkDropped] {
            for place in faults.indices(of: .hci(fault))
            where hasBegun(faults.running[place]) && faults.running[place].concerns(phone) {
                faults.update(place) { $0.passed += 1 }
            }
        }
        endLinks(index)
    }

    private func hasBegun(_ fault: RunningFault) -> Bool {
        fault.isAtWork(at: now) && (fault.isTriggered || (fault.fault.word(.during) ?? "now") == "now")
    }

    /// Ends a link if a fault's time has come.
    mutating func endLinks(_ index: Int) {
        let (handle, phone, now) = (links[index].handle, links[index].phone, now)
        let due = { (running: RunningFault) in running.passed >= (running.fault.number(.packets) ?? 0) }
        for place in faults.indices(of: .hci(.linkLost)) where hasBegun(faults.running[place]) {
            guard due(faults.running[place]), faults.update(place, { $0.fires(at: now, phone: phone) }) else {
                continue
            }
            let length = faults.running[place].fault.time(.length) ?? .zero
            actions.append(.silence(handle, for: length))
            faults.tell(faults.running[place], on: handle, "neither side hears the other for \(length.faultText)")
        }
        for place in faults.indices(of: .hci(.linkDropped)) where hasBegun(faults.running[place]) {
            guard due(faults.running[place]), faults.update(place, { $0.fires(at: now, phone: phone) }) else {
                continue
            }
            let reason = HCIStatus(rawValue: UInt8(faults.running[place].fault.number(.reason) ?? 0x13))
            invent(Disconnect(handle: handle, reason: reason))
            faults.tell(faults.running[place], on: handle, "the controller ends the link: \(reason)")
        }
    }

    // MARK: The controller

    /// What happens without an occasion.
    mutating func fireByThemselves() {
        for index in links.indices { endLinks(index) }
        if let fault = faults.fire(.hci(.controllerResets), at: now) {
            reset()
            invent(Reset())
            giveHost(HardwareError(code: 0))
            faults.tell(fault, "the controller is reset, and says so by a hardware error")
        }
        if let fault = faults.fire(.hci(.hardwareError), at: now) {
            let code = UInt8(fault.fault.number(.code) ?? 0)
            giveHost(HardwareError(code: code))
            faults.tell(fault, "the controller reports the hardware error \(code)")
        }
        if let fault = faults.fire(.hci(.setsLost), at: now) {
            if hasAdvertisingSets {
                invent(LESetExtendedAdvertisingEnable(isEnabled: false, sets: []))
                invent(LEClearAdvertisingSets())
            } else {
                invent(LESetAdvertisingEnable(isEnabled: false))
            }
            faults.tell(fault, "the controller has no advertising sets any more")
        }
    }
}
