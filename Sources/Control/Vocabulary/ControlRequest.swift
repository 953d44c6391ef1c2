import Faults
import FoundationEssentials
import PebbleProtocol
import PebbleWatch

/// What a command asks of a running watch.
///
/// On the wire a request is a JSON object whose `command` says what is wanted; what else is in it is declared by the
/// command's type, which `ControlCommands` has.
package enum ControlRequest: Sendable, Equatable {
    /// Something to be done to the watch.
    case perform(WatchCommand)
    /// How the watch is doing.
    case status
    /// A copy of everything that the watch keeps.
    case backup
    /// Bytes of that copy, from a place on.
    case backupPart(offset: Int)
    /// The picture that the screen shows.
    case screenshot(ControlScreen.Format)
    /// A part of what the watch is.
    case look(ControlLook)
    /// The messages of one direction that are kept: of an app, after a number.
    case messages(ControlMessage.Direction, app: PebbleUUID?, after: UInt64?)
    /// An answer when something is so.
    case wait(ControlWait)
    /// The next bytes of a package.
    case installPart([UInt8])
    /// That the package which was brought is installed.
    case install(launches: Bool)
    /// A capture in a file from now on.
    case startCapture(path: String)
    /// The end of that capture.
    case stopCapture
    /// Every packet from now on, line by line.
    case packets
    /// What was recorded of the watch, in a file.
    case saveRecording(path: String)
    /// Other levels of the log, as `--log-level` has them.
    case setLogLevels(String)
    /// A fault that is to be there.
    case addFault(Fault)
    /// The faults that are there.
    case faults
    /// The faults that can be added.
    case faultNames
    /// The end of a fault, or of all.
    case clearFaults(FaultID?)
    /// Everything that happens from now on, line by line, and before that what has happened after a number.
    case events(after: UInt64? = nil)

    /// Why a line is no request; the text is for its writer.
    package struct Invalid: Error, Equatable, Sendable {
        /// What is wrong with it.
        package let description: String
    }

    /// Reads one line.
    package init(parsing line: some Sequence<UInt8>) throws(Invalid) {
        self = try Invalid.decode(AnyControlCommand.self, from: Data(line)).command.request()
    }

    /// Whether a text can be a request at all; whether it is one, the watch knows.
    package static func isObject(_ text: String) -> Bool {
        JSONText(Data(text.utf8))?.isObject == true
    }
}

/// A command whose name was read.
private struct AnyControlCommand: Decodable {
    let command: any ControlCommand

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FieldKey.self)
        let name = try container.decode(String.self, forKey: FieldKey("command"))
        guard let type = ControlCommands.byName[name] else {
            let known = ControlCommands.all.map { $0.name }.joined(separator: ", ")
            throw ControlRequest.Invalid(description: "“\(name.abbreviated)” is no command; there are \(known)")
        }
        command = try type.init(from: decoder)
    }
}

extension ControlRequest.Invalid {
    /// Decodes a request, and explains what is wrong with it in the words of the vocabulary.
    static func decode<Value: Decodable>(_ type: Value.Type, from json: Data) throws(ControlRequest.Invalid) -> Value {
        do {
            return try JSONDecoder().decode(type, from: json)
        } catch {
            throw error as? ControlRequest.Invalid ?? Self(description: explain(error, json))
        }
    }

    private static func explain(_ error: any Error, _ json: Data) -> String {
        guard let error = error as? DecodingError else { return "this is no JSON object" }
        switch error {
        case .keyNotFound(let key, _): return "“\(key.stringValue)” is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? "a request is a JSON object" : "“\(path)” has the wrong type"
        case .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            if !path.isEmpty { return "“\(path)” has an impossible value" }
            // Foundation's decoder says this of a number, too, that its field's type cannot hold, without naming the field.
            guard JSONText(json) != nil else { return "this is no JSON" }
            return "a number is negative, too large or not a whole one where its field does not allow that"
        @unknown default: return "this is no request"
        }
    }
}

/// A text that is JSON, whatever it says.
private struct JSONText: Decodable {
    /// Whether it is an object.
    let isObject: Bool

    /// Makes nothing of a text that is no JSON.
    init?(_ text: Data) {
        guard let value = try? JSONDecoder().decode(JSONText.self, from: text) else { return nil }
        self = value
    }

    /// Looks at every value, since the decoder finds out only then whether a number is one.
    init(from decoder: any Decoder) throws {
        if let fields = try? decoder.container(keyedBy: FieldKey.self) {
            isObject = true
            for key in fields.allKeys { _ = try fields.decode(JSONText.self, forKey: key) }
            return
        }
        isObject = false
        if var values = try? decoder.unkeyedContainer() {
            while !values.isAtEnd { _ = try values.decode(JSONText.self) }
            return
        }
        let value = try decoder.singleValueContainer()
        guard !value.decodeNil(), (try? value.decode(String.self)) == nil, (try? value.decode(Bool.self)) == nil else {
            return
        }
        _ = try value.decode(Double.self)
    }
}
