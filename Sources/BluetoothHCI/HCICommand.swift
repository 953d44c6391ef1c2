import ByteCoding

/// The parameters of a command, of its return, or of an event: a value that is also bytes.
public protocol HCIParameters: Hashable, Sendable {
    /// Takes the parameters off the front of some bytes.
    init(reading reader: inout ByteReader) throws(ByteDecodingError)
    /// Appends the parameters.
    func encode(to buffer: inout [UInt8])
}

/// A command: what it is called by, and its parameters.
///
/// A command is answered by Command Status, and later by an event of its own, unless it is an
/// `HCICommandWithReturn`.
public protocol HCICommand: HCIParameters {
    /// Its name, its number, and how a controller says that it has it.
    static var id: HCICommandID { get }
}

/// A command that is answered by Command Complete.
public protocol HCICommandWithReturn: HCICommand {
    /// What Command Complete carries after the status.
    associatedtype ReturnParameters: HCIReturnParameters = NoParameters
}

extension HCICommand {
    /// The number of the command.
    public static var opcode: HCIOpcode { id.opcode }
    /// The command's name as the Core prints it, without `HCI_`.
    public static var name: String { id.name }

    /// Appends the whole packet: packet type, opcode, length, parameters.
    package func encodePacket(to buffer: inout [UInt8]) {
        buffer.append(HCIPacketType.command.rawValue)
        buffer.appendLittleEndian(Self.opcode.rawValue)
        let lengthIndex = buffer.endIndex
        buffer.append(0)
        encode(to: &buffer)
        buffer.setLength(at: lengthIndex)
    }

    /// The whole packet: packet type, opcode, length, parameters.
    public var packet: [UInt8] {
        var buffer: [UInt8] = []
        encodePacket(to: &buffer)
        return buffer
    }

    /// Reads all of a command's parameters: bytes that follow them are an error.
    public init(parameters: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(parameters)
        try self.init(reading: &reader)
        try reader.expectEnd(Self.name)
    }
}

/// What Command Complete carries after the status.
public protocol HCIReturnParameters: HCIParameters {
    /// How many octets they are.
    static var size: Int { get }
}

/// Return parameters that are not there.
public struct NoParameters: HCIReturnParameters {
    public static let size = 0
    /// Makes the one value there is; it encodes to no octets.
    public init() {}
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {}
    public func encode(to buffer: inout [UInt8]) {}
}

/// A command without parameters.
public protocol HCICommandWithoutParameters: HCICommand {
    /// Makes the command, which encodes to no parameters.
    init()
}

extension HCICommandWithoutParameters {
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) { self.init() }
    public func encode(to buffer: inout [UInt8]) {}
}

/// A command packet before anyone has looked at its parameters: what a controller receives.
package struct HCICommandPacket: Hashable, Sendable {
    /// Which command it is.
    package var opcode: HCIOpcode
    /// Its parameters, undecoded.
    package var parameters: ArraySlice<UInt8>

    /// A command with these parameters.
    package init(opcode: HCIOpcode, parameters: ArraySlice<UInt8>) {
        self.opcode = opcode
        self.parameters = parameters
    }

    /// Reads a command packet without its packet type byte: opcode, length, parameters, and nothing after them.
    package init(body: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(body)
        opcode = HCIOpcode(rawValue: try reader.readLittleEndian("command.opcode"))
        let length = try reader.readUInt8("command.length")
        parameters = try reader.readBytes(Int(length), "command.parameters")
        try reader.expectEnd("command")
    }
}

extension [UInt8] {
    /// Writes how many bytes follow the one at `index` into it.
    mutating func setLength(at index: Int) {
        guard indices.contains(index) else { return }
        self[index] = UInt8(clamping: endIndex - index - 1)
    }
}
