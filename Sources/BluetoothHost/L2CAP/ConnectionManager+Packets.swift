import BluetoothHCI
import ByteCoding

/// L2CAP: frames from ACL packets to the channels, and back.
extension ConnectionManager {
    // MARK: Inbound

    /// Takes an ACL packet, from its packet type byte on.
    mutating func receive(_ packet: ArraySlice<UInt8>, _ core: inout HostCore) throws(ByteDecodingError) {
        guard let frame = WholeFrame(packet) else {
            let part = try ACLPacket(body: packet.dropFirst())
            guard let index = announced(part.handle, &core) else { return }
            return recombine(part, index, &core)
        }
        guard let index = announced(frame.handle, &core) else { return }
        let isAlone = links.changeQuietly(index) { link in
            guard link.recombiner.isIdle else { return false }
            link.traffic.countReceived(frame.payloadCount, on: frame.channel)
            return true
        }
        guard isAlone else { return recombine(try ACLPacket(body: packet.dropFirst()), index, &core) }
        receive(packet, from: WholeFrame.payloadOffset, on: frame.channel, index, &core)
    }

    /// Where the link is on which a packet came; nil if there is none. Data cannot come before the controller has said all about how
    /// the connection was made. Inlined: each packet comes by here.
    @inline(__always)
    private mutating func announced(_ handle: ConnectionHandle, _ core: inout HostCore) -> Int? {
        guard let index = link(handle) else {
            core.counters.unknownConnectionPackets += 1
            core.report(.packetOfUnknownConnection(handle))
            return nil
        }
        if !links[index].isAnnounced { announce(index, &core) }
        return index
    }

    /// Takes a packet that is not a frame, whole and alone.
    @inline(never)
    private mutating func recombine(_ packet: ACLPacket, _ index: Int, _ core: inout HostCore) {
        let outcome = links[index].recombiner.receive(packet.data, isStart: packet.boundary != .continuing)
        for problem in outcome.problems {
            core.counters.droppedFrames += 1
            core.report(.frameDropped(packet.handle, problem))
        }
        for frame in outcome.lost { lose(frame, index, &core) }
        if let frame = outcome.frame {
            links.changeQuietly(index) { $0.traffic.countReceived(frame.payload.count, on: frame.channel) }
            receive(frame.payload, on: frame.channel, index, &core)
        }
    }

    /// Takes the payload of a frame: what follows the first `offset` octets.
    private mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        from offset: Int = 0,
        on channel: ChannelID,
        _ index: Int,
        _ core: inout HostCore
    ) {
        switch channel {
        case .attribute: core.gatt.receive(bytes.dropFirst(offset), on: links.handle(at: index), at: core.now)
        case .signaling: receiveSignaling(bytes.dropFirst(offset), index, &core)
        case .securityManager: receiveSecurity(bytes.dropFirst(offset), index, &core)
        default: receiveFrame(bytes, from: offset, on: channel, index, &core)
        }
    }

    /// A frame did not arrive as it was sent. A channel whose data have a hole now is closed.
    private mutating func lose(_ frame: FrameRecombiner.LostFrame, _ index: Int, _ core: inout HostCore) {
        switch frame.channel {
        case .attribute, .signaling, .securityManager:
            guard case .frameTooLong = frame.problem else { return }
            // Each refuses what exceeds its MTU, by the octets in front. As the whole is not kept, zeros stand for the rest.
            let missing = L2CAPFrame.maximumPayload - frame.beginning.count
            let payload = frame.beginning + [UInt8](repeating: 0, count: missing)
            receive(payload, on: frame.channel, index, &core)
        default:
            let handle = links[index].connection.handle
            let violation: ChannelViolation =
                if case .frameTooLong(let count) = frame.problem { .mpsExceeded(count) } else { .frameDamaged }
            if !channels.lost(frame.channel, violation, handle, at: core.now) {
                core.counters.unknownChannelFrames += 1
            }
            passOnChannelEvents(&core)
        }
    }

    private mutating func receiveSignaling(_ payload: ArraySlice<UInt8>, _ index: Int, _ core: inout HostCore) {
        let handle = links[index].connection.handle
        switch channels.receiveSignaling(payload, on: handle, at: core.now) {
        case .updateRequested(let parameters, let identifier):
            links[index].parametersRequested(parameters, identifier: identifier, &core, &channels)
        case .updateAnswered(let isAccepted): links[index].updateAnswered(isAccepted: isAccepted, &core, &channels)
        case .done(let problem):
            if let problem { core.report(.signaling(handle, problem)) }
        }
        passOnChannelEvents(&core)
    }

    /// Takes the payload of a frame on a channel that is not a fixed one.
    private mutating func receiveFrame(
        _ bytes: ArraySlice<UInt8>,
        from offset: Int,
        on channel: ChannelID,
        _ index: Int,
        _ core: inout HostCore
    ) {
        let handle = links.handle(at: index)
        switch channels.receive(bytes, from: offset, on: channel, handle, at: core.now) {
        case .taken: break
        case .readable(let channel): passOn(.readable(channel), &core)
        case .refused: passOnChannelEvents(&core)
        case .unknownChannel:
            core.counters.unknownChannelFrames += 1
            core.report(.frameOnUnknownChannel(handle, channel, count: bytes.count - offset))
        }
    }

    /// Passes on what happened to channels: mostly nothing, which is seen without a call.
    @inline(__always)
    mutating func passOnChannelEvents(_ core: inout HostCore) {
        if channels.hasEvents { passOnEvents(&core) }
    }

    private mutating func passOnEvents(_ core: inout HostCore) {
        while let event = channels.nextEvent() { passOn(event, &core) }
    }

    private mutating func passOn(_ event: ChannelEvent, _ core: inout HostCore) {
        if core.gatt.enhancedBearers > 0, takeForBearers(event, &core) { return }
        if case .closed(let id, .violation(let violation), _) = event {
            core.report(.channelViolated(id.connection, violation))
        }
        core.emit(.channel(event))
    }

    // MARK: Outbound

    /// Takes the next ACL packet into `buffer`, if the controller has room for one: connections take turns, and what
    /// they have to say is asked for only when it can be sent. One that had nothing to say is not asked again until something
    /// has changed at it, so that connections that are idle cost the others nothing.
    mutating func nextACLPacket(into buffer: inout [UInt8], _ core: inout HostCore) -> Bool {
        guard core.isReady, transmission.buffers.free > 0 else { return false }
        mayHaveOutput.formUnion(links.stirred.union(channels.connections.stirred))
        mayHaveOutput.formUnion(core.gatt.stirred.union(security?.links.stirred ?? []))
        guard !mayHaveOutput.isEmpty else { return false }
        let share = transmission.buffers.share(of: links.count)
        for turn in links.indices {
            let index = transmission.link(inTurn: turn, of: links.count)
            guard mayHaveOutput.contains(StirredConnections(links.handle(at: index))),
                links[index].outstandingPackets < share
            else { continue }
            let dataLength = transmission.buffers.dataLength
            guard links[index].nextPacket(dataLength, into: &buffer, &core.gatt, &security, &channels) else {
                settle(index, &core)
                continue
            }
            transmission.sent(by: index, of: links.count)
            passOnChannelEvents(&core)
            return true
        }
        return false
    }

    /// A connection has nothing to say for now: nor have those that share its bit, or it is asked again.
    private mutating func settle(_ index: Int, _ core: inout HostCore) {
        let asked = StirredConnections(links.handle(at: index))
        let isShared = links.indices.contains { $0 != index && StirredConnections(links.handle(at: $0)) == asked }
        links.settle(asked)
        channels.connections.settle(asked)
        core.gatt.settle(asked)
        security?.links.settle(asked)
        if !isShared { mayHaveOutput.subtract(asked) }
    }

    /// The controller has sent packets, or dropped them, and has room again.
    mutating func packetsCompleted(_ list: CompletedPacketsList, _ core: inout HostCore) {
        for entry in list {
            guard let index = link(entry.handle) else {
                // A controller may count packets of a connection that it has just ended; they were returned then.
                core.report(.packetsOfUnknownConnectionCompleted(entry.handle, count: Int(entry.count)))
                continue
            }
            let count = min(Int(entry.count), links[index].outstandingPackets)
            if count < Int(entry.count) {
                core.counters.excessCompletedPackets += Int(entry.count) - count
                core.report(.excessPacketsCompleted(entry.handle, count: Int(entry.count), outstanding: count))
            }
            links[index].outstandingPackets -= count
            transmission.buffers.giveBack(count)
        }
    }
}
