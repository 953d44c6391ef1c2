import PebbleWatch

/// What answers have beside `ok` and `sequence`.
package enum ControlAnswers {
    /// Nothing more: it is done.
    package struct Done: ControlObject {
        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
    }

    /// The answer to `open-pairing`.
    package struct PairingOpen: ControlObject {
        package var pairingSeconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("pairingSeconds", &pairingSeconds, .amount.in(.seconds), "how long phones may pair now")
        }
    }

    /// The answer to `oob`.
    package struct Secrets: ControlObject {
        package var data: [UInt8] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "what to hand to the phone: AD structures, in hexadecimal")
        }
    }

    /// The answer to `backup-part`.
    package struct BackupPart: ControlObject {
        package var data: [UInt8] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("data", &data, .bytes, "the bytes, in hexadecimal; none after the last")
        }
    }

    /// The answer to `forget`, `forget-all` and `disconnect`.
    package struct Phones: ControlObject {
        package var phones: [String] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phones", &phones, .list(of: .address), "the phones that were concerned")
        }
    }

    /// The answer to `send`.
    package struct Delivery: ControlObject {
        package var app = ""
        package var delivery = AppMessageDelivery.sent

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("app", &app, .uuid, "the app whose message it is")
            try fields.required(
                "delivery",
                &delivery,
                .one(of: ["sent": .sent, "waits": .waits, "queued": .queued]),
                "sent to its companion, which has not answered yet; waits until its companion is back; or queued until the app "
                    + "is awake"
            )
        }
    }

    /// The answer to `status`.
    package struct Status: ControlObject {
        package var status = ControlStatus()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("status", &status, .object, "what `cairn status --json` prints")
        }
    }

    /// The answer to `backup`.
    package struct Backup: ControlObject {
        package var backup = ControlBackup()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("backup", &backup, .object, "what the copy has, of which `backup-part` gives the bytes")
        }
    }
}
