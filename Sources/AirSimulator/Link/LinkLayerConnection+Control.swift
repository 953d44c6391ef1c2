import BluetoothHCI

/// The control procedures: what the two link layers arrange with each other.
///
/// Source: Core 5.4, Vol 6, Part B, 5.1.
extension LinkLayerConnection {
    /// How long a link layer waits for the other one's answer.
    ///
    /// Source: Core 5.4, Vol 6, Part B, 5.2.
    static let procedureTimeout = Microseconds(40_000_000)
    /// How many procedures of one end may wait for their turn.
    static let procedureLimit = 8
    /// How many connection events lie at least between the announcement of a change and the change.
    static let eventsToInstant: Int64 = 6

    // MARK: What hosts ask for

    /// Queues a packet of the host at one end.
    mutating func send(_ bytes: ArraySlice<UInt8>, isStart: Bool, from role: LinkRole, at now: Microseconds) {
        synchronize(to: now)
        guard sides[role].isPresent, sides[role].termination == nil else { return }
        if bytes.isEmpty {
            report(.packetCompleted, to: role)
        } else {
            sides[role].send(bytes, isStart: isStart)
        }
    }

    /// Begins a procedure as soon as those before it are over.
    mutating func begin(_ procedure: LinkProcedure, by role: LinkRole, at now: Microseconds) -> HCIStatus {
        synchronize(to: now)
        guard sides[role].isPresent, sides[role].termination == nil else {
            return .unknownConnectionIdentifier
        }
        guard sides[role].queuedProcedures.count < Self.procedureLimit else { return .controllerBusy }
        sides[role].queuedProcedures.append(procedure)
        beginNextProcedure(role, at: now)
        return .success
    }

    /// Ends the connection from one end.
    mutating func terminate(
        by role: LinkRole,
        reason: HCIStatus,
        localReason: HCIStatus = .connectionTerminatedByLocalHost,
        at now: Microseconds
    ) -> HCIStatus {
        synchronize(to: now)
        guard sides[role].isPresent else { return .unknownConnectionIdentifier }
        guard sides[role].termination == nil else { return .commandDisallowed }
        let timeout = Microseconds(Int64(parameters.supervisionTimeout.rawValue) * 10_000)
        sides[role].termination = (localReason, now + timeout)
        sides[role].active = nil
        sides[role].queuedProcedures.removeAll()
        sides[role].sendTermination(reason: reason)
        return .success
    }

    /// The host's answer to `.parametersRequested`: other parameters, or a reason to refuse.
    mutating func answerParameterRequest(
        _ answer: HCIOutcome<ConnectionParameters>,
        by role: LinkRole,
        at now: Microseconds
    ) -> HCIStatus {
        synchronize(to: now)
        guard sides[role].isPresent, sides[role].awaitsParameterAnswer else {
            return .commandDisallowed
        }
        sides[role].awaitsParameterAnswer = false
        switch (answer, role) {
        case (.success(let parameters), .central):
            if !sides.central.holdBack(parameters) { announce(parameters, at: now) }
        case (.success(let parameters), .peripheral): sides.peripheral.send(.connectionParameterResponse(parameters))
        case (.failure(let reason), _):
            sides[role].send(.rejectIndication(.connectionParameters, reason))
            beginNextProcedure(role, at: now)
        }
        return .success
    }

    /// Changes what one end wants to send, and tells the other one.
    mutating func setDataLength(_ length: DataLength, by role: LinkRole, at now: Microseconds) -> HCIStatus {
        sides[role].localDataLength.transmit = length
        return begin(.dataLength, by: role, at: now)
    }

    /// Lets a new connection use what an end can send, if it can send more than every link layer can.
    mutating func beginWithDataLength(_ role: LinkRole, at now: Microseconds) {
        let side = sides[role]
        guard side.capabilities.features.contains(.dataPacketLengthExtension) else { return }
        guard side.localDataLength.transmit.octets > DataLength.minimum.octets else { return }
        _ = begin(.dataLength, by: role, at: now)
    }

    // MARK: Procedures of one's own

    mutating func beginNextProcedure(_ role: LinkRole, at now: Microseconds) {
        while sides[role].active == nil, let procedure = sides[role].queuedProcedures.first {
            // The central has one change at an instant under way at a time, its own or one that the peripheral asked for.
            if role == .central, procedure.hasInstant, !changes.isEmpty || sides.central.awaitsParameterAnswer {
                return
            }
            sides[role].queuedProcedures.removeFirst()
            sides[role].active = .init(procedure: procedure, deadline: now + Self.procedureTimeout)
            start(procedure, by: role, at: now)
        }
    }

    private mutating func start(_ procedure: LinkProcedure, by role: LinkRole, at now: Microseconds) {
        switch procedure {
        case .features:
            let features = sides[role].capabilities.features
            sides[role].send(role == .central ? .featureRequest(features) : .peripheralFeatureRequest(features))
        case .version:
            if let version = sides[role].remoteVersion {
                report(.remoteVersion(.success, version), to: role)
                finish(role, at: now)
            } else {
                sendVersion(role)
            }
        case .dataLength: sides[role].send(.lengthRequest(sides[role].localDataLength))
        case .phy(let pair):
            sides[role].phys = pair
            sides[role].send(.phyRequest(pair))
        case .parameters(let wanted):
            let asks = role == .peripheral || sides[role].capabilities.negotiatesParametersAsCentral
            if asks { sides[role].send(.connectionParameterRequest(wanted)) } else { announce(wanted, at: now) }
        case .subrating(let wanted):
            if role == .central {
                sides.central.acceptableSubrating = wanted
                announceSubrating(subrated(wanted))
            } else {
                sides.peripheral.send(.subrateRequest(wanted))
            }
        case .channelMap: announceChannels(at: now)
        case .encryption(let random, let diversifier, let key):
            sides[role].pauseForEncryption(isAsking: true)
            sides[role].send(
                sides[role].isEncrypted
                    ? .pauseEncryptionRequest
                    : .encryptionRequest(random: random, diversifier: diversifier, key: key)
            )
        }
    }

    /// Ends the procedure that one end has begun, and begins its next one.
    mutating func finish(_ role: LinkRole, at now: Microseconds) {
        sides[role].active = nil
        beginNextProcedure(role, at: now)
    }

    /// Ends the procedure for which a request was sent that the peer does not know or refuses.
    mutating func fail(_ request: LLRequest, _ status: HCIStatus, of role: LinkRole, at now: Microseconds) {
        guard let procedure = sides[role].active?.procedure else { return }
        switch (request, procedure) {
        case (.features, .features): report(.remoteFeatures(status, []), to: role)
        case (.connectionParameters, .parameters(let wanted)):
            if role == .central, status == .unsupportedRemoteFeature {
                // The peripheral does not know the request: the change is announced without one.
                announce(wanted, at: now)
                return
            }
            report(.parametersUpdated(status, parameters), to: role)
        case (.dataLength, .dataLength): break
        case (.subrating, .subrating): report(.subrateChanged(status, parameters), to: role)
        case (.phy, .phy): report(.phyUpdated(.failure(status)), to: role)
        case (.encryption, .encryption):
            report(.encryptionChanged(status, isEncrypted: false), to: role)
            resumeAfterEncryption(role, at: now)
        default: return
        }
        finish(role, at: now)
    }

    private mutating func sendVersion(_ role: LinkRole) {
        guard !sides[role].hasSentVersion else { return }
        sides[role].hasSentVersion = true
        sides[role].send(.versionIndication(sides[role].capabilities.version))
    }

    // MARK: What the other link layer says

    mutating func receive(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        if sides[role].holdBack(message) { return }
        switch message {
        case .terminateIndication(let reason): sides[role].leavesAfterSending = reason
        case .versionIndication(let version):
            sides[role].remoteVersion = version
            sendVersion(role)
            if case .version = sides[role].active?.procedure {
                report(.remoteVersion(.success, version), to: role)
                finish(role, at: now)
            }
        case .featureRequest(let features), .peripheralFeatureRequest(let features):
            answerFeatures(features, request: message, by: role)
            learnFeatures(features, by: role, at: now)
        case .featureResponse(let features):
            learnFeatures(features, by: role, at: now)
            if case .features = sides[role].active?.procedure {
                report(.remoteFeatures(.success, features), to: role)
                finish(role, at: now)
            }
        case .lengthRequest, .lengthResponse: receiveDataLength(message, by: role, at: now)
        case .phyRequest, .phyResponse, .phyUpdateIndication: receivePHY(message, by: role, at: now)
        case .connectionParameterRequest, .connectionParameterResponse, .connectionUpdateIndication:
            receiveParameters(message, by: role, at: now)
        case .subrateRequest, .subrateIndication: receiveSubrating(message, by: role, at: now)
        case .channelMapIndication, .channelReportingIndication, .channelStatusIndication:
            receiveChannels(message, by: role, at: now)
        case .unknownResponse(let request): fail(request, .unsupportedRemoteFeature, of: role, at: now)
        case .rejectIndication(let request, let reason): fail(request, reason, of: role, at: now)
        case .encryptionRequest, .encryptionResponse, .startEncryptionRequest, .startEncryptionResponse,
            .pauseEncryptionRequest, .pauseEncryptionResponse:
            receiveEncryption(message, by: role, at: now)
        }
    }

    private mutating func learnFeatures(_ features: LEFeatures, by role: LinkRole, at now: Microseconds) {
        sides[role].remoteFeatures = features
        if role == .central { beginChannelReports(at: now) }
    }

    private mutating func answerFeatures(_ features: LEFeatures, request: LLControlPDU, by role: LinkRole) {
        let own = sides[role].capabilities.features
        if role == .central, !own.contains(.peripheralInitiatedFeaturesExchange) {
            sides.central.send(.unknownResponse(.features))
        } else {
            // Of the first octet, only what both have is in use; the others say what each has.
            let shared = LEFeatures(rawValue: own.rawValue & (features.rawValue | ~0xFF))
            sides[role].send(.featureResponse(shared))
        }
    }
}
