import AirSimulator
import BluetoothHCI
import BluetoothHost
import Foundation
import PebblePhone
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// The watch belongs to a phone, and others are in range: the phone has its session within 10 s, at any behaviour of theirs.
@Suite struct StrangersTests {
    /// Within this time the owner has its session, in 99 of 100 cases.
    static let patience: Duration = .seconds(10)
    /// Runs of each habit and number of strangers; more can be asked for.
    static let seedCount = ProcessInfo.processInfo.environment["CAIRN_STRANGER_SEEDS"].flatMap(UInt64.init) ?? 1

    /// A watch and its phone, which is bonded, has been away for a minute, and listens a tenth of the time when it is back.
    static func ownedWatch() throws -> FaultyAir {
        var watch = WatchConfiguration(identity: WatchIdentity(address: .random(FaultyWatch.address)))
        watch.defaultApp = EchoApp()
        watch.builtInApps = []
        var phone = PhoneConfiguration(address: FaultyPhone.address, clock: Rig.clock)
        phone.transport = .reversed
        phone.scanInterval = .milliseconds(300)
        phone.scanWindow = .milliseconds(30)
        var air = FaultyAir(seed: 1, watch: try FaultyWatch(watch, seed: 2), phone: try FaultyPhone(phone, seed: 3))
        let time = air.runToSession(within: .seconds(120))
        try #require(time != nil, "never paired")
        air.run(for: .seconds(20))
        air.begin(.phoneRadioOff)
        air.run(for: .seconds(60))
        return air
    }

    /// How long the owner's phone needs for its session after `count` strangers have been active for a while.
    private static func timeToSession(
        _ owned: FaultyAir,
        _ habit: StrangerHabit,
        count: Int,
        seed: UInt64
    ) throws -> Duration? {
        var air = owned
        air.simulation.air.reseed(seed)
        var random = SplitMix64(seed: seed &* 0x9E37)
        for _ in 0..<count {
            let stranger = try Stranger(habit, watch: .random(FaultyWatch.address), seed: random.next())
            _ = air.simulation.add(stranger)
        }
        air.run(for: .milliseconds(Int64.random(in: 1_000...45_000, using: &random)))
        air.end(.phoneRadioOff)
        return air.runToSession(within: .seconds(40))
    }

    @Test(arguments: [1, 2, 8], StrangerHabit.allCases)
    func theOwnerGetsIn(strangers: Int, habit: StrangerHabit) throws {
        var times: [(Duration, UInt64)] = []
        let owned = try Self.ownedWatch()
        for seed in 1...Self.seedCount {
            let time = try Self.timeToSession(owned, habit, count: strangers, seed: seed)
            let late = "\(strangers) strangers, \(habit), seed \(seed): "
            let taken = try #require(time, "\(late)no session in 40 s")
            times.append((taken, seed))
        }
        times.sort { $0.0 < $1.0 }
        let worst = try #require(times.last)
        #expect(worst.0 <= Self.patience, "\(strangers) strangers, \(habit), seed \(worst.1): \(worst.0)")
    }
}
