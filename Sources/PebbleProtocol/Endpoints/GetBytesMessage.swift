import ByteCoding

/// Endpoint 0x2328: the phone reads core dumps, files and flash. Layout: command, transaction, then by the command;
/// big-endian.
package struct GetBytesMessage: EndpointMessage {
    /// What answers repeat.
    package var transaction: UInt8
    /// What is asked or answered.
    package var body: Body

    /// What is asked or answered.
    package enum Body: Equatable, Sendable {
        /// `00`, phone to watch.
        case coreDump
        /// `05`, phone to watch: the core dump, if it was not read before.
        case unreadCoreDump
        /// `03`, length, name, NUL; phone to watch.
        case file(name: String)
        /// `04`, address and length (UInt32 each), phone to watch.
        case flash(address: UInt32, length: UInt32)
        /// `01`, status, size (UInt32), watch to phone: what will come.
        case info(Status, size: UInt32)
        /// `02`, offset (UInt32), data, watch to phone.
        case data(offset: UInt32, ArraySlice<UInt8>)
    }

    /// Whether anything will come.
    package enum Status: UInt8, Sendable {
        /// The bytes follow, in as many data messages as they need.
        case ok = 0
        /// The request cannot be read, or lacks what it needs, such as a file's name.
        case malformedRequest = 1
        /// Another transfer goes on; it is not disturbed.
        case alreadyInProgress = 2
        /// The watch does not have what was asked for.
        case doesNotExist = 3
        /// The watch has what was asked for, but it is damaged.
        case corrupted = 4
    }

    private enum Command {
        static let coreDump: UInt8 = 0x00
        static let info: UInt8 = 0x01
        static let data: UInt8 = 0x02
        static let file: UInt8 = 0x03
        static let flash: UInt8 = 0x04
        static let unreadCoreDump: UInt8 = 0x05
    }

    /// A message.
    package init(transaction: UInt8, _ body: Body) {
        self.transaction = transaction
        self.body = body
    }

    package static var endpoint: Endpoint { .getBytes }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("get_bytes.command")
        transaction = try reader.readUInt8("get_bytes.transaction_id")
        switch command {
        case Command.coreDump: body = .coreDump
        case Command.unreadCoreDump: body = .unreadCoreDump
        case Command.file: body = .file(name: try reader.readPascalString("get_bytes.filename"))
        case Command.flash:
            let address: UInt32 = try reader.readBigEndian("get_bytes.address")
            body = .flash(address: address, length: try reader.readBigEndian("get_bytes.length"))
        case Command.info:
            let code = try reader.readUInt8("get_bytes.error")
            guard let status = Status(rawValue: code) else {
                throw ByteDecodingError("get_bytes.error", .invalidValue(UInt64(code)))
            }
            body = .info(status, size: try reader.readBigEndian("get_bytes.size"))
        case Command.data:
            let offset: UInt32 = try reader.readBigEndian("get_bytes.offset")
            body = .data(offset: offset, reader.readRemaining())
        default: throw ByteDecodingError("get_bytes.command", .invalidValue(UInt64(command)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch body {
        case .coreDump: payload += [Command.coreDump, transaction]
        case .unreadCoreDump: payload += [Command.unreadCoreDump, transaction]
        case .file(let name):
            payload += [Command.file, transaction]
            payload.appendPascalString(name)
            payload.append(0)
        case .flash(let address, let length):
            payload += [Command.flash, transaction]
            payload.appendBigEndian(address)
            payload.appendBigEndian(length)
        case .info(let status, let size):
            payload += [Command.info, transaction, status.rawValue]
            payload.appendBigEndian(size)
        case .data(let offset, let data):
            payload += [Command.data, transaction]
            payload.appendBigEndian(offset)
            payload += data
        }
    }
}
