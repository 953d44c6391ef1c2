import ByteCoding
import PebbleProtocol

/// Records, streams, and values that stand alone.
enum RecordDecoders {
    /// Timeline items, each way of reading one, and app metadata.
    static func record(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        for reading in [TimelineItem.Reading.whole, .asFarAsItGoes, .asKept] {
            do {
                let item = try TimelineItem(input, reading: reading)
                var bytes: [UInt8] = []
                item.encode(to: &bytes)
                digest.add(bytes)
                let again = try TimelineItem(bytes[...])
                try expect(again == item, "an item was written as \(bytes.hexadecimal), which reads otherwise")
            } catch let error as ByteDecodingError {
                digest.add("\(error)")
            }
        }
        do {
            let metadata = try AppMetadata(input)
            var bytes: [UInt8] = []
            metadata.encode(to: &bytes)
            digest.add(bytes)
            var again: [UInt8] = []
            try AppMetadata(bytes[...]).encode(to: &again)
            try expect(again == bytes, "metadata were written as \(bytes.hexadecimal), then as \(again.hexadecimal)")
        } catch let error as ByteDecodingError {
            digest.add("\(error)")
        }
        return digest.value
    }

    /// The two streams of bytes: in pieces they have the messages of the whole stream.
    static func streams(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        let step = 1 + Int(input.first ?? 0)
        let bytes = input.dropFirst()
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes
        while !rest.isEmpty {
            pieces.append(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
        let whole = try messages(in: [bytes])
        try expect(try messages(in: pieces) == whole, "messages depend on where a stream is cut")
        let frames = try frames(in: [bytes])
        try expect(try Self.frames(in: pieces) == frames, "frames depend on where a stream is cut")
        var digest = FuzzDigest()
        for item in whole { digest.add("\(item)") }
        for frame in frames {
            digest.add(frame.data)
            do {
                guard let message = try QEMUMessage(frame) else { continue }
                let again = try QEMUMessage(message.frame)
                try expect(again == message, "\(message) was written otherwise")
            } catch let error as ByteDecodingError {
                digest.add("\(error)")
            }
        }
        return digest.value
    }

    private static func messages(in pieces: [ArraySlice<UInt8>]) throws -> [MessageDeframer.Item] {
        var deframer = MessageDeframer()
        var items: [MessageDeframer.Item] = []
        for piece in pieces {
            var piece = piece
            while let item = deframer.next(from: &piece, where: { $0.endpoint.rawValue % 7 != 0 }) {
                items.append(item)
            }
            try expect(piece.isEmpty, "bytes of a stream were left")
            let limit = PebbleMessage.headerLength + PebbleMessage.maximumPayloadLength
            try expect(deframer.bufferedByteCount <= limit, "\(deframer.bufferedByteCount) bytes wait")
        }
        return items
    }

    private static func frames(in pieces: [ArraySlice<UInt8>]) throws -> [QEMUFrame] {
        var deframer = QEMUDeframer()
        var frames: [QEMUFrame] = []
        for piece in pieces {
            deframer.receive(piece)
            while let frame = deframer.nextFrame(at: .zero) { frames.append(frame) }
            try expect(deframer.bufferedByteCount < 65535 + 8, "\(deframer.bufferedByteCount) bytes wait")
        }
        return frames
    }

    /// Values of characteristics, and the headers of executables and resources.
    static func value(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        if let packet = try? PPoGATTPacket(input) {
            var bytes: [UInt8] = []
            packet.encode(to: &bytes)
            digest.add(bytes)
            let again = try PPoGATTPacket(bytes[...])
            try expect(again == packet, "\(packet) was written as \(bytes.hexadecimal)")
            if case .resetRequest(let request) = packet { digest.add(request.serialNumber ?? "") }
        }
        for isRecovery in [false, true] {
            do throws(PPoGATTMetaRejection) {
                let meta = try PPoGATTMeta(input, inRecoveryFirmware: isRecovery)
                var bytes: [UInt8] = []
                meta.encode(to: &bytes)
                digest.add(bytes)
            } catch {
                digest.add("\(error)")
            }
        }
        do throws(ConnectionParametersCommand.Refusal) {
            digest.add("\(try ConnectionParametersCommand(input))")
        } catch {
            digest.add(error.rawValue)
        }
        do throws(ByteDecodingError) {
            digest.add(try ConnectivityStatus(decoding: input).encoded)
        } catch {
            digest.add("\(error)")
        }
        do throws(ByteDecodingError) {
            let header = try ProcessHeader(checking: input)
            digest.add("\(header.metadata)")
        } catch {
            digest.add("\(error)")
        }
        for kind in [ResourcePack.Kind.app, .system] {
            do throws(ByteDecodingError) {
                digest.add(try ResourcePack(checking: input, kind: kind).entries.count)
            } catch {
                digest.add("\(error)")
            }
        }
        return digest.value
    }
}
