import DequeModule
import PebbleProtocol

/// The buttons as the emulator sees them: which are down, and until when.
///
/// The emulator looks at buttons now and then, as the firmware does on a board. A press that begins and ends at once would not be
/// seen, and two without a pause would be one. So every press lasts, the button is up for a while after it, and a press of a button
/// whose last one is not over waits for that.
struct EmulatorButtons: Sendable {
    /// How long a button is down at least: longer than the firmware waits for one to stop bouncing.
    static let shortest: Duration = .milliseconds(100)
    /// How long a long press lasts: longer than apps of the SDK wait for one, which is half a second unless they say otherwise.
    static let long: Duration = .seconds(1)

    /// How long a button is up between two presses at least: longer than the firmware waits for one to stop bouncing.
    static let pause: Duration = .milliseconds(60)
    /// How many presses of a button wait. More are not seen.
    static let waitingLimit = 64

    /// What a person holds.
    private var held: Set<WatchButton> = []
    /// When buttons that are down may be up again.
    private var ends: [WatchButton: Duration] = [:]
    /// When buttons that are up may be down again.
    private var pauseEnds: [WatchButton: Duration] = [:]
    /// How long the presses last that wait, the oldest first.
    private var waiting: [WatchButton: Deque<Duration>] = [:]
    /// What the emulator was told.
    private var told: QEMUMessage.Buttons = []

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next: Duration?
        for (button, end) in ends where !held.contains(button) { next.lower(to: end) }
        for (button, end) in pauseEnds where waiting[button] != nil && !held.contains(button) { next.lower(to: end) }
        return next
    }

    /// A button is pressed and let go.
    mutating func press(_ button: WatchButton, _ press: ButtonPress, at now: Duration) -> QEMUMessage? {
        let length = press == .long ? Self.long : Self.shortest
        if held.contains(button) {
            ends[button] = max(ends[button] ?? now, now + length)
        } else if waiting[button, default: []].count < Self.waitingLimit {
            waiting[button, default: []].append(length)
        }
        return change(at: now)
    }

    /// These buttons, and no others, are down.
    mutating func hold(_ buttons: Set<WatchButton>, at now: Duration) -> QEMUMessage? {
        for button in buttons.subtracting(held) { ends[button] = max(ends[button] ?? now, now + Self.shortest) }
        for button in held.subtracting(buttons) where ends[button] == nil { pauseEnds[button] = now + Self.pause }
        held = buttons
        return change(at: now)
    }

    /// Lets time pass.
    /// - Returns: what the emulator is to be told; nil if nothing has changed.
    mutating func advance(to now: Duration) -> QEMUMessage? { change(at: now) }

    private mutating func change(at now: Duration) -> QEMUMessage? {
        for (button, end) in ends where end <= now {
            ends[button] = nil
            // Counted from now, so that it is told to be up before it is down again.
            if !held.contains(button) { pauseEnds[button] = now + Self.pause }
        }
        pauseEnds = pauseEnds.filter { $0.value > now }
        for (button, lengths) in waiting where !held.contains(button) && ends[button] == nil && pauseEnds[button] == nil
        {
            ends[button] = lengths.first.map { now + $0 }
            waiting[button] = lengths.count > 1 ? Deque(lengths.dropFirst()) : nil
        }
        var buttons: QEMUMessage.Buttons = []
        for button in WatchButton.allCases where held.contains(button) || ends[button] != nil {
            buttons.insert(QEMUMessage.Buttons(button))
        }
        guard buttons != told else { return nil }
        told = buttons
        return .buttons(buttons)
    }
}

extension QEMUMessage.Buttons {
    /// One button.
    fileprivate init(_ button: WatchButton) {
        self =
            switch button {
            case .back: .back
            case .up: .up
            case .select: .select
            case .down: .down
            }
    }
}

extension QEMUMessage {
    /// What the emulator is told of a reading.
    init(_ reading: SensorReading) {
        self =
            switch reading {
            case .battery(let percent, let isCharging): .battery(percent: percent, isCharging: isCharging)
            case .tap(let axis, let direction): .tap(axis, direction: direction)
            case .compass(let heading, let calibration): .compass(heading: heading, calibration)
            case .accelerometer(let samples): .accelerometer(samples)
            case .phoneConnection(let isConnected): .bluetoothConnection(isConnected: isConnected)
            case .timeFormat(let is24Hour): .timeFormat(is24Hour: is24Hour)
            case .timelinePeek(let isShown): .timelinePeek(isShown: isShown)
            case .contentSize(let size): .contentSize(size)
            case .health(let metric, let value): .healthMetric(metric, value: value)
            case .heartRate(let rate, let quality): .heartRate(beatsPerMinute: rate, quality: quality)
            }
    }
}
