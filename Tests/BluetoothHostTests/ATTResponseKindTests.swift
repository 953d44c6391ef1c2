import ByteCoding
import Testing

@testable import BluetoothHost

/// Which PDU is which: Core 5.4, Vol 3, Part F, 3.4.
@Suite("ATT: kinds of PDUs")
struct ATTResponseKindTests {
    /// One PDU of each response, its opcode first.
    static let responses = [
        "01 0a 0300 0a", "03 1700", "05 01 0100 0028", "07 0100 0500", "09 03 0300 64", "0b 64", "0d 64", "0f 64",
        "11 06 0100 0500 0018", "13", "17 0300 0000 64", "19", "21 0100 64",
    ]

    /// The opcodes of all requests, and those of commands and of what a server sends by itself, with its confirmation.
    static let requests: [UInt8] = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20]
    static let others: [UInt8] = [0x1B, 0x1D, 0x1E, 0x23, 0x52, 0xD2]

    private static func response(_ text: String) throws -> (opcode: UInt8, ATTResponse) {
        let pdu = hex(text)
        let number = try #require(pdu.first)
        var reader = ByteReader(pdu.dropFirst())
        return (number, try ATTResponse(try #require(ATTOpcode(rawValue: number)), reading: &reader))
    }

    @Test("A response knows the opcode that it came with", arguments: responses)
    func opcodes(pdu: String) throws {
        let (number, response) = try Self.response(pdu)
        #expect(response.opcode.rawValue == number)
    }

    private static let range = AttributeHandleRange(0x0001, 0x0020) ?? .all

    /// Each procedure, and the responses that it can use; an Error Response reaches a procedure in another way.
    private static let procedures: [(any ClientProcedure, usable: [UInt8])] = [
        (SingleRequest.exchangeMTU(517), [0x03]),
        (SingleRequest.read(3), [0x0B]),
        (SingleRequest.readMultiple([3, 5]), [0x0F]),
        (SingleRequest.readMultipleVariable([3, 5]), [0x21]),
        (SingleRequest.write(HandleValue(3, [1])), [0x13]),
        (SingleRequest.subscribe(4, .notifications), [0x13]),
        (LongRead(3), [0x0B, 0x0D]),
        (QueuedWrite([HandleValue(3, [1])]), [0x17]),
        (QueuedWrite([]), [0x19]),
        (ServiceDiscovery(wanted: nil), [0x11, 0x07]),
        (IncludeDiscovery(in: range), [0x09]),
        (CharacteristicDiscovery(in: range, wanted: nil), [0x09]),
        (DescriptorDiscovery(in: range), [0x05]),
        (ReadByUUID(.uuid16(0x2A19), in: range, isExhaustive: true), [0x09]),
    ]

    @Test("A procedure says of each response that it cannot use which one it was", arguments: procedures.indices)
    func unusable(index: Int) throws {
        let (procedure, usable) = Self.procedures[index]
        for pdu in Self.responses {
            let (number, response) = try Self.response(pdu)
            guard !usable.contains(number) else { continue }
            var attempt = procedure
            #expect(throws: GATTProcedureError.unexpectedResponse(opcode: number), "\(procedure)") {
                _ = try attempt.receive(response, mtu: 23)
            }
        }
    }

    @Test("What is no response is not read as one, whatever follows its opcode", arguments: requests + others)
    func noResponse(number: UInt8) throws {
        let opcode = try #require(ATTOpcode(rawValue: number))
        let bytes: [UInt8] = [0x01, 0x00, 0x02, 0x00]
        var reader = ByteReader(bytes[...])
        #expect(throws: ByteDecodingError("opcode", .invalidValue(UInt64(number)))) {
            _ = try ATTResponse(opcode, reading: &reader)
        }
    }

    @Test("What is no request is not read as one, and its octets stay for who can read them")
    func noRequest() throws {
        for number in try Self.responses.map({ try #require(hex($0).first) }) + Self.others {
            let opcode = try #require(ATTOpcode(rawValue: number))
            let bytes: [UInt8] = [0x01, 0x00, 0x02, 0x00]
            var reader = ByteReader(bytes[...])
            let request = try ATTRequest(opcode, reading: &reader)
            #expect(request == nil && reader.count == 4, "\(opcode)")
        }
    }
}
