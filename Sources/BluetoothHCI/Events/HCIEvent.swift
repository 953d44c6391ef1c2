import ByteCoding

/// Any event packet. An event that this library does not know is not an error.
package enum HCIEvent: Hashable, Sendable {
    /// Disconnection Complete, code 0x05: a connection ended, or could not be ended.
    case disconnectionComplete(DisconnectionComplete)
    /// Encryption Change version 1, code 0x08: the encryption of a connection was turned on or off, or could not be.
    case encryptionChange(EncryptionChange)
    /// Encryption Change version 2, code 0x59: as version 1, with the key size.
    case encryptionChangeV2(EncryptionChangeV2)
    /// Encryption Key Refresh Complete, code 0x30: the key of an encrypted connection was renewed, or could not be.
    case encryptionKeyRefreshComplete(EncryptionKeyRefreshComplete)
    /// Read Remote Version Information Complete, code 0x0C: the version that the peer says it implements.
    case readRemoteVersionInformationComplete(ReadRemoteVersionInformationComplete)
    /// Command Complete, code 0x0E: a command is done, with its status and its return parameters.
    case commandComplete(CommandComplete)
    /// Command Status, code 0x0F: a command has begun, or has failed at once.
    case commandStatus(CommandStatus)
    /// Hardware Error, code 0x10: the controller has failed in some way of its own.
    case hardwareError(HardwareError)
    /// Number Of Completed Packets, code 0x13: the controller has room for data packets again.
    case numberOfCompletedPackets(NumberOfCompletedPackets)
    /// Data Buffer Overflow, code 0x1A: the host sent more data packets than the controller has room for.
    case dataBufferOverflow(DataBufferOverflow)
    /// LE Connection Complete, subevent 0x01: a connection was made, or could not be. No private addresses are told.
    case leConnectionComplete(LEConnectionComplete)
    /// LE Advertising Report, subevent 0x02: advertisements that legacy scanning heard.
    case leAdvertisingReport(LEAdvertisingReport)
    /// LE Connection Update Complete, subevent 0x03: the parameters of a connection changed, or did not.
    case leConnectionUpdateComplete(LEConnectionUpdateComplete)
    /// LE Read Remote Features Complete, subevent 0x04: the features that the peer's link layer has.
    case leReadRemoteFeaturesComplete(LEReadRemoteFeaturesComplete)
    /// LE Long Term Key Request, subevent 0x05: the central wants to encrypt, and the controller needs the key.
    case leLongTermKeyRequest(LELongTermKeyRequest)
    /// LE Remote Connection Parameter Request, subevent 0x06: the peer asks for other connection parameters.
    case leRemoteConnectionParameterRequest(LERemoteConnectionParameterRequest)
    /// LE Data Length Change, subevent 0x07: the most that a link layer packet of a connection carries has changed.
    case leDataLengthChange(LEDataLengthChange)
    /// LE Enhanced Connection Complete version 1, subevent 0x0A: a connection was made, or could not be.
    /// The private addresses are told.
    case leEnhancedConnectionComplete(LEEnhancedConnectionComplete)
    /// LE Directed Advertising Report, subevent 0x0B: advertisements for private addresses that could not be resolved.
    case leDirectedAdvertisingReport(LEDirectedAdvertisingReport)
    /// LE PHY Update Complete, subevent 0x0C: the PHYs of a connection were changed, or were not.
    case lePHYUpdateComplete(LEPHYUpdateComplete)
    /// LE Extended Advertising Report, subevent 0x0D: advertisements that extended scanning heard.
    case leExtendedAdvertisingReport(LEExtendedAdvertisingReport)
    /// LE Scan Timeout, subevent 0x11: extended scanning ended because its duration is over.
    case leScanTimeout(LEScanTimeout)
    /// LE Advertising Set Terminated, subevent 0x12: an advertising set stopped.
    case leAdvertisingSetTerminated(LEAdvertisingSetTerminated)
    /// LE Scan Request Received, subevent 0x13: a scanner asked for the scan response of an advertising set.
    case leScanRequestReceived(LEScanRequestReceived)
    /// LE Channel Selection Algorithm, subevent 0x14: which algorithm a new connection uses.
    case leChannelSelectionAlgorithm(LEChannelSelectionAlgorithm)
    /// LE Subrate Change, subevent 0x23: the subrating of a connection changed, or did not.
    case leSubrateChange(LESubrateChange)
    /// An event with a code that this library does not know, or a manufacturer's.
    case unknown(HCIEventCode, parameters: ArraySlice<UInt8>)
    /// An LE event with a code that this library does not know.
    case unknownLE(LESubevent, parameters: ArraySlice<UInt8>)

    /// Reads an event packet without its packet type byte: code, length, parameters, and nothing after them.
    ///
    /// Parameters that follow the ones known are ignored, since newer controllers may send more.
    package init(body: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var packet = ByteReader(body)
        let code = HCIEventCode(rawValue: try packet.readUInt8("event.code"))
        let length = try packet.readUInt8("event.length")
        let parameters = try packet.readBytes(Int(length), "event.parameters")
        try packet.expectEnd("event")
        var reader = ByteReader(parameters)
        switch code {
        case DisconnectionComplete.code: self = .disconnectionComplete(try DisconnectionComplete(reading: &reader))
        case EncryptionChange.code: self = .encryptionChange(try EncryptionChange(reading: &reader))
        case EncryptionChangeV2.code: self = .encryptionChangeV2(try EncryptionChangeV2(reading: &reader))
        case EncryptionKeyRefreshComplete.code:
            self = .encryptionKeyRefreshComplete(try EncryptionKeyRefreshComplete(reading: &reader))
        case ReadRemoteVersionInformationComplete.code:
            self = .readRemoteVersionInformationComplete(try ReadRemoteVersionInformationComplete(reading: &reader))
        case CommandComplete.code: self = .commandComplete(try CommandComplete(reading: &reader))
        case CommandStatus.code: self = .commandStatus(try CommandStatus(reading: &reader))
        case HardwareError.code: self = .hardwareError(try HardwareError(reading: &reader))
        case NumberOfCompletedPackets.code:
            self = .numberOfCompletedPackets(try NumberOfCompletedPackets(reading: &reader))
        case DataBufferOverflow.code: self = .dataBufferOverflow(try DataBufferOverflow(reading: &reader))
        case .leMeta: self = try HCIEvent(le: &reader)
        default: self = .unknown(code, parameters: parameters)
        }
    }

    private init(le reader: inout ByteReader) throws(ByteDecodingError) {
        let subevent = LESubevent(rawValue: try reader.readUInt8("le_meta.subevent_code"))
        switch subevent {
        case LEConnectionComplete.subevent: self = .leConnectionComplete(try LEConnectionComplete(reading: &reader))
        case LEAdvertisingReport.subevent: self = .leAdvertisingReport(try LEAdvertisingReport(reading: &reader))
        case LEConnectionUpdateComplete.subevent:
            self = .leConnectionUpdateComplete(try LEConnectionUpdateComplete(reading: &reader))
        case LEReadRemoteFeaturesComplete.subevent:
            self = .leReadRemoteFeaturesComplete(try LEReadRemoteFeaturesComplete(reading: &reader))
        case LELongTermKeyRequest.subevent: self = .leLongTermKeyRequest(try LELongTermKeyRequest(reading: &reader))
        case LERemoteConnectionParameterRequest.subevent:
            self = .leRemoteConnectionParameterRequest(try LERemoteConnectionParameterRequest(reading: &reader))
        case LEDataLengthChange.subevent: self = .leDataLengthChange(try LEDataLengthChange(reading: &reader))
        case LEEnhancedConnectionComplete.subevent:
            self = .leEnhancedConnectionComplete(try LEEnhancedConnectionComplete(reading: &reader))
        case LEDirectedAdvertisingReport.subevent:
            self = .leDirectedAdvertisingReport(try LEDirectedAdvertisingReport(reading: &reader))
        case LEPHYUpdateComplete.subevent: self = .lePHYUpdateComplete(try LEPHYUpdateComplete(reading: &reader))
        case LEExtendedAdvertisingReport.subevent:
            self = .leExtendedAdvertisingReport(try LEExtendedAdvertisingReport(reading: &reader))
        case LEScanTimeout.subevent: self = .leScanTimeout(try LEScanTimeout(reading: &reader))
        case LEAdvertisingSetTerminated.subevent:
            self = .leAdvertisingSetTerminated(try LEAdvertisingSetTerminated(reading: &reader))
        case LEScanRequestReceived.subevent: self = .leScanRequestReceived(try LEScanRequestReceived(reading: &reader))
        case LEChannelSelectionAlgorithm.subevent:
            self = .leChannelSelectionAlgorithm(try LEChannelSelectionAlgorithm(reading: &reader))
        case LESubrateChange.subevent: self = .leSubrateChange(try LESubrateChange(reading: &reader))
        default: self = .unknownLE(subevent, parameters: reader.readRemaining())
        }
    }

    /// Appends the whole packet: packet type, code, length, parameters.
    package func encodePacket(to buffer: inout [UInt8]) {
        switch self {
        case .disconnectionComplete(let event): event.encodePacket(to: &buffer)
        case .encryptionChange(let event): event.encodePacket(to: &buffer)
        case .encryptionChangeV2(let event): event.encodePacket(to: &buffer)
        case .encryptionKeyRefreshComplete(let event): event.encodePacket(to: &buffer)
        case .readRemoteVersionInformationComplete(let event): event.encodePacket(to: &buffer)
        case .commandComplete(let event): event.encodePacket(to: &buffer)
        case .commandStatus(let event): event.encodePacket(to: &buffer)
        case .hardwareError(let event): event.encodePacket(to: &buffer)
        case .numberOfCompletedPackets(let event): event.encodePacket(to: &buffer)
        case .dataBufferOverflow(let event): event.encodePacket(to: &buffer)
        case .leConnectionComplete(let event): event.encodePacket(to: &buffer)
        case .leAdvertisingReport(let event): event.encodePacket(to: &buffer)
        case .leConnectionUpdateComplete(let event): event.encodePacket(to: &buffer)
        case .leReadRemoteFeaturesComplete(let event): event.encodePacket(to: &buffer)
        case .leLongTermKeyRequest(let event): event.encodePacket(to: &buffer)
        case .leRemoteConnectionParameterRequest(let event): event.encodePacket(to: &buffer)
        case .leDataLengthChange(let event): event.encodePacket(to: &buffer)
        case .leEnhancedConnectionComplete(let event): event.encodePacket(to: &buffer)
        case .leDirectedAdvertisingReport(let event): event.encodePacket(to: &buffer)
        case .lePHYUpdateComplete(let event): event.encodePacket(to: &buffer)
        case .leExtendedAdvertisingReport(let event): event.encodePacket(to: &buffer)
        case .leScanTimeout(let event): event.encodePacket(to: &buffer)
        case .leAdvertisingSetTerminated(let event): event.encodePacket(to: &buffer)
        case .leScanRequestReceived(let event): event.encodePacket(to: &buffer)
        case .leChannelSelectionAlgorithm(let event): event.encodePacket(to: &buffer)
        case .leSubrateChange(let event): event.encodePacket(to: &buffer)
        case .unknown(let code, let parameters):
            HCIEvent.encodePacket(code, to: &buffer) { $0.append(contentsOf: parameters) }
        case .unknownLE(let subevent, let parameters):
            HCIEvent.encodePacket(.leMeta, to: &buffer) {
                $0.append(subevent.rawValue)
                $0.append(contentsOf: parameters)
            }
        }
    }

    /// The whole packet: packet type, code, length, parameters.
    package var packet: [UInt8] {
        var buffer: [UInt8] = []
        encodePacket(to: &buffer)
        return buffer
    }

    fileprivate static func encodePacket(
        _ code: HCIEventCode,
        to buffer: inout [UInt8],
        _ parameters: (inout [UInt8]) -> Void
    ) {
        buffer.append(HCIPacketType.event.rawValue)
        buffer.append(code.rawValue)
        let lengthIndex = buffer.endIndex
        buffer.append(0)
        parameters(&buffer)
        buffer.setLength(at: lengthIndex)
    }
}

extension HCIEventParameters {
    /// Appends the whole packet: packet type, code, length, parameters.
    package func encodePacket(to buffer: inout [UInt8]) {
        HCIEvent.encodePacket(Self.code, to: &buffer) { encode(to: &$0) }
    }

    /// The whole packet: packet type, code, length, parameters.
    package var packet: [UInt8] {
        var buffer: [UInt8] = []
        encodePacket(to: &buffer)
        return buffer
    }
}

extension LEEventParameters {
    /// Appends the whole packet: packet type, code, length, subevent code, parameters.
    package func encodePacket(to buffer: inout [UInt8]) {
        HCIEvent.encodePacket(Self.code, to: &buffer) {
            $0.append(Self.subevent.rawValue)
            encode(to: &$0)
        }
    }
}
