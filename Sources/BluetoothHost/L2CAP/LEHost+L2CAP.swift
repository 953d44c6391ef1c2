import BluetoothHCI
import ByteCoding

/// L2CAP: frames from ACL packets to the channels, and back.
extension LEHost {
    // MARK: Inbound

    mutating func receive(_ packet: ACLPacket) {
        guard let index = link(packet.handle) else {
            counters.unknownConnectionPackets += 1
            return report(.packetOfUnknownConnection(packet.handle))
        }
        // Data cannot come before the controller has said all about how the connection was made.
        announce(index)
        let outcome = links[index].recombiner.receive(packet.data, isStart: packet.boundary != .continuing)
        for problem in outcome.problems {
            counters.droppedFrames += 1
            report(.frameDropped(packet.handle, problem))
        }
        for frame in outcome.lost { lose(frame, index) }
        if let frame = outcome.frame { receive(frame, index) }
    }

    private mutating func receive(_ frame: L2CAPFrame, _ index: Int) {
        let handle = links[index].connection.handle
        switch frame.channel {
        case .attribute: gatt.receive(frame.payload, on: handle, at: now)
        case .signaling: receiveSignaling(frame.payload, index)
        case .securityManager: receiveSecurity(frame.payload, index)
        default: receiveFrame(frame, index)
        }
    }

    /// A frame did not arrive as it was sent. A channel whose data have a hole now is closed.
    private mutating func lose(_ frame: FrameRecombiner.LostFrame, _ index: Int) {
        switch frame.channel {
        case .attribute, .signaling, .securityManager:
            guard case .frameTooLong = frame.problem else { return }
            // Each refuses what exceeds its MTU, by the octets in front. As the whole is not kept, zeros stand for the rest.
            let missing = L2CAPFrame.maximumPayload - frame.beginning.count
            let payload = frame.beginning + [UInt8](repeating: 0, count: missing)
            receive(L2CAPFrame(channel: frame.channel, payload: payload), index)
        default:
            let handle = links[index].connection.handle
            let violation: ChannelViolation =
                if case .frameTooLong(let count) = frame.problem { .mpsExceeded(count) } else { .frameDamaged }
            if !channels.lost(frame.channel, violation, handle, &links[index].signaling, at: now) {
                counters.unknownChannelFrames += 1
            }
            passOnChannelEvents()
        }
    }

    private mutating func receiveSignaling(_ payload: ArraySlice<UInt8>, _ index: Int) {
        let handle = links[index].connection.handle
        let input = links[index].signaling.receive(payload, role: links[index].connection.role)
        switch input {
        case .updateRequested(let parameters, let identifier):
            parametersRequested(index, parameters, identifier: identifier)
        case .updateAnswered(let isAccepted): updateAnswered(index, isAccepted: isAccepted)
        case .creditBased, .disconnectionRequested, .disconnected, .rejected: receiveChannelSignaling(input, index)
        case .handled(let problem):
            if let problem { report(.signaling(handle, problem)) }
        }
    }

    private mutating func receiveChannelSignaling(_ input: SignalingChannel.Input, _ index: Int) {
        let link = links[index].channelLink
        var problem: SignalingProblem?
        switch input {
        case .creditBased(let command, let identifier):
            problem = channels.receive(command, identifier: identifier, link, &links[index].signaling, at: now)
        case .disconnectionRequested(let destination, let source, let identifier):
            problem = channels.disconnectionRequested(
                destination: destination,
                source: source,
                identifier: identifier,
                link.handle,
                &links[index].signaling
            )
        case .disconnected(let destination, let source, let identifier):
            problem = channels.disconnected(
                destination: destination,
                source: source,
                identifier: identifier,
                link.handle,
                &links[index].signaling
            )
        case .rejected(_, let identifier): channels.rejected(identifier, link.handle, &links[index].signaling)
        case .updateRequested, .updateAnswered, .handled: break
        }
        if let problem { report(.signaling(link.handle, problem)) }
        passOnChannelEvents()
    }

    // MARK: Outbound

    /// Takes the next ACL packet into `buffer`, if the controller has room for one: connections take turns, and what
    /// they have to say is asked for only when it can be sent.
    mutating func nextACLPacket(into buffer: inout [UInt8]) -> Bool {
        guard isReady, buffers.free > 0 else { return false }
        let share = buffers.share(of: links.count)
        for turn in links.indices {
            let index = (nextLinkToServe + turn) % links.count
            guard links[index].outstandingPackets < share else { continue }
            guard links[index].outbound.isActive || links[index].nextFrame(&gatt, &security, &channels) else {
                continue
            }
            let handle = links[index].connection.handle
            links[index].outbound.nextPacket(handle: handle, dataLength: buffers.dataLength, into: &buffer)
            links[index].outstandingPackets += 1
            buffers.take()
            passOnChannelEvents()
            nextLinkToServe = (index + 1) % links.count
            return true
        }
        return false
    }

    /// The controller has sent packets, or dropped them, and has room again.
    mutating func packetsCompleted(_ list: CompletedPacketsList) {
        for entry in list {
            guard let index = link(entry.handle) else {
                // A controller may count packets of a connection that it has just ended; they were returned then.
                report(.packetsOfUnknownConnectionCompleted(entry.handle, count: Int(entry.count)))
                continue
            }
            let count = min(Int(entry.count), links[index].outstandingPackets)
            if count < Int(entry.count) {
                counters.excessCompletedPackets += Int(entry.count) - count
                report(.excessPacketsCompleted(entry.handle, count: Int(entry.count), outstanding: count))
            }
            links[index].outstandingPackets -= count
            buffers.giveBack(count)
        }
    }
}
