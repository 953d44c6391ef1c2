import BluetoothHCI

/// A host that owns another: it hands everything on to it, and after each step looks at what came of that.
///
/// A watch whose changes are stored, say, or a phone that says something as soon as it is connected. Whoever conforms writes
/// `settle(at:)`, and those functions of `HCIHost` in which it does more than hand on.
public protocol HostOwner: HCIHost {
    /// The type of the host that is owned.
    associatedtype Host: HCIHost
    /// The host that is owned.
    var host: Host { get set }
    /// Takes what the host has to report. Called after whatever was done to it.
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
