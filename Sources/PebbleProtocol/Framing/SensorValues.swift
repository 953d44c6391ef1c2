// What an emulator says of the sensors, and what the watch's sensors hold. The numbers are those of the frames.

/// An axis of the accelerometer.
public enum SensorAxis: UInt8, Sendable {
    /// Across the face, to the right.
    case x = 0
    /// Along the face, to the top.
    case y = 1
    /// Out of the face.
    case z = 2
}

/// How far the compass is calibrated.
public enum CompassCalibration: UInt8, Sendable {
    /// The heading means nothing yet.
    case uncalibrated = 0
    /// The heading can be used, and gets better.
    case refining = 1
    /// The heading is as good as it gets.
    case calibrated = 2
}

/// What the accelerometer measured, in thousandths of the earth's gravity.
public struct AccelerometerSample: Equatable, Sendable {
    /// Across the face, to the right.
    public var x: Int16
    /// Along the face, to the top.
    public var y: Int16
    /// Out of the face.
    public var z: Int16

    /// A sample.
    public init(x: Int16, y: Int16, z: Int16) {
        self.x = x
        self.y = y
        self.z = z
    }
}

/// What the watch counts of its user's health.
public enum HealthMetric: UInt8, Sendable {
    /// How many steps the user took.
    case steps = 0
    /// The time in which the user was active, in seconds.
    case activeSeconds = 1
    /// The energy that the body burned at rest, in kilocalories.
    case restingKilocalories = 2
    /// The energy that the user burned by being active, in kilocalories.
    case activeKilocalories = 3
    /// The distance that the user has gone, in metres.
    case distanceMeters = 4
    /// The time that the user slept, in seconds.
    case sleepSeconds = 5
    /// The part of that time in which sleep was restful, in seconds.
    case restfulSleepSeconds = 6
}
