import BluetoothHCI
import PebbleProtocol
import Testing

@testable import Timeline

/// What is found in packets.
struct TimelineBuilderTests {
    private static let handle = ConnectionHandle(rawValue: 0x0040)

    private static func connected() throws -> [UInt8] {
        // LE Connection Complete: success, 0x0040, peripheral, peer C0:00:00:00:00:01 (random), 12 units, latency 0, 4 s.
        [
            0x04, 0x3E, 0x13, 0x01, 0x00, 0x40, 0x00, 0x01, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0xC0, 0x0C, 0x00, 0x00,
            0x00, 0x90, 0x01, 0x00,
        ]
    }

    private static func att(_ pdu: [UInt8]) throws -> [UInt8] { try frame(pdu, on: 4) }

    private static func frame(_ payload: [UInt8], on channel: UInt8) throws -> [UInt8] {
        let frame = [UInt8(payload.count), 0, channel, 0] + payload
        let handle = try #require(Self.handle)
        return ACLPacket(handle: handle, boundary: .firstNonFlushable, data: frame[...]).packet
    }

    private static func build(
        _ packets: [(bytes: [UInt8], isFromHost: Bool)],
        _ selection: TimelineBuilder.Selection = .init()
    ) -> Timeline {
        var builder = TimelineBuilder(selection)
        for (index, packet) in packets.enumerated() {
            let time = 1_700_000_000_000_000 + Int64(index) * 1000
            builder.take(CapturedPacket(microseconds: time, isFromHost: packet.isFromHost, bytes: packet.bytes[...]))
        }
        return builder.finish()
    }

    private static func session() throws -> [(bytes: [UInt8], isFromHost: Bool)] {
        let request = [0x02, 0x01] + Array("ABCDEFGHIJKL".utf8)
        let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0x00, 0x00, 0x00, 0x07]
        return [
            (try connected(), false),
            (try att([0x52, 0x10, 0x00] + request), true),
            (try att([0x1B, 0x10, 0x00, 0x03, 0x19, 0x19]), false),
            (try att([0x52, 0x10, 0x00, 0x03, 0x19, 0x19]), true),
            (try att([0x1B, 0x10, 0x00, 0x00] + ping.prefix(3)), false),
            (try att([0x1B, 0x10, 0x00, 0x00] + ping.prefix(3)), false),
            (try att([0x1B, 0x10, 0x00, 0x08] + ping.dropFirst(3)), false),
            (try att([0x52, 0x10, 0x00, 0x09]), true),
        ]
    }

    @Test func aMessageIsPutTogetherFromThePacketsThatCarryIt() throws {
        let timeline = Self.build(try Self.session())
        let labels = { (lane: Timeline.Lane) in timeline.marks.filter { $0.lane == lane }.map(\.label) }
        #expect(timeline.marks.count { $0.lane == .hci } == 8)
        #expect(labels(.l2cap) == Array(repeating: "ATT", count: 7))
        let packets = ["reset", "reset complete", "reset complete", "data 0", "data 0 again", "data 1", "ack 1"]
        #expect(labels(.ppogatt) == packets)
        #expect(labels(.pebble) == ["Ping: ping"])
        let message = try #require(timeline.marks.first { $0.lane == .pebble })
        #expect(message.packet == 7 && message.time == 6000 && message.direction == .received && message.link == 1)
        #expect(timeline.notes.isEmpty)
        #expect(timeline.spans.map(\.kind) == [.link])
    }

    /// ATT on enhanced bearers: channels to SPSM 0x0027, on which a PDU is an SDU, of one frame or several.
    @Test func enhancedBearersCarryATT() throws {
        let timeline = Self.build([
            (try Self.connected(), false),
            // L2CAP_CREDIT_BASED_CONNECTION_REQ for two bearers, of which the peer gives the first.
            (try Self.frame([0x17, 1, 12, 0, 0x27, 0, 64, 0, 64, 0, 5, 0, 0x40, 0, 0x41, 0], on: 5), true),
            (try Self.frame([0x18, 1, 12, 0, 64, 0, 64, 0, 5, 0, 4, 0, 0x50, 0, 0, 0], on: 5), false),
            // Read Request, and its response in two frames.
            (try Self.frame([3, 0, 0x0A, 0x01, 0x00], on: 0x50), true),
            (try Self.frame([5, 0, 0x0B, 0x41], on: 0x40), false),
            (try Self.frame([0x42, 0x43, 0x44], on: 0x40), false),
            // More than the SDU's length.
            (try Self.frame([1, 0, 0x0B, 0x41], on: 0x40), false),
            // L2CAP_DISCONNECTION_REQ: what comes then is no bearer's.
            (try Self.frame([0x06, 2, 4, 0, 0x50, 0, 0x40, 0], on: 5), true),
            (try Self.frame([3, 0, 0x0A, 0x01, 0x00], on: 0x50), true),
        ])
        let frames = timeline.marks.filter { $0.lane == .l2cap }.map(\.label)
        #expect(
            frames.enumerated().filter { ![0, 1, 6].contains($0.offset) }.map(\.element) == [
                "ATT, bearer 1", "ATT in pieces, bearer 1", "ATT, bearer 1", "malformed", "K-frame",
            ]
        )
        let marks = timeline.marks.filter { $0.lane == .att }
        #expect(marks.map(\.packet) == [4, 6])
        #expect(marks.map(\.size) == [3, 5])
        #expect(
            marks.map(\.details.first) == [
                "ATT: Read Request, 3 bytes, on enhanced bearer 1", "ATT: Read Response, 5 bytes, on enhanced bearer 1",
            ]
        )
        // The response is about what was asked for on the same bearer.
        #expect(marks.last?.details.contains("handle 0x0001") == true)
    }

    @Test func aLinkThatBeganBeforeTheCaptureIsSaid() throws {
        let timeline = Self.build(Array(try Self.session().dropFirst(4)))
        #expect(timeline.marks.contains { $0.lane == .pebble } == false)
        #expect(timeline.notes.contains { $0.hasPrefix("Link 1 began before the capture") })
    }

    @Test func aSelectionKeepsItsPart() throws {
        let packets = try Self.session()
        let part = Self.build(packets, .init(from: 2000, to: 4000, lanes: [.att]))
        #expect(part.lanes == [.att])
        #expect(part.marks.map(\.time) == [2000, 3000, 4000])
        #expect(Self.build(packets, .init(link: 2)).notes.contains { $0.hasPrefix("There is no link 2") })
    }

    @Test func aLimitIsKeptAndSaid() throws {
        let packets = try (0..<100).map { _ in (try Self.att([0x0A, 0x01, 0x00]), true) }
        let timeline = Self.build(packets, .init(packetLimit: 10))
        #expect(timeline.marks.count { $0.lane == .hci } == 10)
        #expect(timeline.notes.contains { $0.hasPrefix("90 packets from 0.010 s on were left out") })
    }

    @Test func whatCannotBeDecodedIsAProblem() throws {
        let timeline = Self.build([([0x04, 0x3E, 0x02, 0x01], false), ([0x77, 0x00], true)])
        #expect(timeline.marks.map(\.isProblem) == [true, true])
        #expect(timeline.notes == ["2 packets could not be decoded: they are drawn in red."])
    }

    @Test func keysAreNotDrawn() throws {
        let key = Array(repeating: UInt8(0xA5), count: 16)
        let frame: [UInt8] = [17, 0, 6, 0, 0x06] + key
        let handle = try #require(Self.handle)
        let timeline = Self.build([
            (try Self.connected(), false),
            (ACLPacket(handle: handle, boundary: .firstFlushable, data: frame[...]).packet, false),
            ([0x01, 0x1A, 0x20, 18, 0x40, 0x00] + key, true),
        ])
        for text in [TimelineSVG(timeline, title: "t").text(), TimelineHTML(timeline, title: "t").text()] {
            #expect(!text.contains("a5a5a5"))
            #expect(text.contains("secret bytes"))
        }
    }

    @Test func anEventOfTheWatchHasItsLane() {
        var builder = TimelineBuilder()
        builder.take(event: "link", "asks for 15 ms: the app starts", at: 5)
        let timeline = builder.finish()
        #expect(timeline.lanes.last == .watch)
        #expect(timeline.marks.map(\.details) == [["asks for 15 ms: the app starts"]])
    }
}
