import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Foundation
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import WatchStorage

@testable import FuzzTargets

/// A watch on its real store, which now and then has no room, and which can lose its power at any time.
struct StoredWatch: HCIHost {
    static let phoneLimit = 5

    private(set) var watch: Watch
    private let store: SQLiteStore
    private var random: SplitMix64
    private let startTime: UInt32
    /// Whether the disk is full.
    var isFull = false
    private(set) var refusals = 0
    private(set) var events = 0

    init(directory: String, startTime: UInt32, seed: UInt64) throws {
        store = try SQLiteStore(directory: directory)
        random = SplitMix64(seed: seed)
        self.startTime = startTime
        watch = try Self.watch(of: store, startTime: startTime, seed: random.next())
    }

    private static func watch(of store: SQLiteStore, startTime: UInt32, seed: UInt64) throws -> Watch {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: .random(FuzzedWatch.address)))
        configuration.pairing = PairingPolicy(mode: .open, phoneLimit: phoneLimit)
        configuration.startTime = startTime
        return try Watch(
            configuration,
            memory: try store.load(),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
    }

    /// The power goes, and comes back: what is left is what the store has.
    mutating func losePower(at now: Duration) throws {
        watch = try Self.watch(of: store, startTime: startTime, seed: random.next())
        take(.start, at: now)
    }

    /// What the store has now, whatever the watch remembers.
    func stored() throws -> WatchMemory { try store.load() }

    mutating func take(_ input: WatchInput, at now: Duration) {
        _ = try? watch.take(input, at: now)
        settle(at: now)
    }

    private mutating func settle(at now: Duration) {
        while let (id, change) = watch.nextMemoryChange() {
            var failure: WatchStoreError?
            if isFull {
                failure = .full(path: "/state")
                refusals += 1
            } else {
                do throws(WatchStoreError) { try store.apply(change) } catch { failure = error }
            }
            _ = try? watch.take(.memoryChangeFinished(id, failure: failure), at: now)
        }
        while watch.nextEvent() != nil { events += 1 }
    }

    // MARK: HCIHost

    mutating func start(at now: Duration) { take(.start, at: now) }
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { take(.packet(packet), at: now) }
    mutating func advance(to now: Duration) { take(.time, at: now) }
    var nextDeadline: Duration? { watch.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { watch.nextPacket(into: &buffer) }
}
