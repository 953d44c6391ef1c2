import ByteCoding

/// Endpoint 0x0021: calls. Layout: command, cookie (UInt32, big-endian), then by the command; nothing is answered.
public enum PhoneControlMessage: EndpointMessage {
    /// `01`, watch to phone.
    case answer(Call)
    /// `02`, watch to phone.
    case hangUp(Call)
    /// `03` alone, watch to phone: which calls are there?
    case getState
    /// `83`, phone to watch: messages like those below, each after a byte with its length.
    case state([[UInt8]])
    /// `04`, phone to watch.
    case incoming(Call, Caller)
    /// `05`, phone to watch.
    case outgoing(Call)
    /// `06`, phone to watch.
    case missed(Call, Caller)
    /// `07`, phone to watch.
    case ring(Call)
    /// `08`, phone to watch: the call was accepted.
    case start(Call)
    /// `09`, phone to watch.
    case end(Call)

    /// Names a call; the phone chooses it.
    public struct Call: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt32

        public init(rawValue: UInt32) { self.rawValue = rawValue }
    }

    /// Who calls. Layout: number and name, each after a byte with its length.
    public struct Caller: Equatable, Sendable {
        /// As the phone shows it.
        public var number: String
        /// As the phone knows it.
        public var name: String

        /// A caller.
        public init(number: String, name: String) {
            self.number = number
            self.name = name
        }
    }

    private enum Command {
        static let answer: UInt8 = 0x01
        static let hangUp: UInt8 = 0x02
        static let getState: UInt8 = 0x03
        static let incoming: UInt8 = 0x04
        static let outgoing: UInt8 = 0x05
        static let missed: UInt8 = 0x06
        static let ring: UInt8 = 0x07
        static let start: UInt8 = 0x08
        static let end: UInt8 = 0x09
        static let state: UInt8 = 0x83
    }

    public static var endpoint: Endpoint { .phoneControl }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("phone_control.command")
        switch command {
        case Command.answer: self = .answer(try Self.readCall(&reader))
        case Command.hangUp: self = .hangUp(try Self.readCall(&reader))
        case Command.getState: self = .getState
        case Command.incoming: self = .incoming(try Self.readCall(&reader), try Self.readCaller(&reader))
        case Command.outgoing: self = .outgoing(try Self.readCall(&reader))
        case Command.missed: self = .missed(try Self.readCall(&reader), try Self.readCaller(&reader))
        case Command.ring: self = .ring(try Self.readCall(&reader))
        case Command.start: self = .start(try Self.readCall(&reader))
        case Command.end: self = .end(try Self.readCall(&reader))
        case Command.state:
            var items: [[UInt8]] = []
            while !reader.isEmpty {
                let length = Int(try reader.readUInt8("phone_control.item_length"))
                items.append(Array(try reader.readBytes(length, "phone_control.item")))
            }
            self = .state(items)
        default: throw ByteDecodingError("phone_control.command", .invalidValue(UInt64(command)))
        }
    }

    private static func readCall(_ reader: inout ByteReader) throws(ByteDecodingError) -> Call {
        Call(rawValue: try reader.readBigEndian("phone_control.cookie"))
    }

    private static func readCaller(_ reader: inout ByteReader) throws(ByteDecodingError) -> Caller {
        let number = try reader.readPascalString("phone_control.number")
        return Caller(number: number, name: try reader.readPascalString("phone_control.name"))
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .answer(let call): Self.encode(Command.answer, call, to: &payload)
        case .hangUp(let call): Self.encode(Command.hangUp, call, to: &payload)
        case .getState: payload.append(Command.getState)
        case .incoming(let call, let caller): Self.encode(Command.incoming, call, caller, to: &payload)
        case .outgoing(let call): Self.encode(Command.outgoing, call, to: &payload)
        case .missed(let call, let caller): Self.encode(Command.missed, call, caller, to: &payload)
        case .ring(let call): Self.encode(Command.ring, call, to: &payload)
        case .start(let call): Self.encode(Command.start, call, to: &payload)
        case .end(let call): Self.encode(Command.end, call, to: &payload)
        case .state(let items):
            payload.append(Command.state)
            for item in items {
                let fitting = item.prefix(Int(UInt8.max))
                payload.append(UInt8(truncatingIfNeeded: fitting.count))
                payload += fitting
            }
        }
    }

    private static func encode(_ command: UInt8, _ call: Call, _ caller: Caller? = nil, to payload: inout [UInt8]) {
        payload.append(command)
        payload.appendBigEndian(call.rawValue)
        guard let caller else { return }
        payload.appendPascalString(caller.number)
        payload.appendPascalString(caller.name)
    }
}
