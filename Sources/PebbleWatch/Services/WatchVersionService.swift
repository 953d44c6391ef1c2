import ByteCoding
import PebbleProtocol

/// Endpoint 0x0010: which firmware runs on which hardware, and what it can do.
struct WatchVersionService: EndpointService {
    static var endpoint: Endpoint { .watchVersion }

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        guard case .request = try WatchVersionMessage(payload: message.payload) else { return }
        let version = WatchVersion(
            identity: context.identity,
            capabilities: context.capabilities,
            isFaithful: context.store.isFaithful,
            isRecovery: context.isRecovery
        )
        context.reply(WatchVersionMessage.response(version), on: session)
    }
}

extension WatchVersion {
    /// What a watch of this identity says of itself.
    init(identity: WatchIdentity, capabilities: Capabilities, isFaithful: Bool, isRecovery: Bool) {
        func metadata(_ version: WatchIdentity.FirmwareVersion, _ flags: FirmwareMetadata.Flags) -> FirmwareMetadata {
            FirmwareMetadata(
                timestamp: identity.firmwareTimestamp,
                versionTag: version.description,
                shortGitHash: identity.firmwareRevision,
                flags: flags,
                hardwarePlatform: identity.hardware
            )
        }
        self.init(
            running: isRecovery ? metadata(identity.recoveryFirmware, .recovery) : metadata(identity.firmware, []),
            recovery: metadata(identity.recoveryFirmware, .recovery),
            bootLoaderVersion: 1,
            board: identity.boardName,
            serialNumber: identity.serialNumber,
            bluetoothAddress: BluetoothAddress(rawValue: identity.address.address.value),
            resourcesCRC: 0,
            resourcesTimestamp: identity.firmwareTimestamp,
            locale: "en_US",
            languageVersion: 1,
            capabilities: capabilities,
            isUnfaithful: !isFaithful,
            healthInsightsVersion: 0,
            javaScriptBytecodeVersion: 0
        )
    }
}
