import BluetoothHCI

/// How much data a connection can carry, worked out from packet formats: it shares nothing with the simulator, whose
/// figures it is there to judge.
///
/// A packet is preamble, access address (4), header (2), payload and CRC (3). Each is answered by an empty one, T_IFS
/// (150 µs) later, and T_IFS after that comes the next. An event takes as many such pairs as fit into the interval, or as
/// the phone allows.
struct ThroughputModel {
    let interval: ConnectionInterval
    let profile: DeviceProfile

    private static let interFrameSpace = 150

    /// Microseconds that a packet is on the air.
    private func onAir(_ payload: Int) -> Int {
        profile.phy == .le2M ? (2 + 4 + 2 + payload + 3) * 4 : (1 + 4 + 2 + payload + 3) * 8
    }

    /// Microseconds from the start of a packet with data to the earliest start of the next one.
    private func pair(_ payload: Int) -> Int {
        onAir(payload) + Self.interFrameSpace + onAir(0) + Self.interFrameSpace
    }

    /// What a rung can carry, in kbit/s of application data.
    func kilobitsPerSecond(_ rung: Rung) -> Double {
        let milliseconds = interval.duration / .milliseconds(1)
        let bits = Double(rung.messageLength * 8)
        return switch rung.method {
        // The response comes in the event after that of the request.
        case .writeRequests: bits / (2 * milliseconds)
        case .writeCommandEachInterval: bits / milliseconds
        case .writeCommands, .channel: packed(packets(of: rung), bits: bits)
        }
    }

    /// What could be carried by one event without end, in kbit/s; nil for a rung that leaves events unused.
    func limit(_ rung: Rung) -> Double? {
        switch rung.method {
        case .writeRequests, .writeCommandEachInterval: return nil
        case .writeCommands, .channel: break
        }
        let microseconds = packets(of: rung).reduce(0) { $0 + pair($1) }
        return Double(rung.messageLength * 8) / (Double(microseconds) / 1000)
    }

    /// What a channel is held against, in kbit/s: SDUs of 8192 octets, each in one K-frame, in packets of 251 octets of which
    /// each event takes a whole number.
    var channelLimit: Double {
        let fitting = Int(interval.duration / .microseconds(1)) / pair(251)
        let packetsPerEvent = Double(min(fitting, profile.longExchanges ?? .max))
        let packets = Double(cut(8192 + 2 + 4, 251).count)
        return 8192 * 8 / (packets / packetsPerEvent * (interval.duration / .milliseconds(1)))
    }

    /// The link layer payloads of one message: with the headers of L2CAP (4) and of ATT (3), or of the SDU (2), cut into
    /// frames and those into packets.
    private func packets(of rung: Rung) -> [Int] {
        guard case .channel(let mps) = rung.method else { return cut(rung.messageLength + 3 + 4, rung.packetLength) }
        return cut(rung.messageLength + 2, mps).flatMap { cut($0 + 4, rung.packetLength) }
    }

    private func cut(_ length: Int, _ packetLength: Int) -> [Int] {
        stride(from: 0, to: length, by: packetLength).map { min(packetLength, length - $0) }
    }

    /// Packs the packets of message after message into events.
    private func packed(_ packets: [Int], bits: Double) -> Double {
        let events = 10_000
        let budget = Int(interval.duration / .microseconds(1))
        var next = 0
        var messages = 0
        for _ in 0..<events {
            var time = 0
            var count = 0
            var longest = 0
            while true {
                let payload = packets[next]
                longest = max(longest, payload)
                let limit = longest > 27 ? profile.longExchanges : profile.shortExchanges
                guard time + pair(payload) <= budget, count < limit ?? .max else { break }
                time += pair(payload)
                count += 1
                next += 1
                if next == packets.count {
                    next = 0
                    messages += 1
                }
            }
        }
        return Double(messages) * bits / (Double(events) * (interval.duration / .milliseconds(1)))
    }
}
