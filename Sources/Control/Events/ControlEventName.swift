/// What happened, by name: the vocabulary of `cairn events`, `cairn wait` and the control socket.
package enum ControlEventName: String, ControlEventNaming {
    // The controller and the air.
    case started, failed, advertising
    case controllerRestarting = "controller-restarting"
    case controllerLost = "controller-lost"
    case restarting
    // Links.
    case connected, disconnected
    case linkEnded = "link-ended"
    case phoneBack = "phone-back"
    case link
    case churning, churned, strangers
    case strangersGone = "strangers-gone"
    case transportGivenUp = "transport-given-up"
    case transportStalled = "transport-stalled"
    case phoneService = "phone-service"
    // Pairing.
    case pairable
    case pairingWaits = "pairing-waits"
    case paired
    case keyReplaced = "key-replaced"
    case pairingRefused = "pairing-refused"
    case pairingFailed = "pairing-failed"
    case security, forgotten
    // Sessions and what they bring.
    case sessionOpened = "session-opened"
    case sessionMoved = "session-moved"
    case sessionClosed = "session-closed"
    case streamPublished = "stream-published"
    case streamWithdrawn = "stream-withdrawn"
    case streamOpened = "stream-opened"
    case streamClosed = "stream-closed"
    case message, service
    case clockSet = "clock-set"
    // Apps.
    case appLaunched = "app-launched"
    case appMessageReceived = "app-message-received"
    case appMessageSent = "app-message-sent"
    case appLogged = "app-logged"
    // The watch in the hand.
    case button, sensed
    /// What was done to the watch on purpose.
    case fault
    /// The firmware in the watch's shadow answers otherwise.
    case mirrorDiffers = "mirror-differs"
    /// Events that the program did not take in time.
    case lost

    package static let speaker = "the watch"

    /// What the event has beside its name, number, time and text, and what it says.
    var declaration: ControlEventDeclaration {
        switch self {
        case .started: .init(ControlEvents.Started.self, "The controller is ready, and the watch advertises.")
        case .failed: .init(ControlEvents.Failed.self, "The controller cannot be used; the watch tries again.")
        case .advertising: .init(ControlEvents.Advertising.self, "What is on the air has changed.")
        case .controllerRestarting: .init(ControlEvents.ControllerRestarting.self, "The controller is started again.")
        case .controllerLost: .init(ControlEvents.Nothing.self, "The controller is out of reach.")
        case .restarting: .init(ControlEvents.Restarting.self, "The watch restarts.")
        case .connected: .init(ControlEvents.PhoneOnLink.self, "A phone has connected.")
        case .disconnected: .init(ControlEvents.OnLink<ControlEvents.Reason>.self, "A link has ended.")
        case .linkEnded: .init(ControlEvents.LinkEnded.self, "A link has ended, and what the watch does about it.")
        case .phoneBack: .init(ControlEvents.PhoneBack.self, "A phone is back whose link had ended.")
        case .link: .init(ControlLinkEvent.self, "The link's speed has changed, or was asked for.")
        case .churning: .init(ControlEvents.Churning.self, "Links come and go in a loop.")
        case .churned: .init(ControlEvents.Nothing.self, "Links do not come and go in a loop any more.")
        case .strangers: .init(ControlEvents.Nothing.self, "Strangers are turned away as soon as they connect.")
        case .strangersGone: .init(ControlEvents.Count.self, "No stranger connects any more.")
        case .transportGivenUp: .init(ControlEvents.ReasonOnLink.self, "A transport of a link was given up.")
        case .transportStalled:
            .init(ControlEvents.OnLink<ControlEvents.Nothing>.self, "A transport of a link does not move.")
        case .phoneService:
            .init(ControlEvents.PhoneService.self, "One of the phone's own services is used, or not any more.")
        case .pairable: .init(ControlEvents.Pairable.self, "Whether a phone without a bond may pair has changed.")
        case .pairingWaits: .init(ControlEvents.PairingWaits.self, "A pairing waits for a person.")
        case .paired: .init(ControlEvents.Paired.self, "A phone has paired.")
        case .keyReplaced: .init(ControlEvents.PhoneOnLink.self, "A known phone has another key.")
        case .pairingRefused: .init(ControlEvents.PairingRefused.self, "A phone wanted to pair, and may not.")
        case .pairingFailed: .init(ControlEvents.ReasonOnLink.self, "A pairing has failed.")
        case .security: .init(ControlEvents.Security.self, "The security of a link has changed.")
        case .forgotten: .init(ControlEvents.Phone.self, "A phone was forgotten.")
        case .sessionOpened: .init(ControlEvents.SessionOpened.self, "A companion has opened a session.")
        case .sessionMoved: .init(ControlEvents.SessionMoved.self, "Another transport carries the session.")
        case .sessionClosed: .init(ControlEvents.SessionClosed.self, "A session has ended.")
        case .streamPublished: .init(ControlEvents.StreamPublished.self, "Phones can open a stream.")
        case .streamWithdrawn: .init(ControlEvents.Stream.self, "Phones cannot open a stream any more.")
        case .streamOpened: .init(ControlEvents.OnLink<ControlEvents.Stream>.self, "A phone has opened a stream.")
        case .streamClosed: .init(ControlEvents.StreamClosed.self, "A channel to a stream is closed.")
        case .message: .init(ControlEvents.Message.self, "A message of the Pebble Protocol came in or went out.")
        case .service: .init(ControlServiceEvent.self, "A service has done something.")
        case .clockSet: .init(ControlEvents.ClockSet.self, "The phone has set the clock.")
        case .appLaunched: .init(ControlEvents.AppLaunched.self, "Another app runs.")
        case .appMessageReceived:
            .init(ControlEvents.AppMessageReceived.self, "The running app has got a dictionary from its companion.")
        case .appMessageSent:
            .init(ControlEvents.AppMessageSent.self, "A dictionary was acknowledged, refused or given up.")
        case .appLogged: .init(ControlEvents.AppLogged.self, "The running app has logged a line.")
        case .button: .init(ControlEvents.Button.self, "A button was pressed.")
        case .sensed: .init(ControlSensor.self, "A sensor had something to say.")
        case .fault: .init(ControlEvents.Fault.self, "A fault that was added on purpose has done something.")
        case .mirrorDiffers:
            .init(
                ControlEvents.MirrorDiffers.self,
                "The firmware in the watch's shadow has answered a message otherwise."
            )
        case .lost: .init(ControlEvents.Count.self, "Events were lost, because the program did not read them in time.")
        }
    }
}

/// What an event has beside its name, number, time and text.
struct ControlEventDeclaration {
    /// Its fields, or those of each of its variants.
    enum Fields {
        case fields(any ControlObject.Type)
        /// By what stands in the event's field `name`.
        case variants([(name: String, fields: any ControlObject.Type)])
    }

    let fields: Fields
    /// What it says, in one sentence.
    let help: String

    init(_ type: any ControlObject.Type, _ help: String) {
        fields = .fields(type)
        self.help = help
    }

    init<Variant: ControlEventVariant>(_ type: Variant.Type, _ help: String) {
        fields = .variants(type.allCases.map { ($0.rawValue, $0.fields) })
        self.help = help
    }

    /// The type of the fields; nil for a variant that there is not.
    func type(variant: String?) -> (any ControlObject.Type)? {
        switch fields {
        case .fields(let type): type
        case .variants(let variants): variants.first { $0.name == variant }?.fields
        }
    }
}

/// The variants of an event with several meanings: its field `name` says which.
protocol ControlEventVariant: RawRepresentable<String>, CaseIterable, Sendable {
    /// The event.
    static var event: ControlEventName { get }

    /// What a variant has beside its name.
    var fields: any ControlObject.Type { get }
}
