import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import Foundation
import SeededRandomness
import Testing

@testable import BluetoothHost
@testable import PebbleWatch

/// Ten watches of one kind that hide their addresses, and an observer who hears all that they send for 24 hours, to the
/// microsecond, which no radio can. Without a watch's key an observer cannot tell which of the addresses of one quarter of an
/// hour is which of those of the next.
///
/// The statistic: how many of the transitions from one address to the next are guessed right. Of ten watches one guess in ten
/// is right by chance, so with 10 x 95 transitions 95 are, with a standard deviation of about 10; four of them are the limit.
@Suite struct TrackingTests {
    static let watchCount = 10
    static let lifetime: Duration = .seconds(900)
    static let hours = 24

    /// An address while it was on the air.
    struct Sighting {
        let watch: Int
        let address: DeviceAddress
        let start: Duration
        var end: Duration
        /// What can be read of it, without the address itself.
        var bytes: [UInt8]
        var interval: UInt32
    }

    /// A watch that tells what it has on the air.
    struct Watch: HCIHost {
        var host: PebbleWatch.Watch
        let key: IdentityResolvingKey
        private let number: Int
        var sightings: [Sighting] = []
        private var isHeard = false
        private var now: Duration = .zero

        init(_ number: Int, seed: UInt64, hides: Bool = true) throws {
            self.number = number
            let address = LEAddress.random(DeviceAddress(staticRandomFrom: seed &* 0x9E37_79B9_7F4A_7C15))
            var configuration = WatchConfiguration(identity: WatchIdentity(address: address))
            if hides { configuration.privacy = .resolvablePrivateAddress(lifetime: TrackingTests.lifetime) }
            configuration.identity.serialNumber = "CAIRN000ABC\(number)"
            configuration.identity.name = "Watch of \(number)"
            configuration.advertisingPower = Int8(number)
            configuration.beacon = Beacon(uuid: .system, major: UInt16(number))
            configuration.batteryLevel = UInt8(50 + number)
            configuration.advertising = .custom(AdvertisingSchedule([], then: .apple1285))
            host = try PebbleWatch.Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: seed, SplitMix64.draw)
            )
            key = host.life.identity.identityResolvingKey
        }

        var nextDeadline: Duration? { host.nextDeadline }
        mutating func start(at now: Duration) { host.start(at: now); settle(at: now) }
        mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
            host.receive(packet, at: now)
            settle(at: now)
        }
        mutating func advance(to now: Duration) { host.advance(to: now); settle(at: now) }
        mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

        private mutating func settle(at now: Duration) {
            host.finishMemoryChanges(at: now)
            while let event = host.nextEvent() {
                guard case .advertising(let onAir) = event else { continue }
                if isHeard, !sightings.isEmpty { sightings[sightings.count - 1].end = now }
                isHeard = onAir.silence == nil
                guard let entry = onAir.connectable else { continue }
                // The address, and what the name and the serial number say of it, is not what links two of them.
                let beacon = onAir.beacon.map { $0.data } ?? []
                let said = Sighting(
                    watch: number,
                    address: entry.address.address,
                    start: now,
                    end: now,
                    bytes: entry.data + entry.scanResponse + beacon,
                    interval: entry.interval.rawValue
                )
                if let last = sightings.last, last.address == said.address { continue }
                sightings.append(said)
            }
        }
    }

    /// What was heard in each quarter of an hour.
    private func listen(seed: UInt64, hides: Bool = true) throws -> (epochs: [[Sighting]], keys: [IdentityResolvingKey])
    {
        var simulation = Simulation(seed: seed)
        var random = SplitMix64(seed: seed)
        let ids = try (0..<Self.watchCount).map { number in
            simulation.add(try Watch(number, seed: random.next(), hides: hides), .modern)
        }
        simulation.run(for: .seconds(3600 * Self.hours + 60))
        var keys: [IdentityResolvingKey] = []
        var sightings: [Sighting] = []
        for id in ids {
            simulation.withHost(id) { watch in
                keys.append(watch.key)
                sightings += watch.sightings
            }
        }
        // The first and the last are cut off.
        let byEpoch = Dictionary(grouping: sightings) { Int(($0.start + .seconds(60)) / Self.lifetime) }
        let epochs = byEpoch.keys.sorted().compactMap { byEpoch[$0] }.filter { $0.count == Self.watchCount }
        return (Array(epochs.dropFirst().dropLast()), keys)
    }

    /// A way to guess which of the addresses that come is the one that goes: the lower, the likelier.
    struct Guess: Sendable {
        let name: String
        let distance: @Sendable (Sighting, Sighting) -> Double
    }

    static let guesses: [Guess] = [
        Guess(name: "who falls silent last is heard last") { old, new in abs(seconds(new.start) - seconds(old.end)) },
        Guess(name: "the one that comes next") { old, new in
            let gap = seconds(new.start) - seconds(old.end)
            return gap < 0 ? 1e6 : gap
        },
        Guess(name: "who falls silent first is heard last") { old, new in
            -abs(seconds(new.start) - seconds(old.end))
        },
        Guess(name: "the same place between two events") { old, new in
            let interval = Double(old.interval) * 0.000625
            return abs((seconds(new.start) - seconds(old.start)).remainder(dividingBy: interval))
        },
        Guess(name: "an address that lasts as long") { old, new in
            abs((seconds(new.end) - seconds(new.start)) - (seconds(old.end) - seconds(old.start)))
        },
        Guess(name: "the same bytes") { old, new in
            Double(zip(old.bytes, new.bytes).count { $0 != $1 } + abs(old.bytes.count - new.bytes.count))
        },
    ]

    private static func seconds(_ time: Duration) -> Double { time / .seconds(1) }

    /// How many transitions a way of guessing gets right, if it matches the likeliest pairs first.
    private func right(_ guess: Guess, _ epochs: [[Sighting]], random: inout SplitMix64) -> (right: Int, all: Int) {
        var right = 0
        var all = 0
        for (before, after) in zip(epochs, epochs.dropFirst()) {
            let before = before.shuffled(using: &random)
            let after = after.shuffled(using: &random)
            var pairs: [(old: Int, new: Int, distance: Double)] = []
            for old in before.indices {
                for new in after.indices { pairs.append((old, new, guess.distance(before[old], after[new]))) }
            }
            pairs.sort { $0.distance < $1.distance }
            var usedOld: Set<Int> = []
            var usedNew: Set<Int> = []
            for pair in pairs where !usedOld.contains(pair.old) && !usedNew.contains(pair.new) {
                usedOld.insert(pair.old)
                usedNew.insert(pair.new)
                all += 1
                if before[pair.old].watch == after[pair.new].watch { right += 1 }
            }
        }
        return (right, all)
    }

    @Test func withoutTheKeyNobodyTellsOneWatchFromAnother() throws {
        let seed: UInt64 = 0x7AC
        let (epochs, keys) = try listen(seed: seed)
        #expect(epochs.count >= 90, "\(epochs.count) quarters of an hour")
        var random = SplitMix64(seed: seed)
        for guess in Self.guesses {
            let (right, all) = right(guess, epochs, random: &random)
            let chance = Double(all) / Double(Self.watchCount)
            let limit = chance + 4 * chance.squareRoot()
            print("\(guess.name): \(right) of \(all), chance \(chance)")
            #expect(Double(right) <= limit, "seed \(seed): \(guess.name): \(right) of \(all)")
        }
        // With the keys, every transition is guessed right.
        let toolbox = CryptoToolbox(.swiftCrypto)
        for sighting in epochs.joined() {
            let owners = keys.indices.filter { sighting.address.isResolvable(by: keys[$0], toolbox) }
            #expect(owners == [sighting.watch])
        }
        // An address is never used again, and no packet contains the owner's name or serial number.
        let all = epochs.joined().map(\.address)
        #expect(Set(all).count == all.count)
        for sighting in epochs.joined() {
            #expect(!sighting.bytes.contains(subsequence: Array("Watch".utf8)))
            #expect(!sighting.bytes.contains(subsequence: Array("ABC".utf8)))
        }
    }

    /// The same without the silence, as addresses changed before: the guesses are good enough to find it.
    @Test func theGuessesFindAWatchThatIsNotSilent() throws {
        var (epochs, _) = try listen(seed: 3)
        var random = SplitMix64(seed: 9)
        for index in epochs.indices.dropFirst() {
            for place in epochs[index].indices {
                let watch = epochs[index][place].watch
                guard let before = epochs[index - 1].first(where: { $0.watch == watch }) else { continue }
                let sighting = epochs[index][place]
                epochs[index][place] = Sighting(
                    watch: watch,
                    address: sighting.address,
                    start: before.end + .milliseconds(5),
                    end: sighting.end,
                    bytes: sighting.bytes,
                    interval: sighting.interval
                )
            }
        }
        let (right, all) = right(Self.guesses[1], epochs, random: &random)
        #expect(right > all / 2, "\(right) of \(all)")
    }
}

extension [UInt8] {
    fileprivate func contains(subsequence: [UInt8]) -> Bool {
        guard !subsequence.isEmpty, count >= subsequence.count else { return false }
        return (0...(count - subsequence.count)).contains {
            self[$0..<($0 + subsequence.count)].elementsEqual(subsequence)
        }
    }
}
