import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// A companion phone that does what its owner asks, command by command, and nothing by itself, unless it is to behave as a
/// companion app: then it has ``CompanionHabits``.
///
/// Each command has a name that the owner chooses, and one end: ``nextResult()`` gives it, within the command's time. What
/// happens besides is in ``nextEvent()``.
package struct CommandedPhone: HCIHost, Sendable {
    /// The most commands that may be under way; the next is refused.
    package static let requestLimit = PhoneRequests.limit
    /// The most events that wait for the owner; beyond it the oldest are lost.
    private static let eventLimit = 4096

    /// The phone that is told.
    var phone: CompanionPhone
    /// The commands that are under way, and their ends.
    var requests = PhoneRequests()
    /// What watches are given.
    var uploads = PhoneUploads()
    /// What is written into their databases.
    var databases: WatchDatabaseWriter
    var inbox = AppMessageInbox()
    /// What the watch said last; nil without a session.
    var runningApp: PebbleUUID?
    var watchVersion: WatchVersion?
    /// What the pairing came to, until its bond is there.
    var summary: PairingSummary?
    var lastCookie: UInt32 = 0
    /// What it does by itself; nil for nothing.
    var habits: CompanionHabits?
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
        if configuration.isCompanion { habits = CompanionHabits(defects: configuration.defects) }
        // What goes on the air must not be among what keys are made of.
        var randomness = randomness
        databases = WatchDatabaseWriter(itemFamily: randomness.next())
        phone = try CompanionPhone(configuration, cryptography: cryptography, randomness: randomness)
    }

    /// The next event.
    package mutating func nextEvent() -> PhoneEvent? { events.popFirst() }

    /// The next end of a command.
    package mutating func nextResult() -> (PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)? {
        requests.nextResult()
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
        if let due = requests.nextDeadline { deadline = deadline.map { min($0, due) } ?? due }
        if let due = uploads.nextDeadline { deadline = deadline.map { min($0, due) } ?? due }
        if let due = nextHabit { deadline = deadline.map { min($0, due) } ?? due }
        return deadline
    }

    package mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }

    /// Takes leave: ends the link, and every command.
    package mutating func beginShutdown(at now: Duration) {
        habits = nil
        requests.failAll(.cancelled)
        phone.disconnect(at: now)
        settle(at: now)
    }

    /// Whether no link is left.
    package var isShutDown: Bool { phone.linkState == nil }

    /// Takes what the phone has to tell, and ends what has come to its end.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = phone.nextEvent() {
                if events.count >= Self.eventLimit { events.removeFirst() }
                events.append(event)
                follow(event, at: now)
                habits?.see(event, at: now)
            }
            endConnecting()
        } while keepHabits(at: now)
    }
}

// MARK: - Ends of commands

extension CommandedPhone {
    /// Gives a command up, because its owner is gone. What it began is ended, as far as that can be.
    package mutating func cancel(_ id: PhoneRequestID, at now: Duration) {
        guard let request = requests.remove(habits?.giveUp(id) ?? id) else { return }
        abandon(request, at: now)
        settle(at: now)
    }

    /// Ends what a command has begun.
    private mutating func abandon(_ request: PhoneRequest, at now: Duration) {
        switch request.purpose {
        case .scan: _ = phone.endSurvey(at: now)
        case .connect: phone.disconnect(at: now)
        case .pair, .confirm:
            if phone.pairingQuestion != nil { try? phone.answerPairing(accepting: false, at: now) }
        case .upload: uploads.abort(&phone, at: now)
        case .disconnect, .launch, .stop, .push, .expect, .install, .notify, .ping, .time: break
        }
    }

    private mutating func endOverdue(at now: Duration) {
        uploads.endOverdue(&phone, &requests, at: now)
        for request in requests.underway where request.deadline <= now {
            if case .scan = request.purpose, phone.isReady {
                requests.end(request.id, .success(.watches(phone.endSurvey(at: now))))
                continue
            }
            let time = request.deadline - request.began
            requests.end(
                request.id,
                .failure(phone.isReady ? .timedOut(request.purpose.missing, after: time) : .notReady)
            )
            abandon(request, at: now)
        }
    }

    /// A connection is of use once the watch is known, and the link has the security that a bond gives it.
    private mutating func endConnecting() {
        guard let link = phone.linkState, link.isExplored else { return }
        requests.endFirst { request in
            if case .connect = request.purpose { .success(.connected(link)) } else { nil }
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
            apps: uploads.apps.map(\.metadata)
        )
    }

    /// Whether the controller can be used.
    package var isReady: Bool { phone.isReady }

    /// How many ACL packets the controller has and has not completed.
    package var outstandingPacketCount: Int { phone.outstandingPacketCount }

    /// The watches that the phone is paired with, in the order in which they came.
    package var bonds: [Bond] { phone.bonds }

    /// The kind of app that the watch runs; nil without a session.
    package var appPlatform: AppPlatform? { watchVersion?.running.hardwarePlatform.appPlatform }
}
