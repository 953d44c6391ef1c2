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

/// The tools that are connected.
struct DeveloperConnections: Sendable {
    /// How many bytes of frames wait for a tool at most, besides its session's stream.
    private static let frameLimit = 4096
    /// How many samples the accelerometer says it has room for.
    private static let accelerometerSpace: UInt16 = 255

    private struct Connection: Sendable {
        let carrier: DeveloperCarrier
        var session: SessionID
        var deframer = QEMUDeframer()
        /// Frames that wait to be sent besides the session's stream: one answer at most for each frame that came in.
        var frames: [UInt8] = []
    }

    private var table = SmallTable<DeveloperConnectionID, Connection>()
    private var last: UInt64 = 0

    /// A tool has connected: opens its session.
    mutating func open(
        _ carrier: DeveloperCarrier,
        _ system: inout WatchSystem,
        at now: Duration
    ) -> DeveloperConnectionID {
        last += 1
        let id = DeveloperConnectionID(number: last)
        table[id] = Connection(carrier: carrier, session: Self.openSession(for: carrier, &system, at: now))
        return id
    }

    func session(of id: DeveloperConnectionID) -> SessionID? { table[id]?.session }

    /// The tool has gone.
    /// - Returns: its session, which is open still.
    mutating func remove(_ id: DeveloperConnectionID) -> SessionID? { table.removeValue(forKey: id)?.session }

    /// The watch has restarted: its tools are still connected, and get new sessions.
    mutating func reopen(_ system: inout WatchSystem, at now: Duration) {
        for id in table.keys {
            guard let carrier = table[id]?.carrier else { continue }
            table[id]?.session = Self.openSession(for: carrier, &system, at: now)
        }
    }

    private static func openSession(
        for carrier: DeveloperCarrier,
        _ system: inout WatchSystem,
        at now: Duration
    ) -> SessionID {
        // As over Bluetooth to an Android phone: one stream for the Pebble app and for every other.
        let everybody = PPoGATTDestination(kind: .hybrid, application: .invalid)
        return system.openSession(everybody, over: carrier == .qemu ? .qemu : .serial, at: now)
    }

    // MARK: Bytes

    /// Takes bytes of a tool. What the emulator's frames carry besides the stream comes from `nextMessage(of:_:at:)`.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        from id: DeveloperConnectionID,
        _ system: inout WatchSystem,
        at now: Duration
    ) {
        guard let session = table[id]?.session else { return }
        switch table[id]?.carrier {
        case .serial: system.receive(bytes, on: session, at: now)
        case .qemu: table[id]?.deframer.receive(bytes)
        case nil: break
        }
    }

    /// The next thing that a tool wants besides its stream, which goes to its session.
    mutating func nextMessage(of id: DeveloperConnectionID, _ core: inout WatchCore, at now: Duration) -> QEMUMessage? {
        while let frame = table[id]?.deframer.nextFrame(at: now) {
            guard frame.protocolID != .spp else {
                if let session = table[id]?.session { core.system.receive(frame.data[...], on: session, at: now) }
                continue
            }
            let number = frame.protocolID.rawValue
            do throws(ByteDecodingError) {
                if let message = try QEMUMessage(frame) { return message }
                core.log(.debug, .session, "emulator protocol \(number): nothing here takes it")
            } catch {
                core.log(.warning, .session, "emulator protocol \(number): \(error); the frame is dropped")
            }
        }
        return nil
    }

    /// Answers what a tool wanted, after the watch has done it.
    mutating func answer(
        _ message: QEMUMessage,
        of id: DeveloperConnectionID,
        _ system: inout WatchSystem,
        at now: Duration
    ) {
        if case .bluetoothConnection = message, let session = table[id]?.session {
            system.tellRunningApp(on: session, at: now)
        }
        // The firmware says how much more it takes.
        guard case .accelerometer = message, let waiting = table[id]?.frames.count, waiting < Self.frameLimit else {
            return
        }
        let answer = QEMUMessage.accelerometerSpace(Self.accelerometerSpace).frame
        var bytes: [UInt8] = []
        QEMUFrame.append(answer.data[...], as: answer.protocolID, to: &bytes)
        table[id]?.frames += bytes
    }

    /// Takes the next bytes for a tool.
    /// - Returns: the bytes, and whether some are its session's.
    mutating func nextBytes(
        for id: DeveloperConnectionID,
        _ system: inout WatchSystem,
        at now: Duration
    ) -> (bytes: [UInt8], hasStream: Bool) {
        guard let carrier = table[id]?.carrier, let session = table[id]?.session else { return ([], false) }
        var bytes = table[id]?.frames ?? []
        table[id]?.frames = []
        let stream = system.takeOutbound(of: session, atMost: QEMUFrame.maximumDataLength, at: now)
        switch carrier {
        case .serial: bytes += stream
        case .qemu: if !stream.isEmpty { QEMUFrame.append(stream, as: .spp, to: &bytes) }
        }
        return (bytes, !stream.isEmpty)
    }

    // MARK: Time

    var nextDeadline: Duration? {
        var next: Duration?
        for id in table.keys { next.lower(to: table[id]?.deframer.nextDeadline) }
        return next
    }

    mutating func advance(to now: Duration) {
        for id in table.keys { table[id]?.deframer.advance(to: now) }
    }
}

// MARK: - The watch

extension Watch {
    /// A tool has connected: opens its session, which takes the place of a phone's for as long as it lasts.
    public mutating func openDeveloperConnection(
        _ carrier: DeveloperCarrier,
        at now: Duration
    ) -> DeveloperConnectionID {
        let id = controls.developers.open(carrier, &core.system, at: now)
        settle(at: now)
        return id
    }

    /// Whether a connection still has its session: a phone that opens one takes it away, and then nothing more will be
    /// answered.
    public func isDeveloperConnectionOpen(_ id: DeveloperConnectionID) -> Bool {
        controls.developers.session(of: id).map(core.system.sessions.isOpen) ?? false
    }

    /// The tool has gone.
    public mutating func closeDeveloperConnection(_ id: DeveloperConnectionID, reason: String, at now: Duration) {
        guard let session = controls.developers.remove(id) else { return }
        core.system.closeSession(session, reason: reason, at: now)
        settle(at: now)
    }

    /// Takes bytes of a tool.
    public mutating func receive(_ bytes: ArraySlice<UInt8>, from id: DeveloperConnectionID, at now: Duration) {
        controls.developers.receive(bytes, from: id, &core.system, at: now)
        while let message = controls.developers.nextMessage(of: id, &core, at: now) {
            guard let command = message.command else { continue }
            do throws(WatchCommandError) {
                try perform(command, at: now)
            } catch {
                core.log(.warning, .session, "a tool asked for something impossible: \(error)")
            }
            controls.developers.answer(message, of: id, &core.system, at: now)
        }
        settle(at: now)
    }

    /// Takes the next bytes for a tool; none when nothing waits.
    public mutating func nextBytes(for id: DeveloperConnectionID, at now: Duration) -> [UInt8] {
        let (bytes, hasStream) = controls.developers.nextBytes(for: id, &core.system, at: now)
        // Room in the session lets the running app go on.
        if hasStream { settle(at: now) }
        return bytes
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
