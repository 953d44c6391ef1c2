import ByteCoding
import PebbleProtocol

/// Endpoint 0xBEEF: takes uploads, one at a time. What becomes of an object once it is whole is for others to decide.
///
/// Every request is answered, as the firmware does. A piece that is no good for what goes on is refused without a token, and
/// the upload goes on; any other request that does not fit is refused in its own words and ends the upload. A piece that is
/// longer than what is left is acknowledged before it is looked at, and then refused. The commit of an object is acknowledged
/// when the store has it.
struct PutBytesService: EndpointService {
    static var endpoint: Endpoint { .putBytes }
    static var takesEmptyMessages: Bool { true }

    /// An upload without a request for so long is over, without a word.
    static let inactivityTimeout: Duration = .seconds(30)
    /// Objects that are whole and may still be installed; beyond it the oldest cannot be any more.
    static let installableLimit = 8
    /// Images of an update go to the store in pieces of this size, so that an interrupted upload can be resumed even
    /// after the watch itself was interrupted.
    static let storedPieceLength = 16 * 1024

    /// Where an object goes.
    enum Destination: Sendable, Equatable {
        case app(AppPart)
        case file(String)
        case update(FirmwarePart)
        /// Of an app that is not on the watch: the firmware takes it, and nothing ever asks for it.
        case nowhere
    }

    private struct Upload: Sendable {
        let session: SessionID
        let token: PutBytesToken
        let kind: PutBytesObject.Kind
        let destination: Destination
        /// Everything so far, with what an earlier upload brought.
        var bytes: [UInt8]
        var checksum: LegacyChecksum
        /// Of `bytes`, how many the store has.
        var storedByteCount: Int
        var remainingByteCount: Int
        var hasPieces = false
        var deadline: Duration
    }

    /// An object on its way into the store.
    private struct Commit: Sendable {
        /// Nil when it has closed meanwhile.
        var session: SessionID?
        let token: PutBytesToken
        let kind: PutBytesObject.Kind
        let destination: Destination
        let bytes: [UInt8]
    }

    private var upload: Upload?
    private var commit: Commit?
    private var installable: [(token: PutBytesToken, kind: PutBytesObject.Kind, destination: Destination)] = []

    /// Whether an upload is under way: ``ServiceStore/isUploading`` is told at the end of every call that may change it.
    private var isBusy: Bool { upload != nil || commit != nil }

    /// How many bytes of the upload have come; nil if none is under way.
    var uploadedByteCount: Int? { upload?.bytes.count }

    /// When the upload is given up.
    var nextDeadline: Duration? { upload?.deadline }

    /// Handles a request. What cannot be read is refused like what does not fit.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        defer { context.store.isUploading = isBusy }
        let token = PutBytesRequest.token(of: message.payload)
        guard !message.payload.isEmpty, message.payload.count <= PutBytesRequest.maximumLength else {
            return context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
        }
        guard let request = try? PutBytesRequest(payload: message.payload) else {
            if PutBytesRequest.isPiece(message.payload) {
                return context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
            }
            return refuse(token, "a request could not be read", on: session, in: &context)
        }
        switch request {
        case .begin(let object):
            begin(object, on: session, in: &context)
        case .put(let piece):
            put(piece, on: session, in: &context)
        case .commit(let token, let crc):
            commit(token, crc: crc, on: session, in: &context)
        case .abort(let token):
            guard upload?.token == token, upload?.session == session else {
                refuse(token, "an abort named another upload", on: session, in: &context)
                return
            }
            end("the phone gave it up", in: &context)
            context.reply(PutBytesResponse.acknowledgement(token), on: session)
        case .install(let token):
            install(token, on: session, in: &context)
        }
    }

    /// The session's upload is gone with it.
    mutating func sessionEnding(_ session: SessionID, in context: inout ServiceContext) {
        defer { context.store.isUploading = isBusy }
        if upload?.session == session { end("the session closed", in: &context) }
        if commit?.session == session { commit?.session = nil }
    }

    mutating func advance(in context: inout ServiceContext) {
        defer { context.store.isUploading = isBusy }
        guard let deadline = upload?.deadline, deadline <= context.now else { return }
        end("nothing came for \(Self.inactivityTimeout)", in: &context)
    }

    /// The store has the object that was committed, or could not take it.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard let commit else { return }
        self.commit = nil
        context.store.isUploading = isBusy
        if let failure {
            if case .update(let part) = commit.destination { context.discardImage(part) }
            note(.failed, of: commit.destination, in: &context)
            context.emit(.uploadFailed(commit.kind, reason: "\(failure)"))
            if let session = commit.session {
                context.reply(PutBytesResponse.negativeAcknowledgement(commit.token), on: session)
            }
            return
        }
        keep(commit.bytes, at: commit.destination, in: &context)
        if installable.count >= Self.installableLimit { installable.removeFirst() }
        installable.append((commit.token, commit.kind, commit.destination))
        note(.stored, of: commit.destination, in: &context)
        context.emit(.uploaded(commit.kind, byteCount: commit.bytes.count))
        if let session = commit.session { context.reply(PutBytesResponse.acknowledgement(commit.token), on: session) }
    }

    /// The store has an object, which the watch has from now on.
    private func keep(_ bytes: [UInt8], at destination: Destination, in context: inout ServiceContext) {
        switch destination {
        case .app(let part): context.store.apps.setPart(part, StoredObject(bytes))
        case .file(let name): context.store.files[name] = StoredObject(bytes)
        case .update(let part):
            context.store.images[part] = StoredFirmwareImage(bytes: bytes, progress: .committed)
        case .nowhere: break
        }
    }

    private func note(
        _ outcome: UploadStep.Outcome,
        of destination: Destination,
        in context: inout ServiceContext
    ) {
        context.effects.append(.upload(UploadStep(destination: destination, outcome: outcome)))
    }
}

// MARK: - Requests

extension PutBytesService {
    private mutating func begin(
        _ object: PutBytesObject,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        guard !isBusy else {
            refuse(.none, "another one began", on: session, in: &context)
            return
        }
        guard let destination = Self.destination(of: object, in: context.store) else {
            context.emit(.uploadFailed(object.kind, reason: "the watch does not want it"))
            context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
            return
        }
        var bytes: [UInt8] = []
        if case .update(let part) = destination {
            bytes = context.takeImage(part)
            context.effects.append(.imageUploadWanted)
        }
        let start = Int(object.resumeOffset ?? 0)
        guard start <= bytes.count, start + Int(object.size) <= object.kind.sizeLimit,
            !bytes.isEmpty || object.resumeOffset ?? 0 == 0
        else {
            if case .update(let part) = destination { context.keepImage(part, bytes) }
            context.emit(.uploadFailed(object.kind, reason: "\(object.size) bytes from \(start) on do not fit"))
            context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
            return
        }
        bytes.removeSubrange(start...)
        var checksum = LegacyChecksum()
        checksum.update(bytes)
        let token = PutBytesToken(rawValue: .random(in: 1..<UInt32.max, using: &context.randomness))
        upload = Upload(
            session: session,
            token: token,
            kind: object.kind,
            destination: destination,
            bytes: bytes,
            checksum: checksum,
            storedByteCount: start,
            remainingByteCount: Int(object.size),
            deadline: context.now + Self.inactivityTimeout
        )
        note(.began, of: destination, in: &context)
        context.emit(.uploadBegan(object.kind, byteCount: Int(object.size)))
        context.reply(PutBytesResponse.acknowledgement(token), on: session)
    }

    /// Where an object would go; nil if the watch has no place for it now.
    private static func destination(
        of object: PutBytesObject,
        in store: ServiceStore
    ) -> Destination? {
        if case .bank(let bank, _) = object.target, bank >= PutBytesObject.bankCount { return nil }
        if let part = FirmwarePart(rawValue: object.kind.rawValue) {
            return store.updateSession != nil ? .update(part) : nil
        }
        // Only images of an update are kept when their upload is interrupted.
        guard object.resumeOffset == nil else { return nil }
        if let kind = AppPart.Kind(rawValue: object.kind.rawValue) {
            guard let application = store.apps.application(object.appID) else { return .nowhere }
            return .app(AppPart(of: application, kind))
        }
        guard case .bank(_, let name?) = object.target, FileStorage.accepts(name, besides: store.files) else {
            return nil
        }
        return .file(name)
    }

    private mutating func put(
        _ piece: PutBytesPiece,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        let length = Int(piece.declaredLength)
        guard let current = upload, current.token == piece.token, current.session == session,
            length <= piece.data.count
        else {
            return context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
        }
        context.reply(PutBytesResponse.acknowledgement(piece.token), on: session)
        guard length <= current.remainingByteCount else {
            refuse(piece.token, "a piece is longer than what is left", on: session, in: &context)
            return
        }
        let data = piece.data.prefix(length)
        upload?.bytes += data
        upload?.checksum.update(data)
        upload?.remainingByteCount -= length
        upload?.hasPieces = true
        upload?.deadline = context.now + Self.inactivityTimeout
        storeProgress(atLeast: Self.storedPieceLength, in: &context)
    }

    private mutating func commit(
        _ token: PutBytesToken,
        crc: UInt32,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        guard let upload, upload.token == token, upload.session == session, upload.hasPieces else {
            refuse(token, "a commit does not fit", on: session, in: &context)
            return
        }
        guard upload.checksum.value == crc else {
            // What is there is not what the phone meant; resuming it would never end well.
            self.upload = nil
            if case .update(let part) = upload.destination { context.discardImage(part) }
            note(.failed, of: upload.destination, in: &context)
            context.emit(.uploadFailed(upload.kind, reason: "its checksum is wrong"))
            context.reply(PutBytesResponse.negativeAcknowledgement(token), on: session)
            return
        }
        switch upload.destination {
        case .app(let part): context.remember(.appPart(part, upload.bytes), for: .putBytes)
        case .file(let name): context.remember(.file(name: name, upload.bytes), for: .putBytes)
        case .update(let part):
            let rest = Array(upload.bytes[upload.storedByteCount...])
            context.remember(
                .several([
                    .updateBytes(part, offset: upload.storedByteCount, rest), .updateProgress(part, .committed),
                ]),
                for: .putBytes
            )
        case .nowhere: context.remember(.several([]), for: .putBytes)
        }
        commit = Commit(
            session: session,
            token: token,
            kind: upload.kind,
            destination: upload.destination,
            bytes: upload.bytes
        )
        self.upload = nil
    }

    private mutating func install(
        _ token: PutBytesToken,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        guard !isBusy else {
            return refuse(token, "an install came too early", on: session, in: &context)
        }
        guard let index = installable.firstIndex(where: { $0.token == token }) else {
            return context.reply(PutBytesResponse.negativeAcknowledgement(.none), on: session)
        }
        let object = installable.remove(at: index)
        context.emit(.uploadInstalled(object.kind))
        if case .update(let part) = object.destination {
            context.effects.append(.imageInstallWanted(part, on: session))
        } else {
            context.reply(PutBytesResponse.acknowledgement(.none), on: session)
        }
    }
}

// MARK: - Ends

extension PutBytesService {
    private mutating func refuse(
        _ token: PutBytesToken,
        _ reason: String,
        on session: SessionID,
        in context: inout ServiceContext
    ) {
        end(reason, in: &context)
        context.reply(PutBytesResponse.negativeAcknowledgement(token), on: session)
    }

    /// The upload is over. The part of an update's image that has arrived is kept, so that the phone can go on from there.
    private mutating func end(
        _ reason: String,
        in context: inout ServiceContext
    ) {
        guard let ended = upload else { return }
        storeProgress(atLeast: 1, in: &context)
        upload = nil
        if case .update(let part) = ended.destination { context.keepImage(part, ended.bytes) }
        note(.failed, of: ended.destination, in: &context)
        context.emit(.uploadFailed(ended.kind, reason: reason))
    }

    /// Hands what has come of an update's image to the store, if that is enough to be worth it.
    private mutating func storeProgress(atLeast length: Int, in context: inout ServiceContext) {
        guard let current = upload, case .update(let part) = current.destination,
            current.bytes.count - current.storedByteCount >= length
        else { return }
        let piece = Array(current.bytes[current.storedByteCount...])
        context.remember(.updateBytes(part, offset: current.storedByteCount, piece))
        upload?.storedByteCount = current.bytes.count
    }
}

extension PutBytesObject.Kind {
    /// The largest object of its kind that the watch has room for, in bytes.
    var sizeLimit: Int {
        switch self {
        case .firmware, .systemResources: 4 * 1024 * 1024
        case .recoveryFirmware: 1024 * 1024
        case .appBinary, .appWorker: 256 * 1024
        case .appResources: 1024 * 1024
        case .file: 2 * 1024 * 1024
        }
    }
}

extension PutBytesObject {
    /// The app that it is of: the firmware counts apps from 1, and banks from 0.
    fileprivate var appID: AppID {
        switch target {
        case .app(let id): id
        case .bank(let bank, _): AppID(rawValue: Int32(bank) + 1)
        }
    }
}

/// The files that a phone may put on the watch: any, as long as there is room for its name. Nothing but the language pack is
/// sent by companions.
enum FileStorage {
    /// How many files there may be.
    static let fileLimit = 16
    /// The longest name, in bytes.
    static let nameLimit = 64

    static func accepts(_ name: String, besides files: [String: StoredObject]) -> Bool {
        (1...nameLimit).contains(name.utf8.count) && (files[name] != nil || files.count < fileLimit)
    }
}
