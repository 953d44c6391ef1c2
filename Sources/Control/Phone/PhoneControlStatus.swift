import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol

/// How a phone is doing, as programs are told.
package struct PhoneControlStatus: ControlObject {
    package var address = ""
    package var platform = ""
    package var transport = ""
    package var isReady = false
    package var isScanning = false
    package var link: Link?
    package var watch: Watch?
    package var app: String?
    package var pairing: Question?
    package var bonds: [Bonded] = []
    package var waitingMessages = 0
    package var apps: [App] = []
    package var pid: Int?
    package var version: String?
    package var controller: String?
    package var uptimeSeconds: Double?
    package var paths: ControlStatus.Paths?
    package var events: ControlStatus.Events?

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("address", &address, .address, "its device address")
        try fields.required("platform", &platform, .word(PhoneSystem.self), "what its GATT database is like")
        try fields.required("transport", &transport, .word(PhoneTransport.self), "what carries the Pebble Protocol")
        try fields.required("isReady", &isReady, .flag, "whether its controller can be used")
        try fields.required("isScanning", &isScanning, .flag, "whether it listens for watches")
        try fields.optional("link", &link, .object, "the link to a watch; nothing without one")
        try fields.optional("watch", &watch, .object, "what the watch says of itself; nothing without a session")
        try fields.optional("app", &app, .uuid, "the app that the watch runs; nothing if it has not said so")
        try fields.optional("pairing", &pairing, .object, "the question about a pairing that waits for `confirm`")
        try fields.required("bonds", &bonds, .list(of: .object), "the watches that the phone is paired with")
        try fields.required("waitingMessages", &waitingMessages, .count, "AppMessages that no `expect` has taken")
        try fields.required("apps", &apps, .list(of: .object), "the apps that it can give to watches")
        try fields.optional("pid", &pid, .count, "the process identifier; nothing if the process is not known")
        try fields.optional("version", &version, .text, "Cairn's version")
        try fields.optional("controller", &controller, .text, "where the controller is, as --controller has it")
        try fields.optional("uptimeSeconds", &uptimeSeconds, .amount.in(.seconds), "how long the process has run")
        try fields.optional("paths", &paths, .object, "files of the process, with their whole paths")
        try fields.optional("events", &events, .object, "what has happened so far")
    }

    /// Adds what is known of the process and of its history.
    mutating func add(_ program: ControlProgram, _ history: PhoneEventHistory, at now: Duration) {
        pid = program.pid
        version = program.version
        controller = program.controller
        uptimeSeconds = now.inSeconds
        paths = program.paths
        events = ControlStatus.Events(last: history.last, counts: history.countsByName)
    }
}

// MARK: - Parts

extension PhoneControlStatus {
    /// A watch that was heard.
    package struct Sighting: ControlObject {
        package var watch = ""
        package var addressType = ""
        package var name: String?
        package var rssi: Int?
        package var serialNumber: String?
        package var platform: String?
        package var color: String?
        package var firmware: String?
        package var isInRecovery: Bool?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.watch(&watch)
            try fields.required("addressType", &addressType, .word("public", "random"), "which type of address that is")
            try fields.optional("name", &name, .text, "its name, if one was heard")
            try fields.optional("rssi", &rssi, Self.strength, "how strongly it was heard, in dBm")
            try fields.optional(
                "serialNumber",
                &serialNumber,
                .text,
                "its serial number, if its scan response was heard"
            )
            try fields.optional("platform", &platform, .text, "the kind of app that it runs, such as flint")
            try fields.optional("color", &color, .text, "its colour")
            try fields.optional("firmware", &firmware, .text, "the version of its firmware")
            try fields.optional("isInRecovery", &isInRecovery, .flag, "whether it runs its recovery firmware")
        }

        private static var strength: ControlFormat<Int, Int> {
            ControlFormat(["type": "integer"], read: { value, _ in value }, write: { .whole($0) })
        }

        /// For a person at a terminal.
        var words: String {
            let facts = [
                watch, name, rssi.map { "\($0) dBm" }, serialNumber, platform, color, firmware.map { "firmware \($0)" },
                isInRecovery == true ? "in recovery" : nil,
            ]
            return facts.compactMap(\.self).joined(separator: ", ")
        }
    }

    /// The link to a watch.
    package struct Link: ControlObject {
        package var watch = ""
        package var intervalMilliseconds = 0.0
        package var latency = 0
        package var timeoutMilliseconds = 0.0
        package var mtu = 0
        package var isEncrypted = false
        package var isAuthenticated = false
        package var isBonded = false
        package var isExplored = false
        package var hasSession = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.watch(&watch)
            try fields.parameters(&intervalMilliseconds, &latency, &timeoutMilliseconds)
            try fields.required("mtu", &mtu, .count.in(.octets), "the ATT_MTU")
            try fields.required("isEncrypted", &isEncrypted, .flag, "whether the link is encrypted")
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
            try fields.required("isBonded", &isBonded, .flag, "whether the phone is paired with the watch")
            try fields.required("isExplored", &isExplored, .flag, "whether the watch's database is known")
            try fields.required("hasSession", &hasSession, .flag, "whether the Pebble Protocol's session is open")
        }

        /// For a person at a terminal.
        var words: String {
            let security =
                switch (isEncrypted, isAuthenticated) {
                case (false, _): "not encrypted"
                case (true, false): "encrypted"
                case (true, true): "encrypted, authenticated"
                }
            return "\(watch), \(security)\(isBonded ? "" : ", not bonded"), MTU \(mtu), "
                + "every \(intervalMilliseconds.formatted) ms, \(hasSession ? "in session" : "no session")"
        }
    }

    /// What a watch says of itself.
    package struct Watch: ControlObject {
        package var board = ""
        package var firmware = ""
        package var serialNumber = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("board", &board, .text, "its board")
            try fields.required("firmware", &firmware, .text, "the version of its firmware")
            try fields.required("serialNumber", &serialNumber, .text, "its serial number")
        }
    }

    /// A question about a pairing.
    package struct Question: ControlObject {
        package var question = ""
        package var number: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "question",
                &question,
                .word("confirm", "compare", "show", "type"),
                "what the person is asked: whether to pair, whether the watch shows the number, to type it into the watch, "
                    + "or for what the watch shows, which this phone cannot type"
            )
            try fields.optional("number", &number, .text, "the six digits that are compared")
        }
    }

    /// A watch that the phone is paired with.
    package struct Bonded: ControlObject {
        package var watch = ""
        package var isAuthenticated = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.watch(&watch)
            try fields.required("isAuthenticated", &isAuthenticated, .flag, "whether its key is authenticated")
        }
    }

    /// An app.
    package struct App: ControlObject {
        package var app = ""
        package var name = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required("name", &name, .text, "its name")
        }
    }
}

extension FieldVisitor {
    /// A watch by its address.
    mutating func watch(_ value: inout String) throws(Failure) {
        try required("watch", &value, .address, "the watch's address")
    }

    /// The parameters of a link.
    mutating func parameters(
        _ interval: inout Double,
        _ latency: inout Int,
        _ timeout: inout Double
    ) throws(Failure) {
        try required(
            "intervalMilliseconds",
            &interval,
            .amount.in(.milliseconds),
            "the time between connection events"
        )
        try required("latency", &latency, .count.in(.connectionEvents), "how many the watch may skip")
        try required(
            "timeoutMilliseconds",
            &timeout,
            .amount.in(.milliseconds),
            "how long the link may hear nothing"
        )
    }
}

// MARK: - From the phone

extension PhoneControlStatus {
    /// How a phone is doing.
    init(_ status: PhoneStatus) {
        address = "\(status.address)"
        platform = status.system.rawValue
        transport = status.transport.rawValue
        isReady = status.isReady
        isScanning = status.isScanning
        link = status.link.map { Link($0) }
        watch = status.watch.map { version in
            Watch {
                $0.board = version.board
                $0.firmware = version.running.versionTag
                $0.serialNumber = version.serialNumber
            }
        }
        app = status.runningApp.map { "\($0)" }
        pairing = status.question.map { Question($0) }
        bonds = status.bonds.map { bond in
            Bonded {
                $0.watch = "\(bond.identity.address)"
                $0.isAuthenticated = bond.isAuthenticated
            }
        }
        waitingMessages = status.waitingMessageCount
        apps = status.apps.map { metadata in
            App {
                $0.app = "\(metadata.uuid)"
                $0.name = metadata.name
            }
        }
    }
}

extension PhoneControlStatus.Sighting {
    init(_ sighting: WatchSighting) {
        watch = "\(sighting.address.address)"
        addressType = sighting.address.type.word
        name = sighting.name
        rssi = sighting.rssiDBm.map { Int($0) }
        serialNumber = sighting.advertisement?.serialNumber
        guard let details = sighting.advertisement?.details else { return }
        platform = details.hardware.appPlatform?.rawValue
        color = details.color.map { "\($0)" }
        firmware = "\(details.firmware)"
        isInRecovery = details.isInRecovery
    }
}

extension PhoneControlStatus.Link {
    init(_ link: PhoneLinkState) {
        watch = "\(link.watch.address)"
        intervalMilliseconds = link.interval.duration.inMilliseconds
        latency = Int(link.latency)
        timeoutMilliseconds = link.supervisionTimeout.duration.inMilliseconds
        mtu = link.mtu
        isEncrypted = link.security.isEncrypted
        isAuthenticated = link.security.isAuthenticated
        isBonded = link.security.isBonded
        isExplored = link.isExplored
        hasSession = link.hasSession
    }
}

extension PhoneControlStatus.Question {
    /// A passkey is only in the answer to the program that pairs.
    init(_ kind: PairingPrompt.Kind) {
        switch kind {
        case .confirmPairing: question = "confirm"
        case .numericComparison(let value):
            question = "compare"
            number = value.digits
        case .displayPasskey: question = "show"
        case .requestPasskey: question = "type"
        }
    }
}

extension AddressType {
    /// What programs are told: whether the address is public or random.
    var word: String {
        switch self {
        case .public, .publicIdentity: "public"
        case .random, .randomIdentity, .unresolvedRandom: "random"
        }
    }
}

// MARK: - In words

extension PhoneControlStatus {
    /// For a person at a terminal.
    package var lines: [String] {
        let process = [
            pid.map { "\($0)" }, version.map { "Cairn \($0)" }, controller,
            uptimeSeconds.map { "up \($0.formatted) s" },
        ]
        var rows = [
            ("phone", "\(address), \(platform), \(transport) transport"),
            ("process", process.compactMap(\.self).joined(separator: ", ")),
            ("controller", isReady ? "ready" : "not ready"),
            ("link", link?.words ?? (isScanning ? "none; it listens for watches" : "none")),
        ]
        if let watch { rows.append(("watch", "\(watch.board), firmware \(watch.firmware), \(watch.serialNumber)")) }
        if let app { rows.append(("app", app)) }
        if let pairing { rows.append(("pairing", "\(pairing.question) \(pairing.number ?? "")")) }
        let known = bonds.map { "\($0.watch)\($0.isAuthenticated ? ", authenticated" : "")" }
        rows.append(("bonds", known.isEmpty ? "none" : known.joined(separator: "; ")))
        if waitingMessages > 0 { rows.append(("messages", "\(waitingMessages) that nothing has asked for")) }
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { label, text in label + String(repeating: " ", count: width - label.count + 2) + text }
    }
}

extension ControlEntry {
    /// As a person writes it, `key=type:value`.
    var words: String {
        let value = bytes ?? string ?? number.map { "\($0)" } ?? ""
        return "\(key)=\(type):\(value)"
    }
}
