import BluetoothHCI
import BluetoothHost

/// Streams that send every byte back.
extension Firmware {
    /// Sends back as much as there is room for. The rest is not read, so that the phone gets no credits for more: a phone that
    /// does not listen cannot go on talking.
    mutating func pumpLoopbacks(of connection: ConnectionHandle, at now: Duration) {
        guard let ids = links[connection]?.loopbacks.keys, !ids.isEmpty else { return }
        for id in ids {
            streamBuffer.removeAll(keepingCapacity: true)
            host.read(host.writableCount(of: id), from: id, into: &streamBuffer, at: now)
            guard !streamBuffer.isEmpty else { continue }
            // There was room for all of it.
            _ = host.write(streamBuffer[...], to: id, at: now)
            links[connection]?.policy.need(.stream, at: now)
        }
    }
}
