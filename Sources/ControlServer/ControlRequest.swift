import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import PebbleProtocol
import PebbleWatch

/// What a program can ask of a running watch.
///
/// On the wire it is a JSON object whose `command` says what is wanted; what else is in it depends on that. Docs/control.md
/// lists them all.
public enum ControlRequest: Sendable, Equatable {
    /// Something to be done to the watch.
    case perform(WatchCommand)
    /// How the watch is doing.
    case status
    /// A copy of everything that the watch keeps.
    case backup
    /// Bytes of that copy, from a place on.
    case backupPart(offset: Int)
    /// Everything that happens from now on, line by line, and before that what has happened after a number.
    case events(after: UInt64? = nil)

    /// Why a line is no request; the text is for its writer.
    public struct Invalid: Error, Equatable, Sendable {
        public let description: String
    }

    /// Reads one line.
    public init(parsing line: some Sequence<UInt8>) throws(Invalid) {
        let fields: Fields
        do {
            fields = try JSONDecoder().decode(Fields.self, from: Data(line))
        } catch {
            throw Invalid(description: Self.explain(error))
        }
        guard let name = CommandName(rawValue: fields.command) else {
            let known = CommandName.allCases.map(\.rawValue).joined(separator: ", ")
            throw Invalid(description: "“\(fields.command.abbreviated)” is no command; there are \(known)")
        }
        self = try Self.make(name, fields)
    }

    /// Whether a text can be a request at all; whether it is one, the watch knows.
    public static func isObject(_ text: String) -> Bool {
        (try? JSONSerialization.jsonObject(with: Data(text.utf8))) is [String: Any]
    }

    private static func explain(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "this is no JSON object" }
        switch error {
        case .keyNotFound(let key, _): return "“\(key.stringValue)” is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? "a request is a JSON object" : "“\(path)” has the wrong type"
        case .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? "this is no JSON" : "“\(path)” has an impossible value"
        @unknown default: return "this is no request"
        }
    }
}

/// The commands by name.
enum CommandName: String, CaseIterable {
    case status, events
    case press, hold, tap, battery, compass, accelerometer
    case timeFormat = "time-format"
    case launch, stop, send
    case openPairing = "open-pairing"
    case closePairing = "close-pairing"
    case confirm, refuse, passkey
    case outOfBand = "oob"
    case takeOutOfBand = "take-oob"
    case forget
    case forgetAll = "forget-all"
    case disconnect, advertise
    case offerBattery = "offer-battery"
    case publish, withdraw
    case music
    case answerCall = "answer-call"
    case endCall = "end-call"
    case act, set
    case logData = "log-data"
    case restart
    case backup
    case backupPart = "backup-part"
}

/// What can stand in a request.
struct Fields: Decodable {
    let command: String
    let button: String?
    let buttons: [String]?
    let long: Bool?
    let axis: String?
    let direction: Int?
    let percent: Int?
    let charging: Bool?
    let degrees: Double?
    let calibrated: Bool?
    let x: Int?
    let y: Int?
    let z: Int?
    let is24Hour: Bool?
    let seconds: Double?
    let passkey: String?
    let data: String?
    let phone: String?
    let entries: [ControlEntry]?
    let offered: Bool?
    let stream: String?
    let key: String?
    let item: String?
    let action: Int?
    let text: String?
    let app: String?
    let tag: Int?
    let itemSize: Int?
    let how: String?
    let offset: Int?
    let since: UInt64?
}

extension ControlRequest {
    private static func make(_ name: CommandName, _ fields: Fields) throws(Invalid) -> ControlRequest {
        switch name {
        case .status: return .status
        case .backup: return .backup
        case .backupPart:
            let offset = try required(fields.offset, "offset")
            guard offset >= 0 else { throw Invalid(description: "“offset” is a number from 0 on") }
            return .backupPart(offset: offset)
        case .events: return .events(after: fields.since)
        case .press:
            return .perform(.press(try button(fields.button, "button"), fields.long == true ? .long : .short))
        case .hold:
            var held: Set<WatchButton> = []
            for text in try required(fields.buttons, "buttons") { held.insert(try button(text, "buttons")) }
            return .perform(.hold(held))
        case .tap, .battery, .compass, .accelerometer, .timeFormat:
            return .perform(.sense(try reading(name, fields)))
        case .launch: return .perform(.launchApp(try uuid(fields.app, "app")))
        case .stop: return .perform(.stopApp)
        case .send: return .perform(.sendAppMessage(try dictionary(fields)))
        case .openPairing:
            let seconds = fields.seconds ?? Double(WatchCommand.pairingWindow.components.seconds)
            let longest = Double(WatchCommand.longestPairingWindow.components.seconds)
            guard (1...longest).contains(seconds) else {
                throw Invalid(description: "“seconds” is a number from 1 to \(Int(longest))")
            }
            return .perform(.openPairing(for: .seconds(seconds)))
        case .closePairing: return .perform(.closePairing)
        case .confirm: return .perform(.confirmPairing)
        case .refuse: return .perform(.refusePairing)
        case .passkey:
            guard let passkey = Passkey(digits: try required(fields.passkey, "passkey")) else {
                throw Invalid(description: "“passkey” is a string of up to six digits")
            }
            return .perform(.enterPasskey(passkey))
        case .outOfBand: return .perform(.makeOutOfBandData)
        case .takeOutOfBand: return .perform(.takeOutOfBandData(try outOfBandBlock(fields)))
        case .forget: return .perform(.forget(try phone(fields)))
        case .forgetAll: return .perform(.forgetAll)
        case .disconnect: return .perform(.disconnect)
        case .advertise: return .perform(.advertise)
        case .publish: return .perform(.publish(try stream(fields), true))
        case .withdraw: return .perform(.publish(try stream(fields), false))
        case .offerBattery: return .perform(.offerBattery(try required(fields.offered, "offered")))
        case .music, .answerCall, .endCall, .act, .set, .logData, .restart:
            return .perform(.service(try service(name, fields)))
        }
    }

    private static func reading(_ name: CommandName, _ fields: Fields) throws(Invalid) -> SensorReading {
        switch name {
        case .tap:
            let axes: [String: SensorAxis] = ["x": .x, "y": .y, "z": .z]
            guard let axis = axes[fields.axis ?? "x"] else { throw Invalid(description: "“axis” is x, y or z") }
            return .tap(axis, direction: try integer(fields.direction ?? 1, "direction"))
        case .battery:
            let percent: UInt8 = try integer(try required(fields.percent, "percent"), "percent")
            return .battery(percent: percent, isCharging: fields.charging ?? false)
        case .compass:
            let degrees = try required(fields.degrees, "degrees")
            guard (0...360).contains(degrees) else {
                throw Invalid(description: "“degrees” is a number from 0 to 360")
            }
            let heading = UInt32((degrees / 360 * 0x10000).rounded()) % 0x10000
            return .compass(heading: heading, fields.calibrated ?? true ? .calibrated : .refining)
        case .accelerometer:
            let sample = AccelerometerSample(
                x: try integer(try required(fields.x, "x"), "x"),
                y: try integer(try required(fields.y, "y"), "y"),
                z: try integer(try required(fields.z, "z"), "z")
            )
            return .accelerometer([sample])
        default:
            return .timeFormat(is24Hour: try required(fields.is24Hour, "is24Hour"))
        }
    }

    private static func dictionary(_ fields: Fields) throws(Invalid) -> AppMessageDictionary {
        var tuples: [AppMessageTuple] = []
        for entry in try required(fields.entries, "entries") {
            guard let tuple = entry.tuple else {
                throw Invalid(
                    description:
                        "the entry \(entry.key) is none: “type” is one of \(ControlEntry.types), with “number”, "
                        + "“string” or “bytes” to go with it"
                )
            }
            tuples.append(tuple)
        }
        do {
            return try AppMessageDictionary(tuples)
        } catch {
            throw Invalid(description: "“entries” make no dictionary: \(error)")
        }
    }

    private static func service(_ name: CommandName, _ fields: Fields) throws(Invalid) -> ServiceCommand {
        switch name {
        case .music:
            let keys: [String: MusicMessage.Command] = [
                "play-pause": .playOrPause, "play": .play, "pause": .pause, "next": .next, "previous": .previous,
                "volume-up": .volumeUp, "volume-down": .volumeDown,
            ]
            guard let key = keys[try required(fields.key, "key")] else {
                throw Invalid(description: "“key” is one of \(keys.keys.sorted().joined(separator: ", "))")
            }
            return .music(key)
        case .answerCall: return .answerCall
        case .endCall: return .endCall
        case .act:
            return .act(
                on: try uuid(fields.item, "item"),
                action: try integer(try required(fields.action, "action"), "action"),
                text: fields.text
            )
        case .set: return .set(try required(fields.key, "key"), to: try bytes(fields.data, "data"))
        case .logData:
            let description = DataLoggingMessage.Session(
                application: try uuid(fields.app, "app"),
                timestamp: 0,
                tag: try integer(try required(fields.tag, "tag"), "tag"),
                itemType: .bytes,
                itemSize: try integer(fields.itemSize ?? 1, "itemSize")
            )
            return .log(try bytes(fields.data, "data"), as: description)
        default:
            let causes: [String: RestartCause] = [
                "reboot": .reboot, "core-dump": .coreDump, "factory-reset": .factoryReset, "recovery": .recovery,
            ]
            guard let cause = causes[fields.how ?? "reboot"] else {
                throw Invalid(description: "“how” is one of \(causes.keys.sorted().joined(separator: ", "))")
            }
            return .restart(cause)
        }
    }

    private static func uuid(_ text: String?, _ field: String) throws(Invalid) -> PebbleUUID {
        guard let uuid = PebbleUUID(try required(text, field)) else {
            throw Invalid(description: "“\(field)” is a UUID, such as 6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b")
        }
        return uuid
    }

    private static func bytes(_ text: String?, _ field: String) throws(Invalid) -> [UInt8] {
        guard let bytes = [UInt8](hexadecimal: try required(text, field)) else {
            throw Invalid(description: "“\(field)” is a string of hexadecimal digits")
        }
        return bytes
    }

    private static func outOfBandBlock(_ fields: Fields) throws(Invalid) -> OutOfBandBlock {
        guard let bytes = [UInt8](hexadecimal: try required(fields.data, "data")) else {
            throw Invalid(description: "“data” is a string of hexadecimal digits")
        }
        do {
            return try OutOfBandBlock(parsing: bytes[...])
        } catch {
            throw Invalid(description: "“data” is no out of band block: \(error)")
        }
    }

    private static func stream(_ fields: Fields) throws(Invalid) -> WatchStream {
        let text = try required(fields.stream, "stream")
        guard let stream = WatchStream(rawValue: text) else {
            let known = WatchStream.allCases.map(\.rawValue).joined(separator: ", ")
            throw Invalid(description: "“\(text.abbreviated)” is no stream; there are \(known)")
        }
        return stream
    }

    private static func phone(_ fields: Fields) throws(Invalid) -> DeviceAddress {
        let text = try required(fields.phone, "phone")
        guard let address = DeviceAddress(text) else {
            throw Invalid(description: "“\(text.abbreviated)” is no address; one is written C0:11:22:33:44:55")
        }
        return address
    }

    private static func button(_ text: String?, _ field: String) throws(Invalid) -> WatchButton {
        guard let button = WatchButton(rawValue: try required(text, field)) else {
            let known = WatchButton.allCases.map(\.rawValue).joined(separator: ", ")
            throw Invalid(description: "“\(text?.abbreviated ?? "")” is no button; there are \(known)")
        }
        return button
    }

    private static func required<Value>(_ value: Value?, _ field: String) throws(Invalid) -> Value {
        guard let value else { throw Invalid(description: "“\(field)” is missing") }
        return value
    }

    private static func integer<Value: FixedWidthInteger>(_ number: Int, _ field: String) throws(Invalid) -> Value {
        guard let value = Value(exactly: number) else {
            throw Invalid(description: "“\(field)” is a number from \(Value.min) to \(Value.max)")
        }
        return value
    }
}

extension String {
    /// Enough of what somebody wrote to know it again.
    fileprivate var abbreviated: String { count > 40 ? prefix(40) + "…" : self }
}
