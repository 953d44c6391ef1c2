import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// Channels under random schedules. A failure names its seed.
@Suite("Credit-based channels: any schedule")
struct ChannelPropertyTests {
    /// The byte at a place of a stream; each direction of each channel has a stream of its own.
    static func byte(_ place: Int, _ stream: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (place &* 2_654_435_761 &+ stream &* 40503) >> 7)
    }

    /// One direction of one channel.
    struct Direction {
        let from: Int
        let ids: [Channel.ID]
        let stream: Int
        var written = 0
        var read = 0
        /// SDUs that were written, if there are such.
        var sdus: [Int] = []
        var sdusRead = 0
    }

    struct Schedule {
        var random: SplitMix64
        var pair: ChannelPair
        var directions: [Direction] = []
        let seed: UInt64
        let parameters: [ChannelParameters]

        init(seed: UInt64) throws {
            self.seed = seed
            var random = SplitMix64(seed: seed)
            var pair = ChannelPair()
            for end in 0...1 { pair.ends[end].dataLength = [27, 100, 251].randomElement(using: &random) ?? 27 }
            let face: ChannelFace = Bool.random(using: &random) ? .bytes : .sdus
            parameters = (0...1).map { _ in
                ChannelParameters(
                    face: face,
                    mtu: Int.random(in: 64...3000, using: &random),
                    mps: Bool.random(using: &random) ? nil : Int.random(in: 64...1500, using: &random),
                    receiveLimit: Int.random(in: 0...10000, using: &random),
                    transmitLimit: Int.random(in: 1...10000, using: &random)
                )
            }
            let isEnhanced = Bool.random(using: &random)
            let count = Int.random(in: 1...5, using: &random)
            let ids = try pair.open(count, isEnhanced: isEnhanced, parameters)
            for channel in 0..<count {
                for from in 0...1 {
                    directions.append(
                        Direction(from: from, ids: ids.map { $0[channel] }, stream: channel * 2 + from)
                    )
                }
            }
            self.random = random
            self.pair = pair
        }

        /// Writes as much as is taken of a portion.
        mutating func write(_ index: Int, _ count: Int) {
            let direction = directions[index]
            let bytes = (0..<count).map { byte(direction.written + $0, direction.stream) }
            let id = direction.ids[direction.from]
            if parameters[0].face == .bytes {
                let taken = pair.ends[direction.from].with(id) { $0.outbound.write(bytes[...]) } ?? 0
                directions[index].written += taken
                return
            }
            let isTaken = pair.ends[direction.from].with(id) { channel in
                do throws(ChannelError) {
                    try channel.outbound.writeSDU(bytes[...])
                    return true
                } catch {
                    return false
                }
            }
            guard isTaken == true else { return }
            directions[index].written += count
            directions[index].sdus.append(count)
        }

        /// Reads a portion, or an SDU, and compares it with what was written.
        mutating func read(_ index: Int, _ count: Int) {
            let direction = directions[index]
            var buffer: [UInt8] = []
            let id = direction.ids[1 - direction.from]
            if parameters[0].face == .bytes {
                _ = pair.ends[1 - direction.from].with(id) { $0.inbound.data.read(count, into: &buffer) }
            } else {
                let isWhole = pair.ends[1 - direction.from].with(id) { $0.inbound.data.readSDU(into: &buffer) }
                guard isWhole == true else { return }
                #expect(direction.sdusRead < direction.sdus.count, "seed \(seed)")
                guard direction.sdusRead < direction.sdus.count else { return }
                #expect(buffer.count == direction.sdus[direction.sdusRead], "seed \(seed)")
                directions[index].sdusRead += 1
            }
            let expected = buffer.indices.map { byte(direction.read + $0, direction.stream) }
            #expect(buffer == expected, "seed \(seed), stream \(direction.stream) at \(direction.read)")
            directions[index].read += buffer.count
        }

        /// The room that the data of one credit may take.
        func creditCost(of channel: CreditBasedChannel, _ own: ChannelParameters) -> Int {
            channel.inbound.mps + (own.face == .sdus ? ReceivedData.sduCost : 0)
        }

        /// The room of the buffer: as configured, but enough for an SDU that is read as a whole.
        func limit(of channel: CreditBasedChannel, _ own: ChannelParameters) -> Int {
            let least = own.face == .sdus ? channel.inbound.mtu + ReceivedData.sduCost : 0
            return max(own.receiveLimit, least + 2 * creditCost(of: channel, own))
        }

        /// No end holds more than it said that it would.
        func checkBounds() {
            for end in 0...1 {
                for channel in pair.ends[end].connection.open {
                    let own = parameters[end]
                    let held = channel.inbound.data.cost + channel.inbound.credits * creditCost(of: channel, own)
                    #expect(held <= limit(of: channel, own), "seed \(seed)")
                    #expect(channel.outbound.room <= own.transmitLimit, "seed \(seed)")
                }
            }
        }
    }

    @Test("Every byte arrives once, in order, and memory stays within its bounds", arguments: 0..<100)
    func delivery(_ number: Int) throws {
        var schedule = try Schedule(seed: UInt64(number) &+ 1000)
        for _ in 0..<3000 {
            let index = Int.random(in: 0..<schedule.directions.count, using: &schedule.random)
            let end = Int.random(in: 0...1, using: &schedule.random)
            switch Int.random(in: 0...9, using: &schedule.random) {
            case 0, 1: schedule.write(index, Int.random(in: 0...4000, using: &schedule.random) % (64 << index))
            case 2, 3: schedule.read(index, Int.random(in: 0...4000, using: &schedule.random))
            case 4, 5, 6: if schedule.pair.ends[end].wire.count < 8 { _ = schedule.pair.ends[end].send() }
            default: _ = schedule.pair.deliver(from: end)
            }
        }
        schedule.checkBounds()
        // A side that reads and lets frames through gets everything.
        for _ in 0..<2000 where schedule.directions.contains(where: { $0.read < $0.written }) {
            schedule.pair.settle()
            schedule.checkBounds()
            for index in schedule.directions.indices { schedule.read(index, .max) }
        }
        for direction in schedule.directions {
            #expect(direction.read == direction.written, "seed \(schedule.seed), stream \(direction.stream)")
            #expect(direction.written > 0, "seed \(schedule.seed)")
        }
        let closures = schedule.pair.ends.flatMap { $0.events.closures }
        #expect(closures.isEmpty, "seed \(schedule.seed)")
    }

    @Test(
        "The sender stalls when the reader stops, not before its window is full, and goes on with it",
        arguments: 0..<60
    )
    func stalling(_ number: Int) throws {
        var schedule = try Schedule(seed: UInt64(number) &+ 5000)
        // Neither side reads: writing goes on until nothing moves.
        for index in schedule.directions.indices {
            var before = -1
            while schedule.directions[index].written > before {
                before = schedule.directions[index].written
                let direction = schedule.directions[index]
                let longest = schedule.pair.ends[direction.from].with(direction.ids[direction.from]) {
                    $0.outbound.mtu
                }
                schedule.write(index, schedule.parameters[0].face == .bytes ? 10000 : longest ?? 0)
                schedule.pair.settle()
            }
        }
        schedule.checkBounds()
        for direction in schedule.directions {
            let own = schedule.parameters[1 - direction.from]
            let reader = direction.ids[1 - direction.from]
            let channel = try #require(schedule.pair.ends[1 - direction.from].with(reader) { $0 })
            // Only less than one K-frame's room is left.
            #expect(channel.inbound.credits == 0, "seed \(schedule.seed)")
            let room = schedule.limit(of: channel, own) - channel.inbound.data.cost
            #expect(room < schedule.creditCost(of: channel, own), "seed \(schedule.seed)")
            let isStalled = schedule.pair.ends[direction.from].with(direction.ids[direction.from]) {
                !$0.outbound.canSend
            }
            #expect(isStalled == true, "seed \(schedule.seed)")
        }
        for _ in 0..<5000 where schedule.directions.contains(where: { $0.read < $0.written }) {
            for index in schedule.directions.indices { schedule.read(index, 100) }
            schedule.pair.settle()
        }
        for direction in schedule.directions {
            #expect(direction.read == direction.written, "seed \(schedule.seed), stream \(direction.stream)")
        }
    }

    @Test("Channels that close at any time lose no data that has arrived, and leave no state", arguments: 0..<100)
    func closing(_ number: Int) throws {
        var schedule = try Schedule(seed: UInt64(number) &+ 9000)
        for step in 0..<1500 {
            let index = Int.random(in: 0..<schedule.directions.count, using: &schedule.random)
            let direction = schedule.directions[index]
            let end = Int.random(in: 0...1, using: &schedule.random)
            switch Int.random(in: 0...9, using: &schedule.random) {
            case 0, 1: schedule.write(index, Int.random(in: 0...60, using: &schedule.random))
            case 2: schedule.read(index, Int.random(in: 0...60, using: &schedule.random))
            case 3, 4, 5: _ = schedule.pair.ends[end].send()
            case 6 where step > 1000: schedule.pair.ends[end].close(direction.ids[end])
            default: _ = schedule.pair.deliver(from: end)
            }
        }
        for direction in schedule.directions { schedule.pair.ends[0].close(direction.ids[0]) }
        schedule.pair.settle()
        for end in 0...1 {
            #expect(schedule.pair.ends[end].connection.open.isEmpty, "seed \(schedule.seed)")
            #expect(schedule.pair.ends[end].connection.closing.isEmpty, "seed \(schedule.seed)")
            #expect(schedule.pair.ends[end].manager.nextDeadline == nil, "seed \(schedule.seed)")
            #expect(schedule.pair.ends[end].events.closures.count * 2 == schedule.directions.count)
            // The data that the closed channel hands over continues where reading stopped.
            for event in schedule.pair.ends[end].events {
                guard case .closed(let id, _, var unread) = event,
                    let direction = schedule.directions.first(where: { $0.from != end && $0.ids[end] == id })
                else { continue }
                var rest: [UInt8] = []
                unread.read(into: &rest)
                while unread.readSDU(into: &rest) {}
                let expected = rest.indices.map { Self.byte(direction.read + $0, direction.stream) }
                #expect(rest == expected, "seed \(schedule.seed)")
                #expect(direction.read + rest.count <= direction.written, "seed \(schedule.seed)")
            }
        }
    }
}
