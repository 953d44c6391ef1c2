import BluetoothHCI

// The emulated firmware, and what becomes of phones when it crashes.

extension Watch {
    /// Takes what the emulator does.
    /// - Returns: the next bytes for it, if it has room; none when nothing waits.
    mutating func take(_ input: FirmwareInput, at now: Duration) -> [UInt8] {
        let bytes = core.system.take(input, at: now)
        guard input != .hasRoom else {
            // Bytes that leave move nothing here, but the next ones may have to wait.
            if !bytes.isEmpty { keepDeadline() }
            return bytes
        }
        followFirmware()
        settle(at: now)
        return bytes
    }

    /// The next bytes for the emulator, whole frames; none when nothing waits, or the emulator has no room.
    public mutating func nextFirmwareBytes(at now: Duration) -> [UInt8] { take(.hasRoom, at: now) }

    /// Whether bytes wait for the emulator that it has room for.
    public var hasFirmwareBytes: Bool { core.system.hasBytesForFirmware }

    /// How the firmware does that is the watch's brain or its shadow; nil for a watch that has none.
    public var firmwareStatus: FirmwareStatus? { core.system.firmwareStatus }

    /// Whether a message has left for the emulator in part.
    public var isInFirmwareMessage: Bool { core.system.isInMessageToFirmware }

    /// Is the watch that the firmware says it is: on the air, in Device Information, for bundles, and for the screen until the
    /// firmware has shown its own.
    private mutating func followFirmware() {
        guard let said = core.system.bridge.part?.takeSaid() else { return }
        let identity = core.configuration.identity.following(said)
        guard identity != core.configuration.identity else { return }
        life.originalIdentity = identity
        core.take(identity)
        presence.take(identity)
        profiles.services.information.take(identity)
    }

    /// A firmware that has crashed takes its phones' links with it, as on a watch.
    mutating func endLinksOfFallenFirmware(at now: Duration) {
        guard core.system.takeFirmwareFall() else { return }
        links.endAll(because: .firmwareGone, reason: .remoteDevicePowerOff, &core.host, at: now)
    }
}
