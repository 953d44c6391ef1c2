import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import SeededRandomness

@testable import PebbleWatch

/// A watch on the emulator's port, to which the recorded cases of a group are sent one after the other, on one session.
struct FirmwareReplay {
    private var firmware: Watch
    private let connection: DeveloperConnectionID
    private var now: Duration = .zero
    private var deframer = MessageDeframer()
    private var frames = QEMUDeframer()
    private var said: [PebbleMessage] = []
    /// Of the last upload of the case that was acknowledged; no upload has 0.
    private var token = "00000000"

    /// What the emulator's clock showed when the recording began: pins and reminders are judged by it. The first question for
    /// the time came 7 s later.
    static let recordingTime: UInt32 = 0x6B02_743E - 7
    /// How long a case takes: the recording took 287 s for 462.
    private static let pace: Duration = .milliseconds(600)

    init() throws {
        let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
        var configuration = WatchConfiguration(identity: WatchIdentity(address: address), personality: .universal)
        configuration.startTime = Self.recordingTime
        firmware = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        connection = firmware.openDeveloperConnection(.qemu, at: .zero)
        _ = drain()
    }

    /// Sends a case, and lets its time pass.
    /// - Returns: the answers of its upload steps with their numbers, then everything else that came, in order.
    mutating func play(_ recorded: FirmwareAnswers.Case) throws -> [String] {
        try before(recorded)
        token = "00000000"
        var answers: [String] = []
        var others: [String] = []
        for (index, step) in recorded.steps.enumerated() {
            var came = send(frame(try step.bytes(token: token)))
            if step.isUpload {
                let first = came.firstIndex { $0.endpoint == .putBytes }
                let answer = first.map { came.remove(at: $0).payload.hexadecimal } ?? ""
                answers.append("\(index): \(noting(answer, to: step))")
            }
            others += came.map(text)
        }
        for frame in framesOnly(recorded.name) { others += send(frame).map(text) }
        others += wait(Self.pace).map(text)
        return zip(answers, recorded.steps).filter { $0.1.answer != nil }.map(\.0) + others
    }

    /// Whether the watch still answers a ping, and nothing but that.
    mutating func isInStep() -> Bool {
        let came = send(frame([0x00, 0x05, 0x07, 0xD1, 0x00, 0x11, 0x22, 0x33, 0x44]))
        return came.contains { $0.endpoint == .ping && $0.payload == [0x01, 0x11, 0x22, 0x33, 0x44] }
    }

    // MARK: Own values

    /// A message as the recording writes it, but for what is each watch's own choice.
    private func text(_ message: PebbleMessage) -> String {
        let endpoint = String(message.endpoint.rawValue, radix: 16)
        let padding = String(repeating: "0", count: 4 - endpoint.count)
        return Self.comparable("\(padding)\(endpoint):\(message.payload.hexadecimal)", app: runningApp)
    }

    /// An upload's answer with `TTTTTTTT` for the token of the upload, which is noted.
    private mutating func noting(_ answer: String, to step: FirmwareAnswers.Step) -> String {
        if step.send.hasPrefix("beef:01"), answer.hasPrefix("01") { token = String(answer.dropFirst(2)) }
        guard token != "00000000" else { return answer }
        return answer.replacing(token, with: "TTTTTTTT")
    }

    private var runningApp: String { firmware.status.runningApp.uuid.key.hexadecimal }
    private static let recordedApp = "f29f18acbbec452b926249c4f6e5c920"

    /// What is recorded, but for what is each watch's own choice: who it is, its colour, which app runs, and its own
    /// numbering of what it tells unasked. The firmware's writing back of settings may come at any time and is left out.
    static func comparable(_ recorded: [String]) -> [String] {
        recorded.filter { !isWriting($0) }.map { comparable($0, app: recordedApp) }
    }

    static func isWriting(_ message: String) -> Bool { message.hasPrefix("b2db:08") || message.hasPrefix("b2db:09") }

    private static func comparable(_ message: String, app: String) -> String {
        if message.hasPrefix("0010:01") { return "0010:01 and \((message.count - 7) / 2) bytes of its own" }
        if message.hasPrefix("1389:0104") { return "1389:0104 and its colour" }
        if message.hasPrefix("b2db:0a"), message.count == 13 { return "b2db:0a and its number, \(message.suffix(2))" }
        return message.replacing(app, with: "<the app>")
    }

    // MARK: What the recording does not contain

    /// What happened in the emulator before a case: it changed a setting of its own accord, and its phone never took it.
    private mutating func before(_ recorded: FirmwareAnswers.Case) throws {
        guard recorded.name == "blobdb2: version" else { return }
        try firmware.perform(.service(.set("automaticTimezoneID", to: [0xFF, 0xFF])), at: now)
    }

    private static let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0x01, 0x02, 0x03, 0x04]

    /// The cases without steps whose answers show what was sent: frames that are cut or joined, or no frames at all.
    private func framesOnly(_ name: String) -> [[UInt8]] {
        let ping = frame(Self.ping)
        switch name {
        case "runstate: start the running app":
            return [frame([0x00, 0x11, 0x00, 0x34, 0x01] + firmware.status.runningApp.uuid.key)]
        case "runstate: stop the running app (watchface)":
            return [frame([0x00, 0x11, 0x00, 0x34, 0x02] + firmware.status.runningApp.uuid.key)]
        case "one byte a frame": return Self.ping.map { frame([$0]) }
        case "header, then the rest 1.5 s later":
            return [frame(Array(Self.ping.prefix(4))), frame(Array(Self.ping.dropFirst(4)))]
        case "half a payload, then the rest 3 s later":
            return [frame(Array(Self.ping.prefix(6))), frame(Array(Self.ping.dropFirst(6)))]
        case "qemu: empty frame": return [frame([])]
        case "qemu: unknown protocol 99": return [frame(Self.ping, as: 99)]
        case "qemu: garbage between frames": return [[0x00, 0xFF, 0xFE], ping, [0xBE, 0xEF]]
        case "qemu: wrong footer": return [ping.dropLast() + [0x00]]
        case "qemu: second magic byte wrong": return [[0xFE, 0xEE] + ping.dropFirst(2)]
        case "qemu: frame of 2048":
            return [frame([0x07, 0xFC, 0x77, 0x77] + [UInt8](repeating: 0, count: 2044))]
        case "qemu: frame of 2049":
            return [frame([0x07, 0xFD, 0x77, 0x77] + [UInt8](repeating: 0, count: 2045))]
        default: return []
        }
    }

    private func frame(_ bytes: [UInt8], as protocolID: UInt16 = 1) -> [UInt8] {
        var all: [UInt8] = []
        QEMUFrame.append(bytes[...], as: QEMUProtocol(rawValue: protocolID), to: &all)
        return all
    }

    // MARK: The watch

    private mutating func send(_ bytes: [UInt8]) -> [PebbleMessage] {
        firmware.receive(bytes[...], from: connection, at: now)
        return drain()
    }

    private mutating func wait(_ duration: Duration) -> [PebbleMessage] {
        let end = now + duration
        var said: [PebbleMessage] = []
        while let deadline = firmware.nextDeadline, deadline <= end {
            now = max(now, deadline)
            firmware.advance(to: now)
            said += drain()
        }
        now = end
        firmware.advance(to: now)
        return said + drain()
    }

    /// Takes what the watch says, but for its writing back of settings; and keeps its memory for it.
    private mutating func drain() -> [PebbleMessage] {
        var messages: [PebbleMessage] = []
        var isBusy = true
        while isBusy {
            isBusy = false
            while let (id, _) = firmware.nextMemoryChange() {
                firmware.memoryChangeFinished(id, failure: nil, at: now)
                isBusy = true
            }
            while firmware.nextEvent() != nil {}
            while case let bytes = firmware.nextBytes(for: connection, at: now), !bytes.isEmpty {
                isBusy = true
                frames.receive(bytes[...])
                while let frame = frames.nextFrame(at: now) {
                    guard frame.protocolID == .spp else { continue }
                    var rest = frame.data[...]
                    while case .message(let message)? = deframer.next(from: &rest) { messages.append(message) }
                }
            }
        }
        return messages.filter { !($0.endpoint == .blobDB2 && [8, 9].contains($0.payload.first)) }
    }
}
