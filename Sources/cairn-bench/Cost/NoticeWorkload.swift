import BluetoothHost

/// A packet of a connection that does not exist in, and the notice of it out. Its words are not asked for.
struct NoticeWorkload: Workload {
    private var host: LEHost
    private let now: Duration
    /// An ACL packet with a frame of one octet for ATT (Core 5.4, Vol 4, Part E, 5.4.2; Vol 3, Part A, 3.1).
    private let packet: [UInt8] = [0x02, 0xFF, 0x2E, 5, 0, 1, 0, 4, 0, 0x1E]

    init() throws {
        let driver = try ServerHost.connected(try ServerHost.database(attributeCount: 40))
        host = driver.host
        now = driver.now
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var notices = 0
        for _ in 0..<count {
            host.receive(packet[...], at: now)
            while let event = host.nextEvent() {
                if case .notice(let notice) = event, case .packetOfUnknownConnection = notice.what { notices += 1 }
            }
        }
        guard notices == count else { throw WorkloadFailure("\(notices) notices of \(count) packets") }
    }
}
