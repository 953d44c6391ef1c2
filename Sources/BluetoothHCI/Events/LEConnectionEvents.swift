import ByteCoding

/// The parameters of a connection changed, or did not.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.3.
package struct LEConnectionUpdateComplete: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x03)

    /// Whether they changed.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// The time between connection events.
    package var interval: ConnectionInterval
    /// How many connection events the peripheral may skip.
    package var latency: UInt16
    /// How long the link may hear nothing.
    package var supervisionTimeout: SupervisionTimeout

    /// Makes the event with the parameters that the connection has now.
    package init(
        status: HCIStatus,
        handle: ConnectionHandle,
        interval: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout
    ) {
        self.status = status
        self.handle = handle
        self.interval = interval
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "le_connection_update_complete.status")
        handle = try reader.readConnectionHandle("le_connection_update_complete.handle")
        interval = try ConnectionInterval(reading: &reader, "le_connection_update_complete.interval")
        latency = try reader.readLittleEndian("le_connection_update_complete.latency")
        supervisionTimeout = try SupervisionTimeout(
            reading: &reader,
            "le_connection_update_complete.supervision_timeout"
        )
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        interval.encode(to: &buffer)
        buffer.appendLittleEndian(latency)
        supervisionTimeout.encode(to: &buffer)
    }
}

/// What features the peer's link layer has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.4.
package struct LEReadRemoteFeaturesComplete: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x04)

    /// Whether it said so.
    package var status: HCIStatus
    /// Which connection.
    package var handle: ConnectionHandle
    /// The features.
    package var features: LEFeatures

    /// Makes the event: the peer's features, or the status that says why they could not be read.
    package init(status: HCIStatus, handle: ConnectionHandle, features: LEFeatures) {
        self.status = status
        self.handle = handle
        self.features = features
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        status = try HCIStatus(reading: &reader, "le_read_remote_features_complete.status")
        handle = try reader.readConnectionHandle("le_read_remote_features_complete.handle")
        features = LEFeatures(rawValue: try reader.readLittleEndian("le_read_remote_features_complete.features"))
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(status.rawValue)
        buffer.appendLittleEndian(handle.rawValue)
        buffer.appendLittleEndian(features.rawValue)
    }
}

/// The central wants to encrypt: which key is to be used?
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.5.
package struct LELongTermKeyRequest: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x05)

    /// Which connection.
    package var handle: ConnectionHandle
    /// Names the key in LE legacy pairing; else 0.
    package var randomNumber: UInt64
    /// Names the key in LE legacy pairing; else 0.
    package var encryptedDiversifier: UInt16

    /// Makes the event. The number and the diversifier name a key of LE legacy pairing, and are 0 for any other key.
    package init(handle: ConnectionHandle, randomNumber: UInt64, encryptedDiversifier: UInt16) {
        self.handle = handle
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_long_term_key_request.handle")
        randomNumber = try reader.readLittleEndian("le_long_term_key_request.random_number")
        encryptedDiversifier = try reader.readLittleEndian("le_long_term_key_request.encrypted_diversifier")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.appendLittleEndian(randomNumber)
        buffer.appendLittleEndian(encryptedDiversifier)
    }
}

/// The peer asks for other connection parameters.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.6.
package struct LERemoteConnectionParameterRequest: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x06)

    /// Which connection.
    package var handle: ConnectionHandle
    /// The shortest time between connection events.
    package var intervalMinimum: ConnectionInterval
    /// The longest time between connection events.
    package var intervalMaximum: ConnectionInterval
    /// How many connection events the peripheral may skip.
    package var latency: UInt16
    /// How long the link may hear nothing.
    package var supervisionTimeout: SupervisionTimeout

    /// Makes the event with the parameters that the peer asks for.
    package init(
        handle: ConnectionHandle,
        intervalMinimum: ConnectionInterval,
        intervalMaximum: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout
    ) {
        self.handle = handle
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.latency = latency
        self.supervisionTimeout = supervisionTimeout
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_remote_connection_parameter_request.handle")
        intervalMinimum = try ConnectionInterval(
            reading: &reader,
            "le_remote_connection_parameter_request.interval_minimum"
        )
        intervalMaximum = try ConnectionInterval(
            reading: &reader,
            "le_remote_connection_parameter_request.interval_maximum"
        )
        latency = try reader.readLittleEndian("le_remote_connection_parameter_request.latency")
        supervisionTimeout = try SupervisionTimeout(
            reading: &reader,
            "le_remote_connection_parameter_request.supervision_timeout"
        )
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        intervalMinimum.encode(to: &buffer)
        intervalMaximum.encode(to: &buffer)
        buffer.appendLittleEndian(latency)
        supervisionTimeout.encode(to: &buffer)
    }
}

/// How much a link layer packet of a connection carries has changed.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.7.
package struct LEDataLengthChange: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x07)

    /// Which connection.
    package var handle: ConnectionHandle
    /// The most that is transmitted in one packet.
    package var transmit: DataLength
    /// The most that is received in one packet.
    package var receive: DataLength

    /// Makes the event with what one packet carries in each direction.
    package init(handle: ConnectionHandle, transmit: DataLength, receive: DataLength) {
        self.handle = handle
        self.transmit = transmit
        self.receive = receive
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_data_length_change.handle")
        transmit = try DataLength(reading: &reader, "le_data_length_change.transmit")
        receive = try DataLength(reading: &reader, "le_data_length_change.receive")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        transmit.encode(to: &buffer)
        receive.encode(to: &buffer)
    }
}

/// Which channel selection algorithm a new connection uses.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.65.20.
package struct LEChannelSelectionAlgorithm: LEEventParameters {
    package static let subevent = LESubevent(rawValue: 0x14)

    /// Which connection.
    package var handle: ConnectionHandle
    /// Which algorithm.
    package var algorithm: ChannelSelectionAlgorithm

    /// Makes the event for one new connection.
    package init(handle: ConnectionHandle, algorithm: ChannelSelectionAlgorithm) {
        self.handle = handle
        self.algorithm = algorithm
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_channel_selection_algorithm.handle")
        algorithm = try ChannelSelectionAlgorithm(reading: &reader, "le_channel_selection_algorithm.algorithm")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.append(algorithm.rawValue)
    }
}
