import DequeModule
import PebbleProtocol

/// A command that is under way.
struct PhoneRequest: Sendable {
    /// What ends it.
    enum Purpose: Sendable {
        case scan
        case connect
        case pair(PairingConsent, PairingReport)
        case confirm(Bool, PairingReport)
        case disconnect
        case launch(PebbleUUID)
        case stop(PebbleUUID)
        case push(AppMessageTransactionID, to: PebbleUUID)
        case expect([AppMessageTuple], from: PebbleUUID?)
        case upload
        /// With a token while the watch's database has not taken the app yet.
        case install(PebbleUUID, BlobDBToken?)
        case notify(PebbleUUID, BlobDBToken)
        case ping(UInt32)
        case time
    }

    let id: PhoneRequestID
    var purpose: Purpose
    let began: Duration
    var deadline: Duration
}

/// The commands that are under way, in the order in which they began, and the ends of those that are over.
struct PhoneRequests: Sendable {
    /// The most commands that may be under way; the next is refused.
    static let limit = 64

    private(set) var underway: [PhoneRequest] = []
    private var results: Deque<(PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)> = []

    /// Whether as many are under way as may be.
    var isFull: Bool { underway.count >= Self.limit }

    /// When the first is overdue.
    var nextDeadline: Duration? { underway.lazy.map(\.deadline).min() }

    /// The next end of a command.
    mutating func nextResult() -> (PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)? {
        results.popFirst()
    }

    /// Takes the next end out of a command that the phone has given itself.
    mutating func nextOwnResult() -> (PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)? {
        guard let index = results.firstIndex(where: { $0.0.isOwn }) else { return nil }
        return results.remove(at: index)
    }

    /// The command of this name; nil if it is not under way.
    subscript(id: PhoneRequestID) -> PhoneRequest? { underway.first { $0.id == id } }

    /// A command has begun.
    mutating func add(
        _ id: PhoneRequestID,
        _ purpose: PhoneRequest.Purpose,
        within span: Duration,
        at now: Duration
    ) {
        underway.append(PhoneRequest(id: id, purpose: purpose, began: now, deadline: now + span))
    }

    /// Something else ends a command from now on.
    /// - Parameter deadline: by when; nil for as before.
    mutating func update(_ id: PhoneRequestID, _ purpose: PhoneRequest.Purpose, by deadline: Duration? = nil) {
        guard let index = underway.firstIndex(where: { $0.id == id }) else { return }
        underway[index].purpose = purpose
        if let deadline { underway[index].deadline = deadline }
    }

    /// The installations of an app that its watch knows of already have until then.
    mutating func prolongInstallation(of app: PebbleUUID, to deadline: Duration) {
        for index in underway.indices {
            if case .install(app, nil) = underway[index].purpose { underway[index].deadline = deadline }
        }
    }

    /// Takes a command out, without an end.
    mutating func remove(_ id: PhoneRequestID) -> PhoneRequest? {
        guard let index = underway.firstIndex(where: { $0.id == id }) else { return nil }
        return underway.remove(at: index)
    }

    /// Ends a command.
    mutating func end(_ id: PhoneRequestID, _ result: Result<PhoneCommandResult, PhoneCommandError>) {
        underway.removeAll { $0.id == id }
        results.append((id, result))
    }

    /// Ends the first command of a kind, if there is one.
    /// - Parameter choose: its result; nil for a command of another kind.
    /// - Returns: whether there was one.
    @discardableResult
    mutating func endFirst(
        _ choose: (PhoneRequest) -> Result<PhoneCommandResult, PhoneCommandError>?
    ) -> Bool {
        for request in underway {
            guard let result = choose(request) else { continue }
            end(request.id, result)
            return true
        }
        return false
    }

    /// Ends every command that a condition holds for.
    mutating func fail(_ error: PhoneCommandError, _ isConcerned: (PhoneRequest.Purpose) -> Bool) {
        for request in underway where isConcerned(request.purpose) { end(request.id, .failure(error)) }
    }

    /// Ends every command.
    mutating func failAll(_ error: PhoneCommandError) { fail(error) { _ in true } }

    /// Ends the installations of an app.
    mutating func failInstallation(of app: PebbleUUID, _ error: PhoneCommandError) {
        fail(error) { if case .install(app, _) = $0 { true } else { false } }
    }
}

extension PhoneRequest.Purpose {
    /// What did not happen when its time was over.
    var missing: String {
        switch self {
        case .scan: "no scan ended"
        case .connect: "no watch was heard and got to know"
        case .pair, .confirm: "the pairing did not end"
        case .disconnect: "the link did not end"
        case .launch: "the watch did not say that the app runs"
        case .stop: "the watch did not say that the app has stopped"
        case .push: "the watch did not acknowledge the message"
        case .expect: "no such message came"
        case .upload: "the upload did not end"
        case .install: "the watch did not run the app"
        case .notify: "the watch did not say that it has the notification"
        case .ping: "the watch did not answer the ping"
        case .time: "the watch did not say the time"
        }
    }

    /// Whether the end of the link ends it.
    var needsLink: Bool {
        switch self {
        case .scan, .expect: false
        case .connect, .pair, .confirm, .disconnect, .launch, .stop, .push, .upload, .install, .notify, .ping, .time:
            true
        }
    }

    /// Whether the end of the session ends it.
    var needsSession: Bool {
        switch self {
        case .scan, .connect, .pair, .confirm, .disconnect, .expect: false
        case .launch, .stop, .push, .upload, .install, .notify, .ping, .time: true
        }
    }

    /// Whether it is about a pairing.
    var isPairing: Bool {
        switch self {
        case .pair, .confirm: true
        case .scan, .connect, .disconnect, .launch, .stop, .push, .expect, .upload, .install, .notify, .ping, .time:
            false
        }
    }
}
