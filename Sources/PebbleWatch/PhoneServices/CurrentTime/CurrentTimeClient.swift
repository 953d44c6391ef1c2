import BluetoothHost
import ByteCoding
import DequeModule

/// What went wrong between the watch and the phone's clock.
public enum CurrentTimeProblem: Error, Equatable, Sendable, CustomStringConvertible {
    /// The phone refused to tell the time.
    case notRead(GATTProcedureError)
    /// The phone refused to tell when its clock is set.
    case notSubscribed(GATTProcedureError)
    /// The phone took too long.
    case timedOut
    /// The phone's time is none.
    case malformed(ByteDecodingError)

    public var description: String {
        switch self {
        case .notRead(let error): "the phone does not tell the time: \(error)"
        case .notSubscribed(let error): "the phone does not tell when its clock is set: \(error)"
        case .timedOut: "the phone did not tell the time soon enough"
        case .malformed(let error): "the phone's time is none: \(error)"
        }
    }
}

/// The watch's client of the Current Time Service: the phone's clock sets the watch's.
///
/// It asks for the zone, then for the time, and is told when the phone's clock is set, or comes into another zone.
struct CurrentTimeClient: PhoneServiceClient {
    struct Handles: Hashable, Sendable {
        let currentTime: AttributeHandle
        /// Where notifications of the time are switched on, if there are any.
        let configuration: AttributeHandle?
        /// Optional in the service.
        let localTimeInformation: AttributeHandle?
    }

    enum Event: Equatable, Sendable {
        /// The phone's local time was this, at that moment; and its distance to UTC, if the phone says so.
        case time(localSeconds: UInt32, at: Duration, offsetMinutes: Int?)
        /// Something did not work; the rest goes on.
        case problem(CurrentTimeProblem)
    }

    private enum Step: Equatable, Sendable {
        case readLocalTimeInformation
        case readCurrentTime
        case subscribe
    }

    /// Where the service is that is used.
    private(set) var handles: Handles?
    /// Whether the phone has told the time.
    private(set) var hasTime = false
    private var steps: Deque<Step> = []
    private var running: Step?
    private var isAbandoned = false
    private var deadline: Duration?
    private var retry = SingleRetry()
    private var offsetMinutes: Int?
    private var events: Deque<Event> = []

    mutating func nextEvent() -> Event? { events.popFirst() }

    mutating func serviceFound(_ handles: Handles, at now: Duration) {
        guard handles != self.handles else { return }
        serviceGone(at: now)
        self.handles = handles
        readTime()
        if handles.configuration != nil { steps.append(.subscribe) }
    }

    mutating func serviceGone(at now: Duration) {
        handles = nil
        hasTime = false
        offsetMinutes = nil
        steps = []
        retry.reset()
        abandon()
    }

    private mutating func abandon() {
        deadline = nil
        if running != nil { isAbandoned = true }
    }

    private mutating func readTime() {
        // The zone first: the time is only of use with it.
        if handles?.localTimeInformation != nil { steps.append(.readLocalTimeInformation) }
        steps.append(.readCurrentTime)
    }

    mutating func receive(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, at now: Duration) -> Bool {
        guard handle == handles?.currentTime else { return false }
        do throws(ByteDecodingError) {
            let time = try CurrentTime(value)
            let changesZone = !time.reason.isDisjoint(with: [.changeOfTimeZone, .changeOfDaylightSaving])
            guard changesZone, handles?.localTimeInformation != nil else {
                report(time, at: now)
                return true
            }
            if !steps.contains(.readCurrentTime) { readTime() }
        } catch {
            events.append(.problem(.malformed(error)))
        }
        return true
    }

    private mutating func report(_ time: CurrentTime, at now: Duration) {
        hasTime = true
        events.append(.time(localSeconds: time.localSeconds, at: now - time.fraction, offsetMinutes: offsetMinutes))
    }

    var nextDeadline: Duration? { Duration.earlier(deadline, retry.end) }

    mutating func advance(to now: Duration) {
        retry.advance(to: now)
        guard let deadline, deadline <= now else { return }
        events.append(.problem(.timedOut))
        abandon()
    }

    mutating func nextProcedure(at now: Duration) -> GATTProcedure? {
        guard running == nil, retry.end == nil, let handles, let step = steps.popFirst() else { return nil }
        let procedure: GATTProcedure? =
            switch step {
            case .readLocalTimeInformation: handles.localTimeInformation.map(GATTProcedure.read)
            case .readCurrentTime: .read(handles.currentTime)
            case .subscribe: handles.configuration.map { .subscribe(clientConfiguration: $0, .notifications) }
            }
        guard let procedure else { return nil }
        running = step
        isAbandoned = false
        deadline = now + PhoneServiceTiming.operationTimeout
        return procedure
    }

    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) {
        guard let step = running else { return }
        running = nil
        deadline = nil
        guard !isAbandoned else { return isAbandoned = false }
        do throws(ByteDecodingError) {
            switch (step, result) {
            case (_, .failure(let error)): failed(step, error, at: now)
            case (.readLocalTimeInformation, .success(.value(let value))):
                retry.reset()
                offsetMinutes = try LocalTimeInformation(value).offsetMinutes
            case (.readCurrentTime, .success(.value(let value))):
                retry.reset()
                report(try CurrentTime(value), at: now)
            case (_, .success): retry.reset()
            }
        } catch {
            events.append(.problem(.malformed(error)))
        }
    }

    private mutating func failed(_ step: Step, _ error: GATTProcedureError, at now: Duration) {
        guard !retry.begin(at: now) else { return steps.prepend(step) }
        retry.reset()
        events.append(.problem(step == .subscribe ? .notSubscribed(error) : .notRead(error)))
    }
}
