import BluetoothHCI
import DequeModule

/// Enhanced ATT bearers: between their channels and the GATT layer.
///
/// Source: Core 5.4, Vol 3, Part G, 5.3.
extension ConnectionManager {
    /// Does with channels what the GATT layer asks for. Inlined, since each packet asks, and mostly there are no such bearers.
    @inline(__always)
    mutating func serveBearers(_ core: inout HostCore) {
        if core.gatt.enhancedBearers > 0 { serveRequests(&core) }
    }

    private mutating func serveRequests(_ core: inout HostCore) {
        while let request = core.gatt.takeChannelRequest() {
            switch request {
            case .open(let handle, let count):
                let asked = try? channels.openEnhanced(
                    count,
                    to: .enhancedATT,
                    on: handle,
                    core.gatt.bearerChannel,
                    at: core.now
                )
                core.gatt.channelsAsked(asked ?? [], on: handle, pause: pauseBeforeRetry(handle))
            case .close(let channel): channels.close(channel, at: core.now)
            }
            passOnChannelEvents(&core)
        }
    }

    /// How long to wait before channels are asked for once more: the peripheral lets the central go first
    /// (Core 5.4, Vol 3, Part G, 5.4).
    private func pauseBeforeRetry(_ handle: ConnectionHandle) -> Duration {
        guard let index = link(handle), links[index].connection.role == .peripheral else {
            return EnhancedBearerOpening.leastPause
        }
        let connection = links[index].connection
        let twoTurns = connection.interval.duration * (2 * (Int(connection.latency) + 1))
        return max(EnhancedBearerOpening.leastPause, twoTurns)
    }

    /// Takes what happened to a channel, if a bearer is on it.
    /// - Returns: whether one is.
    mutating func takeForBearers(_ event: ChannelEvent, _ core: inout HostCore) -> Bool {
        switch event {
        case .opened(let channel):
            guard channel.spsm == .enhancedATT else { return false }
            core.gatt.bearerOpened(channel, at: core.now)
        case .readable(let id):
            guard core.gatt.hasBearer(on: id) else { return false }
            var pdu: [UInt8] = []
            while channels.readSDU(from: id, into: &pdu, at: core.now) {
                core.gatt.receive(pdu[...], on: id, at: core.now)
                pdu = []
            }
        case .writable(let id), .unsent(let id, _): return core.gatt.hasBearer(on: id)
        case .reconfigured(let ids, _):
            let bearers = ids.filter { core.gatt.hasBearer(on: $0) }
            for id in bearers { if let channel = channels[id] { core.gatt.bearerReconfigured(channel) } }
            return !bearers.isEmpty && bearers.count == ids.count
        case .closed(let id, let closure, _):
            guard core.gatt.hasBearer(on: id) || core.gatt.awaits(id) else { return false }
            if case .violation(let violation) = closure { core.report(.channelViolated(id.connection, violation)) }
            core.gatt.bearerClosed(id, closure, at: core.now)
        }
        return true
    }
}

extension GATTLayer {
    /// Gives each channel of a connection's enhanced bearers the next PDU, if it has nothing else to send.
    mutating func fillBearers(of connection: ConnectionHandle, _ channels: inout ChannelManager) {
        var buffer: [UInt8] = []
        for channel in bearerChannels(of: connection) where channels.unsentCount(of: channel) == 0 {
            guard nextPDU(on: channel, into: &buffer, at: time.now) else { continue }
            do throws(ChannelError) {
                try channels.writeSDU(buffer[...], to: channel, at: time.now)
            } catch {
                // The channel is gone, or has become too short for what was written before.
                channelRequests.append(.close(channel))
            }
        }
    }
}
