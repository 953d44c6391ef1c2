import ByteCoding

/// What an emulator's frames say, apart from the Pebble Protocol's stream: what happens to the watch, and what the
/// watch does. Big-endian.
package enum QEMUMessage: Equatable, Sendable {
    /// Somebody tapped the watch along an axis; the direction is 1 or -1. Layout: axis, direction (Int8).
    case tap(SensorAxis, direction: Int8)
    /// Seen by apps only; the stream goes on.
    case bluetoothConnection(isConnected: Bool)
    /// 0x10000 is a full turn.
    case compass(heading: UInt32, CompassCalibration)
    /// The battery's charge, 0 to 100 percent, and whether the charger is connected. Layout: one byte each.
    case battery(percent: UInt8, isCharging: Bool)
    /// What the accelerometer measured; at most 255 samples are sent. Layout: count (UInt8), then x, y and z (Int16) of each.
    case accelerometer([AccelerometerSample])
    /// Watch to host: how many samples it can take.
    case accelerometerSpace(UInt16)
    /// Watch to host.
    case vibration(isOn: Bool)
    /// The buttons that are held down.
    case buttons(Buttons)
    /// Whether the time is shown in 24 hours rather than in 12. Layout: one byte, 0 or 1.
    case timeFormat(is24Hour: Bool)
    /// Whether the timeline's preview (Timeline Peek) is shown on the watchface. Layout: one byte, 0 or 1.
    case timelinePeek(isShown: Bool)
    /// 0 small to 3 extra large.
    case contentSize(UInt8)
    /// What the watch has counted, in the metric's unit. Layout: metric, value (Int32).
    case healthMetric(HealthMetric, value: Int32)
    /// A measured heart rate. The firmware's scale of quality goes from 0, the worst, to 4, excellent; -1 is a watch that is
    /// not worn. Layout: one byte each.
    case heartRate(beatsPerMinute: UInt8, quality: Int8)

    /// The watch's buttons.
    package struct Buttons: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bit 0: the button on the left.
        package static let back = Buttons(rawValue: 1)
        /// Bit 1: the upper button on the right.
        package static let up = Buttons(rawValue: 2)
        /// Bit 2: the middle button on the right.
        package static let select = Buttons(rawValue: 4)
        /// Bit 3: the lower button on the right.
        package static let down = Buttons(rawValue: 8)
    }

    private static let accelerometerSpaceLength = 2

    /// Reads what a frame says; nil for the stream, for tests and for protocols that do not exist.
    package init?(_ frame: QEMUFrame) throws(ByteDecodingError) {
        var reader = ByteReader(frame.data)
        switch frame.protocolID {
        case .tap:
            let axis: SensorAxis = try Self.readEnumeration(&reader, "qemu.axis")
            self = .tap(axis, direction: try reader.readInt8("qemu.direction"))
        case .bluetoothConnection:
            self = .bluetoothConnection(isConnected: try reader.readUInt8("qemu.connected") != 0)
        case .compass:
            let heading: UInt32 = try reader.readBigEndian("qemu.heading")
            self = .compass(heading: heading, try Self.readEnumeration(&reader, "qemu.calibration"))
        case .battery:
            let percent = try reader.readUInt8("qemu.percent")
            self = .battery(percent: percent, isCharging: try reader.readUInt8("qemu.charging") != 0)
        case .accelerometer where reader.count == Self.accelerometerSpaceLength:
            self = .accelerometerSpace(try reader.readBigEndian("qemu.available"))
        case .accelerometer:
            let count = try reader.readUInt8("qemu.count")
            var samples: [AccelerometerSample] = []
            for _ in 0..<count {
                let x: Int16 = try reader.readBigEndian("qemu.x")
                let y: Int16 = try reader.readBigEndian("qemu.y")
                samples.append(AccelerometerSample(x: x, y: y, z: try reader.readBigEndian("qemu.z")))
            }
            self = .accelerometer(samples)
        case .vibration:
            // Some emulators send no byte at all.
            self = .vibration(isOn: (try? reader.readUInt8("qemu.on")) != 0)
        case .button: self = .buttons(Buttons(rawValue: try reader.readUInt8("qemu.state")))
        case .timeFormat: self = .timeFormat(is24Hour: try reader.readUInt8("qemu.is_24_hour") != 0)
        case .timelinePeek: self = .timelinePeek(isShown: try reader.readUInt8("qemu.enabled") != 0)
        case .contentSize: self = .contentSize(try reader.readUInt8("qemu.size"))
        case .healthMetric:
            let metric: HealthMetric = try Self.readEnumeration(&reader, "qemu.metric")
            self = .healthMetric(metric, value: try reader.readBigEndian("qemu.value"))
        case .heartRate:
            let rate = try reader.readUInt8("qemu.bpm")
            self = .heartRate(beatsPerMinute: rate, quality: try reader.readInt8("qemu.quality"))
        default: return nil
        }
    }

    private static func readEnumeration<Value: RawRepresentable<UInt8>>(
        _ reader: inout ByteReader,
        _ field: String
    ) throws(ByteDecodingError) -> Value {
        let number = try reader.readUInt8(field)
        guard let value = Value(rawValue: number) else { throw ByteDecodingError(field, .invalidValue(UInt64(number))) }
        return value
    }

    /// The frame that says it.
    package var frame: QEMUFrame {
        var data: [UInt8] = []
        switch self {
        case .tap(let axis, let direction):
            data = [axis.rawValue, UInt8(bitPattern: direction)]
            return QEMUFrame(.tap, data: data)
        case .bluetoothConnection(let isConnected):
            return QEMUFrame(.bluetoothConnection, data: [isConnected ? 1 : 0])
        case .compass(let heading, let calibration):
            data.appendBigEndian(heading)
            data.append(calibration.rawValue)
            return QEMUFrame(.compass, data: data)
        case .battery(let percent, let isCharging):
            return QEMUFrame(.battery, data: [percent, isCharging ? 1 : 0])
        case .accelerometer(let samples):
            let fitting = samples.prefix(Int(UInt8.max))
            data.append(UInt8(truncatingIfNeeded: fitting.count))
            for sample in fitting {
                data.appendBigEndian(sample.x)
                data.appendBigEndian(sample.y)
                data.appendBigEndian(sample.z)
            }
            return QEMUFrame(.accelerometer, data: data)
        case .accelerometerSpace(let count):
            data.appendBigEndian(count)
            return QEMUFrame(.accelerometer, data: data)
        case .vibration(let isOn): return QEMUFrame(.vibration, data: [isOn ? 1 : 0])
        case .buttons(let buttons): return QEMUFrame(.button, data: [buttons.rawValue])
        case .timeFormat(let is24Hour): return QEMUFrame(.timeFormat, data: [is24Hour ? 1 : 0])
        case .timelinePeek(let isShown): return QEMUFrame(.timelinePeek, data: [isShown ? 1 : 0])
        case .contentSize(let size): return QEMUFrame(.contentSize, data: [size])
        case .healthMetric(let metric, let value):
            data.append(metric.rawValue)
            data.appendBigEndian(value)
            return QEMUFrame(.healthMetric, data: data)
        case .heartRate(let rate, let quality):
            return QEMUFrame(.heartRate, data: [rate, UInt8(bitPattern: quality)])
        }
    }
}
