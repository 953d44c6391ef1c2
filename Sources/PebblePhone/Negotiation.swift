import ByteCoding
import PebbleProtocol

/// The conversation that every companion begins with: who are you, what is the time, what runs.
///
/// The order and the time limit are libpebble3's. The machine is told of messages and says what to send.
package struct Negotiation: Sendable {
    /// What the phone waits for.
    package enum Step: Hashable, Sendable, CustomStringConvertible {
        case phoneVersionRequest
        case watchVersion
        case color
        case runningApp

        package var description: String {
            switch self {
            case .phoneVersionRequest: "request for the phone's version"
            case .watchVersion: "watch version"
            case .color: "colour"
            case .runningApp: "running app"
            }
        }
    }

    /// How it stands.
    package enum State: Hashable, Sendable {
        case awaiting(Step)
        case done
        case failed(NegotiationFailure)
    }

    /// For all steps together.
    package static let timeLimit: Duration = .seconds(20)

    /// How it stands.
    package private(set) var state = State.awaiting(.phoneVersionRequest)
    private let deadline: Duration
    private let phone: PhoneVersion
    /// What the watch's clock is set by; nil leaves it as it is.
    private let clock: PhoneClock?

    init(of phone: PhoneVersion, by clock: PhoneClock?, from now: Duration) {
        self.phone = phone
        self.clock = clock
        deadline = now + Self.timeLimit
    }

    /// When it fails if it is not done.
    var nextDeadline: Duration? {
        if case .awaiting = state { deadline } else { nil }
    }

    mutating func advance(to now: Duration) {
        guard case .awaiting(let step) = state, deadline <= now else { return }
        state = .failed(.timedOut(step))
    }

    /// Takes a message that may be the one that is due.
    mutating func receive(_ message: PebbleMessage, at now: Duration, _ output: inout Output) {
        guard case .awaiting(let step) = state else { return }
        do throws(ByteDecodingError) {
            try receive(message, awaiting: step, at: now, &output)
        } catch {
            state = .failed(.malformed("\(message.endpoint): \(error)"))
        }
    }

    /// What a step leaves behind, in order.
    struct Output {
        var messages: [PebbleMessage] = []
        var events: [PhoneEvent] = []
    }

    private mutating func receive(
        _ message: PebbleMessage,
        awaiting step: Step,
        at now: Duration,
        _ output: inout Output
    ) throws(ByteDecodingError) {
        switch (step, message.endpoint) {
        case (.phoneVersionRequest, .phoneVersion):
            guard case .request = try PhoneVersionMessage(payload: message.payload) else { return }
            output.messages.append(PebbleMessage(PhoneVersionMessage.response(phone)))
            output.messages.append(PebbleMessage(WatchVersionMessage.request))
            output.events.append(.phoneVersionSent(phone))
            state = .awaiting(.watchVersion)
        case (.watchVersion, .watchVersion):
            guard case .response(let version) = try WatchVersionMessage(payload: message.payload) else { return }
            output.events.append(.watchVersion(version))
            output.messages.append(
                PebbleMessage(FactoryRegistryMessage.read(key: FactoryRegistryMessage.colorKey))
            )
            state = .awaiting(.color)
        case (.color, .factoryRegistry):
            try receiveColor(try FactoryRegistryMessage(payload: message.payload), at: now, &output)
        case (.runningApp, .appRunState):
            guard case .start(let application) = try AppRunStateMessage(payload: message.payload) else { return }
            output.events.append(.runningApp(application))
            state = .done
        default:
            break
        }
    }

    private mutating func receiveColor(
        _ message: FactoryRegistryMessage,
        at now: Duration,
        _ output: inout Output
    ) throws(ByteDecodingError) {
        guard case .value(let value) = message else {
            state = .failed(.colorUnknown)
            return
        }
        var reader = ByteReader(value)
        let number: UInt32 = try reader.readBigEndian("factory_registry.mfg_color")
        output.events.append(.watchColor(WatchColor(rawValue: number)))
        if let time = clock?.time(at: now) {
            output.events.append(.timeSet(time))
            output.messages.append(PebbleMessage(TimeMessage.setUTC(time)))
        }
        output.messages.append(PebbleMessage(AppRunStateMessage.request))
        state = .awaiting(.runningApp)
    }
}
