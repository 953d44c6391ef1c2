import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What happened on the phone, in the order in which it happened: enough to tell the whole story.
package enum PhoneEvent: Sendable {
    // MARK: Getting there

    /// The controller is ready.
    case ready
    /// The controller cannot be used; nothing more will happen.
    case failed(String)
    /// The controller was lost or is started again: there is no link any more, and why.
    case controllerLost(String)
    /// The phone listens for watches.
    case scanning
    /// A survey heard a watch for the first time.
    case watchHeard(WatchSighting)
    /// A watch that is wanted was heard.
    case watchFound(WatchSighting)
    /// The phone tries to connect.
    case connecting(LEAddress)
    /// A link is up.
    case connected(LEAddress)
    /// The watch did not answer, or the controller refused to try.
    case connectionFailed(LEAddress, HCIStatus)
    /// The link's interval, latency or timeout changed.
    case linkParametersChanged(ConnectionInterval, latency: UInt16, SupervisionTimeout)
    /// The link is gone.
    case disconnected(reason: HCIStatus)
    /// The link was left without a word: the watch finds out when it has heard nothing for the supervision timeout.
    case dropped(LEAddress)

    // MARK: Getting to know the watch

    /// How long an ATT PDU may be from now on.
    case mtuAgreed(Int)
    /// The watch's GATT database.
    case databaseDiscovered(DiscoveredWatch)
    /// What its Device Information service says.
    case deviceInformation(DeviceInformation)
    /// What its Pebble Pairing Service says of this link.
    case connectivity(ConnectivityStatus)
    /// Percent of charge.
    case batteryLevel(UInt8)
    /// The user is shown a number, or asked something; the phone answers for them.
    case pairingPrompt(PairingPrompt.Kind)
    /// The user is shown a number, or asked something, and the phone waits for the owner's answer.
    case pairingQuestion(PairingPrompt.Kind)
    /// The watch asks to be paired with, and the phone waits to be told.
    case pairingWanted
    /// A bond for the owner to store; `CompanionPhone.bondStored(_:)` follows.
    case bonded(Bond)
    /// The watch and the phone are paired.
    case paired(PairingSummary)
    /// They are not, or the link cannot be encrypted; the watch is used as far as it lets itself be.
    case pairingFailed(String)
    /// The link's security changed.
    case securityChanged(LinkSecurity)

    // MARK: The session

    /// PPoGATT is open.
    case transportOpened(PhoneTransport, PPoGATTSession)
    /// A channel to the watch's stream is open.
    case streamOpened(SPSM)
    /// PPoGATT or the stream is closed.
    case transportClosed(reason: String)
    /// A message of the Pebble Protocol.
    case message(MessageDirection, PebbleMessage)
    /// The watch asked what phone this is, and was told.
    case phoneVersionSent(PhoneVersion)
    /// The watch said what it is.
    case watchVersion(WatchVersion)
    /// The watch said what colour it has; nil for a number without a name.
    case watchColor(WatchColor?)
    /// The watch was told the time.
    case timeSet(TimeMessage.UTCTime)
    /// The watch said which app runs.
    case runningApp(PebbleUUID)
    /// Everything that companions ask first has been answered: the watch is connected, as its user sees it.
    case negotiated
    /// It was not, and the link is given up.
    case negotiationFailed(NegotiationFailure)

    // MARK: What the session is for

    /// The watch answered a ping.
    case pong(cookie: UInt32, after: Duration)
    /// The watch did not.
    case pingTimedOut(cookie: UInt32)
    /// A watchapp sent a dictionary; it has been acknowledged.
    case appMessageReceived(AppMessagePush)
    /// What became of a dictionary that the phone sent.
    case appMessageEnded(AppMessageTransactionID, AppMessageOutcome, after: Duration)

    /// Something that only matters to the reader of the log.
    case diagnostic(Diagnostic)
}

/// Which way a message went.
package enum MessageDirection: Hashable, Sendable {
    case fromWatch
    case toWatch
}

/// What became of a dictionary that the phone sent.
package enum AppMessageOutcome: Hashable, Sendable {
    /// The watch took it.
    case acknowledged
    /// The watch did not: the app does not run, or has no room for it.
    case refused
    /// The watch said nothing for ten seconds.
    case timedOut
    /// The session ended first.
    case cancelled
}

/// Why a watch was not accepted.
package enum NegotiationFailure: Hashable, Sendable, CustomStringConvertible {
    /// It did not do what was due within the time that companions give it.
    case timedOut(Negotiation.Step)
    /// It has no colour.
    case colorUnknown
    /// It said something that cannot be read.
    case malformed(String)

    package var description: String {
        switch self {
        case .timedOut(let step): "no \(step) within \(Negotiation.timeLimit)"
        case .colorUnknown: "the watch does not say its colour"
        case .malformed(let error): error
        }
    }
}
