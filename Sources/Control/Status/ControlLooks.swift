import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

// Parts of what the watch is, as programs are told: each is the object, or an element of the list, in an answer.

/// Which part of what the watch is a program wants to see.
package enum ControlLook: Sendable, Equatable {
    case apps, notifications, settings, time, links
}

/// What the screen shows.
package struct ControlScreen: ControlObject {
    /// How the pixels stand in `data`.
    package enum Format: String, Sendable {
        /// A PNG file: a palette of 64 colours, or one bit of grey.
        case png
        /// A byte a pixel, row by row from the top left: `aarrggbb`.
        case raw
    }

    package var width = 0
    package var height = 0
    package var isRound = false
    package var hasColor = false
    package var format = Format.png
    package var data: [UInt8] = []

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("width", &width, .count, "in pixels")
        try fields.required("height", &height, .count, "in pixels")
        try fields.required("isRound", &isRound, .flag, "whether only the circle in the middle can be seen")
        try fields.required("hasColor", &hasColor, .flag, "whether it shows 64 colours, or black and white only")
        try fields.required("format", &format, .one(of: ["png": .png, "raw": .raw]), "how the pixels stand in `data`")
        try fields.required("data", &data, .bytes, "the picture, in hexadecimal")
    }
}

/// An app that can be launched.
package struct ControlApp: ControlObject {
    package var uuid = ""
    package var name = ""
    package var version: String?
    package var isWatchface = false
    package var isBuiltIn = false
    package var isInstalled = false
    package var isRunning = false

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("uuid", &uuid, .uuid, "its UUID")
        try fields.required("name", &name, .text, "its name")
        try fields.optional(
            "version",
            &version,
            .text,
            "its version; an app that is part of the watch has none of its own"
        )
        try fields.required("isWatchface", &isWatchface, .flag, "whether it is a watchface")
        try fields.required("isBuiltIn", &isBuiltIn, .flag, "whether it came with the watch, and stays")
        try fields.required(
            "isInstalled",
            &isInstalled,
            .flag,
            "whether everything is there that it needs to run: otherwise the phone is asked for it first"
        )
        try fields.required("isRunning", &isRunning, .flag, "whether it runs")
    }

    package init() {}

    /// The same for programs.
    package init(_ app: WatchStatus.App) {
        uuid = "\(app.uuid)"
        name = app.name
        version = app.version
        isWatchface = app.isWatchface
        isBuiltIn = app.isBuiltIn
        isInstalled = app.isInstalled
        isRunning = app.isRunning
    }
}

/// A setting.
package struct ControlSetting: ControlObject {
    package var key = ""
    package var data: [UInt8] = []

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("key", &key, .text, "its key")
        try fields.required("data", &data, .bytes, "its value, in hexadecimal")
    }
}

/// What the watch's clock shows.
package struct ControlTime: ControlObject {
    package var clock = ControlEvents.ClockSet()
    package var is24Hour = false
    package var isSet = false

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try clock.declare(&fields)
        try fields.required("is24Hour", &is24Hour, .flag, "whether apps show the hours counted to 24")
        try fields.required(
            "isSet",
            &isSet,
            .flag,
            "whether a phone or `set-time` has set it since the watch was started"
        )
    }
}

/// A link to a phone.
package struct ControlLink: ControlObject {
    /// What has gone over a link in one layer.
    package struct Traffic: ControlObject {
        package var layer = ""
        package var receivedPackets: UInt64 = 0
        package var receivedBytes: UInt64 = 0
        package var sentPackets: UInt64 = 0
        package var sentBytes: UInt64 = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "layer",
                &layer,
                .word("att", "signaling", "smp", "channels"),
                "the kind of L2CAP channel; channels are the credit-based ones"
            )
            try fields.required("receivedPackets", &receivedPackets, .serial, "the PDUs that the phone sent")
            try fields.required("receivedBytes", &receivedBytes, .serial.in(.bytes), "their bytes, without headers")
            try fields.required("sentPackets", &sentPackets, .serial, "the PDUs that the watch sent")
            try fields.required("sentBytes", &sentBytes, .serial.in(.bytes), "their bytes, without headers")
        }
    }

    package var security = ControlEvents.Security()
    package var phone = ControlEvents.Phone()
    package var parameters = ControlEvents.Parameters()
    package var mtu = ControlEvents.MTU()
    package var phys = ControlEvents.PHYs()
    package var dataLength = ControlEvents.DataLength()
    package var traffic: [Traffic] = []

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        // As the event has it: the connection first.
        try security.declare(&fields)
        try phone.declare(&fields)
        try parameters.declare(&fields)
        try mtu.declare(&fields)
        try phys.declare(&fields)
        try dataLength.declare(&fields)
        try fields.required("traffic", &traffic, .list(of: .object), "what has gone over it since it was made")
    }

    /// The same for programs.
    init(_ link: WatchStatus.LinkDetails) {
        let connection = link.connection
        security = ControlEvents.Security(connection.handle, connection.security)
        phone = ControlEvents.Phone(link.phone)
        parameters = ControlEvents.Parameters(
            intervalMilliseconds: connection.interval.duration.inMilliseconds,
            latency: Int(connection.latency),
            supervisionTimeoutMilliseconds: connection.supervisionTimeout.duration.inMilliseconds,
            subrateFactor: Int(connection.subrating.factor),
            continuationNumber: Int(connection.subrating.continuationNumber)
        )
        mtu = ControlEvents.MTU(mtu: link.mtu)
        phys = ControlEvents.PHYs(connection.phys)
        dataLength = ControlEvents.DataLength(
            transmitOctets: Int(connection.transmitLength.octets),
            receiveOctets: Int(connection.receiveLength.octets)
        )
        traffic = [
            Traffic("att", link.traffic.attribute), Traffic("signaling", link.traffic.signaling),
            Traffic("smp", link.traffic.securityManager), Traffic("channels", link.traffic.channels),
        ]
    }

    init() {}
}

extension ControlLink.Traffic {
    fileprivate init(_ layer: String, _ count: LinkTraffic.Count) {
        self.init(
            layer: layer,
            receivedPackets: count.receivedPackets,
            receivedBytes: count.receivedBytes,
            sentPackets: count.sentPackets,
            sentBytes: count.sentBytes
        )
    }
}

/// An AppMessage that came from a companion, or was for one.
package struct ControlMessage: ControlObject {
    /// Which way messages went.
    package enum Direction: Sendable, Equatable {
        /// From a companion to its app.
        case received
        /// From an app to its companion.
        case sent
    }

    package var sequence: UInt64 = 0
    package var at = 0.0
    package var message = ControlEvents.AppMessageSent()

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("sequence", &sequence, .serial, "the number of its event")
        try fields.required("at", &at, .amount.in(.seconds), "when: since the watch was started")
        try message.declare(&fields)
    }
}

/// Something that holds of the watch now or does not.
package enum ControlCondition: String, CaseIterable, Sendable {
    /// Its controller can be used, and it takes commands.
    case ready
    /// A phone is connected.
    case connected
    /// A companion has a session.
    case session
    /// A phone is remembered.
    case paired

    /// Whether it holds.
    package func holds(_ watch: Watch) -> Bool {
        switch self {
        case .ready: watch.isReady
        case .connected: watch.isConnected
        case .session: watch.hasSession
        case .paired: watch.hasStoredBond
        }
    }

    /// The same as the watch's status shows it.
    package func holds(_ status: ControlStatus) -> Bool {
        switch self {
        case .ready: status.isReady
        case .connected: !status.links.isEmpty
        case .session: !status.sessions.isEmpty
        case .paired: status.phones.contains(where: \.isStored)
        }
    }
}

/// What a program waits for, and for how long.
package struct ControlWait: Sendable, Equatable {
    /// What it waits for.
    package enum Goal: Sendable, Equatable {
        case condition(ControlCondition)
        /// One with a higher number than this.
        case event(ControlEventName, after: UInt64)
    }

    package let goal: Goal
    /// How long it waits.
    package let duration: Duration
}
