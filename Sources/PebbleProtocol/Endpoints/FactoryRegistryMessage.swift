import ByteCoding

/// Endpoint 0x1389: values written in the factory.
package enum FactoryRegistryMessage: EndpointMessage {
    /// `00`, length byte, key, phone to watch.
    case read(key: String)
    /// `01`, length byte, value, watch to phone.
    case value([UInt8])
    /// `FF`, watch to phone: the answer to an unknown key, to an attempt to write and to anything malformed.
    case failure

    /// The one key that companions read.
    package static let colorKey = "mfg_color"

    /// The answer to ``colorKey``: UInt32, big-endian.
    package static func color(_ color: WatchColor) -> FactoryRegistryMessage {
        var value: [UInt8] = []
        value.appendBigEndian(color.rawValue)
        return .value(value)
    }

    package static var endpoint: Endpoint { .factoryRegistry }

    private enum Command {
        static let read: UInt8 = 0x00
        static let value: UInt8 = 0x01
        static let failure: UInt8 = 0xFF
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("factory_registry.command")
        switch command {
        case Command.read:
            let key = try reader.readPascalString("factory_registry.key")
            try reader.expectEnd("factory_registry.key")
            self = .read(key: key)
        case Command.value:
            let length = Int(try reader.readUInt8("factory_registry.length"))
            self = .value(Array(try reader.readBytes(length, "factory_registry.value")))
        case Command.failure: self = .failure
        default: throw ByteDecodingError("factory_registry.command", .invalidValue(UInt64(command)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .read(let key):
            payload.append(Command.read)
            payload.appendPascalString(key)
        case .value(let value):
            let fitting = value.prefix(Int(UInt8.max))
            payload += [Command.value, UInt8(truncatingIfNeeded: fitting.count)]
            payload += fitting
        case .failure:
            payload.append(Command.failure)
        }
    }
}
