import BluetoothHCI
import BluetoothHost
import SeededRandomness
import Testing

@testable import Faults

/// The accounts of ACL packets, whatever faults withhold, change or invent: the controller never has more than it has room for,
/// and the host hears of each of its packets once that it is completed.
@Suite struct CompletedPacketsTests {
    private static let handle: ConnectionHandle = 0x0040
    private static let room = 3

    /// A host and a controller that do nothing but count.
    private struct Ends {
        var line: HCIFaultLine
        var free = CompletedPacketsTests.room
        var outstanding = 0
        var heard: [[UInt8]] = []
        private var buffer: [UInt8] = []

        init(outstanding: Int = 0) {
            line = HCIFaultLine(
                HCIFaultLine.Basis(
                    packetCount: CompletedPacketsTests.room,
                    connections: [
                        .init(
                            handle: CompletedPacketsTests.handle,
                            phone: DeviceAddress(0xC0DE_0000_0001),
                            outstandingPackets: outstanding
                        )
                    ]
                )
            )
            free -= outstanding
            self.outstanding = outstanding
        }

        mutating func send(_ packet: [UInt8], at now: Duration) {
            free -= 1
            line.fromHost(packet[...], at: now)
        }

        mutating func complete(_ count: Int, at now: Duration) {
            outstanding -= count
            let list = CompletedPacketsList([.init(handle: CompletedPacketsTests.handle, count: UInt16(count))])
            line.fromController(
                HCIEvent.numberOfCompletedPackets(NumberOfCompletedPackets(packets: list)).packet[...],
                at: now
            )
        }

        mutating func settle() {
            while line.nextForController(into: &buffer) {
                guard buffer.first == HCIPacketType.acl.rawValue else { continue }
                outstanding += 1
                heard.append(buffer)
            }
            while line.nextForHost(into: &buffer) {
                guard case .numberOfCompletedPackets(let event)? = try? HCIEvent(body: buffer[1...]) else { continue }
                for entry in event.packets { free += Int(entry.count) }
            }
        }
    }

    private func packets(_ pdu: FaultPDU, size: Int) -> [[UInt8]] {
        let bytes = pdu.bytes
        return stride(from: 0, to: bytes.count, by: size).map { start in
            ACLPacket(
                handle: Self.handle,
                boundary: start == 0 ? .firstNonFlushable : .continuing,
                data: bytes[start..<min(bytes.count, start + size)]
            ).packet
        }
    }

    @Test func aPDUThatIsDroppedGivesItsPacketsBack() throws {
        var ends = Ends()
        try ends.line.add(Fault(parsing: "smp.stalled step=response"), as: FaultID(rawValue: 1), at: .zero)
        for packet in packets(.smp([0x02] + [UInt8](repeating: 0, count: 60)), size: 27) {
            ends.send(packet, at: .zero)
        }
        ends.settle()
        #expect(ends.free == Self.room && ends.outstanding == 0 && ends.heard.isEmpty)
    }

    @Test func whatWasThereBeforeIsCompletedAsBefore() throws {
        var ends = Ends(outstanding: 2)
        try ends.line.add(Fault(parsing: "att.never"), as: FaultID(rawValue: 1), at: .zero)
        ends.complete(2, at: .zero)
        ends.settle()
        #expect(ends.free == Self.room)
        _ = ends.line.clear(nil, at: .zero)
        while ends.line.nextFiring() != nil {}
        #expect(ends.line.isIdle)
    }

    @Test(arguments: 1...20) func randomFaults(_ seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        var ends = Ends()
        let names = [
            "smp.wrong-confirm probability=0.5", "att.confirmation-not-awaited probability=0.5",
            "link.mute for=2s after=3s",
            "gatt.service-changed-lost probability=0.3", "controller.hang for=1s after=6s",
            "controller.no-buffers for=1s after=8s",
            "l2cap.credits-withheld probability=0.5", "att.twice probability=0.5",
        ]
        for (number, name) in names.enumerated() {
            try ends.line.add(Fault(parsing: name), as: FaultID(rawValue: number + 1), at: .zero)
        }
        var waiting: [[UInt8]] = []
        var now = Duration.zero
        for _ in 0..<2000 {
            now += .milliseconds(10)
            ends.line.advance(to: now)
            if waiting.isEmpty {
                let payload = random.bytes(Int.random(in: 1...120, using: &random))
                let channel = [ChannelID.attribute, .signaling, .securityManager, ChannelID(rawValue: 0x0041)]
                    .randomElement(using: &random)
                waiting = packets(FaultPDU(channel: channel ?? .attribute, payload: payload), size: 27)
            }
            if ends.free > 0, random.chance(2, in: 3) { ends.send(waiting.removeFirst(), at: now) }
            if random.chance(1, in: 5) {
                let request: [UInt8] = [0x0A, 0x03, 0x00]
                ends.line.fromController(
                    ACLPacket(handle: Self.handle, boundary: .firstFlushable, data: FaultPDU.att(request).bytes[...])
                        .packet[...],
                    at: now
                )
            }
            ends.settle()
            #expect(ends.outstanding <= Self.room && ends.free <= Self.room, "seed \(seed)")
            if ends.outstanding > 0, random.chance(1, in: 2) {
                ends.complete(Int.random(in: 1...ends.outstanding, using: &random), at: now)
            }
            ends.settle()
        }
        // The PDU that has begun ends, and everything that was kept back comes.
        _ = ends.line.clear(nil, at: now)
        for _ in 0..<1000 where !waiting.isEmpty || ends.outstanding > 0 {
            if ends.free > 0, !waiting.isEmpty { ends.send(waiting.removeFirst(), at: now) }
            ends.settle()
            if ends.outstanding > 0 { ends.complete(1, at: now) }
            ends.settle()
        }
        while ends.line.nextFiring() != nil {}
        #expect(ends.free == Self.room && ends.outstanding == 0 && waiting.isEmpty, "seed \(seed)")
    }
}
