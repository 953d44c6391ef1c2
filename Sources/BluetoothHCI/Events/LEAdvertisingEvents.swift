import ByteCoding

/// Extended scanning ended because its duration is over.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.17.
package struct LEScanTimeout: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x11)

    /// Makes the event, which has no parameters.
    package init() {}

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
    }

    package func encode(to buffer: inout [UInt8]) {
    }
}

/// An advertising set stopped.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.18.
package struct LEAdvertisingSetTerminated: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x12)

    /// `.success` when a connection was made; else why it stopped.
    package var status: HCIStatus
    /// Which set.
    package var set: AdvertisingHandle
    /// The connection made; nil if the status is not `.success`. It is encoded as handle 0 if it is nil, with `.success` too.
    package var connection: ConnectionHandle?
    /// How many extended advertising events there were, if their number was limited.
    package var completedEvents: UInt8

    /// Makes the event. A status of `.success` needs a connection: without one, readers see handle 0. With any other
    /// status, readers see none.
    package init(status: HCIStatus, set: AdvertisingHandle, connection: ConnectionHandle?, completedEvents: UInt8) {
        self.status = status
        self.set = set
        self.connection = connection
        self.completedEvents = completedEvents
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "le_advertising_set_terminated.status")
        set = try AdvertisingHandle(reading: &reader, "le_advertising_set_terminated.set")
        if status == .success {
            connection = try reader.readConnectionHandle("le_advertising_set_terminated.connection_handle")
        } else {
            _ = try reader.readBytes(2, "le_advertising_set_terminated.connection_handle")
            connection = nil
        }
        completedEvents = try reader.readUInt8("le_advertising_set_terminated.completed_events")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.append(set.rawValue)
        buffer.appendLittleEndian(connection?.rawValue ?? 0)
        buffer.append(completedEvents)
    }
}

/// A scanner asked for the scan response of an advertising set.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.19.
package struct LEScanRequestReceived: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x13)

    /// Which set.
    package var set: AdvertisingHandle
    /// Who asked.
    package var scanner: LEAddress

    /// Makes the event: `scanner` asked for the scan response of `set`.
    package init(set: AdvertisingHandle, scanner: LEAddress) {
        self.set = set
        self.scanner = scanner
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_scan_request_received.set")
        scanner = try LEAddress(reading: &reader, "le_scan_request_received.scanner")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
        scanner.encode(to: &buffer)
    }
}
