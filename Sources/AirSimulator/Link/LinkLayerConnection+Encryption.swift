import BluetoothHCI

/// Turning encryption on, and renewing its key. Nothing is really encrypted: packets grow by their integrity check, and
/// the first packet under different keys fails that check.
///
/// Source: Core 5.4, Vol 6, Part B, 5.1.3.
extension LinkLayerConnection {
    /// The peripheral's host has a key, or none, for the central that asked to encrypt.
    mutating func answerKeyRequest(_ key: UInt128?, at now: Microseconds) -> HCIStatus {
        synchronize(to: now)
        guard sides.peripheral.isPresent, case .awaitingKey = sides.peripheral.peripheralEncryption else {
            return .commandDisallowed
        }
        if let key {
            sides.peripheral.peripheralEncryption = .awaitingStart(key: key)
            sides.peripheral.send(.startEncryptionRequest)
        } else if sides.peripheral.isEncrypted {
            // Encryption was paused for a new key: there is no way back to the old one.
            sides.peripheral.peripheralEncryption = nil
            return terminate(by: .peripheral, reason: .pinOrKeyMissing, localReason: .pinOrKeyMissing, at: now)
        } else {
            stopPeripheralEncryption(.pinOrKeyMissing, at: now)
        }
        return .success
    }

    private mutating func stopPeripheralEncryption(_ reason: HCIStatus, at now: Microseconds) {
        sides.peripheral.peripheralEncryption = nil
        sides.peripheral.send(.rejectIndication(.encryption, reason))
        resumeAfterEncryption(.peripheral, at: now)
    }

    mutating func receiveEncryption(_ message: LLControlPDU, by role: LinkRole, at now: Microseconds) {
        switch role {
        case .central: receiveEncryptionAsCentral(message, at: now)
        case .peripheral: receiveEncryptionAsPeripheral(message, at: now)
        }
    }

    private mutating func receiveEncryptionAsCentral(_ message: LLControlPDU, at now: Microseconds) {
        guard case .encryption(let random, let diversifier, let key) = sides.central.active?.procedure else { return }
        sides.central.active?.deadline = now + Self.procedureTimeout
        switch message {
        case .pauseEncryptionResponse:
            sides.central.encryptsTransmission = false
            sides.central.send(.pauseEncryptionResponse)
            sides.central.send(.encryptionRequest(random: random, diversifier: diversifier, key: key))
        case .startEncryptionRequest:
            sides.central.encryptsTransmission = true
            sides.central.send(.startEncryptionResponse)
        case .startEncryptionResponse:
            turnOnEncryption(.central, at: now)
            finish(.central, at: now)
        default: break
        }
    }

    private mutating func receiveEncryptionAsPeripheral(_ message: LLControlPDU, at now: Microseconds) {
        switch message {
        case .pauseEncryptionRequest:
            sides.peripheral.pauseForEncryption(isAsking: false)
            sides.peripheral.peripheralEncryption = .awaitingPauseResponse
            sides.peripheral.send(.pauseEncryptionResponse)
        case .pauseEncryptionResponse:
            sides.peripheral.encryptsTransmission = false
            sides.peripheral.peripheralEncryption = .awaitingRequest
        case .encryptionRequest(let random, let diversifier, _):
            sides.peripheral.pauseForEncryption(isAsking: false)
            guard sides.peripheral.capabilities.features.contains(.encryption) else {
                stopPeripheralEncryption(.unsupportedRemoteFeature, at: now)
                return
            }
            sides.peripheral.peripheralEncryption = .awaitingKey
            sides.peripheral.send(.encryptionResponse)
            report(.keyRequested(random: random, diversifier: diversifier), to: .peripheral)
        case .startEncryptionResponse:
            guard case .awaitingStart(let key) = sides.peripheral.peripheralEncryption else { return }
            guard case .encryption(_, _, let centralKey) = sides.central.active?.procedure, centralKey == key else {
                // The central hears nothing of it: its own supervision timeout tells it.
                leave(.peripheral, .micFailure)
                return
            }
            sides.peripheral.peripheralEncryption = nil
            sides.peripheral.encryptsTransmission = true
            sides.peripheral.send(.startEncryptionResponse)
            turnOnEncryption(.peripheral, at: now)
        default: break
        }
    }

    private mutating func turnOnEncryption(_ role: LinkRole, at now: Microseconds) {
        let isRefresh = sides[role].isEncrypted
        sides[role].isEncrypted = true
        report(isRefresh ? .keyRefreshed(.success) : .encryptionChanged(.success, isEncrypted: true), to: role)
        resumeAfterEncryption(role, at: now)
    }

    /// One end's encryption procedure is over: what had to wait for it is done now.
    mutating func resumeAfterEncryption(_ role: LinkRole, at now: Microseconds) {
        let held = sides[role].resumeAfterEncryption()
        for message in held.messages { receive(message, by: role, at: now) }
        if let parameters = held.parameters { announce(parameters, at: now) }
    }
}
