import ByteCoding

/// A connection that has just been made.
package struct LENewConnection: Hashable, Sendable {
    /// What it is called.
    package var handle: ConnectionHandle
    /// Which side of it this device is.
    package var role: ConnectionRole
    /// The peer: its identity address if the controller resolved it.
    package var peer: LEAddress
    /// The private address that this device connected with; zero if it was none that the controller made.
    package var localResolvableAddress: DeviceAddress
    /// The private address that the peer connected with; zero if the controller resolved none.
    package var peerResolvableAddress: DeviceAddress
    /// The time between connection events.
    package var interval: ConnectionInterval
    /// How many connection events the peripheral may skip.
    package var latency: UInt16
    /// How long the link may hear nothing.
    package var supervisionTimeout: SupervisionTimeout
    /// How precise the central's clock is.
    package var centralClockAccuracy: ClockAccuracy

    /// Makes a connection; unless given, the private addresses are zero and the central's clock has the least accuracy.
    package init(
        handle: ConnectionHandle,
        role: ConnectionRole,
        peer: LEAddress,
        localResolvableAddress: DeviceAddress = .zero,
        peerResolvableAddress: DeviceAddress = .zero,
        interval: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout,
        centralClockAccuracy: ClockAccuracy = .ppm500
    ) {
        self.handle = handle
        self.role = role
        self.peer = peer
        self.localResolvableAddress = localResolvableAddress
        self.peerResolvableAddress = peerResolvableAddress
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
        self.centralClockAccuracy = centralClockAccuracy
    }

    /// How many octets follow the status, without and with the private addresses.
    static let size = 17
    static let enhancedSize = size + 2 * DeviceAddress.size

    init(reading reader: inout ByteReader, isEnhanced: Bool) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_connection_complete.connection_handle")
        role = try ConnectionRole(reading: &reader, "le_connection_complete.role")
        peer = try LEAddress(reading: &reader, "le_connection_complete.peer_address")
        localResolvableAddress = .zero
        peerResolvableAddress = .zero
        if isEnhanced {
            localResolvableAddress = try DeviceAddress(
                reading: &reader,
                "le_connection_complete.local_resolvable_private_address"
            )
            peerResolvableAddress = try DeviceAddress(
                reading: &reader,
                "le_connection_complete.peer_resolvable_private_address"
            )
        }
        interval = try ConnectionInterval(reading: &reader, "le_connection_complete.connection_interval")
        latency = try reader.readLittleEndian("le_connection_complete.peripheral_latency")
        supervisionTimeout = try SupervisionTimeout(reading: &reader, "le_connection_complete.supervision_timeout")
        centralClockAccuracy = try ClockAccuracy(reading: &reader, "le_connection_complete.central_clock_accuracy")
    }

    func encode(to buffer: inout [UInt8], isEnhanced: Bool) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(role.rawValue)
        peer.encode(to: &buffer)
        if isEnhanced {
            localResolvableAddress.encode(to: &buffer)
            peerResolvableAddress.encode(to: &buffer)
        }
        interval.encode(to: &buffer)
        buffer.appendLittleEndian(latency)
        supervisionTimeout.encode(to: &buffer)
        buffer.append(centralClockAccuracy.rawValue)
    }
}

extension HCIOutcome<LENewConnection> {
    /// Reads a status and the connection; when there is none, the parameters that would describe it mean nothing.
    fileprivate init(reading reader: inout ByteReader, isEnhanced: Bool) throws(ByteDecodingError) {
        let status = try HCIStatus(reading: &reader, "le_connection_complete.status")
        if status == .success {
            self = .success(try LENewConnection(reading: &reader, isEnhanced: isEnhanced))
        } else {
            let size = isEnhanced ? LENewConnection.enhancedSize : LENewConnection.size
            _ = try reader.readBytes(size, "le_connection_complete")
            self = .failure(status)
        }
    }

    fileprivate func encode(to buffer: inout [UInt8], isEnhanced: Bool) {
        buffer.append(status.rawValue)
        switch self {
        case .success(let connection): connection.encode(to: &buffer, isEnhanced: isEnhanced)
        case .failure:
            let size = isEnhanced ? LENewConnection.enhancedSize : LENewConnection.size
            buffer.append(contentsOf: repeatElement(0, count: size))
        }
    }
}

/// A connection was made, or could not be; the private addresses are not told.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.1.
package struct LEConnectionComplete: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x01)

    /// The connection, or why there is none.
    package var outcome: HCIOutcome<LENewConnection>

    /// Makes the event: a connection, or the status that says why there is none. Private addresses are not sent.
    package init(_ outcome: HCIOutcome<LENewConnection>) { self.outcome = outcome }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        outcome = try HCIOutcome(reading: &reader, isEnhanced: false)
    }

    package func encode(to buffer: inout [UInt8]) { outcome.encode(to: &buffer, isEnhanced: false) }
}

/// A connection was made, or could not be: version 1 of the event.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.10.
package struct LEEnhancedConnectionComplete: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x0A)

    /// The connection, or why there is none.
    package var outcome: HCIOutcome<LENewConnection>

    /// Makes the event: a connection, or the status that says why there is none. Private addresses are sent.
    package init(_ outcome: HCIOutcome<LENewConnection>) { self.outcome = outcome }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        outcome = try HCIOutcome(reading: &reader, isEnhanced: true)
    }

    package func encode(to buffer: inout [UInt8]) { outcome.encode(to: &buffer, isEnhanced: true) }
}
