import BluetoothHCI
import BluetoothHost
import PebbleWatch

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

/// A watch that is connected to a phone and has nothing to do yet.
struct WaitingWatch {
    private var watch: Watch
    private let now: Duration

    init() throws {
        var pair = try WatchAndPhone(.reversed)
        let taken = try pair.takeWatch()
        watch = taken.watch
        now = taken.now
        watch.advance(to: now)
        watch.discardEvents()
        guard let deadline = watch.nextDeadline, deadline > now else {
            throw WorkloadFailure("the watch has something to do at once, or never")
        }
    }

    /// A moment passes, before anything is due.
    mutating func wait() { watch.advance(to: now) }

    /// When the watch is due, asked where it stands, as `HostRunner` asks: a property that is read is a copy of all of it.
    mutating func deadline() -> Duration? { Self.deadline(of: &watch) }

    private static func deadline(of watch: inout Watch) -> Duration? { watch.nextDeadline }
}

/// Asks a watch when it is due: every turn of every loop does.
struct WatchDeadlineWorkload: Workload {
    private var waiting: WaitingWatch

    init() throws { waiting = try WaitingWatch() }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var due = 0
        for _ in 0..<count where waiting.deadline() != nil { due += 1 }
        guard due == count else { throw WorkloadFailure("the watch waits for nothing") }
    }
}

/// Lets a moment pass for a watch that has nothing to do yet: every turn of every loop does.
struct WatchAdvanceWorkload: Workload {
    private var waiting: WaitingWatch

    init() throws { waiting = try WaitingWatch() }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { waiting.wait() }
        guard waiting.deadline() != nil else { throw WorkloadFailure("the watch waits for nothing") }
    }
}
