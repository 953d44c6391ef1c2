import BluetoothHCI

/// Which events that this host does not know have come.
///
/// A controller may send events of its manufacturer's own whenever it likes, and some send hundreds a second: the first of
/// each kind is worth a line in the log, and the others nothing.
struct UnknownEvents: Sendable {
    /// Codes of events, and subevents of LE Meta behind its own code.
    private var seen: Set<UInt16> = []

    /// Whether it is the first of its kind.
    mutating func isFirst(_ code: HCIEventCode) -> Bool { seen.insert(UInt16(code.rawValue)).inserted }

    /// Whether it is the first of its kind.
    mutating func isFirst(_ subevent: LESubevent) -> Bool {
        seen.insert(UInt16(HCIEventCode.leMeta.rawValue) << 8 | UInt16(subevent.rawValue)).inserted
    }
}
