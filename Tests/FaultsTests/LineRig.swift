import BluetoothHCI

@testable import Faults

/// A line of faults alone: what a controller and a host give it, octet by octet, and what each of them hears.
///
/// Its link has the handle 0x0040, and its phone the address C0:DE:00:00:00:01.
struct LineRig {
    static let handle: ConnectionHandle = 0x0040
    static let phone = DeviceAddress(0xC0DE_0000_0001)

    var line: HCIFaultLine
    private(set) var toHost: [[UInt8]] = []
    private(set) var toController: [[UInt8]] = []
    private(set) var firings: [FaultFiring] = []
    private(set) var actions: [HCIFaultLine.Action] = []
    private var lastID = 0

    /// - Parameters:
    ///   - packetCount: how many ACL packets the controller has room for.
    ///   - isConnected: whether the link is there.
    ///   - outstanding: how many packets of it the controller has.
    init(packetCount: Int = 8, isConnected: Bool = true, outstanding: Int = 0) {
        let connection = HCIFaultLine.Basis.Connection(
            handle: Self.handle,
            phone: Self.phone,
            outstandingPackets: outstanding
        )
        line = HCIFaultLine(
            HCIFaultLine.Basis(packetCount: packetCount, connections: isConnected ? [connection] : [])
        )
    }

    mutating func add(_ text: String, at now: Duration = .zero) throws {
        lastID += 1
        try line.add(Fault(parsing: text), as: FaultID(rawValue: lastID), at: now)
        collect()
    }

    /// Takes all faults away.
    mutating func clear(at now: Duration = .zero) {
        _ = line.clear(nil, at: now)
        collect()
    }

    /// The host says something.
    mutating func host(_ packet: [UInt8], at now: Duration = .zero) {
        line.fromHost(packet[...], at: now)
        collect()
    }

    /// The controller says something.
    mutating func controller(_ packet: [UInt8], at now: Duration = .zero) {
        line.fromController(packet[...], at: now)
        collect()
    }

    mutating func advance(to now: Duration) {
        line.advance(to: now)
        collect()
    }

    /// What the host has heard since this was asked last.
    mutating func hostHears() -> [[UInt8]] {
        defer { toHost = [] }
        return toHost
    }

    /// What the controller has heard since this was asked last.
    mutating func controllerHears() -> [[UInt8]] {
        defer { toController = [] }
        return toController
    }

    private mutating func collect() {
        var buffer: [UInt8] = []
        while line.nextForHost(into: &buffer) { toHost.append(buffer) }
        while line.nextForController(into: &buffer) { toController.append(buffer) }
        while let firing = line.nextFiring() { firings.append(firing) }
        while let action = line.nextAction() { actions.append(action) }
    }

    // MARK: Packets

    /// A PDU of the phone's in one packet: it begins, and may be flushed.
    static func fromPhone(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] { acl(0x20, whole(channel, payload)) }

    /// A PDU of the watch's in one packet: it begins, and may not be flushed.
    static func toPhone(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] { acl(0x00, whole(channel, payload)) }

    /// An ACL packet of the link.
    /// - Parameter flags: the upper octet of handle and flags: 0x00 and 0x20 begin a PDU, 0x10 continues one.
    static func acl(_ flags: UInt8, _ data: [UInt8]) -> [UInt8] { [0x02, 0x40, flags, UInt8(data.count), 0x00] + data }

    /// The host is told that the controller is done with one packet of the link's.
    static let oneCompleted: [UInt8] = [0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x01, 0x00]

    private static func whole(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] {
        [UInt8(payload.count), 0x00, UInt8(truncatingIfNeeded: channel), UInt8(channel >> 8)] + payload
    }
}
