import ByteCoding

/// Any event packet. An event that this library does not know is not an error.
public enum HCIEvent: Hashable, Sendable {
    case disconnectionComplete(DisconnectionComplete)
    case encryptionChange(EncryptionChange)
    case encryptionChangeV2(EncryptionChangeV2)
    case encryptionKeyRefreshComplete(EncryptionKeyRefreshComplete)
    case readRemoteVersionInformationComplete(ReadRemoteVersionInformationComplete)
    case commandComplete(CommandComplete)
    case commandStatus(CommandStatus)
    case hardwareError(HardwareError)
    case numberOfCompletedPackets(NumberOfCompletedPackets)
    case dataBufferOverflow(DataBufferOverflow)
    case leConnectionComplete(LEConnectionComplete)
    case leAdvertisingReport(LEAdvertisingReport)
    case leConnectionUpdateComplete(LEConnectionUpdateComplete)
    case leReadRemoteFeaturesComplete(LEReadRemoteFeaturesComplete)
    case leLongTermKeyRequest(LELongTermKeyRequest)
    case leRemoteConnectionParameterRequest(LERemoteConnectionParameterRequest)
    case leDataLengthChange(LEDataLengthChange)
    case leEnhancedConnectionComplete(LEEnhancedConnectionComplete)
    case leDirectedAdvertisingReport(LEDirectedAdvertisingReport)
    case lePHYUpdateComplete(LEPHYUpdateComplete)
    case leExtendedAdvertisingReport(LEExtendedAdvertisingReport)
    case leScanTimeout(LEScanTimeout)
    case leAdvertisingSetTerminated(LEAdvertisingSetTerminated)
    case leScanRequestReceived(LEScanRequestReceived)
    case leChannelSelectionAlgorithm(LEChannelSelectionAlgorithm)
    /// An event with a code that this library does not know, or a manufacturer's.
    case unknown(HCIEventCode, parameters: ArraySlice<UInt8>)
    /// An LE event with a code that this library does not know.
    case unknownLE(LESubevent, parameters: ArraySlice<UInt8>)

    /// Reads an event packet without its packet type byte: code, length, parameters, and nothing after them.
    ///
    /// Parameters that follow the ones known are ignored, since newer controllers may send more.
    public init(body: ArraySlice<UInt8>) throws(ByteDecodingError) {
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
        default: self = .unknownLE(subevent, parameters: reader.readRemaining())
        }
    }

    /// Appends the whole packet: packet type, code, length, parameters.
    public func encodePacket(to buffer: inout [UInt8]) {
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
    public var packet: [UInt8] {
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
    public func encodePacket(to buffer: inout [UInt8]) {
        HCIEvent.encodePacket(Self.code, to: &buffer) { encode(to: &$0) }
    }

    /// The whole packet: packet type, code, length, parameters.
    public var packet: [UInt8] {
        var buffer: [UInt8] = []
        encodePacket(to: &buffer)
        return buffer
    }
}

extension LEEventParameters {
    /// Appends the whole packet: packet type, code, length, subevent code, parameters.
    public func encodePacket(to buffer: inout [UInt8]) {
        HCIEvent.encodePacket(Self.code, to: &buffer) {
            $0.append(Self.subevent.rawValue)
            encode(to: &$0)
        }
    }
}
