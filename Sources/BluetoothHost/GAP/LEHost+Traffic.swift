import BluetoothHCI

extension LEHost {
    /// The connections in the order of their making, each with the number of ACL packets that the controller has and has not
    /// completed.
    package var outstandingPackets: [(connection: Connection, count: Int)] {
        connectionManager.links.map { ($0.connection, $0.outstandingPackets) }
    }

    /// How many ACL packets the controller has and has not completed, those of all connections together.
    public var outstandingPacketCount: Int { connectionManager.transmission.buffers.used }
}
