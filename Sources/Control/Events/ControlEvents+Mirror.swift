import ByteCoding
import PebbleWatch

// What the event of a difference from the firmware has.

extension ControlEvents {
    /// `mirror-differs`
    package struct MirrorDiffers: ControlObject {
        package var number = 0
        package var kind = ""
        package var askedSeconds = 0.0
        package var session: UInt64 = 0
        package var endpoint = 0
        package var name = ""
        package var question = ""
        package var watch: [String] = []
        package var firmware: [String] = []
        package var delaySeconds: Double?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("number", &number, .count, "which of the phone's messages it was, counted from 1")
            try fields.required(
                "kind",
                &kind,
                .word("answer", "missing", "extra", "order", "late"),
                "in what the answers differ"
            )
            try fields.required(
                "askedSeconds",
                &askedSeconds,
                .amount.in(.seconds),
                "when the phone said it, on the clock of `at`"
            )
            try fields.session(&session)
            try fields.required("endpoint", &endpoint, .count, "the number of the message's endpoint")
            try fields.required("name", &name, .text, "the endpoint's name")
            try fields.required("question", &question, .text, "its payload, in hexadecimal; of a long one 512 bytes")
            try fields.required(
                "watch",
                &watch,
                .list(of: .text),
                "what the watch answered: endpoint, colon, payload, in hexadecimal"
            )
            try fields.required("firmware", &firmware, .list(of: .text), "what the firmware answered, likewise")
            try fields.optional("delaySeconds", &delaySeconds, .amount.in(.seconds), "how late an answer is")
        }
    }
}

extension ControlEvents.MirrorDiffers {
    init(_ difference: MirrorDifference) {
        self = .blank
        number = Int(clamping: difference.number)
        kind = difference.kind.rawValue
        askedSeconds = difference.asked.inSeconds
        session = difference.session.number
        endpoint = Int(difference.question.endpoint.rawValue)
        name = "\(difference.question.endpoint)"
        question = difference.question.bytes.hexadecimal
        watch = difference.watch.map(\.control)
        firmware = difference.firmware.map(\.control)
        delaySeconds = difference.delay?.inSeconds
    }
}

extension MirroredMessage {
    fileprivate var control: String {
        let number = endpoint.rawValue
        return [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)].hexadecimal + ":"
            + bytes.hexadecimal
    }
}
