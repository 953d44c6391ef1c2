import ByteCoding
import PebbleProtocol

/// Messages of the Pebble Protocol. The first byte of an input says of which kind.
enum EndpointDecoders {
    /// A message that can be read is written so that it is written the same again.
    static func message(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        try kind(of: input).run(input.dropFirst())
    }

    /// What a message is read as. A message without a meaning is refused with its field.
    static func reading(_ input: ArraySlice<UInt8>) -> Reading {
        let kind = kind(of: input)
        do throws(ByteDecodingError) {
            let (message, written) = try kind.read(input.dropFirst())
            return Reading(kind: kind.name, result: .written(written), meaning: message)
        } catch {
            return Reading(kind: kind.name, result: .refused("\(error)"))
        }
    }

    /// One kind of message.
    private struct Kind: Sendable {
        /// The type's name.
        let name: String
        /// The oracles.
        let run: @Sendable (ArraySlice<UInt8>) throws -> UInt64
        /// Reads a payload, and writes what was read.
        let read: @Sendable (ArraySlice<UInt8>) throws(ByteDecodingError) -> (any EndpointMessage, written: [UInt8])
    }

    private static func kind(of input: ArraySlice<UInt8>) -> Kind { kinds[Int(input.first ?? 0) % kinds.count] }

    /// Both ways of reading a dictionary, that of watches and that of phones.
    static func dictionary(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        let dictionary = AppMessageDictionary(encoded: input)
        var digest = FuzzDigest()
        try walk(dictionary, &digest)
        do {
            let tuples = try dictionary.checkedTuples()
            let written = try AppMessageDictionary(tuples)
            let again = try written.checkedTuples()
            try expect(again == tuples, "\(input.hexadecimal) was written as \(written.encoded.hexadecimal)")
            try expect(
                Array(dictionary) == tuples,
                "a watch reads another dictionary than a phone: \(input.hexadecimal)"
            )
        } catch let error as ByteDecodingError {
            digest.add("\(error)")
        }
        return digest.value
    }

    private static func walk(_ dictionary: AppMessageDictionary, _ digest: inout FuzzDigest) throws {
        var count = 0
        for tuple in dictionary {
            count += 1
            digest.add(Int(tuple.key))
        }
        let limit = dictionary.encoded.count / AppMessageTuple.headerLength
        try expect(count <= limit, "\(count) tuples in \(dictionary.encoded.count) bytes")
        digest.add(dictionary.description)
        digest.add(dictionary.first(forKey: 1) == nil ? 0 : 1)
    }

    /// Whether the protocol has two meanings for the bytes of a message, of which a reader has to take the other one.
    private static func hasTwoMeanings(_ message: any EndpointMessage, _ written: [UInt8]) -> Bool {
        switch message {
        case is PhoneVersionMessage:
            // What a phone says of itself can be its old form, twice.
            let body = written.dropFirst()
            return body.prefix(12).elementsEqual(body.dropFirst(12))
        case PutBytesRequest.begin(let object):
            // Bank 0xBE and a file's name can be the eight bytes that resume an upload.
            return object.resumeOffset == nil && written.suffix(8).starts(with: [0xBE, 0x43, 0x54, 0xEF])
        default: return false
        }
    }

    private static func stable<Message: EndpointMessage>(_ type: Message.Type) -> Kind {
        Kind(name: "\(type)") { payload in
            var digest = FuzzDigest()
            do {
                let message = try Message(payload: payload)
                let written = PebbleMessage(message).payload
                digest.add(written)
                if hasTwoMeanings(message, written) { return digest.value }
                let again = PebbleMessage(try Message(payload: written)).payload
                try expect(
                    again == written,
                    "\(message) was written as \(written.hexadecimal), then \(again.hexadecimal)"
                )
                if case .push(let push)? = message as? AppMessage { try walk(push.dictionary, &digest) }
            } catch let error as ByteDecodingError {
                digest.add("\(error)")
            }
            return digest.value
        } read: { payload throws(ByteDecodingError) in
            let message = try Message(payload: payload)
            return (message, PebbleMessage(message).payload)
        }
    }

    private static let kinds: [Kind] = [
        stable(MetaMessage.self), stable(PhoneVersionMessage.self), stable(WatchVersionMessage.self),
        stable(TimeMessage.self), stable(SystemMessage.self), stable(FactoryRegistryMessage.self),
        stable(PingMessage.self), stable(ResetMessage.self), stable(AppRunStateMessage.self),
        stable(LauncherMessage.self), stable(AppFetchRequest.self), stable(AppFetchResponse.self),
        stable(AppMessage.self), stable(PutBytesRequest.self), stable(PutBytesResponse.self),
        stable(BlobDBRequest.self), stable(BlobDBResponse.self), stable(BlobDB2Message.self),
        stable(AppOrderRequest.self), stable(AppOrderResponse.self), stable(AppLogControl.self),
        stable(AppLogRecord.self), stable(LogDumpMessage.self), stable(ScreenshotRequest.self),
        stable(ScreenshotHeader.self), stable(ScreenshotContinuation.self), stable(DataLoggingMessage.self),
        stable(GetBytesMessage.self), stable(MusicMessage.self), stable(PhoneControlMessage.self),
        stable(TimelineActionMessage.self), stable(HealthSyncMessage.self), stable(BLEControlMessage.self),
        stable(RemoteInputResponse.self),
    ]
}
