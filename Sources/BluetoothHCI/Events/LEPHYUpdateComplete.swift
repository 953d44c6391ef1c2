import ByteCoding

/// The PHYs of a connection.
public struct LinkPHYs: Hashable, Sendable {
    /// What this side transmits on.
    public var transmit: PHY
    /// What this side receives on.
    public var receive: PHY

    /// What every connection on LE 1M starts with.
    package static let le1M = LinkPHYs(transmit: .le1M, receive: .le1M)

    /// Makes the PHYs of the two directions, as this side of the connection sees them.
    package init(transmit: PHY, receive: PHY) {
        self.transmit = transmit
        self.receive = receive
    }
}

/// The PHYs of a connection were changed, or were not.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.12.
package struct LEPHYUpdateComplete: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x0C)

    /// Which connection.
    package var handle: ConnectionHandle
    /// The PHYs it has now, or why nothing changed.
    package var outcome: HCIOutcome<LinkPHYs>

    /// Makes the event: the PHYs that the connection has now, or the status that says why nothing changed.
    package init(handle: ConnectionHandle, outcome: HCIOutcome<LinkPHYs>) {
        self.handle = handle
        self.outcome = outcome
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let status = try HCIStatus(reading: &reader, "le_phy_update_complete.status")
        handle = try reader.readConnectionHandle("le_phy_update_complete.connection_handle")
        if status == .success {
            let transmit = try PHY(reading: &reader, "le_phy_update_complete.tx_phy")
            let receive = try PHY(reading: &reader, "le_phy_update_complete.rx_phy")
            outcome = .success(LinkPHYs(transmit: transmit, receive: receive))
        } else {
            _ = try reader.readBytes(2, "le_phy_update_complete.phys")
            outcome = .failure(status)
        }
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(outcome.status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(outcome.value?.transmit.rawValue ?? 0)
        buffer.append(outcome.value?.receive.rawValue ?? 0)
    }
}
