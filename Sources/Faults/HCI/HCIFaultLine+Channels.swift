import BluetoothHCI
import BluetoothHost

/// L2CAP: the signaling channel, credit-based channels, and connection parameters.
extension HCIFaultLine {
    /// Where the data of a signaling command begin: behind code, identifier and length.
    private static let header = 4
    /// The first identifier of requests that are invented. Hosts count theirs up from 1.
    private static let firstInvented: UInt8 = 0xE0
    /// The reason and status for parameters that a peer does not take: Unacceptable Connection Parameters.
    private static let unacceptable = HCIStatus(rawValue: 0x3B)

    mutating func judgeSignaling(_ pdu: FaultPDU, _ index: Int, _ direction: FaultDirection) -> Verdict {
        guard let code = pdu[0], let identifier = pdu[1] else { return .pass(pdu) }
        let handle = links[index].handle
        switch code {
        case SignalingPDU.updateRequestCode where direction == .toPhone:
            trigger("parameter-update", on: handle)
            guard let fault = fire(.parametersRefused, on: index, where: direction.matches) else { return .pass(pdu) }
            faults.tell(fault, on: handle, "the watch's request for other parameters is refused")
            giveHost(.signaling(SignalingPDU.updateResponseCode, identifier, [1]), on: handle)
            return .drop
        case SignalingPDU.disconnectionResponseCode where direction == .fromPhone:
            guard let place = links[index].inventedRequests.firstIndex(of: identifier) else { return .pass(pdu) }
            links[index].inventedRequests.remove(at: place)
            return .drop
        case SignalingPDU.disconnectionResponseCode:
            // The host answers a request that the phone has not made.
            guard links[index].inventedAnswers.contains(identifier) else { return .pass(pdu) }
            links[index].inventedAnswers.removeAll { $0 == identifier }
            return .drop
        case SignalingPDU.disconnectionRequestCode:
            forgetChannel(pdu, index, direction)
            return .pass(pdu)
        default: break
        }
        guard let creditBased = CreditBasedCode(rawValue: code) else { return .pass(pdu) }
        return judge(creditBased, pdu, identifier, index, direction)
    }

    private mutating func judge(
        _ code: CreditBasedCode,
        _ pdu: FaultPDU,
        _ identifier: UInt8,
        _ index: Int,
        _ direction: FaultDirection
    ) -> Verdict {
        let handle = links[index].handle
        switch code {
        case .flowControlCredit:
            let channel = Int(pdu.word(at: Self.header) ?? 0)
            guard direction == .toPhone,
                let fault = fire(.creditsWithheld, on: index, where: { ($0.number(.channel) ?? channel) == channel })
            else { return .pass(pdu) }
            let credits = pdu.word(at: Self.header + 2) ?? 0
            faults.tell(fault, on: handle, "\(credits) credits for the channel \(channel) are withheld")
            return .drop
        case .connectionRequest, .enhancedConnectionRequest:
            let psm = Int(pdu.word(at: Self.header) ?? 0)
            if direction == .fromPhone,
                let fault = fire(.psmRefused, on: index, where: { ($0.number(.psm) ?? psm) == psm })
            {
                let result = UInt16(fault.fault.number(.result) ?? 2)
                faults.tell(fault, on: handle, "a channel to the PSM \(psm) is refused with the result \(result)")
                // An enhanced response has a 0 for each channel that was asked for (Core 5.4, Vol 3, Part A, 4.26).
                let none = [UInt16](repeating: 0, count: channels(of: pdu, from: 8).count)
                let answer =
                    code == .connectionRequest
                    ? FaultPDU.signaling(CreditBasedCode.connectionResponse.rawValue, identifier, [0, 0, 0, 0, result])
                    : FaultPDU.signaling(
                        CreditBasedCode.enhancedConnectionResponse.rawValue,
                        identifier,
                        [0, 0, 0, result] + none
                    )
                send(answer, on: handle)
                return .drop
            }
            let ends = code == .connectionRequest ? channels(of: pdu, from: 2, atMost: 1) : channels(of: pdu, from: 8)
            links[index].asked.append((identifier, direction == .toPhone, ends))
            if links[index].asked.count > 16 { links[index].asked.removeFirst() }
            // Behind the PSM: a source CID in the simple request, then MTU and MPS.
            return shrink(pdu, mpsAt: code == .connectionRequest ? 6 : 4, index, direction)
        case .connectionResponse, .enhancedConnectionResponse:
            let isSimple = code == .connectionResponse
            let ends = isSimple ? channels(of: pdu, from: 0, atMost: 1) : channels(of: pdu, from: 8)
            noteAnswer(identifier, ends, index, direction)
            return shrink(pdu, mpsAt: isSimple ? 4 : 2, index, direction)
        case .reconfigureRequest, .reconfigureResponse: return .pass(pdu)
        }
    }

    /// The watch's MPS, where it tells it.
    private mutating func shrink(
        _ pdu: FaultPDU,
        mpsAt place: Int,
        _ index: Int,
        _ direction: FaultDirection
    ) -> Verdict {
        guard direction == .toPhone, let fault = fire(.tinyMPS, on: index) else { return .pass(pdu) }
        let mps = UInt16(fault.fault.number(.mps) ?? 23)
        var changed = pdu
        changed.setWord(mps, at: Self.header + place)
        faults.tell(fault, on: links[index].handle, "the phone is told an MPS of \(mps)")
        return .pass(changed)
    }

    // MARK: Channels

    private func channels(of pdu: FaultPDU, from place: Int, atMost limit: Int = 5) -> [ChannelID] {
        (0..<limit).compactMap { number in
            pdu.word(at: Self.header + place + 2 * number).map(ChannelID.init(rawValue:))
        }
    }

    private mutating func noteAnswer(
        _ identifier: UInt8,
        _ ends: [ChannelID],
        _ index: Int,
        _ direction: FaultDirection
    ) {
        let isWatchs = direction == .fromPhone
        guard
            let place = links[index].asked.firstIndex(where: { $0.identifier == identifier && $0.isWatch == isWatchs })
        else { return }
        let asked = links[index].asked.remove(at: place)
        for (asker, answerer) in zip(asked.ends, ends) where answerer.rawValue != 0 {
            links[index].channels.append(
                FaultLink.Channel(watch: isWatchs ? asker : answerer, phone: isWatchs ? answerer : asker)
            )
        }
    }

    private mutating func forgetChannel(_ pdu: FaultPDU, _ index: Int, _ direction: FaultDirection) {
        // The receiver's end comes first.
        guard let end = pdu.word(at: Self.header).map(ChannelID.init(rawValue:)) else { return }
        links[index].channels.removeAll { (direction == .toPhone ? $0.phone : $0.watch) == end }
    }

    /// Data on a channel that is not a fixed one.
    mutating func judgeChannelData(_ pdu: FaultPDU, _ index: Int, _ direction: FaultDirection) -> Verdict {
        let (handle, phone, now) = (links[index].handle, links[index].phone, now)
        guard
            let channel = links[index].channels.first(where: { channel in
                (direction == .fromPhone ? channel.watch : channel.phone) == pdu.channel
            })
        else { return .pass(pdu) }
        for place in faults.indices(of: .hci(.channelDropped))
        where faults.running[place].isAtWork(at: now) && faults.running[place].concerns(phone) {
            let limit = faults.running[place].fault.number(.bytes) ?? 0
            let passed = faults.update(place) { fault in
                fault.passed += pdu.payload.count
                return fault.passed
            }
            guard passed > limit, faults.update(place, { $0.fires(at: now, phone: phone) }) else { continue }
            faults.tell(faults.running[place], on: handle, "the channel \(channel.watch) is closed")
            close(channel, index)
            return .drop
        }
        return .pass(pdu)
    }

    /// Each side is told that the other wants the channel closed.
    private mutating func close(_ channel: FaultLink.Channel, _ index: Int) {
        let handle = links[index].handle
        let taken = links[index].inventedRequests + links[index].inventedAnswers
        let identifier = (Self.firstInvented...UInt8.max).first { !taken.contains($0) } ?? Self.firstInvented
        links[index].inventedRequests.append(identifier)
        links[index].inventedAnswers.append(identifier)
        links[index].channels.removeAll { $0.watch == channel.watch }
        let code = SignalingPDU.disconnectionRequestCode
        giveHost(.signaling(code, identifier, [channel.watch.rawValue, channel.phone.rawValue]), on: handle)
        send(.signaling(code, identifier, [channel.phone.rawValue, channel.watch.rawValue]), on: handle)
    }

    // MARK: Parameters

    /// The host takes the phone's parameters: it refuses them instead.
    /// - Returns: the command in its stead; nil to leave it.
    mutating func judgeParameterReply(_ command: HCICommandPacket) -> [UInt8]? {
        guard let reply = try? LERemoteConnectionParameterRequestReply(parameters: command.parameters),
            let index = link(reply.handle),
            let fault = fire(.parametersRefused, on: index, where: FaultDirection.fromPhone.matches)
        else { return nil }
        faults.tell(fault, on: reply.handle, "the phone's request for other parameters is refused")
        return LERemoteConnectionParameterRequestNegativeReply(handle: reply.handle, reason: Self.unacceptable).packet
    }

    /// The host asks the phone for other parameters, by the link layer's procedure.
    /// - Returns: whether it is answered here, as the controller would if the phone refused.
    mutating func refusesUpdate(_ command: HCICommandPacket) -> Bool {
        guard let update = try? LEConnectionUpdate(parameters: command.parameters), let index = link(update.handle)
        else {
            return false
        }
        trigger("parameter-update", on: update.handle)
        guard let fault = fire(.parametersRefused, on: index, where: FaultDirection.toPhone.matches) else {
            return false
        }
        faults.tell(fault, on: update.handle, "the watch's request for other parameters is refused")
        giveHost(CommandStatus(status: .success, commandCredits: 1, opcode: command.opcode))
        giveHost(
            LEConnectionUpdateComplete(
                status: Self.unacceptable,
                handle: update.handle,
                interval: update.parameters.intervalMaximum,
                latency: update.parameters.latency,
                supervisionTimeout: update.parameters.supervisionTimeout
            )
        )
        return true
    }
}
