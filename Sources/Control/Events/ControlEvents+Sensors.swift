// What the event `sensed` has beside the `name` of its sensor.

/// The sensors by name.
enum ControlSensor: String, ControlEventVariant {
    case battery, tap, compass, accelerometer
    case phoneConnection = "phone-connection"
    case timeFormat = "time-format"
    case timelinePeek = "timeline-peek"
    case contentSize = "content-size"
    case health
    case heartRate = "heart-rate"

    static let event = ControlEventName.sensed

    var fields: any ControlObject.Type {
        switch self {
        case .battery: ControlEvents.BatterySensed.self
        case .tap: ControlEvents.TapSensed.self
        case .compass: ControlEvents.HeadingSensed.self
        case .accelerometer: ControlEvents.AccelerationSensed.self
        case .phoneConnection: ControlEvents.PhoneConnectionSensed.self
        case .timeFormat: ControlEvents.TimeFormatSensed.self
        case .timelinePeek: ControlEvents.TimelinePeekSensed.self
        case .contentSize: ControlEvents.ContentSizeSensed.self
        case .health: ControlEvents.HealthSensed.self
        case .heartRate: ControlEvents.HeartRateSensed.self
        }
    }
}

extension ControlEvents {
    /// `battery`
    package struct BatterySensed: ControlObject {
        package var percent = 0
        package var isCharging = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("percent", &percent, .count.in(.percent), "the charge")
            try fields.required("isCharging", &isCharging, .flag, "whether the charger is connected")
        }
    }

    /// `tap`
    package struct TapSensed: ControlObject {
        package var axis = ""
        package var direction = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("axis", &axis, .word("x", "y", "z"), "the axis")
            try fields.required("direction", &direction, .integer, "1 or -1")
        }
    }

    /// `compass`
    package struct HeadingSensed: ControlObject {
        package var degrees = 0.0
        package var heading = 0
        package var calibration = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("degrees", &degrees, .amount.in(.degrees), "the heading")
            try fields.required("heading", &heading, .count.in(.turns), "the same, as apps see it")
            try fields.required(
                "calibration",
                &calibration,
                .word("uncalibrated", "refining", "calibrated"),
                "how good the heading is"
            )
        }
    }

    /// A sample of the accelerometer.
    package struct Acceleration: ControlObject {
        package var x = 0
        package var y = 0
        package var z = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("x", &x, .integer.in(.milligravity), "across the face, to the right")
            try fields.required("y", &y, .integer.in(.milligravity), "along the face, to the top")
            try fields.required("z", &z, .integer.in(.milligravity), "out of the face")
        }
    }

    /// `accelerometer`
    package struct AccelerationSensed: ControlObject {
        package var samples: [Acceleration] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("samples", &samples, .list(of: .object), "the samples")
        }
    }

    /// `phone-connection`
    package struct PhoneConnectionSensed: ControlObject {
        package var isConnected = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isConnected", &isConnected, .flag, "what apps are told of the phone")
        }
    }

    /// `time-format`
    package struct TimeFormatSensed: ControlObject {
        package var is24Hour = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("is24Hour", &is24Hour, .flag, "whether the hours are counted to 24")
        }
    }

    /// `timeline-peek`
    package struct TimelinePeekSensed: ControlObject {
        package var isShown = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isShown", &isShown, .flag, "whether it covers the bottom of the screen")
        }
    }

    /// `content-size`
    package struct ContentSizeSensed: ControlObject {
        package var size = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("size", &size, .count, "the size of texts, from 0")
        }
    }

    /// `health`
    package struct HealthSensed: ControlObject {
        package var metric = ""
        package var value = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("metric", &metric, .text, "what is measured, with its unit, such as activeSeconds")
            try fields.required("value", &value, .integer, "how much there is of it today")
        }
    }

    /// `heart-rate`
    package struct HeartRateSensed: ControlObject {
        package var beatsPerMinute = 0
        package var quality = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("beatsPerMinute", &beatsPerMinute, .count.in(.beatsPerMinute), "the heart rate")
            try fields.required("quality", &quality, .integer, "how sure the sensor is")
        }
    }
}
