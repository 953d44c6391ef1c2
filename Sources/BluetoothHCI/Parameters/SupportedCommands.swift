import ByteCoding

/// Which commands a controller understands: a bit for each, in 64 octets.
///
/// Source: Core 5.4, Vol 4, Part E, 6.27.
package struct SupportedCommands: Hashable, Sendable {
    /// Where a command's bit is.
    package struct Bit: Hashable, Sendable {
        /// Which octet: 0 to 63.
        package var octet: Int
        /// Which bit of the octet: 0 to 7.
        package var bit: UInt8

        /// Makes the place of a bit. Octet and bit are not checked: one that is out of range stands for no command.
        package init(octet: Int, bit: UInt8) {
            self.octet = octet
            self.bit = bit
        }
    }

    static let octetCount = 64
    private var octets: [UInt8]

    /// No commands.
    package init() { octets = Array(repeating: 0, count: Self.octetCount) }

    /// These commands.
    package init(_ commands: [HCICommandID]) {
        self.init()
        for command in commands { insert(command) }
    }

    /// Adds a command; one that has no bit is always there and changes nothing.
    package mutating func insert(_ command: HCICommandID) {
        guard let bit = command.supportedBit, octets.indices.contains(bit.octet) else { return }
        octets[bit.octet] |= 1 << bit.bit
    }

    /// Takes a command away.
    package mutating func remove(_ command: HCICommandID) {
        guard let bit = command.supportedBit, octets.indices.contains(bit.octet) else { return }
        octets[bit.octet] &= ~(1 << bit.bit)
    }

    /// Whether the controller understands a command.
    package func contains(_ command: HCICommandID) -> Bool {
        guard let bit = command.supportedBit else { return true }
        return octets.indices.contains(bit.octet) && octets[bit.octet] & (1 << bit.bit) != 0
    }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        octets = Array(try reader.readBytes(Self.octetCount, field))
    }

    func encode(to buffer: inout [UInt8]) { buffer.append(contentsOf: octets) }
}
