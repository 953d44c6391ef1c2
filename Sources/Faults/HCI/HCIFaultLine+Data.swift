import BluetoothHCI
import BluetoothHost

/// ACL data: whole PDUs from packets and back, and who is told of which packet that it is completed.
extension HCIFaultLine {
    /// What becomes of a PDU.
    enum Verdict {
        /// It goes on, changed or not.
        case pass(FaultPDU)
        /// It goes on twice.
        case twice(FaultPDU)
        /// It goes no further.
        case drop
        /// It goes on later.
        case delay(FaultPDU, by: Duration)
        /// It goes on when a fault is over.
        case hold(FaultPDU, by: FaultID)
    }

    func link(_ handle: ConnectionHandle) -> Int? { links.firstIndex { $0.handle == handle } }

    mutating func receiveData(_ packet: ArraySlice<UInt8>, _ direction: FaultDirection) {
        guard let data = try? ACLPacket(body: packet.dropFirst()), let index = link(data.handle) else {
            return direction == .fromPhone ? giveHost(packet) : giveController(packet)
        }
        countPacket(on: index)
        switch direction {
        case .fromPhone:
            switch links[index].fromPhone.take(data) {
            case .whole(let pdu): receive(pdu, index, .fromPhone)
            case .part: break
            case .foreign: giveHost(packet)
            }
        case .toPhone:
            switch links[index].toPhone.take(data) {
            case .whole(let pdu): receive(pdu, index, .toPhone)
            // The host may need the room for the rest of the PDU.
            case .part: tellCompleted(1, on: data.handle)
            case .foreign: waitingData.append((data.handle, Array(packet), 1))
            }
        }
    }

    private mutating func receive(_ pdu: FaultPDU, _ index: Int, _ direction: FaultDirection) {
        let handle = links[index].handle
        if let fault = faults.atWork(.hci(.linkMute), phone: links[index].phone, at: now),
            direction.matches(fault.fault)
        {
            return carryOut(.hold(pdu, by: fault.id), handle, direction)
        }
        let verdict =
            switch pdu.channel {
            case .attribute: direction == .fromPhone ? judgeRequest(pdu, index) : judgeAnswer(pdu, index)
            case .signaling: judgeSignaling(pdu, index, direction)
            case .securityManager: judgePairing(pdu, index, direction)
            default: judgeChannelData(pdu, index, direction)
            }
        carryOut(verdict, handle, direction)
    }

    private mutating func carryOut(_ verdict: Verdict, _ handle: ConnectionHandle, _ direction: FaultDirection) {
        let owed = direction == .toPhone ? 1 : 0
        switch verdict {
        case .pass(let pdu): give(pdu, handle, direction, owed: owed)
        case .twice(let pdu):
            give(pdu, handle, direction, owed: owed)
            give(pdu, handle, direction, owed: 0)
        case .drop: tellCompleted(owed, on: handle)
        case .delay(let pdu, let delay):
            held.append(Held(content: .pdu(pdu, handle, direction, owed: owed), due: now + delay, fault: nil))
        case .hold(let pdu, let fault):
            held.append(Held(content: .pdu(pdu, handle, direction, owed: owed), due: nil, fault: fault))
        }
    }

    private mutating func give(_ pdu: FaultPDU, _ handle: ConnectionHandle, _ direction: FaultDirection, owed: Int) {
        switch direction {
        case .fromPhone: giveHost(pdu, on: handle)
        case .toPhone: send(pdu, on: handle, owed: owed)
        }
    }

    /// A PDU for the host, from the phone or in its stead, in one packet.
    mutating func giveHost(_ pdu: FaultPDU, on handle: ConnectionHandle) {
        giveHost(ACLPacket(handle: handle, boundary: .firstFlushable, data: pdu.bytes[...]).packet)
    }

    /// A PDU for the phone, from the host or in its stead.
    /// - Parameter owed: how many packets the host is told of when it has been sent.
    mutating func send(_ pdu: FaultPDU, on handle: ConnectionHandle, owed: Int = 0) {
        guard let index = link(handle) else { return }
        let bytes = pdu.bytes
        let size = links[index].toPhone.fragmentSize
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + size)
            let packet = ACLPacket(
                handle: handle,
                boundary: start == 0 ? .firstNonFlushable : .continuing,
                data: bytes[start..<end]
            )
            waitingData.append((handle, packet.packet, end == bytes.count ? owed : 0))
            start = end
        }
    }

    // MARK: Completed packets

    /// Tells the host that the controller is done with packets.
    mutating func tellCompleted(_ count: Int, on handle: ConnectionHandle) {
        guard count > 0, let index = link(handle) else { return }
        if faults.isAtWork(.hci(.noBuffers), at: now) {
            links[index].withheld += count
            return
        }
        let entry = CompletedPacketsList.Entry(handle: handle, count: UInt16(clamping: count))
        giveHost(
            HCIEvent.numberOfCompletedPackets(NumberOfCompletedPackets(packets: CompletedPacketsList([entry]))).packet
        )
    }

    /// The controller is done with packets: the host is told of its own.
    mutating func completed(_ list: CompletedPacketsList) {
        for entry in list {
            guard let index = link(entry.handle) else {
                let list = CompletedPacketsList([entry])
                giveHost(HCIEvent.numberOfCompletedPackets(NumberOfCompletedPackets(packets: list)).packet)
                continue
            }
            let count = min(Int(entry.count), links[index].inFlight.count)
            let owed = links[index].inFlight.prefix(count).reduce(0, +)
            links[index].inFlight.removeFirst(count)
            tellCompleted(owed, on: entry.handle)
        }
    }

    /// Gives the controller what it has room for.
    mutating func pump() {
        while let next = waitingData.first {
            // A controller whose buffers are not known takes one packet after the other.
            let outstanding = links.reduce(0) { $0 + $1.inFlight.count }
            guard outstanding < max(1, packetCount), let index = link(next.handle) else { break }
            waitingData.removeFirst()
            links[index].inFlight.append(next.owed)
            giveController(next.packet)
        }
        pumpCommands()
    }

    /// A connection is gone, and everything on it.
    mutating func remove(_ handle: ConnectionHandle) {
        links.removeAll { $0.handle == handle }
        waitingData.removeAll { $0.handle == handle }
        held.removeAll { item in
            if case .pdu(_, handle, _, _) = item.content { true } else { false }
        }
    }
}
