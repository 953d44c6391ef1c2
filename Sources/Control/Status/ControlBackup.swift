/// What a backup of a watch's state has in it; nothing secret.
package struct ControlBackup: ControlObject {
    package var size = 0
    package var schema = 0
    package var address: String?
    package var phones = 0
    package var apps = 0
    package var records = 0
    package var loggedBytes = 0

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("size", &size, .count.in(.bytes), "how large the copy is")
        try fields.required("schema", &schema, .count, "the version of the store's tables")
        try fields.optional("address", &address, .address, "the watch's; nothing before its first start")
        try fields.required("phones", &phones, .count, "bonded phones")
        try fields.required("apps", &apps, .count, "apps that phones have installed")
        try fields.required(
            "records",
            &records,
            .count,
            "entries of the phones' databases, those of the apps among them"
        )
        try fields.required("loggedBytes", &loggedBytes, .count.in(.bytes), "logged data that no phone has taken")
    }
}
