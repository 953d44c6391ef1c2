import PebbleProtocol

/// The buttons as the emulator sees them: which are down, and until when.
///
/// The emulator looks at buttons now and then, as the firmware does on a board. A press that begins and ends at once would not be
/// seen, and so every press lasts.
struct EmulatorButtons: Sendable {
    /// How long a button is down at least: longer than the firmware waits for one to stop bouncing.
    static let shortest: Duration = .milliseconds(100)
    /// How long a long press lasts: longer than apps of the SDK wait for one, which is half a second unless they say otherwise.
    static let long: Duration = .seconds(1)

    /// What a person holds.
    private var held: Set<WatchButton> = []
    /// When buttons that are down may be up again.
    private var ends: [WatchButton: Duration] = [:]
    /// What the emulator was told.
    private var told: QEMUMessage.Buttons = []

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next: Duration?
        for (button, end) in ends where !held.contains(button) { next.lower(to: end) }
        return next
    }

    /// A button is pressed and let go.
    mutating func press(_ button: WatchButton, _ press: ButtonPress, at now: Duration) -> QEMUMessage? {
        ends[button] = now + (press == .long ? Self.long : Self.shortest)
        return change(at: now)
    }

    /// These buttons, and no others, are down.
    mutating func hold(_ buttons: Set<WatchButton>, at now: Duration) -> QEMUMessage? {
        for button in buttons where !held.contains(button) { ends[button] = now + Self.shortest }
        held = buttons
        return change(at: now)
    }

    /// Lets time pass.
    /// - Returns: what the emulator is to be told; nil if nothing has changed.
    mutating func advance(to now: Duration) -> QEMUMessage? { change(at: now) }

    private mutating func change(at now: Duration) -> QEMUMessage? {
        ends = ends.filter { $0.value > now }
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
