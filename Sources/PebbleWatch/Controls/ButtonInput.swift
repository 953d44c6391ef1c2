/// How a button was pressed.
public enum ButtonPress: String, Sendable, Hashable, CaseIterable {
    /// Pressed and let go.
    case short
    /// Held.
    case long
}

/// Makes presses out of buttons that go down and up.
///
/// A long press counts as soon as it has lasted long enough, while the button is still down.
struct ButtonInput: Sendable {
    /// What buttons do.
    enum Change: Sendable, Equatable {
        case down(WatchButton)
        case up(WatchButton)
        case pressed(WatchButton, ButtonPress)
    }

    /// How long a button is held for a long press. Back held forgets every phone, which a person should not do by accident.
    static func longPress(of button: WatchButton) -> Duration { button == .back ? .seconds(5) : .seconds(2) }

    /// When each button went down that is down and whose press has not counted yet.
    private var pressed: [WatchButton: Duration] = [:]
    /// All that are down.
    private(set) var held: Set<WatchButton> = []

    /// Those that the running app knows to be down.
    var toldToApp: Set<WatchButton> = []

    /// When `advance` has something to do.
    var nextDeadline: Duration? { pressed.map { $0.value + Self.longPress(of: $0.key) }.min() }

    /// These buttons, and no others, are down from this moment on, which may have passed: a press is as long as it was, and
    /// not as long as it took to hear of it.
    mutating func hold(_ buttons: Set<WatchButton>, since moment: Duration) -> [Change] {
        var changes = advance(to: moment)
        // In the order of the buttons, so that the same input always has the same outcome.
        for button in WatchButton.allCases where held.contains(button) && !buttons.contains(button) {
            changes.append(.up(button))
            if pressed.removeValue(forKey: button) != nil { changes.append(.pressed(button, .short)) }
        }
        for button in WatchButton.allCases where buttons.contains(button) && !held.contains(button) {
            changes.append(.down(button))
            pressed[button] = moment
        }
        held = buttons
        return changes
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) -> [Change] {
        var changes: [Change] = []
        for button in WatchButton.allCases {
            guard let start = pressed[button], start + Self.longPress(of: button) <= now else { continue }
            pressed[button] = nil
            changes.append(.pressed(button, .long))
        }
        return changes
    }
}
