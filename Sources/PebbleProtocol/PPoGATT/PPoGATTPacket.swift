import ByteCoding

/// The number of a PPoGATT packet: five bits, counting modulo 32.
package struct PPoGATTSequenceNumber: Hashable, Sendable, CustomStringConvertible {
    /// 0 to 31.
    package let rawValue: UInt8

    /// How many numbers there are.
    package static let modulus = 32
    /// Where both sides begin after a reset.
    package static let zero = PPoGATTSequenceNumber(truncating: 0)

    /// The low five bits of a number.
    package init(truncating number: Int) {
        rawValue = UInt8(truncatingIfNeeded: number) & UInt8(Self.modulus - 1)
    }

    /// The number after this one; 0 follows 31.
    package var next: PPoGATTSequenceNumber { advanced(by: 1) }

    /// The number before this one; 31 precedes 0.
    package var previous: PPoGATTSequenceNumber { advanced(by: -1) }

    /// The number that many packets later, or earlier if negative.
    package func advanced(by count: Int) -> PPoGATTSequenceNumber {
        PPoGATTSequenceNumber(truncating: Int(rawValue) &+ count)
    }

    /// How many packets after this one the other comes: 0 to 31.
    package func distance(to other: PPoGATTSequenceNumber) -> Int {
        (Self.modulus + Int(other.rawValue) - Int(rawValue)) % Self.modulus
    }

    package var description: String { "\(rawValue)" }
}

/// How many packets may be on their way without acknowledgement, as the sender of a Reset Complete sees it.
package struct PPoGATTWindows: Hashable, Sendable {
    /// What it can take.
    package var receive: UInt8
    /// What it would like to send.
    package var transmit: UInt8

    /// Version 0 has no other.
    package static let version0 = PPoGATTWindows(receive: 4, transmit: 4)
    /// A larger window could not tell an old packet from a new one.
    package static let maximum: UInt8 = 31

    /// Windows by their sizes in packets.
    package init(receive: UInt8, transmit: UInt8) {
        self.receive = receive
        self.transmit = transmit
    }
}

/// The version of the transport.
public enum PPoGATTVersion: UInt8, Comparable, Sendable {
    /// Four packets either way, each acknowledged at once.
    case v0 = 0
    /// Negotiated windows, coalesced acknowledgements.
    case v1 = 1

    public static func < (older: PPoGATTVersion, newer: PPoGATTVersion) -> Bool { older.rawValue < newer.rawValue }
}

/// One packet of PPoGATT, the transport that carries the Pebble Protocol's byte stream over GATT. One packet is one
/// write without response or one notification.
///
/// Layout: one byte with the type in bits 0 to 2 and the sequence number in bits 3 to 7, then the payload.
package enum PPoGATTPacket: Equatable, Sendable {
    /// A piece of the stream.
    case data(PPoGATTSequenceNumber, ArraySlice<UInt8>)
    /// Everything up to and including this number has arrived.
    case acknowledgement(PPoGATTSequenceNumber)
    /// Both sides start again.
    case resetRequest(PPoGATTResetRequest)
    /// The other side's answer, or the answer to that: ready. Windows from version 1 on; nil also if they are cut short.
    case resetComplete(PPoGATTWindows?)

    /// The byte before the payload.
    package static let headerLength = 1

    private enum TypeCode: UInt8 {
        case data = 0
        case acknowledgement = 1
        case resetRequest = 2
        case resetComplete = 3
    }

    private static let typeMask: UInt8 = 0x7
    private static let sequenceNumberShift = 3

    /// Reads one whole packet. An empty one and the types 4 to 7 are errors; a session survives them.
    package init(_ packet: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(packet)
        let header = try reader.readUInt8("ppogatt.header")
        let number = PPoGATTSequenceNumber(truncating: Int(header >> Self.sequenceNumberShift))
        guard let type = TypeCode(rawValue: header & Self.typeMask) else {
            throw ByteDecodingError("ppogatt.type", .invalidValue(UInt64(header & Self.typeMask)))
        }
        switch type {
        case .data: self = .data(number, reader.readRemaining())
        case .acknowledgement: self = .acknowledgement(number)
        case .resetRequest: self = .resetRequest(PPoGATTResetRequest(payload: reader.readRemaining()))
        case .resetComplete:
            if let receive = try? reader.readUInt8("ppogatt.max_rx_window"),
                let transmit = try? reader.readUInt8("ppogatt.max_tx_window")
            {
                self = .resetComplete(PPoGATTWindows(receive: receive, transmit: transmit))
            } else {
                self = .resetComplete(nil)
            }
        }
    }

    /// Appends the whole packet.
    package func encode(to bytes: inout [UInt8]) {
        switch self {
        case .data(let number, let payload):
            bytes.append(Self.header(.data, number))
            bytes += payload
        case .acknowledgement(let number):
            bytes.append(Self.header(.acknowledgement, number))
        case .resetRequest(let request):
            bytes.append(Self.header(.resetRequest, .zero))
            bytes += request.payload
        case .resetComplete(let windows):
            bytes.append(Self.header(.resetComplete, .zero))
            if let windows { bytes += [windows.receive, windows.transmit] }
        }
    }

    /// Appends the header of a data packet, whose payload the caller appends: the hot path copies it only once.
    static func encodeDataHeader(_ number: PPoGATTSequenceNumber, to bytes: inout [UInt8]) {
        bytes.append(header(.data, number))
    }

    private static func header(_ type: TypeCode, _ number: PPoGATTSequenceNumber) -> UInt8 {
        number.rawValue << sequenceNumberShift | type.rawValue
    }
}

/// What a Reset Request says of its sender. A watch sends its version and serial number, a phone its version or
/// nothing, and a watch reads neither.
package struct PPoGATTResetRequest: Equatable, Sendable {
    /// All bytes after the header.
    package let payload: ArraySlice<UInt8>

    /// How long a serial number is.
    package static let serialNumberLength = 12

    /// A payload as it was received.
    package init(payload: ArraySlice<UInt8>) { self.payload = payload }

    /// A watch's request: the serial number is cut or padded with NULs to 12 bytes.
    package init(version: PPoGATTVersion, serialNumber: String) {
        var bytes = [version.rawValue]
        bytes.appendFixedString(serialNumber, width: Self.serialNumberLength)
        payload = bytes[...]
    }

    /// A phone's request.
    package init(version: PPoGATTVersion) { payload = [version.rawValue] }

    /// The version that the sender wants; nil if it says none, or one that does not exist.
    package var version: PPoGATTVersion? { payload.first.flatMap(PPoGATTVersion.init(rawValue:)) }

    /// The watch's serial number; nil if there is none.
    package var serialNumber: String? {
        var reader = ByteReader(payload.dropFirst())
        return try? reader.readFixedString(width: Self.serialNumberLength, "ppogatt.serial_number")
    }
}
