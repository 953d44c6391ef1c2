import ByteCoding
import PebbleProtocol

/// Endpoint 0x0012: firmware updates. The images come through PutBytes; here is when they may come, which of them are
/// there, and when the watch restarts with them.
struct FirmwareUpdateService: Sendable {
    /// After the phone began an update, its first upload has to begin within this time.
    static let startWindow: Duration = .seconds(40)
    /// How long after the phone said that the update is complete the watch restarts.
    static let restartDelay: Duration = .seconds(3)

    private enum Phase: Sendable, Equatable {
        case idle
        case begun(on: SessionID, uploadBy: Duration)
        case uploading(on: SessionID)

        var session: SessionID? {
            switch self {
            case .idle: nil
            case .begun(let session, _), .uploading(let session): session
            }
        }
    }

    private struct Install: Sendable {
        let session: SessionID
        let part: FirmwarePart
    }

    /// What has been uploaded, whole or in part.
    private(set) var images: [FirmwarePart: StoredFirmwareImage]
    private var phase = Phase.idle
    private var installs: [Install] = []
    /// When the watch restarts.
    private(set) var restartTime: Duration?

    init(images: [FirmwarePart: StoredFirmwareImage]) {
        self.images = images
    }

    /// Whether images may be uploaded now.
    var allowsUploads: Bool { phase != .idle }

    /// When something is to be done.
    var nextDeadline: Duration? {
        if case .begun(_, let deadline) = phase { return [deadline, restartTime].compactMap(\.self).min() }
        return restartTime
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try SystemMessage(payload: message.payload) {
        case .firmwareUpdateStart(let sizes):
            // If the phone does not say what is there already, it sends everything again.
            if sizes?.alreadyTransferredByteCount ?? 0 == 0 { discardAll(in: &context) }
            phase = .begun(on: session, uploadBy: context.now + Self.startWindow)
            context.emit(.updateBegan)
            context.reply(SystemMessage.firmwareUpdateStartResponse(.running), on: session)
        case .firmwareUpdateComplete:
            phase = .idle
            restartTime = context.now + Self.restartDelay
            context.emit(.updateCompleted)
        case .firmwareUpdateFailed:
            phase = .idle
            discardAll(in: &context)
            context.emit(.updateFailed(reason: "the phone gave it up"))
        case .firmwareStatusRequest:
            context.reply(SystemMessage.firmwareStatusResponse(status), on: session)
        case .firmwareAvailable, .firmwareUpToDate:
            break
        case .stopReconnecting, .startReconnecting, .mapDisabled, .mapEnabled, .firmwareUpdateStartResponse,
            .firmwareStatusResponse:
            context.log(.info, .session, "\(session): the phone sent a watch's system message")
        }
    }

    /// The session is gone. What it uploaded stays, so that the next one can go on with it.
    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        installs.removeAll { $0.session == session }
        guard phase.session == session else { return }
        phase = .idle
        context.emit(.updateFailed(reason: "the session closed"))
    }

    /// Lets time pass.
    /// - Returns: whether the watch is to restart now.
    mutating func advance(in context: inout ServiceContext) -> Bool {
        if case .begun(_, let deadline) = phase, deadline <= context.now {
            phase = .idle
            context.emit(.updateFailed(reason: "no upload began"))
        }
        guard let restartTime, restartTime <= context.now else { return false }
        self.restartTime = nil
        return true
    }

    /// What is stored of an interrupted update. A byte less than is there is reported, so that the phone sends at least
    /// one and commits the image.
    private var status: SystemMessage.StoredFirmware {
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

// MARK: - Images

extension FirmwareUpdateService {
    /// An image's upload begins: it starts from what is there, which counts as incomplete from now on.
    mutating func takeForUpload(_ part: FirmwarePart, in context: inout ServiceContext) -> [UInt8] {
        if let session = phase.session { phase = .uploading(on: session) }
        guard let image = images.removeValue(forKey: part) else { return [] }
        if image.progress != .partial { context.remember(.updateProgress(part, .partial)) }
        return image.bytes
    }

    /// An upload ended early, with these bytes.
    mutating func keep(_ part: FirmwarePart, _ bytes: [UInt8]) {
        images[part] = bytes.isEmpty ? nil : StoredFirmwareImage(bytes: bytes)
    }

    /// An image is whole, and the store has it.
    mutating func committed(_ part: FirmwarePart, _ bytes: [UInt8]) {
        images[part] = StoredFirmwareImage(bytes: bytes, progress: .committed)
    }

    /// The phone wants an image started at the next boot. It is told so once the store knows.
    mutating func install(
        _ part: FirmwarePart,
        token: PutBytesToken,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        installs.append(Install(session: session, part: part))
        context.remember(.updateProgress(part, .installed), for: .update)
    }

    /// The store knows, or could not be told.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard !installs.isEmpty else { return }
        let install = installs.removeFirst()
        guard failure == nil, images[install.part] != nil else {
            context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: install.session)
            return
        }
        images[install.part]?.progress = .installed
        // The firmware has forgotten the token by now and answers with none.
        context.reply(PutBytesResponse.acknowledgement(.none), on: install.session)
    }

    /// An image is of no use.
    mutating func discard(_ part: FirmwarePart, in context: inout ServiceContext) {
        images[part] = nil
        context.remember(.updateDiscarded(part))
    }

    private mutating func discardAll(in context: inout ServiceContext) {
        for part in images.keys.sorted(by: { $0.rawValue < $1.rawValue }) { discard(part, in: &context) }
    }
}
