import BluetoothHCI
import FoundationEssentials
import PebblePhone
import PebbleProtocol

/// What a command asks of a running phone.
package enum PhoneControlRequest: Sendable {
    /// Something to be done; it is answered when it has ended.
    case perform(PhoneCommand)
    /// Upload a file of this machine's under a name.
    case upload(path: String, name: String)
    /// Install an app from a bundle of this machine's.
    case install(path: String)
    /// How the phone is doing.
    case status
    /// Everything that happens from now on, line by line, and before that what has happened after a number.
    case events(after: UInt64?)

    /// Reads one line.
    package init(parsing line: some Sequence<UInt8>) throws(ControlRequest.Invalid) {
        self = try ControlRequest.Invalid.decode(AnyPhoneCommand.self, from: Data(line)).command.request()
    }
}

/// A command of the phone's vocabulary, as `ControlCommand` is one of the watch's.
package protocol PhoneControlCommand: NamedCommand {
    /// What the phone is asked for.
    func request() throws(ControlRequest.Invalid) -> PhoneControlRequest
}

/// The commands of a phone.
package enum PhoneControlCommands {
    /// All of them, in the order in which they are listed.
    package static let all: [any PhoneControlCommand.Type] = [
        Status.self, Events.self,
        Scan.self, Connect.self, Disconnect.self, Drop.self,
        Pair.self, Confirm.self, Forget.self,
        Launch.self, Stop.self, Push.self, Expect.self,
        Upload.self, Install.self, Notify.self, Ping.self, Time.self,
    ]

    /// By name.
    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The longest that a command may be told to wait, in seconds.
    package static let longest = 3600
}

/// A command whose name was read.
private struct AnyPhoneCommand: Decodable {
    let command: any PhoneControlCommand

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FieldKey.self)
        let name = try container.decode(String.self, forKey: FieldKey("command"))
        guard let type = PhoneControlCommands.byName[name] else {
            let known = PhoneControlCommands.all.map { $0.name }.joined(separator: ", ")
            throw ControlRequest.Invalid(description: "“\(name.abbreviated)” is no command; there are \(known)")
        }
        command = try type.init(from: decoder)
    }
}

/// One program's conversation with a phone: lines in, lines out, over any carrier.
///
/// Each line is a request and gets one answer, in order. Many are answered only when something has happened: the owner takes
/// no further item until it has answered the last.
package struct PhoneConversation: Sendable {
    private var lines = ControlLines()

    /// A conversation in which nothing has been said.
    package init() {}

    /// Whether the program wants to be told what happens.
    package var wantsEvents: Bool { lines.wantsEvents }

    /// How many bytes wait to be dealt with: the owner reads no more while there are whole lines.
    package var waitingByteCount: Int { lines.waitingByteCount }

    /// Takes bytes; then call `nextRequest` until it returns nil, or an answer has to be waited for.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) { lines.receive(bytes) }

    /// The next request, or what is wrong with the line that should be one.
    package mutating func nextRequest() -> Result<PhoneControlRequest, ControlRequest.Invalid>? {
        switch lines.next() {
        case nil: return nil
        case .failure(let invalid)?: return .failure(invalid)
        case .success(let line)?:
            do throws(ControlRequest.Invalid) {
                let request = try PhoneControlRequest(parsing: line)
                if case .events = request { lines.wantsEvents = true }
                return .success(request)
            } catch {
                return .failure(error)
            }
        }
    }

    /// The line for an event, if the program wants events.
    /// - Parameter hasRoom: whether there is room for it; if not, it is lost, and the program will be told.
    package mutating func line(for event: PhoneControlEvent, hasRoom: Bool, at now: Duration) -> [UInt8]? {
        lines.line(for: event, hasRoom: hasRoom, at: now)
    }
}

extension ControlVocabulary {
    /// A phone's.
    package static let phone = ControlVocabulary(
        title: "Control of a Cairn phone",
        description:
            "Each line of the phone's socket is one JSON object: requests to the phone, answers and events from it. "
            + "A request may have fields that its command does not have: they are passed over.",
        preface: [
            "# The phone: the reference", "",
            "Made by `cairn phone reference` from the declarations in `Sources/Control/Phone`; do not edit it.",
            "[phone.md](phone.md) says how to use it, and [phone.schema.json](phone.schema.json) says the same to",
            "programs. A field in brackets may be left out.",
        ],
        speaker: PhoneControlEventName.speaker,
        commands: PhoneControlCommands.all,
        events: PhoneControlEventName.allCases.map {
            Event(name: $0.rawValue, declaration: $0.declaration, isLoss: $0 == .lost)
        },
        packets: [],
        failures: PhoneControlFailureCode.allCases.map(\.rawValue)
    )
}
