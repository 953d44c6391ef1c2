import ByteCoding

/// The subrating of a connection changed, or did not.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.35.
package struct LESubrateChange: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x23)

    /// Whether it changed.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// Both sides use every Nth connection event, and this is N.
    package var factor: UInt16
    /// How many subrated connection events the peripheral may skip.
    package var latency: UInt16
    /// How many connection events after data both sides use as well.
    package var continuationNumber: UInt16
    /// How long the link may hear nothing.
    package var supervisionTimeout: SupervisionTimeout

    /// Makes the event with what the connection has now.
    package init(
        status: HCIStatus,
        handle: ConnectionHandle,
        factor: UInt16,
        latency: UInt16,
        continuationNumber: UInt16,
        supervisionTimeout: SupervisionTimeout
    ) {
        self.status = status
        self.handle = handle
        self.factor = factor
        self.latency = latency
        self.continuationNumber = continuationNumber
        self.supervisionTimeout = supervisionTimeout
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "le_subrate_change.status")
        handle = try reader.readConnectionHandle("le_subrate_change.handle")
        factor = try reader.readLittleEndian("le_subrate_change.subrate_factor")
        latency = try reader.readLittleEndian("le_subrate_change.peripheral_latency")
        continuationNumber = try reader.readLittleEndian("le_subrate_change.continuation_number")
        supervisionTimeout = try SupervisionTimeout(reading: &reader, "le_subrate_change.supervision_timeout")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.appendLittleEndian(factor)
        buffer.appendLittleEndian(latency)
        buffer.appendLittleEndian(continuationNumber)
        supervisionTimeout.encode(to: &buffer)
    }
}
