import BluetoothHCI

/// Connections at which something was changed, so that they may have something to send: a bit for each handle modulo 64.
///
/// Controllers number their connections in a row, so that two of them seldom have the same bit. Where two have, both are
/// taken to be changed whenever one is.
struct StirredConnections: OptionSet, Sendable {
    let rawValue: UInt64

    init(rawValue: UInt64) { self.rawValue = rawValue }

    /// A connection alone.
    init(_ handle: ConnectionHandle) { rawValue = 1 << UInt64(handle.rawValue & 63) }
}
