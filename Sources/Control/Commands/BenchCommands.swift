import PebbleProtocol
import PebbleWatch

// How the watch is doing, its buttons and its sensors.

extension ControlCommands {
    /// `status`
    package struct Status: ControlCommand {
        package typealias Answer = ControlAnswers.Status

        package static let name = "status"
        package static let onlyReads = true
        package static let help = "Show how a running watch is doing."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .status }
    }

    /// `events`
    package struct Events: ControlCommand {
        package var since: UInt64?

        package static let name = "events"
        package static let onlyReads = true
        package static let help = "Say what happens from now on, a line for each event."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional(
                "since",
                &since,
                .serial,
                "what has happened after the event of this number comes first"
            )
        }

        package func request() -> ControlRequest { .events(after: since) }
    }

    /// `press`
    package struct Press: ControlCommand {
        package var button = WatchButton.select
        package var isLong = false

        package static let name = "press"
        package static let help = "Press a button."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("button", &button, .name(of: "button"), "the button")
            try fields.defaulted("long", &isLong, .flag, "whether it is held: for 2 seconds, back for 5")
        }

        package func request() -> ControlRequest { .perform(.press(button, isLong ? .long : .short)) }
    }

    /// `hold`
    package struct Hold: ControlCommand {
        package var buttons: [WatchButton] = []

        package static let name = "hold"
        package static let help = "Hold buttons down, and let the others go."
        package static let discussion =
            "A press counts when they change, or as a long one after 2 seconds, for back after 5."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "buttons",
                &buttons,
                .list(of: .name(of: "button")),
                "those that are down from now on"
            )
        }

        package func request() -> ControlRequest { .perform(.hold(Set(buttons))) }
    }

    /// `tap`
    package struct Tap: ControlCommand {
        package var axis = SensorAxis.x
        package var direction: Int8 = 1

        package static let name = "tap"
        package static let help = "Tap the watch."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.defaulted(
                "axis",
                &axis,
                .one(of: ["x": .x, "y": .y, "z": .z], otherwise: "is x, y or z"),
                "across the face, along it to the top, or out of it"
            )
            try fields.defaulted("direction", &direction, .integer, "1 or -1")
        }

        package func request() -> ControlRequest { .perform(.sense(.tap(axis, direction: direction))) }
    }

    /// `battery`
    package struct Battery: ControlCommand {
        package var percent: UInt8 = 0
        package var isCharging = false

        package static let name = "battery"
        package static let help = "Set the battery's charge, which phones and apps see."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("percent", &percent, .integer.in(.percent), "the charge, at most 100")
            try fields.defaulted("charging", &isCharging, .flag, "whether the charger is connected")
        }

        package func request() -> ControlRequest {
            .perform(.sense(.battery(percent: percent, isCharging: isCharging)))
        }
    }

    /// `compass`
    package struct Compass: ControlCommand {
        package var degrees = 0.0
        package var isCalibrated = true

        package static let name = "compass"
        package static let help = "Set the compass's heading, which apps see."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("degrees", &degrees, .number(in: 0...360).in(.degrees), "the heading")
            try fields.defaulted("calibrated", &isCalibrated, .flag, "whether the heading is as good as it gets")
        }

        package func request() -> ControlRequest {
            let heading = UInt32((degrees / 360 * 0x10000).rounded()) % 0x10000
            return .perform(.sense(.compass(heading: heading, isCalibrated ? .calibrated : .refining)))
        }
    }

    /// `accelerometer`
    package struct Accelerometer: ControlCommand {
        package var x: Int16 = 0
        package var y: Int16 = 0
        package var z: Int16 = 0

        package static let name = "accelerometer"
        package static let help = "Give the accelerometer a sample, which apps get."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("x", &x, .integer.in(.milligravity), "across the face, to the right")
            try fields.required("y", &y, .integer.in(.milligravity), "along the face, to the top")
            try fields.required("z", &z, .integer.in(.milligravity), "out of the face")
        }

        package func request() -> ControlRequest {
            .perform(.sense(.accelerometer([AccelerometerSample(x: x, y: y, z: z)])))
        }
    }

    /// `time-format`
    package struct TimeFormat: ControlCommand {
        package var is24Hour = true

        package static let name = "time-format"
        package static let help = "Set how apps show the time."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("is24Hour", &is24Hour, .flag, "whether the hours are counted to 24")
        }

        package func request() -> ControlRequest { .perform(.sense(.timeFormat(is24Hour: is24Hour))) }
    }
}
