import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// A companion phone that does what its owner asks, command by command, and nothing by itself.
///
/// Each command has a name that the owner chooses, and one end: ``nextResult()`` gives it, within the command's time. What
/// happens besides is in ``nextEvent()``.
package struct CommandedPhone: HCIHost, Sendable {
    /// The most commands that may be under way; the next is refused.
    package static let requestLimit = 64
    /// The most events that wait for the owner; beyond it the oldest are lost.
    private static let eventLimit = 4096
    /// How many apps the phone keeps for watches that fetch them; beyond it the oldest goes.
    static let appLimit = 16

    /// A command that is under way.
    struct Request: Sendable {
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

    /// What an upload is for.
    enum TransferPurpose: Hashable, Sendable {
        case request(PhoneRequestID)
        /// A watch that asked for an app.
        case fetch(PebbleUUID, AppID)
    }

    /// The upload that is under way; PutBytes has one at a time.
    struct Transfer: Sendable {
        var upload: PutBytesUpload
        /// What else the watch is to get of an app.
        var rest: [(kind: PutBytesObject.Kind, bytes: [UInt8])]
        let purpose: TransferPurpose
        var deadline: Duration
    }

    /// The phone that is told.
    var phone: CompanionPhone
    var requests: [Request] = []
    var transfer: Transfer?
    var inbox = AppMessageInbox()
    /// In the order of installation.
    var apps: [PhoneApp] = []
    /// What the watch said last; nil without a session.
    var runningApp: PebbleUUID?
    var watchVersion: WatchVersion?
    /// What the pairing came to, until its bond is there.
    var summary: PairingSummary?
    var lastToken: UInt16 = 0
    var lastCookie: UInt32 = 0
    var lastItem: UInt64 = 0
    /// The half that the ids of all notifications of this phone share.
    let itemFamily: UInt64
    private var results: Deque<(PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)> = []
    private var events: Deque<PhoneEvent> = []

    /// A phone that has not been started.
    ///
    /// Of the configuration, what the phone does by itself is set here: it searches for no watch, does not come back to one,
    /// and pairs when it is told to, unless its policy is `never`.
    /// - Parameters:
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys and nonces come from.
    /// - Throws: `GATTDatabaseError` when the configuration does not make a legal database.
    package init(
        _ configuration: PhoneConfiguration,
        cryptography: LECryptography = .swiftCrypto,
        randomness: RandomSource
    ) throws(GATTDatabaseError) {
        var configuration = configuration
        configuration.searchesByItself = false
        configuration.reconnectDelay = nil
        if configuration.pairing == .automatic { configuration.pairing = .whenTold }
        // What goes on the air must not be among what keys are made of.
        var randomness = randomness
        itemFamily = randomness.next()
        phone = try CompanionPhone(configuration, cryptography: cryptography, randomness: randomness)
    }

    /// The next event.
    package mutating func nextEvent() -> PhoneEvent? { events.popFirst() }

    /// The next end of a command.
    package mutating func nextResult() -> (PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)? {
        results.popFirst()
    }

    /// The owner has stored the bond of a ``PhoneEvent/bonded(_:)``.
    package mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        phone.bondStored(identity, at: now)
        settle(at: now)
    }
}

// MARK: - HCIHost

extension CommandedPhone {
    package mutating func start(at now: Duration) {
        phone.start(at: now)
        settle(at: now)
    }

    /// The controller is out of reach until the phone is started again.
    package mutating func controllerLost(at now: Duration) {
        phone.controllerLost(at: now)
        settle(at: now)
    }

    package mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        phone.receive(packet, at: now)
        settle(at: now)
    }

    package mutating func advance(to now: Duration) {
        phone.advance(to: now)
        settle(at: now)
        endOverdue(at: now)
        settle(at: now)
    }

    package var nextDeadline: Duration? {
        var deadline = phone.nextDeadline
        for request in requests { deadline = deadline.map { min($0, request.deadline) } ?? request.deadline }
        if let transfer { deadline = deadline.map { min($0, transfer.deadline) } ?? transfer.deadline }
        return deadline
    }

    package mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }

    /// Takes leave: ends the link, and every command.
    package mutating func beginShutdown(at now: Duration) {
        failAll(.cancelled)
        phone.disconnect(at: now)
        settle(at: now)
    }

    /// Whether no link is left.
    package var isShutDown: Bool { phone.linkState == nil }

    /// Takes what the phone has to tell, and ends what has come to its end.
    mutating func settle(at now: Duration) {
        while let event = phone.nextEvent() {
            if events.count >= Self.eventLimit { events.removeFirst() }
            events.append(event)
            follow(event, at: now)
        }
        endConnecting()
    }
}

// MARK: - Ends of commands

extension CommandedPhone {
    /// Ends a command.
    mutating func end(_ id: PhoneRequestID, _ result: Result<PhoneCommandResult, PhoneCommandError>) {
        requests.removeAll { $0.id == id }
        results.append((id, result))
    }

    /// Ends the first command of a kind, if there is one.
    /// - Parameter choose: its result; nil for a command of another kind.
    mutating func endFirst(
        _ choose: (Request) -> Result<PhoneCommandResult, PhoneCommandError>?
    ) {
        for request in requests {
            guard let result = choose(request) else { continue }
            return end(request.id, result)
        }
    }

    /// Ends every command that a condition holds for.
    mutating func fail(_ error: PhoneCommandError, _ isConcerned: (Request.Purpose) -> Bool) {
        for request in requests where isConcerned(request.purpose) { end(request.id, .failure(error)) }
    }

    mutating func failAll(_ error: PhoneCommandError) { fail(error) { _ in true } }

    /// Gives a command up, because its owner is gone. What it began is ended, as far as that can be.
    package mutating func cancel(_ id: PhoneRequestID, at now: Duration) {
        guard let request = requests.first(where: { $0.id == id }) else { return }
        requests.removeAll { $0.id == id }
        abandon(request, at: now)
        settle(at: now)
    }

    /// Ends what a command has begun.
    private mutating func abandon(_ request: Request, at now: Duration) {
        switch request.purpose {
        case .scan: _ = phone.endSurvey(at: now)
        case .connect: phone.disconnect(at: now)
        case .pair, .confirm:
            if phone.pairingQuestion != nil { try? phone.answerPairing(accepting: false, at: now) }
        case .upload: abortTransfer(at: now)
        case .disconnect, .launch, .stop, .push, .expect, .install, .notify, .ping, .time: break
        }
    }

    private mutating func endOverdue(at now: Duration) {
        if let transfer, transfer.deadline <= now {
            transferFailed(.timedOut("the watch did not go on", after: Self.uploadPatience), at: now)
        }
        for request in requests where request.deadline <= now {
            if case .scan = request.purpose, phone.isReady {
                end(request.id, .success(.watches(phone.endSurvey(at: now))))
                continue
            }
            let time = request.deadline - request.began
            end(request.id, .failure(phone.isReady ? .timedOut(request.purpose.missing, after: time) : .notReady))
            abandon(request, at: now)
        }
    }

    /// A connection is of use once the watch is known, and the link has the security that a bond gives it.
    private mutating func endConnecting() {
        guard let link = phone.linkState, link.isExplored else { return }
        endFirst { request in
            if case .connect = request.purpose { .success(.connected(link)) } else { nil }
        }
    }
}

extension CommandedPhone.Request.Purpose {
    /// What did not happen when its time was over.
    fileprivate var missing: String {
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
}

// MARK: - What the phone knows

/// How a phone is doing.
package struct PhoneStatus: Sendable {
    /// Whether its controller can be used.
    package var isReady: Bool
    /// Its static random address.
    package var address: DeviceAddress
    /// What carries the Pebble Protocol.
    package var transport: PhoneTransport
    /// What else is in its GATT database.
    package var system: PhoneSystem
    /// Whether it listens for watches.
    package var isScanning: Bool
    /// The link; nil without one.
    package var link: PhoneLinkState?
    /// What the watch says of itself; nil without a session.
    package var watch: WatchVersion?
    /// The app that the watch runs; nil if it has not said so.
    package var runningApp: PebbleUUID?
    /// What waits for an answer about a pairing.
    package var question: PairingPrompt.Kind?
    /// The watches that it is paired with.
    package var bonds: [Bond]
    /// How many dictionaries no command has taken.
    package var waitingMessageCount: Int
    /// The apps that it can give to watches.
    package var apps: [AppMetadata]
}

extension CommandedPhone {
    /// How the phone is doing.
    package var status: PhoneStatus {
        PhoneStatus(
            isReady: phone.isReady,
            address: phone.configuration.address,
            transport: phone.configuration.transport,
            system: phone.configuration.system,
            isScanning: phone.isSurveying,
            link: phone.linkState,
            watch: watchVersion,
            runningApp: runningApp,
            question: phone.pairingQuestion,
            bonds: phone.bonds,
            waitingMessageCount: inbox.count,
            apps: apps.map(\.metadata)
        )
    }

    /// Whether the controller can be used.
    package var isReady: Bool { phone.isReady }

    /// The watches that the phone is paired with, in the order in which they came.
    package var bonds: [Bond] { phone.bonds }

    /// The kind of app that the watch runs; nil without a session.
    package var appPlatform: AppPlatform? { watchVersion?.running.hardwarePlatform.appPlatform }
}
