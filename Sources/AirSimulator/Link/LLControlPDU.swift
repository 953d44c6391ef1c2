import BluetoothHCI

/// A message between two link layers: what it says, and how long it is.
///
/// Source: Core 5.4, Vol 6, Part B, 2.4.2.
enum LLControlPDU: Hashable, Sendable {
    case connectionUpdateIndication(LinkParameters, instant: Int64)
    case terminateIndication(HCIStatus)
    /// The key is not sent: it is what the central's packets will be encrypted with.
    case encryptionRequest(random: UInt64, diversifier: UInt16, key: UInt128)
    case encryptionResponse
    case startEncryptionRequest
    case startEncryptionResponse
    case unknownResponse(LLRequest)
    case featureRequest(LEFeatures)
    case peripheralFeatureRequest(LEFeatures)
    case featureResponse(LEFeatures)
    case pauseEncryptionRequest
    case pauseEncryptionResponse
    case versionIndication(LinkVersion)
    case rejectIndication(LLRequest, HCIStatus)
    case connectionParameterRequest(ConnectionParameters)
    case connectionParameterResponse(ConnectionParameters)
    case lengthRequest(DataLengthLimits)
    case lengthResponse(DataLengthLimits)
    case phyRequest(PHYPair)
    case phyResponse(PHYPair)
    /// Nil where the PHY of a direction stays as it is; the instant counts only if one changes.
    case phyUpdateIndication(centralToPeripheral: PHY?, peripheralToCentral: PHY?, instant: Int64)
    case channelMapIndication(DataChannelMap, instant: Int64)
    case subrateRequest(SubrateParameters)
    /// The event is one that is not left out.
    case subrateIndication(LinkParameters, baseEvent: Int64)
    case channelReportingIndication(isEnabled: Bool)
    /// The channels that are not bad.
    case channelStatusIndication(DataChannelMap)

    /// The octets of the whole PDU: opcode and parameters.
    var length: Int {
        switch self {
        case .connectionUpdateIndication: 12
        case .terminateIndication: 2
        case .encryptionRequest: 23
        case .encryptionResponse: 13
        case .startEncryptionRequest, .startEncryptionResponse: 1
        case .unknownResponse: 2
        case .featureRequest, .peripheralFeatureRequest, .featureResponse: 9
        case .pauseEncryptionRequest, .pauseEncryptionResponse: 1
        case .versionIndication: 6
        case .rejectIndication: 3
        case .connectionParameterRequest, .connectionParameterResponse: 24
        case .lengthRequest, .lengthResponse: 9
        case .phyRequest, .phyResponse: 3
        case .phyUpdateIndication: 5
        case .channelMapIndication: 8
        case .subrateRequest, .subrateIndication: 11
        case .channelReportingIndication: 4
        case .channelStatusIndication: 11
        }
    }

    /// Whether it belongs to the encryption procedures: only such PDUs may pass while one is under way.
    var belongsToEncryption: Bool {
        switch self {
        case .encryptionRequest, .encryptionResponse, .startEncryptionRequest, .startEncryptionResponse: true
        case .pauseEncryptionRequest, .pauseEncryptionResponse, .rejectIndication, .terminateIndication: true
        default: false
        }
    }
}

/// The requests that a link layer may refuse or not know, which is how a refusal names them.
enum LLRequest: Hashable, Sendable {
    case encryption
    case features
    case connectionParameters
    case dataLength
    case phy
    case subrating
}
