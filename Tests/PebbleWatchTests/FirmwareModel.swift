import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// A system whose brain is an emulator, and a model of what runs there: as much of the firmware as a bridge can get wrong.
struct BridgeRig {
    var system: WatchSystem
    var now: Duration = .zero
    /// Every frame that the emulator was given.
    private(set) var frames: [QEMUFrame] = []
    /// Every message that it was given, whole.
    private(set) var messages: [PebbleMessage] = []
    private(set) var events: [WatchEvent] = []
    /// Whether the firmware answers pings and questions for its version.
    var answers = true
    private var deframer = QEMUDeframer()
    private var stream = MessageDeframer()

    static let identity = WatchIdentity(address: .random(DeviceAddress(0xC0DE_0000_1234)))

    init(isReady: Bool = true) throws {
        system = WatchSystem(
            identity: Self.identity,
            clock: WatchClock(seconds: ServiceRig.startTime, at: .zero),
            apps: AppManager(WatchConfiguration(identity: Self.identity)),
            memory: ServiceMemory(),
            brain: .emulator,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        system.start(at: .zero)
        guard isReady else { return }
        try boot()
        #expect(system.bridge.part?.state == .ready)
    }

    /// The emulator is there, and its firmware has just started.
    mutating func boot() throws {
        _ = system.take(.connected, at: now)
        try say(PhoneVersionMessage.request)
        try takeNote()
        try serve()
        // It was told if no phone is there.
        if system.bridge.part?.session == nil { try takeNote() }
    }

    /// The firmware has taken note of a phone that has come or gone.
    private mutating func takeNote() throws { try say(AppRunStateMessage.start(.system)) }

    var bridge: EmulatorBridge { get throws { try #require(system.bridge.part) } }

    /// Lets the firmware have what waits for it, and the bridge what it answers.
    mutating func serve() throws {
        while true {
            let bytes = system.take(.hasRoom, at: now)
            guard !bytes.isEmpty else { break }
            try receive(bytes)
        }
        #expect(stream.bufferedByteCount == 0, "only whole messages leave the bridge")
        while let event = system.nextEvent() { events.append(event) }
    }

    private mutating func receive(_ bytes: [UInt8]) throws {
        deframer.receive(bytes[...])
        while let frame = deframer.nextFrame(at: now) {
            // It says how much room its accelerometer has, whatever else it does.
            if frame.protocolID == .accelerometer {
                sendBytes(QEMUMessage.accelerometerSpace(256).frame.data, as: .accelerometer)
                if frame.data.count == 1 { continue }
            }
            frames.append(frame)
            #expect(frame.data.count <= QEMUFrame.maximumDataLength, "a longer frame wedges the emulator")
            guard frame.protocolID == .spp else { continue }
            var rest = frame.data[...]
            while case .message(let message)? = stream.next(from: &rest) {
                messages.append(message)
                if answers { try answer(message) }
            }
        }
        #expect(deframer.skippedByteCount == 0)
    }

    private mutating func answer(_ message: PebbleMessage) throws {
        if message.endpoint == .ping, case .ping(let cookie, _)? = try? PingMessage(payload: message.payload) {
            try say(PingMessage.pong(cookie: cookie))
        } else if let answer = message.answerToMark {
            try say(answer)
        } else if message.endpoint == .watchVersion {
            try say(PebbleMessage(endpoint: .watchVersion, payload: try FirmwareAnswers.watchVersion()))
        } else if case .begin(let object)? = try? PutBytesRequest(payload: message.payload), object.size == 1,
            message.endpoint == .putBytes
        {
            // The bridge's own, which costs the firmware an upload that is open.
            try say(PutBytesResponse.negativeAcknowledgement(.none))
        }
    }

    /// The firmware says something.
    mutating func say(_ message: some EndpointMessage) throws { try say(PebbleMessage(message)) }

    mutating func say(_ message: PebbleMessage) throws {
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        sendBytes(framing: bytes)
    }

    /// The emulator sends bytes of the firmware's stream.
    mutating func sendBytes(framing bytes: [UInt8]) { sendBytes(bytes, as: .spp) }

    private mutating func sendBytes(_ bytes: [UInt8], as protocolID: QEMUProtocol) {
        var framed: [UInt8] = []
        QEMUFrame.append(bytes[...], as: protocolID, to: &framed)
        _ = system.take(.bytes(framed[...]), at: now)
    }

    mutating func open(
        _ destination: PPoGATTDestination = .reversedV2,
        over transport: SessionTransport = .reversedPPoGATT,
        among own: [SessionID] = []
    ) -> SessionID {
        system.openSession(destination, over: transport, among: own, at: now)
    }

    /// Opens a session of whose phone the firmware has taken note, so that it takes uploads.
    mutating func openForUploads() throws -> SessionID {
        let id = open()
        try serve()
        try takeNote()
        return id
    }

    /// A phone's message.
    mutating func send(_ message: some EndpointMessage, on id: SessionID) throws {
        try send(PebbleMessage(message), on: id)
    }

    mutating func send(_ message: PebbleMessage, on id: SessionID) throws {
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        system.receive(bytes[...], on: id, at: now)
    }

    /// What the session has been told and not been asked for yet.
    mutating func heard(on id: SessionID) -> [PebbleMessage] {
        var deframer = MessageDeframer()
        var heard: [PebbleMessage] = []
        while true {
            var bytes = system.takeOutbound(of: id, atMost: 1000, at: now)
            guard !bytes.isEmpty else { return heard }
            while case .message(let message)? = deframer.next(from: &bytes) { heard.append(message) }
        }
    }

    /// Lets time pass, deadline by deadline.
    mutating func wait(_ duration: Duration) throws {
        let end = now + duration
        var turns = 0
        while let deadline = system.nextDeadline, deadline <= end {
            turns = deadline > now ? 0 : turns + 1
            try #require(turns < 1000, "a deadline that has passed stays")
            now = max(now, deadline)
            system.advance(to: now)
            try serve()
        }
        now = end
        system.advance(to: now)
        try serve()
    }

    /// Takes what the emulator was told, but for the stream.
    mutating func takeTold() -> [QEMUMessage] {
        defer { frames = [] }
        return frames.filter { $0.protocolID != .spp }.compactMap { try? QEMUMessage($0) }
    }

    mutating func takeMessages() -> [PebbleMessage] {
        defer { messages = [] }
        return messages
    }

    var log: [String] {
        events.compactMap { if case .diagnostic(let diagnostic) = $0 { diagnostic.message } else { nil } }
    }
}

extension PebbleMessage {
    /// What the firmware answers if this is a question of the watch's own for a database that does not exist.
    var answerToMark: PebbleMessage? {
        guard endpoint == .blobDB, let request = try? BlobDBRequest(payload: payload),
            case .clear(let database) = request.command, database.rawValue == 0xFF
        else { return nil }
        return PebbleMessage(BlobDBResponse(token: request.token, status: .invalidDatabase))
    }
}

extension FirmwareAnswers {
    /// The recorded answer to who the firmware is.
    static func watchVersion() throws -> [UInt8] {
        let group = try load().groups.first { $0.name == "main" }
        let answer = try #require(group?.cases.first { $0.name == "watch version" }?.also?.first)
        return try #require([UInt8](hexadecimal: String(answer.dropFirst("0010:".count))))
    }
}
