import ByteCoding

/// A command is done: its status and whatever it returns.
///
/// Source: Core 5.4, Vol 4, Part E, 7.7.14.
package struct CommandComplete: HCIEventParameters {
    package static let code = HCIEventCode(rawValue: 0x0E)

    /// How many more commands the controller takes now.
    package var commandCredits: UInt8
    /// Which command; `.none` when this only says how many commands the controller takes.
    package var opcode: HCIOpcode
    /// The status and the return parameters, undecoded; empty if `opcode` is `.none`.
    package var returnParameters: ArraySlice<UInt8>

    /// Makes the event from return parameters that are already encoded, the status first.
    package init(commandCredits: UInt8, opcode: HCIOpcode, returnParameters: ArraySlice<UInt8>) {
        self.commandCredits = commandCredits
        self.opcode = opcode
        self.returnParameters = returnParameters
    }

    /// The answer to a command. Parameters of a failed one are sent as zeros, as controllers do.
    package init<Command: HCICommandWithReturn>(
        commandCredits: UInt8,
        to command: Command.Type,
        _ outcome: HCIOutcome<Command.ReturnParameters>
    ) {
        var bytes: [UInt8] = [outcome.status.rawValue]
        switch outcome {
        case .success(let value): value.encode(to: &bytes)
        case .failure: bytes.append(contentsOf: repeatElement(0, count: Command.ReturnParameters.size))
        }
        self.init(commandCredits: commandCredits, opcode: Command.opcode, returnParameters: bytes[...])
    }

    /// The status, which every command returns first; nil if there is none.
    package var status: HCIStatus? { returnParameters.first.map(HCIStatus.init(rawValue:)) }

    /// What a command came to. Whatever follows the status of a failed one is ignored: controllers send it or not.
    package func outcome<Command: HCICommandWithReturn>(
        of command: Command.Type
    ) throws(ByteDecodingError) -> HCIOutcome<Command.ReturnParameters> {
        var reader = ByteReader(returnParameters)
        let status = try HCIStatus(reading: &reader, "command_complete.status")
        guard status == .success else { return .failure(status) }
        return .success(try Command.ReturnParameters(reading: &reader))
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        commandCredits = try reader.readUInt8("command_complete.num_hci_command_packets")
        opcode = try HCIOpcode(reading: &reader, "command_complete.command_opcode")
        returnParameters = reader.readRemaining()
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(commandCredits)
        buffer.appendLittleEndian(opcode.rawValue)
        buffer.append(contentsOf: returnParameters)
    }
}
