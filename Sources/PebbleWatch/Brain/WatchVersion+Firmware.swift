import PebbleProtocol

// What the emulated firmware says of its watch, corrected to what a watch says.

extension WatchVersion {
    /// The same with what an emulator cannot know.
    ///
    /// An emulator has no recovery firmware in store, and its block of zeros makes companions take the watch for one in recovery.
    /// Its serial number is empty and its address is nobody's, where companions compare both with what they saw on the air. Its
    /// board has a number of emulators, for which companions have no name.
    func corrected(for identity: WatchIdentity) -> WatchVersion {
        var version = self
        let hardware = running.hardwarePlatform.sold(as: identity.hardware)
        version.running.hardwarePlatform = hardware
        version.recovery =
            recovery
            ?? FirmwareMetadata(
                timestamp: identity.firmwareTimestamp,
                versionTag: identity.recoveryFirmware.description,
                shortGitHash: identity.firmwareRevision,
                flags: .recovery,
                hardwarePlatform: hardware
            )
        version.recovery?.hardwarePlatform = hardware
        version.serialNumber = identity.serialNumber
        version.bluetoothAddress = BluetoothAddress(rawValue: identity.address.address.value)
        if board.isEmpty { version.board = identity.boardName }
        return version
    }
}

extension PebbleMessage {
    /// The firmware's answer to who it is, as a watch gives it; the same message if it is no such answer. What follows the fields
    /// that are known stays as it is.
    func corrected(for identity: WatchIdentity) -> PebbleMessage {
        guard endpoint == .watchVersion, case .response(let version)? = try? WatchVersionMessage(payload: payload)
        else {
            return self
        }
        let known = PebbleMessage(WatchVersionMessage.response(version)).payload.count
        var message = PebbleMessage(WatchVersionMessage.response(version.corrected(for: identity)))
        message.payload += payload.dropFirst(known)
        return message
    }
}

/// What a firmware says of the watch that it runs.
struct FirmwareIdentity: Sendable, Equatable {
    /// Its version, and the board that it is for.
    let version: WatchVersion
    /// The colour of the case; nil if the firmware knows none.
    let color: WatchColor?
}

extension WatchColor {
    /// Reads an answer of the factory's registry; nil if it brings no colour that is known.
    init?(registryAnswer payload: [UInt8]) {
        guard case .value(let bytes)? = try? FactoryRegistryMessage(payload: payload), bytes.count == 4 else {
            return nil
        }
        self.init(rawValue: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    }
}

extension WatchIdentity {
    /// The same watch with the board, the colour, the maker and the versions of a firmware. Its name, its address and its serial
    /// number stay. What the firmware does not say, or says in a way that companions do not understand, is the model's.
    func following(_ said: FirmwareIdentity) -> WatchIdentity {
        var identity = self
        let version = said.version
        identity.hardware = version.running.hardwarePlatform.sold(as: hardware)
        if let platform = identity.hardware.appPlatform, platform != hardware.appPlatform {
            let model = Personality(of: platform)
            identity.boardName = model.boardName
            identity.color = model.color
            identity.company = model.company
            identity.recoveryFirmware = model.recoveryFirmware
        }
        if !version.board.isEmpty, version.board.allSatisfy(\.isASCII) { identity.boardName = version.board }
        if let color = said.color, color != .unknown { identity.color = color }
        identity.firmware = FirmwareVersion(version.running.versionTag) ?? firmware
        if let recovery = version.recovery.flatMap({ FirmwareVersion($0.versionTag) }) {
            identity.recoveryFirmware = recovery
        }
        identity.firmwareTimestamp = version.running.timestamp
        identity.firmwareRevision = version.running.shortGitHash
        return identity
    }
}

extension HardwarePlatform {
    /// The lowest of the numbers that boards of developers and emulators have.
    private static let firstOfEmulators: UInt8 = 0xF2

    /// The board under which a watch of the same kind is sold: the watch's own, if it runs the same apps.
    /// - Parameter own: the board that the watch says it is on the air.
    func sold(as own: HardwarePlatform) -> HardwarePlatform {
        guard rawValue >= Self.firstOfEmulators, let platform = appPlatform else {
            return self == .unknown ? own : self
        }
        guard platform != own.appPlatform else { return own }
        return switch platform {
        case .aplite: .tintinV15
        case .basalt: .snowyS3
        case .chalk: .spalding
        case .diorite: .silk
        case .emery: .obelixPVT
        case .flint: .asterix
        case .gabbro: .getafixDVT
        }
    }
}
