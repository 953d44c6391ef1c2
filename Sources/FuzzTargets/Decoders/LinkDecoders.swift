import BluetoothHCI
import BluetoothHost
import ByteCoding

/// What passes on one connection.
enum LinkDecoders {
    /// A program of packets of both directions. What is held back of unfinished frames is bounded.
    static func link(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var program = FuzzProgram(input)
        var digest = FuzzDigest()
        var dissector = LinkDissector()
        var carried = 0
        var taken = 0
        while !program.isAtEnd {
            let flags = program.byte()
            var body: [UInt8]
            if flags & 2 != 0 {
                // Right in its own lengths, and as wrong inside as the program likes.
                let data = program.piece()
                body = []
                body.appendLittleEndian(UInt16(0x0040) | (flags & 4 != 0 ? 0x1000 : 0x2000))
                body.appendLittleEndian(UInt16(data.count))
                body += data
            } else {
                body = program.piece()
            }
            do {
                let packet = try ACLPacket(body: body[...])
                try expect(packet.packet.dropFirst().elementsEqual(body), "\(body.hexadecimal) is written otherwise")
                carried += packet.data.count
                for finding in dissector.receive(packet, isFromHost: flags & 1 != 0) {
                    if case .pdu(let pdu) = finding { taken += pdu.payload.count + 4 }
                    digest.add("\(finding)")
                }
            } catch let error as ByteDecodingError {
                digest.add("\(error)")
            }
        }
        try expect(taken <= carried, "\(taken) bytes of PDUs in \(carried) bytes of packets")
        return digest.value
    }

    /// What a command is read as.
    static func signalingReading(_ input: ArraySlice<UInt8>) -> Reading {
        do throws(ByteDecodingError) {
            let pdu = try SignalingPDU(decoding: input)
            var bytes: [UInt8] = []
            pdu.encode(to: &bytes)
            return Reading(kind: "SignalingPDU", result: .written(bytes), meaning: pdu)
        } catch {
            return Reading(kind: "SignalingPDU", result: .refused("\(error)"))
        }
    }

    /// A command that can be read is written so that it reads the same.
    static func signaling(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        do {
            let pdu = try SignalingPDU(decoding: input)
            var bytes: [UInt8] = []
            pdu.encode(to: &bytes)
            digest.add(bytes)
            let again = try SignalingPDU(decoding: bytes[...])
            try expect(again == pdu, "\(pdu) was written as \(bytes.hexadecimal), which reads \(again)")
        } catch let error as ByteDecodingError {
            digest.add("\(error)")
        }
        return digest.value
    }
}
