import BluetoothHCI

/// Turning encryption on, and renewing its key. Nothing is really encrypted: packets grow by their integrity check, and
/// the first packet under different keys fails that check.
///
/// Source: Core 5.4, Vol 6, Part B, 5.1.3.
extension LinkLayerConnection {
    /// The peripheral's host has a key, or none, for the central that asked to encrypt.
    mutating func answerKeyRequest(_ key: UInt128?, at now: Microseconds) -> HCIStatus {
        synchronize(to: now)
        guard sides[1].isPresent, case .awaitingKey = sides[1].peripheralEncryption else { return .commandDisallowed }
        if let key {
            sides[1].peripheralEncryption = .awaitingStart(key: key)
            sides[1].send(.startEncryptionRequest)
        } else if sides[1].isEncrypted {
            // Encryption was paused for a new key: there is no way back to the old one.
            sides[1].peripheralEncryption = nil
            return terminate(by: .peripheral, reason: .pinOrKeyMissing, localReason: .pinOrKeyMissing, at: now)
        } else {
            stopPeripheralEncryption(.pinOrKeyMissing)
        }
        return .success
    }

    private mutating func stopPeripheralEncryption(_ reason: HCIStatus) {
        sides[1].peripheralEncryption = nil
        sides[1].isPausedForEncryption = false
        sides[1].send(.rejectIndication(.encryption, reason))
    }

    mutating func receiveEncryption(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch role {
        case .central: receiveEncryptionAsCentral(message, at: now)
        case .peripheral: receiveEncryptionAsPeripheral(message)
        }
    }

    private mutating func receiveEncryptionAsCentral(_ message: LLControlPDU, at now: Microseconds) {
        guard case .encryption(let random, let diversifier, let key) = sides[0].active?.procedure else { return }
        sides[0].active?.deadline = now + Self.procedureTimeout
        switch message {
        case .pauseEncryptionResponse:
            sides[0].encryptsTransmission = false
            sides[0].send(.pauseEncryptionResponse)
            sides[0].send(.encryptionRequest(random: random, diversifier: diversifier, key: key))
        case .startEncryptionRequest:
            sides[0].encryptsTransmission = true
            sides[0].send(.startEncryptionResponse)
        case .startEncryptionResponse:
            turnOnEncryption(.central)
            finish(.central, at: now)
        default: break
        }
    }

    private mutating func receiveEncryptionAsPeripheral(_ message: LLControlPDU) {
        switch message {
        case .pauseEncryptionRequest:
            sides[1].isPausedForEncryption = true
            sides[1].peripheralEncryption = .awaitingPauseResponse
            sides[1].send(.pauseEncryptionResponse)
        case .pauseEncryptionResponse:
            sides[1].encryptsTransmission = false
            sides[1].peripheralEncryption = .awaitingRequest
        case .encryptionRequest(let random, let diversifier, _):
            sides[1].isPausedForEncryption = true
            guard sides[1].capabilities.features.contains(.encryption) else {
                stopPeripheralEncryption(.unsupportedRemoteFeature)
                return
            }
            sides[1].peripheralEncryption = .awaitingKey
            sides[1].send(.encryptionResponse)
            report(.keyRequested(random: random, diversifier: diversifier), to: .peripheral)
        case .startEncryptionResponse:
            guard case .awaitingStart(let key) = sides[1].peripheralEncryption else { return }
            guard case .encryption(_, _, let centralKey) = sides[0].active?.procedure, centralKey == key else {
                // The central hears nothing of it: its own supervision timeout tells it.
                leave(.peripheral, .micFailure)
                return
            }
            sides[1].peripheralEncryption = nil
            sides[1].encryptsTransmission = true
            sides[1].send(.startEncryptionResponse)
            turnOnEncryption(.peripheral)
        default: break
        }
    }

    private mutating func turnOnEncryption(_ role: LinkRole) {
        let isRefresh = sides[role.rawValue].isEncrypted
        sides[role.rawValue].isEncrypted = true
        sides[role.rawValue].isPausedForEncryption = false
        report(isRefresh ? .keyRefreshed(.success) : .encryptionChanged(.success, isEncrypted: true), to: role)
    }
}
