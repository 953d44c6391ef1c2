import BluetoothHCI
import BluetoothHost

/// A request of the application that has not ended.
struct CentralRequest: Sendable {
    /// What a request waits for.
    enum Work: Sendable {
        case find(@Sendable (ScanResult) -> Bool)
        case scan
        case connect(LEAddress)
        case explore(ConnectionHandle)
        case procedure(ConnectionHandle, GATTProcedureID)
        case secure(ConnectionHandle)
        case disconnect(ConnectionHandle)
        /// It could not even begin.
        case fail(CentralError)
    }

    let id: CentralRequestID
    var work: Work
    /// When it ends at the latest; nil where the host sees to it.
    var deadline: Duration?
}

extension CentralRequest.Work {
    /// The connection that it is about.
    var connection: ConnectionHandle? {
        switch self {
        case .explore(let connection), .procedure(let connection, _), .secure(let connection),
            .disconnect(let connection):
            connection
        case .find, .scan, .connect, .fail: nil
        }
    }

    /// Whether it needs the controller to scan.
    var needsScanning: Bool {
        switch self {
        case .find, .scan: true
        case .connect, .explore, .procedure, .secure, .disconnect, .fail: false
        }
    }

    func isExploring(_ connection: ConnectionHandle) -> Bool {
        if case .explore(connection) = self { true } else { false }
    }

    func isSecuring(_ connection: ConnectionHandle) -> Bool {
        if case .secure(connection) = self { true } else { false }
    }

    func isWaiting(for procedure: GATTProcedureID) -> Bool {
        if case .procedure(_, procedure) = self { true } else { false }
    }
}
