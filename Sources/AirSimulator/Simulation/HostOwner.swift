import BluetoothHCI

/// A host that owns another: it hands everything on to it, and looks at the result in `settle(at:)`.
///
/// A watch whose changes are stored, say, or a phone that says something as soon as it is connected. A conforming type
/// writes `settle(at:)`, and those functions of `HCIHost` in which it does more than hand on.
public protocol HostOwner: HCIHost {
    /// The type of the host that is owned.
    associatedtype Host: HCIHost
    /// The host that is owned.
    var host: Host { get set }
    /// Takes what the host has to report.
    ///
    /// The functions that this protocol provides call it after `start(at:)`, `receive(_:at:)` and `advance(to:)`, and
    /// `SimulatedPair` calls it after each use of the host. `nextPacket(into:)` does not call it, although a packet that
    /// leaves may cause events: they wait for the next call.
    mutating func settle(at now: Duration)
}

extension HostOwner {
    public var nextDeadline: Duration? { host.nextDeadline }

    public mutating func start(at now: Duration) {
        host.start(at: now)
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        host.advance(to: now)
        settle(at: now)
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }
}
