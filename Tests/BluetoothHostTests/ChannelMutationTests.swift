import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

@Suite("Credit-based channels: hostile input")
struct ChannelMutationTests {
    /// Valid frames, from which the mutations are made: channel and payload.
    static let corpus: [(ChannelID, [UInt8])] =
        [
            "14 01 0a00 8000 5000 0002 6400 0700", "15 01 0a00 6500 c800 6400 0100 0000", "16 02 0400 5000 0100",
            "16 02 0400 5000 ffff", "17 01 1200 8000 0001 6400 0500 5000 5100 5200 5300 5400",
            "18 01 0e00 c800 6400 0100 0400 6500 0000 6600", "19 03 0800 6500 6500 5000 5100", "1a 01 0200 0000",
            "06 03 0400 4000 5000", "07 01 0400 5000 4000", "01 01 0200 0000", "01 02 0600 0200 4000 5000",
        ].map { (.signaling, [UInt8](hexadecimal: $0) ?? []) }
        + (UInt16(0x40)...0x48).flatMap { cid in
            ["0300 616263", "0500 6162", "6364", "ffff", ""].map {
                (ChannelID(rawValue: cid), [UInt8](hexadecimal: $0) ?? [])
            }
        }

    static func mutated(_ random: inout SplitMix64) -> (ChannelID, [UInt8]) {
        var (channel, payload) = corpus.randomElement(using: &random) ?? (.signaling, [])
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard let index = payload.indices.randomElement(using: &random) else { break }
            switch Int.random(in: 0...5, using: &random) {
            case 0: payload[index] = UInt8.random(in: 0...255, using: &random)
            case 1: payload[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: payload.remove(at: index)
            case 3: payload.insert(UInt8.random(in: 0...255, using: &random), at: index)
            case 4: payload = Array(payload.prefix(index))
            default: payload += Array(repeating: 0x5A, count: Int.random(in: 0...2000, using: &random))
            }
        }
        // Identifiers and CIDs that are in use are tried more often than others.
        if channel == .signaling, payload.count > 5, Bool.random(using: &random) {
            payload[1] = UInt8.random(in: 0...12, using: &random)
            payload[4] = UInt8.random(in: 0x40...0x48, using: &random)
        }
        return (channel, payload)
    }

    @Test("300,000 mutated frames: no trap, no growth, and channels still open", arguments: [1, 2, 3] as [UInt64])
    func mutations(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var end = ChannelEnd(.peripheral)
        let parameters = ChannelParameters(face: seed == 2 ? .sdus : .bytes, mtu: 300, mps: 100, receiveLimit: 500)
        // Without random numbers, it is 0x0080.
        let spsm = try end.listen(parameters)
        for step in 0..<100_000 {
            let (channel, payload) = Self.mutated(&random)
            end.receive(payload, on: channel)
            switch Int.random(in: 0...15, using: &random) {
            case 0:
                _ = try? end.open(1, to: spsm, parameters, isEnhanced: Bool.random(using: &random))
            case 1:
                guard let id = end.connection.open.randomElement(using: &random)?.channel.id else { break }
                _ = end.with(id) { channel in
                    var bytes: [UInt8] = []
                    channel.inbound.data.read(into: &bytes)
                    while channel.inbound.data.readSDU(into: &bytes) {}
                    _ = channel.outbound.write(Array(repeating: 1, count: 500)[...])
                }
            case 2: end.advance(by: .seconds(1))
            case 3...6: while end.send() {}
            default: break
            }
            end.wire.removeAll()
            end.events.removeAll()
            guard step.isMultiple(of: 500) else { continue }
            let connection = end.connection
            #expect(
                connection.open.count + connection.closing.count + connection.opening.count <= 64,
                "seed \(seed), step \(step)"
            )
            for channel in connection.open {
                #expect(channel.inbound.data.cost <= 1000 + 20 * ReceivedData.sduCost, "seed \(seed), step \(step)")
            }
        }
        // A request that is never answered is forgotten in time.
        for channel in end.connection.open { end.close(channel.channel.id) }
        end.advance(by: .seconds(200))
        while end.send() {}
        end.events.removeAll()
        end.receive([0x14, 0x63, 10, 0, 0x80, 0, 0x50, 0, 64, 0, 64, 0, 1, 0], on: .signaling)
        #expect(end.events.opened.count == 1, "seed \(seed)")
    }
}
