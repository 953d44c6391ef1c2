import PebbleProtocol

/// What a sensor, or a setting that the emulator's tools treat like one, has to say.
public enum SensorReading: Sendable, Equatable {
    /// Charge, in percent, and whether the charger is connected.
    case battery(percent: UInt8, isCharging: Bool)
    /// Somebody tapped the watch along an axis, in a direction: 1 or -1.
    case tap(SensorAxis, direction: Int8)
    /// A full turn is 0x10000.
    case compass(heading: UInt32, CompassCalibration)
    /// Samples, the newest last; an empty list changes nothing.
    case accelerometer([AccelerometerSample])
    /// What apps are told of the link to the phone; the link itself stays as it is.
    case phoneConnection(isConnected: Bool)
    /// Whether the time is to be shown with 24 hours, or with 12.
    case timeFormat(is24Hour: Bool)
    /// Whether the timeline's next event is to cover the bottom of a watchface.
    case timelinePeek(isShown: Bool)
    /// 0 small to 3 extra large.
    case contentSize(UInt8)
    /// The latest count of one metric, in the unit of its name.
    case health(HealthMetric, value: Int32)
    /// Beats a minute, and how good the measurement is, as the emulator's tools number it: the number is passed on as it is.
    case heartRate(beatsPerMinute: UInt8, quality: Int8)
}

/// What the sensors said last.
public struct WatchSensors: Sendable, Equatable {
    /// A tap on the watch.
    public struct Tap: Sendable, Equatable {
        /// The axis along which the watch was tapped.
        public let axis: SensorAxis
        /// 1 or -1.
        public let direction: Int8
    }

    /// Where the compass points.
    public struct Heading: Sendable, Equatable {
        /// A full turn is 0x10000.
        public let angle: UInt32
        /// How far the angle can be trusted.
        public let calibration: CompassCalibration
    }

    /// What a heart rate monitor measured.
    public struct HeartRate: Sendable, Equatable {
        /// Beats a minute.
        public let beatsPerMinute: UInt8
        /// How good the measurement is, as the emulator's tools number it.
        public let quality: Int8
    }

    /// Charge in percent.
    public internal(set) var batteryPercent: UInt8
    /// Whether the charger is connected; false until a reading says so.
    public internal(set) var isCharging = false
    /// How often the watch was tapped.
    public internal(set) var tapCount = 0
    /// The latest tap; nil if there was none.
    public internal(set) var lastTap: Tap?
    /// The latest heading; nil if the compass has said nothing.
    public internal(set) var heading: Heading?
    /// The newest sample.
    public internal(set) var acceleration: AccelerometerSample?
    /// What apps are told of the link to the phone, if somebody has said so; nil means the truth.
    public internal(set) var phoneConnectionOverride: Bool?
    /// Whether the time is to be shown with 24 hours; false until a reading says so.
    public internal(set) var is24HourStyle = false
    /// Whether the timeline's next event is to cover the bottom of a watchface; false until a reading says so.
    public internal(set) var showsTimelinePeek = false
    /// 0 small to 3 extra large; the real watch starts at 1, medium.
    public internal(set) var contentSize: UInt8 = 1
    /// The latest count of each metric, in the unit of its name; a metric without a reading is not there.
    public internal(set) var health: [HealthMetric: Int32] = [:]
    /// The latest measurement; nil if there was none.
    public internal(set) var heartRate: HeartRate?

    init(batteryPercent: UInt8) { self.batteryPercent = batteryPercent }

    /// Takes a reading.
    mutating func take(_ reading: SensorReading) throws(WatchCommandError) {
        switch reading {
        case .battery(let percent, let isCharging):
            guard percent <= 100 else { throw .impossibleReading("a battery has 0 to 100 percent, not \(percent)") }
            batteryPercent = percent
            self.isCharging = isCharging
        case .tap(let axis, let direction):
            guard direction == 1 || direction == -1 else {
                throw .impossibleReading("a tap has the direction 1 or -1, not \(direction)")
            }
            tapCount &+= 1
            lastTap = Tap(axis: axis, direction: direction)
        case .compass(let heading, let calibration):
            self.heading = Heading(angle: heading, calibration: calibration)
        case .accelerometer(let samples):
            if let newest = samples.last { acceleration = newest }
        case .phoneConnection(let isConnected): phoneConnectionOverride = isConnected
        case .timeFormat(let is24Hour): is24HourStyle = is24Hour
        case .timelinePeek(let isShown): showsTimelinePeek = isShown
        case .contentSize(let size):
            guard size <= 3 else { throw .impossibleReading("a content size is 0 to 3, not \(size)") }
            contentSize = size
        case .health(let metric, let value): health[metric] = value
        case .heartRate(let rate, let quality):
            heartRate = HeartRate(beatsPerMinute: rate, quality: quality)
        }
    }
}
