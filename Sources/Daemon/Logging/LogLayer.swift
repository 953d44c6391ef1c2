import BluetoothHost
import HCIRuntime

/// The parts of Cairn that log under a name of their own.
public enum LogLayer: String, CaseIterable, Sendable {
    /// The loop, signals, captures.
    case daemon
    /// The connection to a controller outside this process, and hosts on the air port.
    case transport
    /// The virtual radio.
    case air
    /// Commands, events and data between host and controller; every packet at level `trace`.
    case hci
    /// Advertising, scanning and connections.
    case gap
    case l2cap
    case smp
    case att
    case gatt
    /// The Pebble transport over GATT.
    case ppogatt
    /// Sessions of companions and the services that talk to them.
    case session
    /// The watch as a whole: advertising policy, pairing, apps.
    case watch
    /// What the watch remembers, when that fails.
    case store

    /// The layer that logs what a machine says.
    public init(_ layer: Diagnostic.Layer) {
        self =
            switch layer {
            case .hci: .hci
            case .gap: .gap
            case .l2cap: .l2cap
            case .smp: .smp
            case .att: .att
            case .gatt: .gatt
            case .ppogatt: .ppogatt
            case .session: .session
            case .watch: .watch
            case .store: .store
            }
    }
}
