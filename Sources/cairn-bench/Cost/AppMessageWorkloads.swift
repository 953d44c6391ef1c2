import ByteCoding
import PebblePhone
import PebbleProtocol

/// Dictionaries of the sizes that matter.
enum SampleDictionary {
    /// What a typical watchapp sends: four tuples.
    static func small() throws -> [AppMessageTuple] {
        [
            AppMessageTuple(key: 0, value: .uint8(7)),
            AppMessageTuple(key: 1, value: .int32(-123_456)),
            AppMessageTuple(key: 2, value: .string("hello, watch")),
            AppMessageTuple(key: 3, value: .bytes([UInt8](repeating: 0xA5, count: 16))),
        ]
    }

    /// The largest that there is: one tuple of 8192 bytes.
    static func large() throws -> [AppMessageTuple] {
        [AppMessageTuple(key: 0, value: .bytes([UInt8](repeating: 0xA5, count: 8192)))]
    }
}

/// A push written into a stream: dictionary, message and header.
struct AppMessageEncodeWorkload: Workload {
    private let tuples: [AppMessageTuple]
    private let expectedLength: Int
    private var stream: [UInt8] = []

    init(_ tuples: [AppMessageTuple]) throws {
        self.tuples = tuples
        expectedLength =
            PebbleMessage.headerLength + AppMessageLimits.pushHeaderLength
            + AppMessageDictionary.encodedLength(valueLengths: tuples.map(\.value.encodedLength))
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for index in 0..<count {
            stream.removeAll(keepingCapacity: true)
            do {
                let push = AppMessagePush(
                    transaction: AppMessageTransactionID(rawValue: UInt8(truncatingIfNeeded: index)),
                    application: DemonstrationScript.echo,
                    dictionary: try AppMessageDictionary(tuples)
                )
                try MessageFramer.append(AppMessage.push(push), to: &stream)
            } catch {
                throw WorkloadFailure("\(error)")
            }
            guard stream.count == expectedLength else { throw WorkloadFailure("\(stream.count) bytes were written") }
        }
    }
}

/// A push read from a stream: header, message, and every tuple checked.
struct AppMessageDecodeWorkload: Workload {
    private let stream: [UInt8]
    private let tupleCount: Int
    private var deframer = MessageDeframer()

    init(_ tuples: [AppMessageTuple]) throws {
        let push = AppMessagePush(
            transaction: 1,
            application: DemonstrationScript.echo,
            dictionary: try AppMessageDictionary(tuples)
        )
        var stream: [UInt8] = []
        try MessageFramer.append(AppMessage.push(push), to: &stream)
        self.stream = stream
        tupleCount = tuples.count
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count {
            var rest = stream[...]
            guard case .message(let message)? = deframer.next(from: &rest) else {
                throw WorkloadFailure("no message was found")
            }
            do {
                guard case .push(let push) = try AppMessage(payload: message.payload) else {
                    throw WorkloadFailure("no push was found")
                }
                guard try push.dictionary.checkedTuples().count == tupleCount else {
                    throw WorkloadFailure("tuples are missing")
                }
            } catch {
                throw WorkloadFailure("\(error)")
            }
        }
    }
}
