import PebbleProtocol
import Testing

/// The typed value of each AppMessage vector, by the vector's name.
enum ExpectedAppMessages {
    static let byName: [String: ExpectedMessage] = {
        var messages = values.mapValues { ExpectedMessage(message: $0) }
        messages["appmessage-ack-gadgetbridge"] = ExpectedMessage(
            message: AppMessage.acknowledgement(7),
            hasTrailingBytes: true
        )
        return messages
    }()

    static func push(_ transaction: AppMessageTransactionID, _ tuples: [(UInt32, AppMessageValue)]) -> AppMessage {
        .push(
            AppMessagePush(
                transaction: transaction,
                application: ExpectedMessages.specApp,
                dictionary: dictionary(tuples)
            )
        )
    }

    static func dictionary(_ tuples: [(UInt32, AppMessageValue)]) -> AppMessageDictionary {
        do {
            return try AppMessageDictionary(tuples.map { AppMessageTuple(key: $0.0, value: $0.1) })
        } catch {
            Issue.record("\(error)")
            return .empty
        }
    }

    /// The filling of the large arrays: byte i is 7i + (i >> 8), from the rule that the vectors state.
    static func filling(_ count: Int, from start: Int = 0) -> [UInt8] {
        (start..<(start + count)).map { UInt8(truncatingIfNeeded: 7 * $0 + ($0 >> 8)) }
    }

    static let values: [String: AppMessage] = [
        "appmessage-push-bytes-0": push(1, [(10, .bytes([]))]),
        "appmessage-push-bytes-1": push(1, [(10, .bytes([0xAB]))]),
        "appmessage-push-bytes-5": push(1, [(10, .bytes([1, 2, 3, 4, 5]))]),
        "appmessage-push-bytes-256": push(1, [(10, .bytes(Array(0...255)))]),
        "appmessage-push-cstring-empty": push(1, [(10, .string(""))]),
        "appmessage-push-cstring-hello": push(1, [(10, .string("hello"))]),
        "appmessage-push-cstring-utf8": push(1, [(10, .string("h\u{e9}\u{2713}"))]),
        "appmessage-push-uint8": push(1, [(10, .uint8(200))]),
        "appmessage-push-uint16": push(1, [(10, .uint16(60000))]),
        "appmessage-push-uint32": push(1, [(10, .uint32(4_000_000_000))]),
        "appmessage-push-int8": push(1, [(10, .int8(-5))]),
        "appmessage-push-int16": push(1, [(10, .int16(-1234))]),
        "appmessage-push-int32": push(1, [(10, .int32(-123_456_789))]),
        "appmessage-push-int32-min": push(1, [(10, .int32(.min))]),
        "appmessage-push-int32-max": push(1, [(10, .int32(.max))]),
        "appmessage-push-uint32-max": push(1, [(10, .uint32(.max))]),
        "appmessage-push-empty-dict": push(1, []),
        "appmessage-push-three-tuples": push(2, [(1, .int32(42)), (2, .string("hi")), (3, .bytes([1, 2, 3]))]),
        "appmessage-push-all-types": push(
            255,
            [
                (0, .bytes([0xDE, 0xAD, 0xBE, 0xEF])),
                (1, .string("text")),
                (2, .uint8(1)),
                (3, .uint16(0x0201)),
                (4, .uint32(0x0403_0201)),
                (5, .int8(-1)),
                (6, .int16(-2)),
                (7, .int32(-3)),
                (.max, .string("maxkey")),
            ]
        ),
        "appmessage-push-duplicate-keys": push(9, [(5, .uint8(1)), (5, .uint8(2))]),
        "appmessage-push-minimum-inbox-124": push(3, [(1, .bytes(Array(0..<116)))]),
        "appmessage-push-minimum-outbox-636": push(
            4,
            [(1, .bytes((0..<628).map { UInt8(truncatingIfNeeded: 3 * $0) }))]
        ),
        "appmessage-push-8192-bytearray": push(1, [(1, .bytes(filling(8192)))]),
        "appmessage-push-8200-dict-two-arrays": push(
            2,
            [(1, .bytes(filling(4096))), (2, .bytes(filling(4089)))]
        ),
        "appmessage-push-8193-too-big": push(3, [(1, .bytes(filling(8192) + [0]))]),
        "appmessage-ack-1": .acknowledgement(1),
        "appmessage-ack-255": .acknowledgement(255),
        "appmessage-ack-0": .acknowledgement(0),
        "appmessage-nack-1": .negativeAcknowledgement(1),
        "appmessage-request": .request(1),
        "appmessage-service-first-send": push(
            2,
            [(1, .uint8(7)), (2, .int16(-300)), (3, .string("abc")), (4, .bytes([0, 0xFF]))]
        ),
    ]
}
