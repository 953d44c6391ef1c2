import BluetoothHCI
import ByteCoding

/// What a controller says, before any connection is there.
enum HCIDecoders {
    /// An event that can be read is written so that it reads the same.
    static func event(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        do {
            let event = try HCIEvent(body: input)
            var packet: [UInt8] = []
            event.encodePacket(to: &packet)
            digest.add(packet)
            let again = try HCIEvent(body: packet.dropFirst())
            try expect(again == event, "\(event) was written as \(packet.hexadecimal), which reads \(again)")
        } catch let error as ByteDecodingError {
            digest.add("\(error)")
        }
        return digest.value
    }

    /// What an event is read as, without its packet type.
    static func reading(_ input: ArraySlice<UInt8>) -> Reading {
        do throws(ByteDecodingError) {
            let event = try HCIEvent(body: input)
            var packet: [UInt8] = []
            event.encodePacket(to: &packet)
            let kind = "\(event)".prefix { $0 != "(" }
            return Reading(kind: String(kind), result: .written(Array(packet.dropFirst())), meaning: event)
        } catch {
            return Reading(kind: "HCIEvent", result: .refused("\(error)"))
        }
    }

    /// A stream in pieces has the packets of the whole stream, and what waits is bounded.
    static func stream(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var program = FuzzProgram(input)
        let source: H4Deframer.Source = program.flag() ? .host : .controller
        let step = 1 + Int(program.byte())
        let bytes = input.dropFirst(2)
        var buffer: [UInt8] = []
        func packets(in pieces: [ArraySlice<UInt8>]) throws -> (packets: [[UInt8]], garbage: Int, left: Int) {
            var deframer = H4Deframer(from: source)
            var packets: [[UInt8]] = []
            var garbage = 0
            for piece in pieces {
                deframer.append(piece)
                while let item = deframer.nextItem(into: &buffer) {
                    try expect(!buffer.isEmpty, "an item of no bytes")
                    switch item {
                    case .packet: packets.append(buffer)
                    case .garbage: garbage += buffer.count
                    }
                }
                let limit = H4Deframer.defaultMaximumDataLength + 5
                try expect(deframer.bufferedCount <= limit, "\(deframer.bufferedCount) bytes wait")
            }
            return (packets, garbage, deframer.bufferedCount)
        }
        let whole = try packets(in: [bytes])
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes
        while !rest.isEmpty {
            pieces.append(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
        let cut = try packets(in: pieces)
        try expect(whole.packets == cut.packets, "\(whole.packets.count) packets, and in pieces \(cut.packets.count)")
        try expect(whole.garbage == cut.garbage && whole.left == cut.left, "garbage depends on where a stream is cut")
        let sum = whole.packets.reduce(whole.garbage + whole.left) { $0 + $1.count }
        try expect(sum == bytes.count, "of \(bytes.count) bytes \(sum) are accounted for")
        var digest = FuzzDigest()
        for packet in whole.packets { digest.add(packet) }
        digest.add(whole.garbage)
        return digest.value
    }

    /// What was read and written once does not change any more.
    static func advertisingData(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        let data = AdvertisingData(parsing: input)
        try expect(data.malformedTail.count <= input.count, "more is malformed than there was")
        let bytes = data.bytes
        let again = AdvertisingData(parsing: bytes)
        try expect(again.bytes == bytes, "\(bytes.hexadecimal) was written again as \(again.bytes.hexadecimal)")
        try expect(again.structures.count == data.structures.count, "\(bytes.hexadecimal) lost a structure")
        var digest = FuzzDigest()
        digest.add(bytes)
        digest.add(data.localName ?? "")
        digest.add(Int(data.flags?.rawValue ?? 0))
        digest.add(data.serviceUUIDs16.count + data.serviceUUIDs128.count)
        return digest.value
    }
}
