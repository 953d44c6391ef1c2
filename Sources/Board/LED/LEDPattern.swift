/// What a watch's LED can say.
public enum LEDSignal: String, Sendable, CaseIterable {
    /// Nothing: the watch is found by a phone that has time, and saves power.
    case idle
    /// It can be found quickly: a short flash every second.
    case advertising
    /// A phone is connected: steadily on.
    case connected
    /// A new phone may pair: on and off, half a second each.
    case pairing
    /// A pairing waits for a button: quickly on and off.
    case question
    /// A phone was refused that wanted to pair: three flashes and a pause, for a while.
    case refused
    /// There is no controller: two short flashes every two seconds.
    case fault

    /// How long it is on, off, on, off...; then again from the beginning. Steady signals have no steps.
    var steps: [Duration] {
        switch self {
        case .idle, .connected: []
        case .advertising: [.milliseconds(50), .milliseconds(950)]
        case .pairing: [.milliseconds(500), .milliseconds(500)]
        case .question: [.milliseconds(100), .milliseconds(100)]
        case .refused:
            [
                .milliseconds(100), .milliseconds(200), .milliseconds(100), .milliseconds(200), .milliseconds(100),
                .milliseconds(1300),
            ]
        case .fault: [.milliseconds(100), .milliseconds(200), .milliseconds(100), .milliseconds(1600)]
        }
    }

    var isLitSteadily: Bool { self == .connected }
}

/// An LED in time: when it is on and when off, for what it is to say.
public struct LEDPattern: Sendable {
    public private(set) var signal: LEDSignal
    /// Whether the LED is on.
    public private(set) var isLit: Bool
    /// When that changes; nil for never.
    public private(set) var nextDeadline: Duration?
    private var startTime: Duration = .zero

    /// An LED without a pattern.
    public init() {
        signal = .idle
        isLit = false
    }

    /// Says something from now on, from the beginning of its pattern; saying the same again changes nothing.
    public mutating func show(_ signal: LEDSignal, at now: Duration) {
        guard signal != self.signal else { return }
        self.signal = signal
        startTime = now
        look(at: now)
    }

    /// Lets time pass. After any delay, the LED is as it should be at that time.
    public mutating func advance(to now: Duration) {
        guard let nextDeadline, nextDeadline <= now else { return }
        look(at: now)
    }

    private mutating func look(at now: Duration) {
        let steps = signal.steps
        let period = steps.reduce(.zero, +)
        guard period > .zero else {
            isLit = signal.isLitSteadily
            nextDeadline = nil
            return
        }
        let rounds = Int64((now - startTime) / period)
        // The quotient of durations is rounded: the sums below are exact, whichever round that leads to.
        var end = startTime + period * rounds
        while true {
            for (index, step) in steps.enumerated() {
                end += step
                guard end > now else { continue }
                isLit = index.isMultiple(of: 2)
                nextDeadline = end
                return
            }
        }
    }
}
