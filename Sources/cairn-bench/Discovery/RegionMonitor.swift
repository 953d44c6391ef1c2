import BluetoothHCI

/// The part of a phone that listens for a beacon on behalf of an app that does not run.
struct RegionMonitor: HCIHost {
    /// Whether the beacon has been heard since `listen()`.
    private(set) var hasHeard = false
    private let beacon: [UInt8]
    private var commands: [[UInt8]]

    /// - Parameter beacon: the AD structures that it waits for.
    init(_ scanner: ScannerProfile, beacon: [UInt8]) {
        self.beacon = beacon
        let scan = LESetScanParameters(
            type: .passive,
            interval: scanner.interval,
            window: scanner.window,
            ownAddressType: .public,
            filterPolicy: .anyone
        )
        commands = [
            SetEventMask(mask: .leMeta).packet,
            LESetEventMask(mask: LEEventMask(LEAdvertisingReport.subevent)).packet,
            scan.packet,
            LESetScanEnable(isEnabled: true, filtersDuplicates: false).packet,
        ]
    }

    /// The phone is outside of the region: what is heard from now on counts.
    mutating func listen() { hasHeard = false }

    var nextDeadline: Duration? { nil }
    mutating func start(at now: Duration) {}
    mutating func advance(to now: Duration) {}

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        // The data of a report stand in front of its last octet, the signal strength.
        if !hasHeard, packet.dropLast().suffix(beacon.count).elementsEqual(beacon) { hasHeard = true }
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard !commands.isEmpty else { return false }
        buffer = commands.removeFirst()
        return true
    }
}
