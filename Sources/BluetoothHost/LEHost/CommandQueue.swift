import BluetoothHCI
import ByteCoding
import DequeModule

/// What a command was sent for, so that its answer finds the way back.
enum CommandPurpose: Hashable, Sendable {
    case startUp
    /// Something that advertising needs before it is enabled.
    case prepareAdvertising(AdvertisingSetID)
    case enableAdvertising(AdvertisingSetID)
    case disableAdvertising(AdvertisingSetID)
    /// Turning off a set that may be off already; the answer does not matter.
    case clearAdvertising
    /// Making room in the controller for another set.
    case removeAdvertising(AdvertisingSetID)
    case prepareScanning
    case enableScanning
    case disableScanning
    case connect
    case cancelConnecting
    case disconnect(ConnectionHandle)
    case updateParameters(ConnectionHandle)
    case enableEncryption(ConnectionHandle)
    case readRemoteFeatures(ConnectionHandle)
    case setPHY(ConnectionHandle)
    case readRSSI(ConnectionHandle)
    /// Nothing depends on the answer; a failure is logged.
    case other
}

/// A command whose packet has been written.
struct OutgoingCommand: Sendable {
    let opcode: HCIOpcode
    let packet: [UInt8]

    init<Command: HCICommand>(_ command: Command) {
        opcode = Command.opcode
        packet = command.packet
    }
}

/// Commands on their way to the controller, and those that it has not answered yet.
///
/// No more commands are unanswered at once than the controller's last Num_HCI_Command_Packets said. Commands of one
/// sequence go one after the other, each when the one before is answered, so that a failure can end the sequence.
///
/// Source: Core 5.4, Vol 4, Part E, 4.4.
struct CommandQueue: Sendable {
    /// Commands that belong together.
    struct Sequence: Hashable, Sendable {
        fileprivate let number: UInt32
    }

    /// An answered command.
    struct Answered: Hashable, Sendable {
        let opcode: HCIOpcode
        let purpose: CommandPurpose
        let sequence: Sequence?
    }

    private struct Waiting: Sendable {
        let command: Answered
        let packet: [UInt8]
    }

    struct Unanswered: Sendable {
        let command: Answered
        let deadline: Duration
    }

    /// How long the controller may take to answer. The Core says 1 s; twice that is a fault beyond doubt.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 4.5.
    static let timeout = Duration.seconds(2)
    /// How many commands may wait: far more than all that one host has reason to send at once.
    static let limit = 128

    private var waiting = Deque<Waiting>()
    /// In the order in which they were sent, which is that of their deadlines: time does not run backwards.
    private(set) var unanswered: [Unanswered] = []
    /// How many commands the controller takes, the unanswered ones among them.
    private var credits = 1
    /// Since when commands wait although nothing is unanswered.
    private(set) var stalledSince: Duration?
    private var lastSequence: UInt32 = 0

    /// Whether so many commands more can wait.
    func hasRoom(for count: Int) -> Bool { waiting.count + count <= Self.limit }

    /// A sequence of its own.
    mutating func makeSequence() -> Sequence {
        lastSequence &+= 1
        return Sequence(number: lastSequence)
    }

    /// Adds a command.
    /// - Returns: false if too many wait.
    mutating func append(_ command: OutgoingCommand, for purpose: CommandPurpose, in sequence: Sequence? = nil) -> Bool
    {
        guard waiting.count < Self.limit else { return false }
        let answered = Answered(opcode: command.opcode, purpose: purpose, sequence: sequence)
        waiting.append(Waiting(command: answered, packet: command.packet))
        return true
    }

    /// Drops what has not been sent of a sequence.
    mutating func cancel(_ sequence: Sequence) { waiting.removeAll { $0.command.sequence == sequence } }

    /// Drops everything, as a reset of the controller does.
    mutating func removeAll() {
        waiting.removeAll()
        unanswered.removeAll()
        credits = 1
        stalledSince = nil
    }

    /// Takes the next command that the controller has room for into `buffer`, replacing its content.
    mutating func nextPacket(into buffer: inout [UInt8], at now: Duration) -> Bool {
        guard let next = waiting.first else { return false }
        guard unanswered.count < credits else {
            if unanswered.isEmpty { stalledSince = stalledSince ?? now }
            return false
        }
        if let sequence = next.command.sequence, unanswered.contains(where: { $0.command.sequence == sequence }) {
            return false
        }
        waiting.removeFirst()
        unanswered.append(Unanswered(command: next.command, deadline: now + Self.timeout))
        buffer.removeAll(keepingCapacity: true)
        buffer.append(contentsOf: next.packet)
        return true
    }

    /// The controller answered a command, and takes this many now.
    /// - Returns: the oldest unanswered command with the opcode; nil if there is none.
    mutating func receiveAnswer(to opcode: HCIOpcode, credits: UInt8) -> Answered? {
        self.credits = Int(credits)
        stalledSince = nil
        guard let index = unanswered.firstIndex(where: { $0.command.opcode == opcode }) else { return nil }
        return unanswered.remove(at: index).command
    }

    /// When the controller has taken too long.
    var nextDeadline: Duration? {
        var deadline = unanswered.first?.deadline
        if let stalledSince { deadline.lower(to: stalledSince + Self.timeout) }
        return deadline
    }

    /// The command that the controller has not answered, or not had room for, in time.
    func expired(at now: Duration) -> HCIOpcode? {
        guard let deadline = nextDeadline, now >= deadline else { return nil }
        return unanswered.first { $0.deadline <= now }?.command.opcode ?? waiting.first?.command.opcode
    }
}
