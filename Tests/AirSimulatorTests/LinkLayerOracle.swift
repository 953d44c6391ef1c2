import AirSimulator
import BluetoothHCI

/// What must be true of packets on the air, worked out from the formulas of the Core Specification alone: nothing here
/// knows how the simulator does it. Moments and spans are whole microseconds.
///
/// Source: Core 5.4, Vol 6, Part B, 2.1 and 2.2 (air time), 4.1 (T_IFS), 4.4.2.2.1 (advDelay), 4.5 (connections).
enum LinkLayerOracle {
    /// T_IFS.
    static let interFrameSpace = 150
    /// The upper end of advDelay.
    static let maximumDelay = 10_000

    /// Bit by bit: preamble, access address, header, payload (with integrity check), CRC.
    static func airTime(_ phy: PHY, payload: Int) -> Int {
        let bits = (2 + payload + 3) * 8
        return switch phy {
        case .le1M: 8 + 32 + bits
        case .le2M: (16 + 32 + bits) / 2
        // Preamble, access address at S=8, coding indicator, first terminator; then eight symbols a bit.
        case .leCoded: 80 + 32 * 8 + 16 + 24 + bits * 8 + 3 * 8
        }
    }

    static func start(_ packet: AirPacket) -> Int {
        let (seconds, attoseconds) = packet.start.components
        return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    }

    static func end(_ packet: AirPacket) -> Int { start(packet) + airTime(packet.phy, payload: packet.payloadLength) }

    // MARK: Advertising

    /// How late each advertising event of a sender is, less its interval.
    static func delays(of sender: ControllerID, interval: Int, in packets: [AirPacket]) -> [Int] {
        let starts = packets.filter { $0.sender == sender && $0.kind == .advertising(channel: 37) }.map(start)
        return zip(starts.dropFirst(), starts).map { $0 - $1 - interval }
    }

    /// What is wrong with the legacy advertising of one sender.
    static func problemsOfAdvertising(_ packets: [AirPacket], of sender: ControllerID, interval: Int) -> [String] {
        var problems: [String] = []
        var lastChannel = 39
        var last: AirPacket?
        for packet in packets {
            if case .advertising(let channel) = packet.kind, packet.sender == sender {
                if channel != (lastChannel == 39 ? 37 : lastChannel + 1) {
                    problems.append("channel \(channel) after \(lastChannel)")
                }
                if channel != 37, let last {
                    let gap = start(packet) - end(last)
                    if !(interFrameSpace...10_000).contains(gap) { problems.append("\(gap) us between channels") }
                }
                lastChannel = channel
            }
            last = packet
        }
        for delay in delays(of: sender, interval: interval, in: packets) where !(0...maximumDelay).contains(delay) {
            problems.append("an event \(delay) us after its interval")
        }
        return problems
    }

    /// Requests and responses follow the packet before them after T_IFS, to the microsecond.
    static func problemsOfAnswers(_ packets: [AirPacket]) -> [String] {
        zip(packets, packets.dropFirst()).compactMap { before, packet in
            switch packet.kind {
            case .scanRequest, .scanResponse, .connectRequest, .connectResponse:
                let gap = start(packet) - end(before)
                return gap == interFrameSpace ? nil : "\(packet.kind) after \(gap) us"
            case .advertising, .auxiliaryAdvertising, .connection: return nil
            }
        }
    }

    // MARK: Connections

    /// One end of a connection as acknowledgement has it.
    private struct End {
        var sequenceNumber = false
        var nextExpected = false
        /// The length of what has not been acknowledged yet.
        var unacknowledged: Int?
    }

    /// What is wrong with a connection whose interval does not change.
    /// - Parameter latency: how many events the peripheral may sleep through; nil if packets get lost, so that it may seem
    ///   to sleep for longer.
    static func problemsOfConnection(
        _ number: UInt64,
        in packets: [AirPacket],
        interval: Int,
        latency: Int?,
        longestPayload: Int
    ) -> [String] {
        var problems: [String] = []
        var ends = [End(), End()]
        var firstAnchor: Int?
        var last: (packet: AirPacket, header: AirPacket.ConnectionPacket)?
        var lastAnswered: Int64 = -1
        /// Whether any packet of the pair that an event is in has promised more.
        var promisesMore = false

        for packet in packets {
            guard case .connection(let header) = packet.kind, header.connection == number else { continue }
            func fault(_ text: String) { problems.append("\(text) at \(start(packet)) us, event \(header.event)") }

            if last?.header.event != header.event {
                if !header.isFromCentral { fault("the peripheral begins an event") }
                let origin = firstAnchor ?? start(packet) - interval * Int(header.event)
                firstAnchor = origin
                if start(packet) != origin + interval * Int(header.event) { fault("not at its anchor point") }
                if let last, end(last.packet) + interFrameSpace > start(packet) { fault("too soon after an event") }
                promisesMore = false
            } else if let last {
                if header.isFromCentral == last.header.isFromCentral { fault("the same end twice") }
                if start(packet) - end(last.packet) != interFrameSpace { fault("not T_IFS after the packet before") }
                if !last.packet.isReceived { fault("an answer to a packet that was lost") }
                if header.isFromCentral {
                    if !promisesMore { fault("an event goes on though nobody has more") }
                    promisesMore = false
                }
            }
            if !header.isFromCentral {
                if let latency, header.event - lastAnswered > Int64(latency) + 1 {
                    fault("the peripheral slept through \(header.event - lastAnswered) events")
                }
                lastAnswered = header.event
            }
            promisesMore = promisesMore || header.moreData
            if packet.payloadLength > longestPayload { fault("\(packet.payloadLength) octets") }

            let own = header.isFromCentral ? 0 : 1
            if header.sequenceNumber != ends[own].sequenceNumber { fault("wrong SN") }
            if header.nextExpectedSequenceNumber != ends[own].nextExpected { fault("wrong NESN") }
            if let length = ends[own].unacknowledged, length != packet.payloadLength {
                fault("\(packet.payloadLength) octets instead of the \(length) that were not acknowledged")
            }
            ends[own].unacknowledged = packet.payloadLength
            if packet.isReceived {
                if header.nextExpectedSequenceNumber != ends[1 - own].sequenceNumber {
                    ends[1 - own].sequenceNumber.toggle()
                    ends[1 - own].unacknowledged = nil
                }
                if header.sequenceNumber == ends[1 - own].nextExpected { ends[1 - own].nextExpected.toggle() }
            }
            last = (packet, header)
        }
        return problems
    }
}
