/// Where a line of a log comes from: a layer of the host, what stands on it, or what carries it. Each raw value is the label of
/// that layer in logs and in settings, and stands nowhere else: a label that no log knows cannot be made.
public enum Layer: String, Hashable, Sendable, CaseIterable {
    /// The process: its loop, signals, captures.
    case daemon
    /// The connection to a controller outside this process, and hosts on the air port.
    case transport
    /// The virtual radio.
    case air
    /// Commands, events and data between host and controller.
    case hci
    /// Advertising, scanning and connections: the Generic Access Profile.
    case gap
    /// Signaling, credit-based channels, and frames that are put together from packets.
    case l2cap
    /// Pairing, bonds and encryption: the Security Manager Protocol.
    case smp
    /// PDUs that were refused, ignored or not answered: the Attribute Protocol.
    case att
    /// Services, values and procedures: the Generic Attribute Profile.
    case gatt
    /// The Pebble transport over GATT.
    case ppogatt
    /// Sessions of companions and the services that talk to them.
    case session
    /// The real firmware in its emulator: how that runs, and what it logs itself.
    case firmware
    /// The watch as a whole: advertising policy, pairing, apps.
    case watch
    /// What the watch remembers, when that fails.
    case store
}
