import BluetoothHost
import ByteCoding
import DequeModule

/// What went wrong between the watch and the phone's media service.
public enum AMSProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The phone refused twice to tell what plays: nothing is known until the service is found again.
    case notRegistered(GATTProcedureError)
    /// The phone refused a command.
    case commandRefused(GATTProcedureError)
    /// The phone refused the whole of a text of which it had sent the beginning.
    case notRead(GATTProcedureError)
    /// The phone took too long.
    case timedOut
    /// The phone sent something that says nothing about a player.
    case malformedUpdate(ByteDecodingError)
    /// More was pressed at once than the watch keeps.
    case tooManyCommands

    public var description: String {
        switch self {
        case .notRegistered(let error): "the phone refuses to tell what plays: \(error)"
        case .commandRefused(let error): "the phone's player does not do that: \(error)"
        case .notRead(let error): "the phone does not tell all of a text: \(error)"
        case .timedOut: "the phone's player did not answer in time"
        case .malformedUpdate(let error): "what the phone says of its player cannot be read: \(error)"
        case .tooManyCommands: "too many keys at once for the phone's player"
        }
    }
}

/// The watch's client of the Apple Media Service: what plays on the phone, and the keys that control it.
struct AMSClient: PhoneServiceClient {
    struct Handles: Hashable, Sendable {
        let remoteCommand: AttributeHandle
        let entityUpdate: NotifyingValue
        let entityAttribute: AttributeHandle
    }

    enum Event: Equatable, Sendable {
        /// The phone will tell what plays from now on.
        case registered
        /// It will not any more.
        case unregistered
        /// Something about the player changed.
        case changed(AMSChange)
        /// Something did not work; the rest goes on.
        case problem(AMSProblem)
    }

    /// The most commands that wait, and the most truncated texts.
    static let queueLimit = 16

    private enum Step: Equatable, Sendable {
        case unsubscribe
        case subscribe
        case register(AMSAttribute.Entity)
        case select(AMSAttribute)
        case read(AMSAttribute)
        case command(AMSRemoteCommand)
    }

    /// Where the service is that is used.
    private(set) var handles: Handles?
    /// Whether another source of music is there already, in whose way the phone's player must not get.
    private var isHeldBack = false
    /// What is left to be done until the phone tells what plays.
    private var registration: Deque<Step> = []
    private(set) var isRegistered = false
    private var commands: Deque<AMSRemoteCommand> = []
    /// What is to be read as a whole.
    private var truncated: Deque<AMSAttribute> = []
    /// What has been selected, to be read next.
    private var selected: AMSAttribute?
    /// The step that runs.
    private var running: Step?
    /// When what runs is given up.
    private var deadline: Duration?
    /// Whether the result of the procedure that runs is not needed any more.
    private var isAbandoned = false
    private var retry = SingleRetry()
    private var events: Deque<Event> = []

    mutating func nextEvent() -> Event? { events.popFirst() }

    /// Presses a key.
    mutating func send(_ command: AMSRemoteCommand) {
        guard isRegistered else { return }
        guard commands.count < Self.queueLimit else { return events.append(.problem(.tooManyCommands)) }
        commands.append(command)
    }

    /// Says whether there is another source of music: the client keeps out of its way.
    mutating func holdBack(_ isHeldBack: Bool) {
        guard isHeldBack != self.isHeldBack else { return }
        self.isHeldBack = isHeldBack
        guard handles != nil else { return }
        if isHeldBack {
            let wasSubscribed = isRegistered || running != nil
            stop()
            if wasSubscribed { registration = [.unsubscribe] }
        } else {
            begin()
        }
    }
}

// MARK: - The service

extension AMSClient {
    mutating func serviceFound(_ handles: Handles, at now: Duration) {
        guard handles != self.handles else { return }
        stop()
        self.handles = handles
        if !isHeldBack { begin() }
    }

    mutating func serviceGone(at now: Duration) {
        stop()
        handles = nil
    }

    private mutating func begin() {
        registration = [.subscribe]
        registration += AMSAttribute.Entity.allCases.map(Step.register)
    }

    private mutating func stop() {
        if isRegistered { events.append(.unregistered) }
        isRegistered = false
        registration = []
        commands = []
        truncated = []
        selected = nil
        retry.reset()
        abandon()
    }

    private mutating func abandon() {
        deadline = nil
        if running != nil { isAbandoned = true }
    }
}

// MARK: - What the phone says

extension AMSClient {
    mutating func receive(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, at now: Duration) -> Bool {
        guard handle == handles?.entityUpdate.value else { return false }
        do throws(ByteDecodingError) {
            let update = try AMSEntityUpdate(value)
            guard update.isTruncated else {
                truncated.removeAll { $0 == update.attribute }
                report(update.attribute, update.text)
                return true
            }
            // The whole follows. Should it not, the beginning is better than nothing.
            report(update.attribute, update.text)
            if !truncated.contains(update.attribute) { truncated.append(update.attribute) }
            // What is selected or read by now may be the text before this one: it is read once more.
        } catch {
            events.append(.problem(.malformedUpdate(error)))
        }
        return true
    }

    private mutating func report(_ attribute: AMSAttribute, _ text: ArraySlice<UInt8>) {
        guard !isHeldBack else { return }
        do throws(ByteDecodingError) {
            events.append(.changed(try AMSChange(attribute, text)))
        } catch {
            events.append(.problem(.malformedUpdate(error)))
        }
    }
}

// MARK: - Time and procedures

extension AMSClient {
    var nextDeadline: Duration? { Duration.earlier(deadline, retry.end) }

    mutating func advance(to now: Duration) {
        retry.advance(to: now)
        guard let deadline, deadline <= now else { return }
        events.append(.problem(.timedOut))
        let step = running
        abandon()
        selected = nil
        // Without its registration the client has nothing to wait for.
        switch step {
        case .subscribe, .register: registration = []
        case .unsubscribe, .select, .read, .command, nil: break
        }
    }

    mutating func nextProcedure(at now: Duration) -> GATTProcedure? {
        guard running == nil, retry.end == nil, let handles, let step = nextStep() else { return nil }
        running = step
        isAbandoned = false
        deadline = now + PhoneServiceTiming.operationTimeout
        switch step {
        case .unsubscribe: return .subscribe(clientConfiguration: handles.entityUpdate.configuration, [])
        case .subscribe: return .subscribe(clientConfiguration: handles.entityUpdate.configuration, .notifications)
        case .register(let entity): return .write(handles.entityUpdate.value, entity.registration[...])
        case .select(let attribute): return .write(handles.entityAttribute, attribute.selection[...])
        case .read: return .readLong(handles.entityAttribute)
        case .command(let command): return .write(handles.remoteCommand, [command.rawValue])
        }
    }

    private mutating func nextStep() -> Step? {
        if let step = registration.popFirst() { return step }
        if let attribute = selected {
            selected = nil
            return .read(attribute)
        }
        // A key is pressed by somebody who waits.
        if let command = commands.popFirst() { return .command(command) }
        return truncated.popFirst().map(Step.select)
    }

    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) {
        guard let step = running else { return }
        running = nil
        deadline = nil
        guard !isAbandoned else { return isAbandoned = false }
        switch result {
        case .success(let response):
            retry.reset()
            succeeded(step, response)
        case .failure(let error):
            failed(step, error, at: now)
        }
    }

    private mutating func succeeded(_ step: Step, _ response: GATTResponse) {
        switch (step, response) {
        case (.register, _) where registration.isEmpty:
            isRegistered = true
            events.append(.registered)
        case (.select(let attribute), _): selected = attribute
        case (.read(let attribute), .value(let text)): report(attribute, text)
        case (.unsubscribe, _), (.subscribe, _), (.register, _), (.read, _), (.command, _): break
        }
    }

    private mutating func failed(_ step: Step, _ error: GATTProcedureError, at now: Duration) {
        switch step {
        case .subscribe, .register:
            if retry.begin(at: now) { return registration.prepend(step) }
            stop()
            handles = nil
            events.append(.problem(.notRegistered(error)))
        case .command: events.append(.problem(.commandRefused(error)))
        case .select, .read:
            guard !error.isAbsentAttribute else { return }
            events.append(.problem(.notRead(error)))
        case .unsubscribe: break
        }
    }
}

extension GATTProcedureError {
    /// Whether there is nothing to be read, which is no failure.
    fileprivate var isAbsentAttribute: Bool {
        guard case .refused(let refusal) = self else { return false }
        return refusal.error == .amsAbsentAttribute
    }
}
