import ByteCoding
import PebbleProtocol

/// Endpoint 0x0012: firmware updates. The images come through PutBytes; here is when they may come, which of them are
/// there, and when the watch restarts with them.
struct FirmwareUpdateService: EndpointService {
    static var endpoint: Endpoint { .systemMessage }
    /// After the phone began an update, its first upload has to begin within this time.
    static let startWindow: Duration = .seconds(40)
    /// How long after the phone said that the update is complete the watch restarts.
    static let restartDelay: Duration = .seconds(3)

    private struct Install: Sendable {
        let session: SessionID
        let part: FirmwarePart
    }

    /// Until when the first upload of the update that is under way has to begin; nil once it has.
    private var uploadDeadline: Duration?
    private var installs: [Install] = []
    /// When the watch restarts.
    private var restartTime: Duration?

    var nextDeadline: Duration? { uploadDeadline.earlier(restartTime) }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try SystemMessage(payload: message.payload) {
        case .firmwareUpdateStart(let sizes):
            // If the phone does not say what is there already, it sends everything again.
            if sizes?.alreadyTransferredByteCount ?? 0 == 0 { context.discardAllImages() }
            context.store.updateSession = session
            uploadDeadline = context.now + Self.startWindow
            context.emit(.updateBegan)
            context.reply(SystemMessage.firmwareUpdateStartResponse(.running), on: session)
        case .firmwareUpdateComplete:
            end(in: &context)
            restartTime = context.now + Self.restartDelay
            context.emit(.updateCompleted)
        case .firmwareUpdateFailed:
            end(in: &context)
            context.discardAllImages()
            context.emit(.updateFailed(reason: "the phone gave it up"))
        case .firmwareStatusRequest:
            context.reply(SystemMessage.firmwareStatusResponse(Self.status(of: context.store.images)), on: session)
        case .firmwareAvailable, .firmwareUpToDate:
            break
        case .stopReconnecting, .startReconnecting, .mapDisabled, .mapEnabled, .firmwareUpdateStartResponse,
            .firmwareStatusResponse:
            context.log(.info, .session, "\(session): the phone sent a watch's system message")
        }
    }

    /// The session is gone. What it uploaded stays, so that the next one can go on with it.
    mutating func sessionEnding(_ session: SessionID, in context: inout ServiceContext) {
        installs.removeAll { $0.session == session }
        guard context.store.updateSession == session else { return }
        end(in: &context)
        context.emit(.updateFailed(reason: "the session closed"))
    }

    mutating func advance(in context: inout ServiceContext) {
        if let uploadDeadline, uploadDeadline <= context.now {
            end(in: &context)
            context.emit(.updateFailed(reason: "no upload began"))
        }
        guard let restartTime, restartTime <= context.now else { return }
        self.restartTime = nil
        context.restart = .firmwareUpdate
    }

    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        switch effect {
        case .imageUploadWanted: uploadDeadline = nil
        case .imageInstallWanted(let part, let session): install(part, on: session, in: &context)
        case .phoneAnnounced, .upload, .logsWanted, .appInstalled, .packageInstalled, .appRemoved, .appsCleared,
            .appWanted, .appFetched:
            break
        }
    }

    /// No images may be uploaded any more.
    private mutating func end(in context: inout ServiceContext) {
        context.store.updateSession = nil
        uploadDeadline = nil
    }

    /// What is stored of an interrupted update. A byte less than is there is reported, so that the phone sends at least
    /// one and commits the image.
    private static func status(of images: [FirmwarePart: StoredFirmwareImage]) -> SystemMessage.StoredFirmware {
        func prefix(_ part: FirmwarePart) -> (count: UInt32, crc: UInt32) {
            guard let bytes = images[part]?.bytes, bytes.count > 1 else { return (0, 0) }
            return (UInt32(clamping: bytes.count - 1), LegacyChecksum.checksum(of: bytes.dropLast()))
        }
        let resources = prefix(.systemResources)
        let firmware = prefix(.firmware)
        return SystemMessage.StoredFirmware(
            resourceByteCount: resources.count,
            resourceCRC: resources.crc,
            firmwareByteCount: firmware.count,
            firmwareCRC: firmware.crc
        )
    }
}

// MARK: - Installation

extension FirmwareUpdateService {
    /// The phone wants an image started at the next boot. It is told so once the store knows.
    private mutating func install(_ part: FirmwarePart, on session: SessionID, in context: inout ServiceContext) {
        installs.append(Install(session: session, part: part))
        context.remember(.updateProgress(part, .installed), for: .systemMessage)
    }

    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard !installs.isEmpty else { return }
        let install = installs.removeFirst()
        guard failure == nil, context.store.images[install.part] != nil else {
            context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: install.session)
            return
        }
        context.store.images[install.part]?.progress = .installed
        // The firmware has forgotten the token by now and answers with none.
        context.reply(PutBytesResponse.acknowledgement(.none), on: install.session)
    }
}

// MARK: - Images

extension ServiceContext {
    /// An image's upload begins: it starts from what is there, which counts as incomplete from now on.
    mutating func takeImage(_ part: FirmwarePart) -> [UInt8] {
        guard let image = store.images.removeValue(forKey: part) else { return [] }
        if image.progress != .partial { remember(.updateProgress(part, .partial)) }
        return image.bytes
    }

    /// An upload ended early, with these bytes.
    mutating func keepImage(_ part: FirmwarePart, _ bytes: [UInt8]) {
        store.images[part] = bytes.isEmpty ? nil : StoredFirmwareImage(bytes: bytes)
    }

    /// An image is of no use.
    mutating func discardImage(_ part: FirmwarePart) {
        store.images[part] = nil
        remember(.updateDiscarded(part))
    }

    /// All images are of no use.
    fileprivate mutating func discardAllImages() {
        for part in store.images.keys.sorted(by: { $0.rawValue < $1.rawValue }) { discardImage(part) }
    }
}
