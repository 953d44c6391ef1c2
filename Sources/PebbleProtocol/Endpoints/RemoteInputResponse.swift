import ByteCoding

/// Endpoint 0xF00D, watch to phone: what became of a command to press buttons or to swipe. Layout: the command, status.
package struct RemoteInputResponse: EndpointMessage {
    /// The command's number, whether it exists or not.
    package var command: UInt8
    /// What became of it.
    package var status: Status

    /// What becomes of a command.
    package enum Status: UInt8, Sendable {
        /// The command was accepted.
        case ok = 0
        /// Another one goes on.
        case busy = 1
        /// The command does not exist, is malformed, or cannot be carried out.
        case invalid = 2
    }

    /// An answer.
    package init(command: UInt8, status: Status) {
        self.command = command
        self.status = status
    }

    package static var endpoint: Endpoint { .remoteInput }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        command = try reader.readUInt8("remote_input.command")
        let code = try reader.readUInt8("remote_input.status")
        guard let status = Status(rawValue: code) else {
            throw ByteDecodingError("remote_input.status", .invalidValue(UInt64(code)))
        }
        self.status = status
    }

    package func encodePayload(to payload: inout [UInt8]) { payload += [command, status.rawValue] }
}
