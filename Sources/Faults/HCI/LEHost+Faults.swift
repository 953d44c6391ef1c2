import BluetoothHost

extension LEHost {
    /// What a line of faults has to know of the host, so that it can come between it and its controller while they work.
    package var faultBasis: HCIFaultLine.Basis {
        HCIFaultLine.Basis(
            packetCount: capabilities.aclPacketCount,
            hasAdvertisingSets: capabilities.usesExtendedCommands,
            connections: outstandingPackets.map { connection, count in
                HCIFaultLine.Basis.Connection(
                    handle: connection.handle,
                    phone: connection.peer.address,
                    outstandingPackets: count
                )
            }
        )
    }
}
