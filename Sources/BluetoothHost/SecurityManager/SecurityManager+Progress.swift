import BluetoothHCI

extension SecurityManager {
    /// Whether a pairing is going on on a link: from its first command to its end, which comes at the latest 30 s after the
    /// last command (Core 5.4, Vol 3, Part H, 3.4).
    package func isPairing(_ handle: ConnectionHandle) -> Bool { links[handle]?.isPairing ?? false }
}
