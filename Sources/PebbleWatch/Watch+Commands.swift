import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What a person does to the watch: the one door for buttons, the command line and every other control.

extension Watch {
    /// Carries out a command.
    /// - Throws: `WatchCommandError` when it cannot be carried out now; nothing has changed then.
    @discardableResult
    public mutating func perform(
        _ command: WatchCommand,
        at now: Duration
    ) throws(WatchCommandError) -> WatchCommandResult {
        core.host.advance(to: now)
        defer { settle(at: now) }
        switch command {
        case .press(let button, let press):
            if !core.phones.asksQuestion {
                core.system.withBridge(at: now) { $0.tell($0.buttons.press(button, press, at: now)) }
            }
            for change: ButtonInput.Change in [.down(button), .up(button), .pressed(button, press)] {
                take(change, at: now)
            }
        case .hold(let held, let moment):
            let shown = core.phones.asksQuestion ? [] : held
            core.system.withBridge(at: now) { $0.tell($0.buttons.hold(shown, at: now)) }
            for change in controls.buttons.hold(held, since: min(moment ?? now, now)) { take(change, at: now) }
        case .sense(let reading): try take(reading, at: now)
        case .launchApp(let uuid): try core.system.launch(uuid, at: now)
        case .stopApp: try core.system.stopApp(at: now)
        case .installApp(let package, let launches): try core.system.install(package, launches: launches, at: now)
        case .removeApp(let uuid): try core.system.remove(uuid, at: now)
        case .sendAppMessage(let message):
            _ = core.system.withApps(at: now) { apps, _ in apps.send(message) }
            settle(at: now)
            return .appMessage(core.system.apps.runningUUID, try core.system.apps.delivery)
        case .openPairing(let duration): return try presence.openPairingWindow(for: duration, &core, at: now)
        case .closePairing:
            presence.closePairingWindow(&core, at: now)
            presence.updatePairability(&core, at: now)
        case .confirmPairing: try core.confirmPairing(at: now)
        case .refusePairing: try core.refusePairing(at: now)
        case .enterPasskey(let passkey): try core.enter(passkey, at: now)
        case .makeOutOfBandData: return try core.makeOutOfBandData(for: presence.privateAddress)
        case .takeOutOfBandData(let block):
            try core.checkPairing()
            core.host.security?.setOutOfBandData(block.data, of: block.device)
        case .forget(let address):
            let matching = bondedPhones.filter { $0.address == address }
            guard !matching.isEmpty else { throw .unknownPhone(address) }
            return forget(matching, at: now)
        case .forgetAll:
            guard !bondedPhones.isEmpty else { throw .noPhones }
            return forget(bondedPhones, at: now)
        case .disconnect: return try disconnect(at: now)
        case .advertise: presence.receive(.command, at: now)
        case .offerBattery(let isOffered):
            guard configuration.isBondable else { throw .databaseIsFixed }
            database.update(&profiles, &core, at: now) { $0.battery?.show(isOffered) }
        case .publish(let stream, let isPublished):
            database.publish(stream, isPublished, &profiles, &core, at: now)
        case .setTime(let seconds, let offsetMinutes, let zone):
            core.system.handle(at: now) { _, context in
                TimeService.set(seconds, offsetMinutes: offsetMinutes, zone: zone, in: &context)
            }
        case .service(let command): try core.system.perform(command, at: now)
        case .addFault(let fault, let id): try add(fault, as: id, at: now)
        case .clearFaults(let id): try clearFault(id, at: now)
        }
        return .done
    }

    // MARK: Buttons

    /// The running app is told of buttons, unless a question covers it.
    mutating func take(_ change: ButtonInput.Change, at now: Duration) {
        switch change {
        case .down(let button):
            guard !core.phones.asksQuestion else { return }
            controls.buttons.toldToApp.insert(button)
            _ = core.system.withApps(at: now) { apps, context in apps.press(button, in: &context) }
        case .up(let button):
            guard controls.buttons.toldToApp.remove(button) != nil else { return }
            _ = core.system.withApps(at: now) { apps, _ in apps.release(button) }
        case .pressed(let button, let press): pressed(button, press, at: now)
        }
    }

    /// What a press means. While a pairing asks for a yes or a no, any press answers it.
    private mutating func pressed(_ button: WatchButton, _ press: ButtonPress, at now: Duration) {
        core.emit(.buttonPressed(button, press))
        presence.receive(.activity(.button), at: now)
        do throws(WatchCommandError) {
            if core.phones.asksQuestion {
                if button.isYes { try core.confirmPairing(at: now) } else { try core.refusePairing(at: now) }
            } else if button == .select, press == .long {
                _ = try presence.openPairingWindow(for: WatchCommand.pairingWindow, &core, at: now)
            } else if button == .back, press == .long {
                guard !bondedPhones.isEmpty else { throw .noPhones }
                _ = forget(bondedPhones, at: now)
            }
        } catch {
            core.log(.info, .watch, "the \(button.rawValue) button has no effect: \(error)")
        }
    }

    // MARK: Senses

    mutating func take(_ reading: SensorReading, at now: Duration) throws(WatchCommandError) {
        let wasCharging = controls.sensors.isCharging
        try controls.sensors.take(reading)
        core.emit(.sensed(reading))
        core.system.withBridge(at: now) { $0.tell(QEMUMessage(reading)) }
        switch reading {
        case .tap: presence.receive(.activity(.motion), at: now)
        case .phoneConnection(let isConnected):
            _ = core.system.withApps(at: now) { apps, _ in apps.connectionChanged(isConnected: isConnected) }
        case .battery(let percent, let isCharging):
            if isCharging != wasCharging { presence.receive(.activity(.charger), at: now) }
            database.update(&profiles, &core, at: now) { $0.battery?.measured(percent) }
        case .compass, .accelerometer, .timeFormat, .timelinePeek, .contentSize, .health, .heartRate: break
        }
    }

    // MARK: Phones

    private mutating func forget(_ identities: [LEAddress], at now: Duration) -> WatchCommandResult {
        for identity in identities {
            for handle in links.keys.sorted() where links[handle]?.identity == identity {
                links[handle]?.end(because: .forgotten, &core.host, at: now)
            }
            core.removeBond(identity)
            core.store.append(.forget(identity))
            core.emit(.forgotten(identity))
        }
        presence.updatePairability(&core, at: now)
        return .forgot(identities)
    }

    private mutating func disconnect(at now: Duration) throws(WatchCommandError) -> WatchCommandResult {
        guard !links.isEmpty else { throw .notConnected }
        let handles = links.keys.sorted()
        for handle in handles { links[handle]?.end(because: .command, &core.host, at: now) }
        return .disconnecting(handles.compactMap { links[$0]?.identity })
    }
}

extension WatchSystem {
    fileprivate mutating func launch(_ uuid: PebbleUUID, at now: Duration) throws(WatchCommandError) {
        guard apps.isInstalled(uuid) else { throw .unknownApp(uuid) }
        guard withApps(at: now, { apps, context in apps.launch(uuid, in: &context) }) == true else {
            throw .runsAlready(uuid)
        }
    }

    fileprivate mutating func install(
        _ package: AppPackage,
        launches: Bool,
        at now: Duration
    ) throws(WatchCommandError) {
        let uuid = package.metadata.uuid
        guard services.store.apps[uuid] != nil || !apps.isInstalled(uuid) else { throw .appIsBuiltIn(uuid) }
        var failure: WatchCommandError?
        handle(at: now) { system, context in
            failure = system.services.install(package, launches: launches, in: &context)
        }
        if let failure { throw failure }
    }

    fileprivate mutating func remove(_ uuid: PebbleUUID, at now: Duration) throws(WatchCommandError) {
        guard services.store.apps[uuid] != nil else {
            throw apps.isInstalled(uuid) ? .appIsBuiltIn(uuid) : .unknownApp(uuid)
        }
        handle(at: now) { system, context in system.services.remove(uuid, in: &context) }
    }

    fileprivate mutating func stopApp(at now: Duration) throws(WatchCommandError) {
        let hasStopped = withApps(at: now) { apps, context in apps.stop(apps.runningUUID, in: &context) }
        guard hasStopped == true else { throw .nothingToStop }
    }
}
