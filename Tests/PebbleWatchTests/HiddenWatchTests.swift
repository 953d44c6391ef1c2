import AirSimulator
import BluetoothHCI
import BluetoothHost
import SeededRandomness
import Testing

@testable import PebbleWatch

/// What an unknown phone can read of a watch that hides its address: a value that stays when the address changes is the same
/// on another watch of the same model.
@Suite struct HiddenWatchTests {
    private static let lifetime: Duration = .seconds(900)
    /// Beyond the last attribute of any watch.
    private static let lastHandle: UInt16 = 0x80

    /// A watch that hides its address, and an unknown phone in range.
    private func rig(number: UInt64, seed: UInt64) throws -> RigPair {
        let address = LEAddress.random(DeviceAddress(staticRandomFrom: 0xC0DE_0000_0000 | number))
        var identity = WatchIdentity(address: address)
        identity.name = "Watch of owner \(number)"
        identity.serialNumber = "OWNED000\(number)"
        var configuration = WatchConfiguration(identity: identity)
        configuration.batteryLevel = UInt8(50 + number)
        configuration.privacy = .resolvablePrivateAddress(lifetime: Self.lifetime)
        let watch = try RigWatch(configuration, seed: seed)
        var rig = RigPair(seed: seed, watch: watch, phone: RigPhone(address: 0x66, seed: seed + 1))
        rig.run(for: .seconds(1))
        return rig
    }

    /// The response to an unknown phone's read of each handle; nil if it is an error.
    private func readAll(_ rig: inout RigPair) throws -> [GATTResponse?] {
        let address = rig.onWatch { watch, _ in watch.host.presence.privateAddress }
        let hidden = LEAddress.random(try #require(address))
        rig.onPhone { phone, _ in phone.connect(to: hidden) }
        let time = rig.runUntilPhone(within: .seconds(30)) { $0.connection != nil }
        try #require(time != nil, "the unknown phone did not connect")
        rig.run(for: .seconds(1))
        var answers: [GATTResponse?] = []
        for handle in 1...Self.lastHandle {
            let before = try rig.onPhone { phone, now in
                try phone.perform(.read(AttributeHandle(rawValue: handle)), at: now)
                return (phone.responses.count, phone.failures.count)
            }
            rig.run(for: .milliseconds(300))
            rig.onPhone { phone, _ in
                #expect(phone.responses.count + phone.failures.count == before.0 + before.1 + 1, "handle \(handle)")
                answers.append(phone.responses.count > before.0 ? phone.responses.last : nil)
            }
        }
        rig.onPhone { phone, _ in phone.disconnect() }
        rig.run(for: .seconds(1))
        return answers
    }

    @Test func nothingThatCanBeReadSaysWhichWatchItIs() throws {
        var watch = try rig(number: 1, seed: 10)
        let before = try readAll(&watch)
        watch.run(for: Self.lifetime)
        let after = try readAll(&watch)
        var other = try rig(number: 2, seed: 20)
        let others = try readAll(&other)

        #expect(before.count { $0 != nil } > 20, "the unknown phone can read values")
        #expect(before != after, "name and serial number follow the address")
        for (index, (was, isNow)) in zip(before, after).enumerated() where was == isNow {
            #expect(was == others[index], "handle \(index + 1) stays the same, and another watch has another value")
        }
    }
}
