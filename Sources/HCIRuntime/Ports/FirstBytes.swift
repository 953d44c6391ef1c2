import BluetoothHCI
import ByteCoding

/// What a TCP port of this machine speaks, as far as the first bytes of a connection show it.
///
/// A web page can have a browser connect to any port, and choose much of what is sent, but not how it begins: an HTTP method, a
/// TLS hello, or the length of a STUN message.
package struct PortProtocol: Sendable {
    private let isFirst: @Sendable ([UInt8]) -> Bool

    /// A protocol that is known by the first bytes of a connection.
    /// - Parameter isFirst: whether a packet of the protocol can begin with these bytes, `firstByteCount` of them.
    package init(isFirst: @escaping @Sendable ([UInt8]) -> Bool) { self.isFirst = isFirst }

    /// HCI packets of a Bluetooth host, each behind its type byte.
    package static let h4 = PortProtocol { bytes in
        // A host begins with a command. Group 0 has none that does anything, and is what a STUN message that a
        // browser was talked into would look like.
        let opcode = HCIOpcode(rawValue: UInt16(bytes[1]) | UInt16(bytes[2]) << 8)
        return bytes[0] == HCIPacketType.command.rawValue && opcode.rawValue >> 10 != 0
    }

    /// How many bytes show what a connection is. No first packet of either protocol is shorter.
    package static let firstByteCount = 4

    /// What a connection is taken for.
    package enum Verdict: Equatable, Sendable {
        case welcome
        /// Not one of these; in words for the log.
        case foreign(String)
    }

    /// Judges a connection by how it begins.
    /// - Parameter bytes: the first four, or fewer if that is all that has come before the end.
    package func verdict(on bytes: [UInt8]) -> Verdict {
        bytes.count >= Self.firstByteCount && isFirst(bytes) ? .welcome : .foreign(Self.describe(bytes))
    }

    /// The beginnings of HTTP's requests, four bytes each.
    private static let httpMethods: Set<String> = [
        "GET ", "POST", "PUT ", "HEAD", "OPTI", "DELE", "PATC", "CONN", "TRAC", "PRI ",
    ]

    private static func describe(_ bytes: [UInt8]) -> String {
        if httpMethods.contains(String(decoding: bytes, as: UTF8.self)) {
            return "an HTTP request, as a web page makes it"
        }
        // Handshake, version 3.x.
        if bytes.starts(with: [0x16, 0x03]) { return "a TLS hello, as a web page makes it" }
        return bytes.isEmpty ? "nothing" : "the bytes \(bytes[...].hexadecimal)"
    }
}
