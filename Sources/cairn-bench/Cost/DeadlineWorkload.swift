import BluetoothHCI
import BluetoothHost

/// Asks a host with eight connections, each of which waits for an answer, when it is due: every turn of every loop does.
struct DeadlineWorkload: Workload {
    static let connectionCount: UInt16 = 8

    private let host: LEHost

    init() throws {
        var driver = try ServerHost.connected(try ServerHost.database(attributeCount: 40))
        try ServerHost.addConnections(Self.connectionCount - 1, to: &driver)
        for connection in driver.host.connections {
            try driver.host.gatt.start(.discoverAllPrimaryServices, on: connection.handle, at: driver.now)
        }
        _ = driver.takePackets { _ in }
        host = driver.host
        let count = host.connections.count
        guard count == Self.connectionCount else { throw WorkloadFailure("there are \(count) connections") }
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var due = 0
        for _ in 0..<count where host.nextDeadline != nil { due += 1 }
        guard due == count else { throw WorkloadFailure("the host waits for nothing") }
    }
}
