import ByteCoding
import PebbleProtocol

// The developer's way in, without a radio: what the SDK's tools take for the emulator. The Bluetooth side stays up meanwhile:
// the newest system session is the one that counts, and when the tool leaves, that is the phone's again.

/// Names one developer's connection for as long as the watch runs; numbers are not used again.
public struct DeveloperConnectionID: Hashable, Sendable {
    let number: UInt64
}

/// How a developer's connection carries the Pebble Protocol.
public enum DeveloperCarrier: Sendable, Equatable {
    /// Frames of the emulator's protocol, which also carry buttons and sensors.
    case qemu
    /// The bare stream, as on a serial line.
    case serial
}

/// A tool that is connected.
struct DeveloperConnection: Sendable {
    let carrier: DeveloperCarrier
    var session: SessionID
    var deframer = QEMUDeframer()
    /// Frames that wait to be sent besides the session's stream: one answer at most for each frame that came in, and no
    /// more than `frameLimit` bytes.
    var frames: [UInt8] = []

    static let frameLimit = 4096
    /// How many samples the accelerometer says it has room for.
    static let accelerometerSpace: UInt16 = 255
}

extension Firmware {
    /// A tool has connected: opens its session, which takes the place of a phone's for as long as it lasts.
    public mutating func openDeveloperConnection(
        _ carrier: DeveloperCarrier,
        at now: Duration
    ) -> DeveloperConnectionID {
        lastDeveloperConnection += 1
        let id = DeveloperConnectionID(number: lastDeveloperConnection)
        developers[id] = DeveloperConnection(carrier: carrier, session: openSession(for: carrier, at: now))
        settle(at: now)
        return id
    }

    /// Whether a connection still has its session: a phone that opens one takes it away, and then nothing more will be
    /// answered.
    public func isDeveloperConnectionOpen(_ id: DeveloperConnectionID) -> Bool {
        developers[id].map { system.isOpen($0.session) } ?? false
    }

    /// The tool has gone.
    public mutating func closeDeveloperConnection(_ id: DeveloperConnectionID, reason: String, at now: Duration) {
        guard let connection = developers.removeValue(forKey: id) else { return }
        system.closeSession(connection.session, reason: reason, at: now)
        settle(at: now)
    }

    /// Takes bytes of a tool.
    public mutating func receive(_ bytes: ArraySlice<UInt8>, from id: DeveloperConnectionID, at now: Duration) {
        guard let connection = developers[id] else { return }
        switch connection.carrier {
        case .serial: system.receive(bytes, on: connection.session, at: now)
        case .qemu:
            developers[id]?.deframer.receive(bytes)
            while let frame = developers[id]?.deframer.nextFrame(at: now) { handle(frame, from: id, at: now) }
        }
        settle(at: now)
    }

    /// Takes the next bytes for a tool; none when nothing waits.
    public mutating func nextBytes(for id: DeveloperConnectionID, at now: Duration) -> [UInt8] {
        guard let connection = developers[id] else { return [] }
        developers[id]?.frames = []
        var bytes = connection.frames
        let stream = system.takeOutbound(of: connection.session, atMost: QEMUFrame.maximumDataLength, at: now)
        switch connection.carrier {
        case .serial: bytes += stream
        case .qemu: if !stream.isEmpty { QEMUFrame.append(stream, as: .spp, to: &bytes) }
        }
        // Room in the session lets the running app go on.
        if !stream.isEmpty { settle(at: now) }
        return bytes
    }

    // MARK: For the firmware

    var nextDeveloperDeadline: Duration? { developers.values.compactMap(\.deframer.nextDeadline).min() }

    mutating func advanceDevelopers(to now: Duration) {
        for id in developers.keys { developers[id]?.deframer.advance(to: now) }
    }

    /// The watch has restarted: its tools are still connected, and get new sessions.
    mutating func reopenDeveloperSessions(at now: Duration) {
        for (id, connection) in developers {
            let session = openSession(for: connection.carrier, at: now)
            developers[id]?.session = session
        }
    }

    private mutating func openSession(for carrier: DeveloperCarrier, at now: Duration) -> SessionID {
        // As over Bluetooth to an Android phone: one stream for the Pebble app and for every other.
        let everybody = PPoGATTDestination(kind: .hybrid, application: .invalid)
        return system.openSession(everybody, over: carrier == .qemu ? .qemu : .serial, at: now)
    }

    private mutating func handle(_ frame: QEMUFrame, from id: DeveloperConnectionID, at now: Duration) {
        guard let session = developers[id]?.session else { return }
        if frame.protocolID == .spp { return system.receive(frame.data[...], on: session, at: now) }
        do throws(ByteDecodingError) {
            guard let message = try QEMUMessage(frame) else {
                return log(.debug, .session, "emulator protocol \(frame.protocolID.rawValue): nothing here takes it")
            }
            handle(message, from: id, at: now)
        } catch {
            log(.warning, .session, "emulator protocol \(frame.protocolID.rawValue): \(error); the frame is dropped")
        }
    }

    private mutating func handle(_ message: QEMUMessage, from id: DeveloperConnectionID, at now: Duration) {
        guard let command = message.command else { return }
        do throws(WatchCommandError) {
            try perform(command, at: now)
        } catch {
            log(.warning, .session, "a tool asked for something impossible: \(error)")
        }
        if case .bluetoothConnection = message, let session = developers[id]?.session {
            system.tellRunningApp(on: session, at: now)
        }
        // The firmware says how much more it takes.
        guard case .accelerometer = message, let waiting = developers[id]?.frames.count,
            waiting < DeveloperConnection.frameLimit
        else { return }
        let answer = QEMUMessage.accelerometerSpace(DeveloperConnection.accelerometerSpace).frame
        var bytes: [UInt8] = []
        QEMUFrame.append(answer.data[...], as: answer.protocolID, to: &bytes)
        developers[id]?.frames += bytes
    }
}

extension QEMUMessage {
    /// What the emulator's tools do to the watch; nil for what only watches say.
    fileprivate var command: WatchCommand? {
        switch self {
        case .tap(let axis, let direction): .sense(.tap(axis, direction: direction))
        case .bluetoothConnection(let isConnected): .sense(.phoneConnection(isConnected: isConnected))
        case .compass(let heading, let calibration): .sense(.compass(heading: heading, calibration))
        case .battery(let percent, let isCharging): .sense(.battery(percent: percent, isCharging: isCharging))
        case .accelerometer(let samples): .sense(.accelerometer(samples))
        case .buttons(let buttons): .hold(buttons.held)
        case .timeFormat(let is24Hour): .sense(.timeFormat(is24Hour: is24Hour))
        case .timelinePeek(let isShown): .sense(.timelinePeek(isShown: isShown))
        case .contentSize(let size): .sense(.contentSize(size))
        case .healthMetric(let metric, let value): .sense(.health(metric, value: value))
        case .heartRate(let rate, let quality): .sense(.heartRate(beatsPerMinute: rate, quality: quality))
        case .accelerometerSpace, .vibration: nil
        }
    }
}

extension QEMUMessage.Buttons {
    /// The buttons by name.
    fileprivate var held: Set<WatchButton> {
        var held: Set<WatchButton> = []
        for (bit, button) in [(Self.back, WatchButton.back), (.up, .up), (.select, .select), (.down, .down)]
        where contains(bit) {
            held.insert(button)
        }
        return held
    }
}
