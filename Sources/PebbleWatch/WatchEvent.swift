import BluetoothHCI
import BluetoothHost
import Faults
import PebbleProtocol

/// What happened on the watch, for logs, transcripts and the programs that control it.
public enum WatchEvent: Sendable {
    /// The controller is ready and the watch has begun to advertise.
    case started(ControllerCapabilities)
    /// The controller cannot be used; `Watch.start(at:)` tries again.
    case failed(StartUpFailure)
    /// What is on the air changed. Turns on the air are not told one by one.
    case advertising(OnAir)
    /// A phone connected.
    case connected(ConnectionHandle, LEAddress)
    /// A link ended, and why.
    case disconnected(ConnectionHandle, reason: HCIStatus)
    /// Something went wrong between the watch and its phones, or came right again.
    case recovery(RecoveryEvent)
    /// Whether a phone without a bond may pair changed.
    case pairable(Bool)
    /// A pairing waits for a person: `WatchCommand` has the answers.
    case pairingPrompt(PairingPrompt)
    /// A phone paired, and how.
    case paired(ConnectionHandle, PairingSummary)
    /// A phone that was known has another key from now on, and the old one counts no more. Follows `paired`.
    case keyReplaced(ConnectionHandle, LEAddress)
    /// A phone wanted to pair and may not, and what to do if it should. Told once for a link and reason.
    case pairingRefused(ConnectionHandle, RefusedPairing)
    /// A pairing failed, and why.
    case pairingFailed(ConnectionHandle, PairingFailure)
    /// A phone was forgotten.
    case forgotten(LEAddress)
    /// What is known about a link's security changed.
    case securityChanged(ConnectionHandle, LinkSecurity)
    /// Something about a link's speed changed, or was asked for.
    case link(ConnectionHandle, LinkEvent)
    /// One of the phone's own services is used from now on, or not any more, or does not work.
    case phoneService(ConnectionHandle, PhoneServiceEvent)
    /// A stream can be opened with this PSM from now on, or not any more.
    case streamPublished(WatchStream, SPSM?)
    /// A phone opened a channel to a stream.
    case streamOpened(ConnectionHandle, WatchStream)
    /// A channel to a stream is closed, and why.
    case streamClosed(ConnectionHandle, WatchStream, ChannelClosure)
    /// A companion opened a session.
    case sessionOpened(SessionID, SessionKind, SessionTransport)
    /// Another transport carries a session from now on.
    case sessionMoved(SessionID, to: SessionTransport)
    /// A session ended, and why.
    case sessionClosed(SessionID, reason: String)
    /// A message of the Pebble Protocol came in or went out.
    case message(SessionID, MessageDirection, PebbleMessage)
    /// The running app changed.
    case appLaunched(PebbleUUID, name: String)
    /// The running app got a dictionary from its companion.
    case appMessageReceived(PebbleUUID, AppMessageDictionary)
    /// A dictionary of the running app's was acknowledged, refused or given up.
    case appMessageSent(PebbleUUID, AppMessageDictionary, AppMessageResult)
    /// The running app logged a line.
    case appLogged(AppLogRecord)
    /// The phone set the clock.
    case clockSet(WatchClock)
    /// One of the services did something.
    case service(ServiceEvent)
    /// The watch begins to restart: its links end, and it comes back.
    case restarting(RestartCause)
    /// A button was pressed, or has been held long enough for a long press.
    case buttonPressed(WatchButton, ButtonPress)
    /// A sensor had something to say.
    case sensed(SensorReading)
    /// A fault that was added on purpose has done something.
    case fault(FaultFiring)
    /// The real firmware in the watch's shadow has answered a phone's message otherwise.
    case mirrorDiffers(MirrorDifference)
    /// Something that only matters to the reader of the log.
    case diagnostic(Diagnostic)
}

/// Which way a message went.
public enum MessageDirection: Sendable {
    /// The watch received it.
    case fromPhone
    /// The watch sent it.
    case toPhone
}
