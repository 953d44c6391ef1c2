import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What an owner asks of a phone that does nothing by itself, and what it gets to know.

/// The phone's link to a watch, as it is now.
package struct PhoneLinkState: Hashable, Sendable {
    /// The watch: its identity address, if a bond's key told it.
    package var watch: LEAddress
    /// The time between connection events.
    package var interval: ConnectionInterval
    /// How many connection events the watch may skip.
    package var latency: UInt16
    /// How long the link may hear nothing.
    package var supervisionTimeout: SupervisionTimeout
    /// The longest ATT PDU, in octets.
    package var mtu: Int
    /// What is known about its security.
    package var security: LinkSecurity
    /// Whether the watch's database is known, and nothing is under way that encrypts the link.
    package var isExplored: Bool
    /// Whether the Pebble Protocol's conversation at the beginning of a session is over.
    package var hasSession: Bool
}

// MARK: - What the phone knows

extension CompanionPhone {
    /// Whether the controller can be used.
    package var isReady: Bool { core.host.isReady }

    /// How many ACL packets the controller has and has not completed.
    package var outstandingPacketCount: Int { core.host.outstandingPacketCount }

    /// Whether a survey goes on.
    package var isSurveying: Bool { connector.isSurveying }

    /// Whether a watch is looked for or connected to, or a link is there.
    package var isEngaged: Bool { connector.isEngaged }

    /// The link; nil without one.
    package var linkState: PhoneLinkState? {
        guard let link, let connection = core.host.connection(link.handle) else { return nil }
        return PhoneLinkState(
            watch: connection.peer,
            interval: connection.interval,
            latency: connection.latency,
            supervisionTimeout: connection.supervisionTimeout,
            mtu: link.mtu,
            security: connection.security,
            isExplored: link.canOpenTransport,
            hasSession: isNegotiated
        )
    }

    /// What the owner is asked about the pairing that goes on; nil if nothing waits for it.
    package var pairingQuestion: PairingPrompt.Kind? { link?.pairing.question?.kind }

    /// The watches that the phone is paired with, in the order in which they came.
    package var bonds: [Bond] { core.host.security?.bonds ?? [] }

    /// What the phone's clock shows at a moment, in seconds since 1970.
    package func clockSeconds(at now: Duration) -> UInt32 { core.configuration.clock.time(at: now).seconds }
}

// MARK: - What it is told

extension CompanionPhone {
    /// Listens for watches, whatever else it does; ``PhoneEvent/watchHeard(_:)`` tells each at once.
    package mutating func beginSurvey(at now: Duration) {
        core.host.advance(to: now)
        connector.beginSurvey(&core, at: now)
        settle(at: now)
    }

    /// Ends a survey.
    /// - Returns: the watches that were heard, the strongest first; none without a survey.
    package mutating func endSurvey(at now: Duration) -> [WatchSighting] {
        core.host.advance(to: now)
        guard let heard = connector.endSurvey(&core, at: now) else { return [] }
        settle(at: now)
        return heard
    }

    /// Looks for a watch, and connects to it. A phone that is engaged already goes on with what it does.
    package mutating func connect(to selection: WatchSelection, at now: Duration) {
        connector.selection = selection
        connect(at: now)
    }

    /// Pairs with the watch that is connected, in place of a bond that there may be.
    ///
    /// ``PhoneEvent/paired(_:)`` or ``PhoneEvent/pairingFailed(_:)`` follows, and before that perhaps
    /// ``PhoneEvent/pairingQuestion(_:)``.
    /// - Throws: `.notConnected`; `.cannotPair` for a phone without a Security Manager; `.busy` while the watch's database is
    ///   not known yet, or a pairing or an encryption goes on.
    package mutating func startPairing(at now: Duration) throws(PhoneCommandError) {
        core.host.advance(to: now)
        guard let link else { throw .notConnected }
        guard core.host.security != nil else { throw .cannotPair }
        guard link.isExplored, link.pairing.progress != .underway else { throw .busy(.watch) }
        self.link?.triggerPairing(&core, at: now)
        settle(at: now)
    }

    /// Answers what the owner is asked about the pairing.
    /// - Throws: `.nothingAsked` if nothing waits for an answer.
    package mutating func answerPairing(accepting isAccepted: Bool, at now: Duration) throws(PhoneCommandError) {
        core.host.advance(to: now)
        guard let question = link?.pairing.question else { throw .nothingAsked }
        link?.pairing.question = nil
        _ = core.host.security?.answer(question.id, with: isAccepted ? .accept : .reject, at: now)
        settle(at: now)
    }

    /// The owner has stored a bond: it counts from now on, also for later links.
    package mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        core.host.advance(to: now)
        core.host.security?.bondStored(identity)
        settle(at: now)
    }

    /// Forgets a watch. A link to it stays as it is; the next one has no keys.
    package mutating func forget(_ identity: LEAddress, at now: Duration) {
        core.host.advance(to: now)
        core.host.security?.deleteBond(identity)
        if !bonds.contains(where: { $0.identity == link?.peer }) { core.knownWatch = nil }
        settle(at: now)
    }

    /// Leaves the link without a word, as a phone does that goes out of reach: the controller is reset, which tells the watch
    /// nothing, and the watch hears no more until its supervision timeout.
    ///
    /// ``PhoneEvent/ready`` follows, and the phone can be used again.
    /// - Throws: `.notConnected`.
    package mutating func drop(at now: Duration) throws(PhoneCommandError) {
        core.host.advance(to: now)
        guard let peer = link?.peer else { throw .notConnected }
        connector.drop()
        link?.closeTransport(reason: "the link was dropped", &core, at: now)
        link = nil
        core.emit(.dropped(peer))
        core.host.start(at: now)
        settle(at: now)
    }
}
