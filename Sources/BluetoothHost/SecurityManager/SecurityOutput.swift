import BluetoothHCI
import DequeModule

/// What the Security Manager leaves for others: events for its owner, and actions for the controller.
struct SecurityOutput: Sendable {
    private var events = Deque<SecurityEvent>() { didSet { keepEmptiness() } }
    private var actions = Deque<SecurityAction>() { didSet { keepEmptiness() } }
    /// Whether there is nothing to take. It is kept, since it is asked for with every packet.
    private(set) var isEmpty = true
    private var lastPrompt: UInt32 = 0

    /// Queues an event.
    mutating func report(_ event: SecurityEvent) { events.append(event) }

    /// Queues an action.
    mutating func request(_ action: SecurityAction) { actions.append(action) }

    /// Queues a prompt with a number of its own.
    mutating func ask(_ kind: PairingPrompt.Kind, on connection: ConnectionHandle) -> PairingPrompt {
        lastPrompt &+= 1
        let prompt = PairingPrompt(id: PairingPrompt.ID(connection: connection, serial: lastPrompt), kind: kind)
        report(.prompt(prompt))
        return prompt
    }

    private mutating func keepEmptiness() { isEmpty = events.isEmpty && actions.isEmpty }

    /// Takes the oldest event.
    mutating func nextEvent() -> SecurityEvent? { events.popFirst() }

    /// Takes the oldest action.
    mutating func nextAction() -> SecurityAction? { actions.popFirst() }
}
