import BluetoothHCI
import BluetoothHost
import ByteCoding
import Faults
import PebbleProtocol
import PebbleWatch

// Commands as a recording has them: the byte of the case, which never changes its meaning, then what belongs to it.

extension WatchCommand: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .press(let button, let press):
            bytes.append(1)
            bytes.appendText(button.rawValue)
            bytes.appendText(press.rawValue)
        case .hold(let buttons, let start):
            bytes.append(2)
            bytes.appendList(buttons.map(\.rawValue).sorted()) { $1.appendText($0) }
            bytes.appendOptional(start) { $1.appendSpan($0) }
        case .sense(let reading):
            bytes.append(3)
            reading.encode(into: &bytes)
        case .launchApp(let app):
            bytes.append(4)
            app.encode(to: &bytes)
        case .stopApp: bytes.append(5)
        case .installApp(let package, let launches):
            bytes.append(6)
            package.encode(into: &bytes)
            bytes.appendFlag(launches)
        case .removeApp(let app):
            bytes.append(7)
            app.encode(to: &bytes)
        case .sendAppMessage(let dictionary):
            bytes.append(8)
            bytes.appendCounted(dictionary.encoded)
        case .openPairing(let span):
            bytes.append(9)
            bytes.appendSpan(span)
        case .closePairing: bytes.append(10)
        case .confirmPairing: bytes.append(11)
        case .refusePairing: bytes.append(12)
        case .enterPasskey(let passkey):
            bytes.append(13)
            bytes.appendText(passkey.digits)
        case .makeOutOfBandData: bytes.append(14)
        case .takeOutOfBandData(let block):
            bytes.append(15)
            bytes.appendCounted(block.bytes)
        case .forget(let address):
            bytes.append(16)
            address.encode(to: &bytes)
        case .forgetAll: bytes.append(17)
        case .disconnect: bytes.append(18)
        case .advertise: bytes.append(19)
        case .offerBattery(let isOffered):
            bytes.append(20)
            bytes.appendFlag(isOffered)
        case .publish(let stream, let isPublished):
            bytes.append(21)
            bytes.appendText(stream.rawValue)
            bytes.appendFlag(isPublished)
        case .setTime(let seconds, let offsetMinutes, let zone):
            bytes.append(22)
            bytes.appendLittleEndian(seconds)
            bytes.appendOptional(offsetMinutes) { $1.appendLittleEndian(Int64($0)) }
            bytes.appendOptional(zone) { $1.appendText($0) }
        case .service(let command):
            bytes.append(23)
            command.encode(into: &bytes)
        case .addFault(let fault, let id):
            bytes.append(24)
            bytes.appendText("\(fault)")
            bytes.appendLittleEndian(Int64(id.rawValue))
        case .clearFaults(let id):
            bytes.append(25)
            bytes.appendOptional(id) { $1.appendLittleEndian(Int64($0.rawValue)) }
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let kind = try reader.readUInt8("command")
        switch kind {
        case 1: self = .press(try reader.readName("press.button"), try reader.readName("press.press"))
        case 2:
            let names = try reader.readList("hold") { reader throws(ByteDecodingError) in
                try reader.readName("hold.button", as: WatchButton.self)
            }
            let start = try reader.readOptional("hold.since") { reader throws(ByteDecodingError) in
                try reader.readSpan("hold.since")
            }
            self = .hold(Set(names), since: start)
        case 3: self = .sense(try SensorReading(recorded: &reader))
        case 4: self = .launchApp(try PebbleUUID(reading: &reader, "launch.app"))
        case 5: self = .stopApp
        case 6:
            let package = try AppPackage(recorded: &reader)
            self = .installApp(package, launches: try reader.readFlag("install.launch"))
        case 7: self = .removeApp(try PebbleUUID(reading: &reader, "remove.app"))
        case 8: self = .sendAppMessage(AppMessageDictionary(encoded: try reader.readCounted("send.dictionary")))
        case 9: self = .openPairing(for: try reader.readSpan("open_pairing.seconds"))
        case 10: self = .closePairing
        case 11: self = .confirmPairing
        case 12: self = .refusePairing
        case 13:
            guard let passkey = Passkey(digits: try reader.readText("passkey")) else {
                throw ByteDecodingError("passkey", .invalidLength(0))
            }
            self = .enterPasskey(passkey)
        case 14: self = .makeOutOfBandData
        case 15: self = .takeOutOfBandData(try OutOfBandBlock(parsing: try reader.readCounted("take_oob.data")))
        case 16: self = .forget(try DeviceAddress(reading: &reader, "forget.phone"))
        case 17: self = .forgetAll
        case 18: self = .disconnect
        case 19: self = .advertise
        case 20: self = .offerBattery(try reader.readFlag("offer_battery.offered"))
        case 21:
            let stream = try reader.readName("publish.stream", as: WatchStream.self)
            self = .publish(stream, try reader.readFlag("publish.published"))
        case 22:
            let seconds: UInt32 = try reader.readLittleEndian("set_time.seconds")
            let offset = try reader.readOptional("set_time.offset") { reader throws(ByteDecodingError) in
                try reader.readLittleEndian("set_time.offset", as: Int64.self)
            }
            let zone = try reader.readOptional("set_time.zone") { reader throws(ByteDecodingError) in
                try reader.readText("set_time.zone")
            }
            // The watch keeps an offset as the protocol does, in 16 bits.
            guard offset.map({ Int16(exactly: $0) != nil }) ?? true else {
                throw ByteDecodingError("set_time.offset", .invalidValue(UInt64(bitPattern: offset ?? 0)))
            }
            self = .setTime(seconds: seconds, offsetMinutes: offset.map { Int($0) }, zone: zone)
        case 23: self = .service(try ServiceCommand(recorded: &reader))
        case 24:
            let text = try reader.readText("add_fault.fault")
            guard let fault = try? Fault(parsing: text) else {
                throw ByteDecodingError("add_fault.fault", .invalidLength(text.utf8.count))
            }
            self = .addFault(fault, try FaultID(recorded: &reader))
        case 25:
            self = .clearFaults(
                try reader.readOptional("clear_faults.id") { reader throws(ByteDecodingError) in
                    try FaultID(recorded: &reader)
                }
            )
        default: throw ByteDecodingError("command", .invalidValue(UInt64(kind)))
        }
    }
}

extension FaultID {
    fileprivate init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let number: Int64 = try reader.readLittleEndian("fault.id")
        guard let number = Int(exactly: number) else {
            throw ByteDecodingError("fault.id", .invalidValue(UInt64(bitPattern: number)))
        }
        self.init(rawValue: number)
    }
}

extension ServiceCommand: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .music(let command):
            bytes.append(1)
            bytes.append(command.rawValue)
        case .answerCall: bytes.append(2)
        case .endCall: bytes.append(3)
        case .act(let item, let action, let text):
            bytes.append(4)
            item.encode(to: &bytes)
            bytes.append(action)
            bytes.appendOptional(text) { $1.appendText($0) }
        case .set(let key, let value):
            bytes.append(5)
            bytes.appendText(key)
            bytes.appendCounted(value)
        case .log(let items, let description):
            bytes.append(6)
            bytes.appendCounted(items)
            description.encode(into: &bytes)
        case .finishLogging(let id):
            bytes.append(7)
            bytes.appendLittleEndian(id.rawValue)
        case .restart(let cause):
            bytes.append(8)
            bytes.append(cause.recordedByte)
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let kind = try reader.readUInt8("service_command")
        switch kind {
        case 1: self = .music(try reader.readRaw("music.command"))
        case 2: self = .answerCall
        case 3: self = .endCall
        case 4:
            let item = try PebbleUUID(reading: &reader, "act.item")
            let action = try reader.readUInt8("act.action")
            let text = try reader.readOptional("act.text") { reader throws(ByteDecodingError) in
                try reader.readText("act.text")
            }
            self = .act(on: item, action: action, text: text)
        case 5:
            let key = try reader.readText("set.key")
            self = .set(key, to: Array(try reader.readCounted("set.value")))
        case 6:
            let items = Array(try reader.readCounted("log.items"))
            self = .log(items, as: try DataLoggingMessage.Session(recorded: &reader))
        case 7: self = .finishLogging(LoggingSessionID(rawValue: try reader.readLittleEndian("finish_logging.id")))
        case 8: self = .restart(try RestartCause(recordedByte: try reader.readUInt8("restart.cause")))
        default: throw ByteDecodingError("service_command", .invalidValue(UInt64(kind)))
        }
    }
}

extension RestartCause {
    fileprivate var recordedByte: UInt8 {
        switch self {
        case .reboot: 0
        case .coreDump: 1
        case .factoryReset: 2
        case .recovery: 3
        case .firmwareUpdate: 4
        }
    }

    fileprivate init(recordedByte byte: UInt8) throws(ByteDecodingError) {
        switch byte {
        case 0: self = .reboot
        case 1: self = .coreDump
        case 2: self = .factoryReset
        case 3: self = .recovery
        case 4: self = .firmwareUpdate
        default: throw ByteDecodingError("restart.cause", .invalidValue(UInt64(byte)))
        }
    }
}

extension SensorReading: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .battery(let percent, let isCharging):
            bytes += [1, percent]
            bytes.appendFlag(isCharging)
        case .tap(let axis, let direction): bytes += [2, axis.rawValue, UInt8(bitPattern: direction)]
        case .compass(let heading, let calibration):
            bytes += [3, calibration.rawValue]
            bytes.appendLittleEndian(heading)
        case .accelerometer(let samples):
            bytes.append(4)
            bytes.appendList(samples) { sample, bytes in
                for value in [sample.x, sample.y, sample.z] { bytes.appendLittleEndian(value) }
            }
        case .phoneConnection(let isConnected):
            bytes.append(5)
            bytes.appendFlag(isConnected)
        case .timeFormat(let is24Hour):
            bytes.append(6)
            bytes.appendFlag(is24Hour)
        case .timelinePeek(let isShown):
            bytes.append(7)
            bytes.appendFlag(isShown)
        case .contentSize(let size): bytes += [8, size]
        case .health(let metric, let value):
            bytes += [9, metric.rawValue]
            bytes.appendLittleEndian(value)
        case .heartRate(let rate, let quality): bytes += [10, rate, UInt8(bitPattern: quality)]
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let kind = try reader.readUInt8("reading")
        switch kind {
        case 1:
            let percent = try reader.readUInt8("battery.percent")
            self = .battery(percent: percent, isCharging: try reader.readFlag("battery.charging"))
        case 2:
            let axis = try reader.readRaw("tap.axis", as: SensorAxis.self)
            self = .tap(axis, direction: try reader.readInt8("tap.direction"))
        case 3:
            let calibration = try reader.readRaw("compass.calibration", as: CompassCalibration.self)
            self = .compass(heading: try reader.readLittleEndian("compass.heading"), calibration)
        case 4:
            self = .accelerometer(
                try reader.readList("accelerometer") { reader throws(ByteDecodingError) in
                    let x: Int16 = try reader.readLittleEndian("accelerometer.x")
                    let y: Int16 = try reader.readLittleEndian("accelerometer.y")
                    return AccelerometerSample(x: x, y: y, z: try reader.readLittleEndian("accelerometer.z"))
                }
            )
        case 5: self = .phoneConnection(isConnected: try reader.readFlag("phone_connection"))
        case 6: self = .timeFormat(is24Hour: try reader.readFlag("time_format"))
        case 7: self = .timelinePeek(isShown: try reader.readFlag("timeline_peek"))
        case 8: self = .contentSize(try reader.readUInt8("content_size"))
        case 9:
            let metric = try reader.readRaw("health.metric", as: HealthMetric.self)
            self = .health(metric, value: try reader.readLittleEndian("health.value"))
        case 10:
            let rate = try reader.readUInt8("heart_rate.rate")
            self = .heartRate(beatsPerMinute: rate, quality: try reader.readInt8("heart_rate.quality"))
        default: throw ByteDecodingError("reading", .invalidValue(UInt64(kind)))
        }
    }
}

extension AppPackage: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        var value: [UInt8] = []
        metadata.encode(to: &value)
        bytes.appendCounted(value)
        bytes.appendCounted(binary)
        for part in [resources, worker] { bytes.appendOptional(part) { $1.appendCounted($0) } }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let metadata = try AppMetadata(try reader.readCounted("package.metadata"))
        let binary = Array(try reader.readCounted("package.binary"))
        let resources = try reader.readOptional("package.resources") { reader throws(ByteDecodingError) in
            Array(try reader.readCounted("package.resources"))
        }
        let worker = try reader.readOptional("package.worker") { reader throws(ByteDecodingError) in
            Array(try reader.readCounted("package.worker"))
        }
        self.init(metadata: metadata, binary: binary, resources: resources, worker: worker)
    }
}

extension DataLoggingMessage.Session: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        application.encode(to: &bytes)
        bytes.appendLittleEndian(timestamp)
        bytes.appendLittleEndian(tag)
        bytes.append(itemType.rawValue)
        bytes.appendLittleEndian(itemSize)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let application = try PebbleUUID(reading: &reader, "logging.application")
        let timestamp: UInt32 = try reader.readLittleEndian("logging.timestamp")
        let tag: UInt32 = try reader.readLittleEndian("logging.tag")
        let itemType = try reader.readRaw("logging.item_type", as: DataLoggingMessage.ItemType.self)
        self.init(
            application: application,
            timestamp: timestamp,
            tag: tag,
            itemType: itemType,
            itemSize: try reader.readLittleEndian("logging.item_size")
        )
    }
}
