import AirSimulator
import Testing

/// A few controllers driven by raw HCI bytes, and a log of what they say.
struct Rig {
    /// A packet from a controller, and when it was there to be taken.
    struct Said: Equatable, CustomStringConvertible {
        var time: Duration
        var bytes: [UInt8]

        var hex: String { bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(separator: " ") }
        var description: String { "\(time): \(hex)" }
    }

    var air: Air
    var now: Duration = .zero
    var log: [ControllerID: [Said]] = [:]
    private var buffer: [UInt8] = []

    init(seed: UInt64 = 1, quality: LinkQuality = .perfect) { air = Air(seed: seed, quality: quality) }

    /// Adds a controller whose public address ends in `last`, and wants all events.
    mutating func add(_ configuration: ControllerConfiguration = .modern, address last: UInt8) -> ControllerID {
        var configuration = configuration
        configuration.publicAddress = "C0:C0:C0:00:00:\(last < 16 ? "0" : "")\(String(last, radix: 16))".address
        let id = air.addController(configuration)
        // Reset; Set Event Mask and LE Set Event Mask: everything.
        send("01 03 0c 00", id)
        send("01 01 0c 08 ff ff ff ff ff ff ff 3f", id)
        send("01 01 20 08 ff ff ff ff ff ff ff 7f", id)
        _ = take(id)
        return id
    }

    /// Sends a packet given in hexadecimal.
    mutating func send(_ hex: String, _ id: ControllerID) { send(bytes(hex), id) }

    mutating func send(_ packet: [UInt8], _ id: ControllerID) {
        air.receive(packet[...], from: id, at: now)
        drain()
    }

    /// Sends a command and returns everything that its controller says at once.
    mutating func ask(_ hex: String, _ id: ControllerID) -> [String] {
        _ = take(id)
        send(hex, id)
        return take(id).map(\.hex)
    }

    /// Lets time pass, deadline by deadline.
    mutating func run(for span: Duration) { run(until: now + span) }

    mutating func run(until end: Duration) {
        while let next = air.nextDeadline, next <= end {
            now = max(now, next)
            air.advance(to: now)
            drain()
        }
        now = end
        air.advance(to: now)
        drain()
    }

    /// Lets time pass until a controller says something that begins with some bytes.
    /// - Returns: What it says, or nil if it does not within the time.
    mutating func run(
        until prefix: String,
        from id: ControllerID,
        within span: Duration = .seconds(60)
    ) -> Said? {
        let wanted = bytes(prefix)
        let end = now + span
        var seen = 0
        while true {
            let said = log[id] ?? []
            if let found = said[min(seen, said.count)...].first(where: { $0.bytes.starts(with: wanted) }) {
                return found
            }
            seen = said.count
            guard let next = air.nextDeadline, next <= end else { return nil }
            now = max(now, next)
            air.advance(to: now)
            drain()
        }
    }

    /// What a controller has said since it was last asked.
    mutating func take(_ id: ControllerID) -> [Said] { log.removeValue(forKey: id) ?? [] }

    /// The same, of packets that begin with some bytes.
    mutating func take(_ id: ControllerID, _ prefix: String) -> [Said] {
        let wanted = bytes(prefix)
        return take(id).filter { $0.bytes.starts(with: wanted) }
    }

    /// The same, of which there has to be one at least: that one.
    mutating func first(_ id: ControllerID, _ prefix: String) throws -> Said {
        let found = take(id, prefix)
        return try #require(found.first, "nothing that begins with \(prefix)")
    }

    /// Lets time pass until a controller says something that begins with some bytes, which it has to.
    mutating func wait(for prefix: String, from id: ControllerID, within span: Duration = .seconds(60)) throws -> Said {
        let found = run(until: prefix, from: id, within: span)
        return try #require(found, "nothing that begins with \(prefix)")
    }

    private mutating func drain() {
        while let id = air.nextPacket(into: &buffer) { log[id, default: []].append(Said(time: now, bytes: buffer)) }
    }
}

/// The bytes of hexadecimal text; spaces are ignored.
func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.filter { !$0.isWhitespace }
    var result: [UInt8] = []
    var index = digits.startIndex
    while index < digits.endIndex {
        let next = digits.index(index, offsetBy: 2, limitedBy: digits.endIndex) ?? digits.endIndex
        guard let byte = UInt8(digits[index..<next], radix: 16) else {
            Issue.record("not hexadecimal: \(hex)")
            return []
        }
        result.append(byte)
        index = next
    }
    return result
}

/// A number as hexadecimal, least significant byte first.
func little(_ value: UInt16) -> String { hex([UInt8(value & 0xFF), UInt8(value >> 8)]) }

func hex(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined(separator: " ")
}

/// The 16-bit number at an index.
func word(_ bytes: [UInt8], _ index: Int) -> Int { Int(bytes[index]) | Int(bytes[index + 1]) << 8 }
