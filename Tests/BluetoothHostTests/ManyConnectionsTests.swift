import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness
import Testing

/// One host with many connections: those that are busy share what there is, and those that were idle are not forgotten.
@Suite("A host with many connections")
struct ManyConnectionsTests {
    /// A host with several connections, and a controller that sends what it is given in an order of its own.
    private struct Room {
        var rig: HostRig
        let value: AttributeHandle
        /// The packets that the controller holds, by their connections.
        var held: [ConnectionHandle] = []
        /// How many packets each connection has sent.
        var sent: [ConnectionHandle: Int] = [:]
        var random: SplitMix64

        init(connections count: Int, seed: UInt64 = 1) throws {
            rig = try HostRig.ready()
            for number in 0..<count { rig.connect([UInt8(0x40 + number), 0x00].hexadecimal) }
            value = try #require(rig.host.gatt.database.handle(of: "level"))
            random = SplitMix64(seed: seed)
        }

        /// Queues notifications on some connections until there is no more room for them.
        mutating func fill(_ connections: some Sequence<ConnectionHandle>) {
            for connection in connections {
                let bytes: [UInt8] = [100]
                while (try? rig.host.gatt.notify(
                    bytes[...],
                    of: value,
                    on: connection,
                    evenIfNotSubscribed: true,
                    at: rig.now
                )) != nil {}
            }
        }

        /// Gives the controller what it has room for, and lets it send one packet.
        mutating func step() {
            for packet in rig.sent() {
                guard let bytes = [UInt8](hexadecimal: packet), bytes.count > 2, bytes[0] == 2,
                    let handle = ConnectionHandle(rawValue: UInt16(bytes[1]) | UInt16(bytes[2] & 0x0F) << 8)
                else { continue }
                held.append(handle)
            }
            guard !held.isEmpty else { return }
            let done = held.remove(at: Int.random(in: 0..<held.count, using: &random))
            sent[done, default: 0] += 1
            rig.give(HostRig.completed([UInt8(done.rawValue & 0xFF), UInt8(done.rawValue >> 8)].hexadecimal, "0100"))
            _ = rig.events()
        }
    }

    @Test("gives each of those that are busy its share", arguments: [2, 3, 5, 8], [1, 2, 3] as [UInt64])
    func fairness(count: Int, seed: UInt64) throws {
        var room = try Room(connections: count, seed: seed)
        let all = room.rig.host.connections.map(\.handle)
        #expect(all.count == count)
        for _ in 0..<2000 {
            room.fill(all)
            room.step()
        }
        let amounts = all.map { room.sent[$0] ?? 0 }
        let share = Double(amounts.reduce(0, +)) / Double(count)
        for amount in amounts { #expect(Double(amount) >= 0.8 * share, "\(amounts), seed \(seed)") }
    }

    @Test("asks one that had nothing to say again as soon as it has")
    func wakingUp() throws {
        var room = try Room(connections: 8)
        for _ in 0..<50 { room.step() }
        let all = room.rig.host.connections.map(\.handle)
        for connection in all + all.reversed() {
            let before = room.sent[connection] ?? 0
            _ = try room.rig.host.gatt.notify(
                [1],
                of: room.value,
                on: connection,
                evenIfNotSubscribed: true,
                at: room.rig.now
            )
            room.step()
            #expect(room.sent[connection] == before + 1)
        }
    }

    /// Their handles differ by 64: what is kept of them is kept in one bit.
    @Test("asks two whose bit is the same")
    func sharedBit() throws {
        var room = try Room(connections: 1)
        room.rig.connect("8000")
        let all = room.rig.host.connections.map(\.handle)
        #expect(all.map(\.rawValue) == [0x40, 0x80])
        for _ in 0..<50 { room.step() }
        for connection in [all[0], all[1], all[1], all[0]] {
            let before = room.sent[connection] ?? 0
            room.fill([connection])
            for _ in 0..<20 { room.step() }
            #expect(room.sent[connection, default: 0] > before)
        }
    }
}
