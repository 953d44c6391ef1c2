import PebbleWatch

/// How the watch is doing, as programs are told.
package struct ControlStatus: ControlObject {
    package var name = ""
    package var address = ""
    package var serialNumber = ""
    package var firmware = ""
    package var isReady = false
    package var air = ""
    package var advertisements: [Advertisement] = []
    package var links: [Link] = []
    package var lastDisconnection: Disconnection?
    package var lastStranger: Disconnection?
    package var strangersTurnedAway = 0
    package var sessions: [Session] = []
    package var streams: [Stream] = []
    package var phones: [Phone] = []
    package var pairing = Pairing()
    package var app = App()
    package var battery = Battery()
    package var sensors = Sensors()
    package var heldButtons: [String] = []
    package var services = ControlServices()
    package var mirror: Comparison?
    package var pid: Int?
    package var version: String?
    package var controller: String?
    package var uptimeSeconds: Double?
    package var ports: Ports?
    package var paths: Paths?
    package var events: Events?

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("name", &name, .text, "the watch's name")
        try fields.required("address", &address, .address, "its device address")
        try fields.required("serialNumber", &serialNumber, .text, "its serial number")
        try fields.required("firmware", &firmware, .text, "the version of its firmware")
        try fields.required("isReady", &isReady, .flag, "whether its controller can be used")
        try fields.required("air", &air, .text, "what is on the air, in words")
        try fields.required(
            "advertisements",
            &advertisements,
            .list(of: .object),
            "what is on the air, or has its turns there"
        )
        try fields.required("links", &links, .list(of: .object), "the links to phones")
        try fields.optional(
            "lastDisconnection",
            &lastDisconnection,
            .object,
            "how the last link ended; nothing before one has"
        )
        try fields.optional(
            "lastStranger",
            &lastStranger,
            .object,
            "how the last link of a stranger ended while a bonded phone was waited for"
        )
        try fields.required(
            "strangersTurnedAway",
            &strangersTurnedAway,
            .count,
            "how many strangers were turned away as soon as they had connected"
        )
        try fields.required("sessions", &sessions, .list(of: .object), "the companions' sessions")
        try fields.required("streams", &streams, .list(of: .object), "the streams that phones can open")
        try fields.required("phones", &phones, .list(of: .object), "the phones that are remembered")
        try fields.required("pairing", &pairing, .object, "who may pair")
        try fields.required("app", &app, .object, "the app that runs")
        try fields.required("battery", &battery, .object, "the battery")
        try fields.required("sensors", &sensors, .object, "what other sensors said last")
        try fields.required(
            "heldButtons",
            &heldButtons,
            .list(of: .word(WatchButton.self)),
            "the buttons that are held down"
        )
        try fields.required("services", &services, .object, "what phones have put on the watch")
        try fields.optional(
            "mirror",
            &mirror,
            .object,
            "how the watch compares with the firmware in its shadow; nothing if there is none"
        )
        try fields.optional("pid", &pid, .count, "the process identifier; nothing if the process is not known")
        try fields.optional("version", &version, .text, "Cairn's version")
        try fields.optional("controller", &controller, .text, "where the controller is, as --controller has it")
        try fields.optional("uptimeSeconds", &uptimeSeconds, .amount.in(.seconds), "how long the process has run")
        try fields.optional("ports", &ports, .object, "ports of 127.0.0.1 on which the process listens")
        try fields.optional("paths", &paths, .object, "files of the process, with their whole paths")
        try fields.optional("events", &events, .object, "what has happened so far")
    }
}
