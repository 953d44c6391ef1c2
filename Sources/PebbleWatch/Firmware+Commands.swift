import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What a person does to the watch: the one door for buttons, the command line and every other control.

extension Firmware {
    /// Carries out a command.
    /// - Throws: `WatchCommandError` when it cannot be carried out now; nothing has changed then.
    @discardableResult
    public mutating func perform(
        _ command: WatchCommand,
        at now: Duration
    ) throws(WatchCommandError) -> WatchCommandResult {
        host.advance(to: now)
        defer { settle(at: now) }
        switch command {
        case .press(let button, let press):
            for change: ButtonInput.Change in [.down(button), .up(button), .pressed(button, press)] {
                take(change, at: now)
            }
            return .done
        case .hold(let held, let moment):
            for change in buttons.hold(held, since: min(moment ?? now, now)) { take(change, at: now) }
            return .done
        case .sense(let reading):
            try take(reading, at: now)
            return .done
        case .launchApp(let uuid):
            try launch(uuid, at: now)
            return .done
        case .stopApp:
            let hasStopped = system.withApps(at: now) { apps, context in apps.stop(apps.runningUUID, in: &context) }
            guard hasStopped == true else { throw .nothingToStop }
            return .done
        case .sendAppMessage(let message):
            _ = system.withApps(at: now) { apps, _ in apps.send(message) }
            settle(at: now)
            return .appMessage(system.apps.runningUUID, try system.apps.delivery)
        case .openPairing(let duration): return try openPairing(for: duration, at: now)
        case .closePairing:
            closePairingWindow(at: now)
            updatePairability(at: now)
            return .done
        case .confirmPairing:
            try confirmPairing(at: now)
            return .done
        case .refusePairing:
            try refusePairing(at: now)
            return .done
        case .enterPasskey(let passkey):
            try enter(passkey, at: now)
            return .done
        case .makeOutOfBandData: return try makeOutOfBandData()
        case .takeOutOfBandData(let block):
            try checkPairing()
            host.security?.setOutOfBandData(block.data, of: block.device)
            return .done
        case .forget(let address): return try forget(address, at: now)
        case .forgetAll: return try forgetAll(at: now)
        case .disconnect: return try disconnect(at: now)
        case .advertise:
            advertiser.receive(.command, at: now)
            return .done
        case .offerBattery(let isOffered):
            guard configuration.isBondable else { throw .databaseIsFixed }
            publish(WatchDatabase.batteryService, isOffered)
            return .done
        case .publish(let stream, let isPublished):
            if isPublished { publish(stream) } else { withdraw(stream, at: now) }
            return .done
        case .service(let command):
            try perform(command, at: now)
            return .done
        }
    }

    // MARK: Buttons

    /// When a button that is held becomes a long press.
    var nextButtonDeadline: Duration? { buttons.nextDeadline }

    mutating func advanceButtons(to now: Duration) {
        for change in buttons.advance(to: now) { take(change, at: now) }
    }

    /// The running app is told of buttons, unless a question covers it.
    private mutating func take(_ change: ButtonInput.Change, at now: Duration) {
        switch change {
        case .down(let button):
            guard !asksPairingQuestion else { return }
            buttons.toldToApp.insert(button)
            _ = system.withApps(at: now) { apps, context in apps.press(button, in: &context) }
        case .up(let button):
            guard buttons.toldToApp.remove(button) != nil else { return }
            _ = system.withApps(at: now) { apps, _ in apps.release(button) }
        case .pressed(let button, let press): pressed(button, press, at: now)
        }
    }

    private var asksPairingQuestion: Bool { waitingPrompts.contains(where: \.kind.isQuestion) }

    /// What a press means. While a pairing asks for a yes or a no, any press answers it.
    private mutating func pressed(_ button: WatchButton, _ press: ButtonPress, at now: Duration) {
        emit(.buttonPressed(button, press))
        advertiser.receive(.activity(.button), at: now)
        let asks = asksPairingQuestion
        do throws(WatchCommandError) {
            switch (button, press) {
            case _ where asks && button.isYes: try confirmPairing(at: now)
            case _ where asks: try refusePairing(at: now)
            case (.select, .long): _ = try openPairing(for: WatchCommand.pairingWindow, at: now)
            case (.back, .long): _ = try forgetAll(at: now)
            default: break
            }
        } catch {
            log(.info, .watch, "the \(button.rawValue) button has no effect: \(error)")
        }
    }

    // MARK: Apps

    private mutating func launch(_ uuid: PebbleUUID, at now: Duration) throws(WatchCommandError) {
        guard system.apps.isInstalled(uuid) else { throw .unknownApp(uuid) }
        guard system.withApps(at: now, { apps, context in apps.launch(uuid, in: &context) }) == true else {
            throw .runsAlready(uuid)
        }
    }

    // MARK: Senses

    private mutating func take(_ reading: SensorReading, at now: Duration) throws(WatchCommandError) {
        let wasCharging = sensors.isCharging
        try sensors.take(reading)
        emit(.sensed(reading))
        switch reading {
        case .tap: advertiser.receive(.activity(.motion), at: now)
        case .phoneConnection(let isConnected):
            _ = system.withApps(at: now) { apps, _ in apps.connectionChanged(isConnected: isConnected) }
        case .battery(let percent, let isCharging):
            if isCharging != wasCharging { advertiser.receive(.activity(.charger), at: now) }
            publishCharge(percent, at: now)
        case .compass, .accelerometer, .timeFormat, .timelinePeek, .contentSize, .health, .heartRate: break
        }
    }

    /// Shows phones the battery's charge, and tells those that subscribed.
    private mutating func publishCharge(_ percent: UInt8, at now: Duration) {
        do {
            try host.setValue([percent], of: handles.batteryLevel)
        } catch {
            log(.error, .gatt, "the battery level was not updated: \(error)")
        }
        for connection in links.keys.sorted() {
            guard !host.gatt.subscription(to: handles.batteryLevel, on: connection).isEmpty else { continue }
            do {
                try host.notify([percent], of: handles.batteryLevel, on: connection, at: now)
            } catch {
                log(.info, .gatt, "\(connection): the battery level was not notified: \(error)")
            }
        }
    }

    // MARK: Pairing

    private func checkPairing() throws(WatchCommandError) {
        guard configuration.isBondable else { throw .notBondable }
        guard configuration.pairing.mode != .reject else { throw .pairingIsRefused }
    }

    private mutating func openPairing(
        for duration: Duration,
        at now: Duration
    ) throws(WatchCommandError) -> WatchCommandResult {
        try checkPairing()
        guard duration >= .seconds(1), duration <= WatchCommand.longestPairingWindow else { throw .badWindow }
        let end = now + duration
        pairingWindowEnd = end
        refusedPairing = nil
        advertiser.receive(.pairingWindow(isOpen: true), at: now)
        updatePairability(at: now)
        return .pairingOpen(until: end)
    }

    private mutating func confirmPairing(at now: Duration) throws(WatchCommandError) {
        let questions = waitingPrompts.filter(\.kind.isQuestion)
        guard !questions.isEmpty else { throw whyNothingToConfirm }
        for prompt in questions { answer(prompt, with: .accept, at: now) }
    }

    /// The pairings that wait for a person, in the order of their links.
    private var waitingPrompts: [PairingPrompt] { pairingPrompts.keys.sorted().compactMap { pairingPrompts[$0] } }

    private var whyNothingToConfirm: WatchCommandError {
        for prompt in waitingPrompts {
            switch prompt.kind {
            case .requestPasskey: return .passkeyIsAsked
            case .displayPasskey(let passkey): return .passkeyIsShown(passkey)
            case .confirmPairing, .numericComparison: continue
            }
        }
        return .nothingWaits
    }

    private mutating func refusePairing(at now: Duration) throws(WatchCommandError) {
        let waiting = waitingPrompts
        guard !waiting.isEmpty else { throw .nothingWaits }
        for prompt in waiting { answer(prompt, with: .reject, at: now) }
    }

    private mutating func enter(_ passkey: Passkey, at now: Duration) throws(WatchCommandError) {
        let waiting = waitingPrompts.filter { $0.kind == .requestPasskey }
        guard !waiting.isEmpty else { throw .noPasskeyIsAsked }
        for prompt in waiting { answer(prompt, with: .passkey(passkey), at: now) }
    }

    private mutating func makeOutOfBandData() throws(WatchCommandError) -> WatchCommandResult {
        try checkPairing()
        guard let data = host.security?.makeOutOfBandData() else { throw .noSecrets }
        let device = privateAddress.map(LEAddress.random) ?? configuration.identity.address
        return .outOfBandData(OutOfBandBlock(device: device, data: PeerOutOfBandData(secureConnections: data)))
    }

    // MARK: Phones

    private mutating func forget(
        _ address: DeviceAddress,
        at now: Duration
    ) throws(WatchCommandError) -> WatchCommandResult {
        let matching = bondedPhones.filter { $0.address == address }
        guard !matching.isEmpty else { throw .unknownPhone(address) }
        return forget(matching, at: now)
    }

    private mutating func forgetAll(at now: Duration) throws(WatchCommandError) -> WatchCommandResult {
        guard !phones.isEmpty else { throw .noPhones }
        return forget(bondedPhones, at: now)
    }

    private mutating func forget(_ identities: [LEAddress], at now: Duration) -> WatchCommandResult {
        for identity in identities {
            for handle in links.keys.sorted() where links[handle]?.identity == identity {
                end(handle, because: .forgotten, at: now)
            }
            removeBond(identity)
            memoryChanges.append(.forget(identity))
            emit(.forgotten(identity))
        }
        updatePairability(at: now)
        return .forgot(identities)
    }

    private mutating func disconnect(at now: Duration) throws(WatchCommandError) -> WatchCommandResult {
        guard !links.isEmpty else { throw .notConnected }
        let handles = links.keys.sorted()
        for handle in handles { end(handle, because: .command, at: now) }
        return .disconnecting(handles.compactMap { links[$0]?.identity })
    }
}

extension PairingPrompt.Kind {
    /// Whether yes is an answer.
    var isQuestion: Bool {
        switch self {
        case .confirmPairing, .numericComparison: true
        case .displayPasskey, .requestPasskey: false
        }
    }
}
