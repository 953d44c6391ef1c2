import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch
import SeededRandomness
import Testing

/// A stream that waits for its controller's buffers, and for nothing else: the phone has given all its credits, and says no more.
@Suite struct StreamRoomTests {
    /// A watch with a phone that has a channel to the loopback, both as bytes.
    private struct Rig {
        /// L2CAP signaling (Core 5.4, Vol 3, Part A, 2.1).
        private static let signaling: UInt16 = 0x0005
        private static let phoneCID: UInt16 = 0x0050
        /// How many bytes of the stream fill a K-frame that fits into one packet of 251 octets.
        static let share = 245

        private var watch: Watch
        private var controller = FakeController(.legacy, seed: 1)
        private let link: UInt16
        private var watchCID: UInt16 = 0
        /// How many K-frames the phone may send.
        private(set) var credits = 0
        /// What the watch has sent on the channel.
        private(set) var heard: [UInt8] = []

        init() throws {
            var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
            configuration.linkSecurity = .insecureTestLink
            configuration.streams = [.loopback]
            watch = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
            watch.start(at: .zero)
            link = 0x0040
            pump()
            let hasConnected = controller.phoneConnects()
            try #require(hasConnected)
            pump()
            try #require(controller.connection == link)
            let spsm = try #require(watch.status.streams[.loopback])
            // LE Credit Based Connection Request (0x14): each SDU in one K-frame, no credits yet.
            signal(0x14, [spsm.rawValue, Self.phoneCID, UInt16(Self.share), UInt16(Self.share + 2), 0])
            try #require(watchCID != 0, "the channel did not open")
        }

        /// The phone says a part of the stream, for a credit.
        mutating func say(_ bytes: [UInt8]) {
            credits -= 1
            var payload: [UInt8] = []
            payload.appendLittleEndian(UInt16(bytes.count))
            deliver(payload + bytes, on: watchCID)
        }

        /// The phone gives credits: Flow Control Credit (0x16).
        mutating func give(_ credits: UInt16) { signal(0x16, [Self.phoneCID, credits]) }

        private mutating func signal(_ code: UInt8, _ fields: [UInt16]) {
            var command: [UInt8] = [code, 0x01]
            for field in [UInt16(2 * fields.count)] + fields { command.appendLittleEndian(field) }
            deliver(command, on: Self.signaling)
        }

        private mutating func deliver(_ payload: [UInt8], on channel: UInt16) {
            var packet: [UInt8] = [0x02]
            let boundary: UInt16 = 0b10 << 12
            for field in [link | boundary, UInt16(payload.count + 4), UInt16(payload.count), channel] {
                packet.appendLittleEndian(field)
            }
            watch.receive((packet + payload)[...], at: .zero)
            pump()
        }

        /// Carries packets until both sides are quiet. No time passes: only what comes moves the watch.
        private mutating func pump() {
            var packet: [UInt8] = []
            while true {
                while let answer = controller.outbox.first {
                    controller.outbox.removeFirst()
                    watch.receive(answer[...], at: .zero)
                }
                guard watch.nextPacket(into: &packet) else { break }
                if packet[0] == 0x02 { take(packet) } else { controller.receive(packet) }
            }
            while watch.nextEvent() != nil {}
        }

        /// The phone gets a packet, each with a whole frame, and the controller has room for another.
        private mutating func take(_ packet: [UInt8]) {
            func field(_ place: Int) -> UInt16 { UInt16(packet[place]) | UInt16(packet[place + 1]) << 8 }
            switch (field(7), packet[9]) {
            case (Self.phoneCID, _): heard += packet[11...]
            // LE Credit Based Connection Response: the watch's channel, MTU, MPS, credits.
            case (Self.signaling, 0x15):
                watchCID = field(13)
                credits += Int(field(19))
            case (Self.signaling, 0x16): credits += Int(field(15))
            default: break
            }
            controller.outbox.append([0x04, 0x13, 0x05, 0x01] + [UInt8(link & 0xFF), UInt8(link >> 8), 0x01, 0x00])
        }
    }

    @Test func whatIsHeardIsSaidAsTheControllerMakesRoom() throws {
        var rig = try Rig()
        var said: [UInt8] = []
        while rig.credits > 0, said.count < 1_000_000 {
            let part = (0..<Rig.share).map { UInt8(truncatingIfNeeded: said.count + 7 * $0) }
            rig.say(part)
            said += part
        }
        let room = ChannelParameters()
        try #require(said.count > room.transmitLimit, "some of it is not read yet, since no more may wait to be sent")
        #expect(rig.heard.isEmpty, "the phone has given no credits")
        rig.give(.max)
        let isAllBack = rig.heard == said
        #expect(isAllBack, "\(rig.heard.count) of \(said.count) bytes came back")
    }
}
