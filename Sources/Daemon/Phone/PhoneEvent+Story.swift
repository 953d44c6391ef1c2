import BluetoothHost
import Logging
import PebblePhone

extension PhoneEvent {
    /// The event in words, for the log.
    var storyLine: StoryLine {
        let text = "\(self)"
        return switch self {
        case .diagnostic(let diagnostic): StoryLine(diagnostic)
        case .ready: StoryLine(.hci, .notice, text)
        case .failed, .controllerLost: StoryLine(.hci, .error, text)
        case .scanning, .watchHeard, .watchFound, .connecting, .connected, .linkParametersChanged, .dropped:
            StoryLine(.gap, .info, text)
        case .connectionFailed, .disconnected: StoryLine(.gap, .notice, text)
        case .mtuAgreed: StoryLine(.att, .debug, text)
        case .databaseDiscovered, .deviceInformation, .connectivity, .batteryLevel: StoryLine(.gatt, .info, text)
        // What is compared or typed is for one person's eyes, who has it from the command that pairs.
        case .pairingPrompt, .pairingQuestion: StoryLine(.smp, .notice, text, .secret("is asked about a pairing"))
        case .pairingWanted, .bonded, .paired: StoryLine(.smp, .notice, text)
        case .pairingFailed: StoryLine(.smp, .warning, text)
        case .securityChanged: StoryLine(.smp, .info, text)
        case .transportOpened, .transportClosed: StoryLine(.ppogatt, .info, text)
        case .streamOpened: StoryLine(.l2cap, .info, text)
        case .message: StoryLine(.session, .debug, text)
        case .phoneVersionSent, .watchVersion, .watchColor, .timeSet, .runningApp, .negotiated:
            StoryLine(.session, .info, text)
        case .negotiationFailed, .pingTimedOut: StoryLine(.session, .warning, text)
        case .pong, .appMessageEnded: StoryLine(.session, .info, text)
        case .appMessageReceived(let push):
            StoryLine(.session, .info, text, .contents("AppMessage from \(push.application)"))
        }
    }
}
