import BluetoothCryptography
import BluetoothHCI
import SeededRandomness
import Testing

@testable import BluetoothHost

/// Private addresses, and peers that try too often.
@Suite("Security Manager: privacy and repeated attempts")
struct SecurityManagerPrivacyTests {
    /// The sample of Core 5.4, Vol 3, Part H, D.7: prand 708194, hash 0dfbaa.
    private let key = IdentityResolvingKey(0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B)
    private let sample = DeviceAddress(0x7081_940D_FBAA)
    private let toolbox = CryptoToolbox(.swiftCrypto)

    @Test("The sample address of the Core resolves, and with no other key")
    func sampleAddress() {
        #expect(sample.isResolvable(by: key, toolbox))
        #expect(!sample.isResolvable(by: IdentityResolvingKey(key.value ^ 1), toolbox))
        #expect(DeviceAddress(resolvableBy: key, random: 0x308194, toolbox) == sample)
        // The two highest bits are not the caller's.
        #expect(DeviceAddress(resolvableBy: key, random: 0xFFF0_8194, toolbox) == sample)
        // The same hash does not make a static or a non-resolvable address resolvable.
        #expect(!DeviceAddress(sample.value | 0xC000_0000_0000).isResolvable(by: key, toolbox))
    }

    @Test("Random parts that the Core forbids are avoided")
    func forbiddenRandomParts() {
        for random in [UInt32(0), 0x3F_FFFF, 0xFFFF_FFFF] {
            let address = DeviceAddress(resolvableBy: key, random: random, toolbox)
            let part = address.value >> 24 & 0x3F_FFFF
            #expect(part != 0 && part != 0x3F_FFFF)
            #expect(address.isResolvable(by: key, toolbox))
        }
    }

    @Test("Peers are resolved by all keys, and the results are remembered as long as they are true")
    func resolution() throws {
        let phone = LEAddress.public(DeviceAddress(0xAA))
        let tablet = LEAddress.random(DeviceAddress(0xC000_0000_00BB))
        func bond(_ identity: LEAddress, _ key: UInt128?) -> Bond {
            Bond(
                identity: identity,
                keys: .secureConnections(LongTermKey(1)),
                isAuthenticated: true,
                peerIdentityResolvingKey: key.map(IdentityResolvingKey.init)
            )
        }
        var manager = SecurityManager(
            configuration: .device(),
            bonds: [bond(phone, 5), bond(tablet, 6), bond(.public(DeviceAddress(0xCC)), nil)],
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        let phoneAddress = LEAddress.random(DeviceAddress(resolvableBy: IdentityResolvingKey(5), random: 1, toolbox))
        let tabletAddress = LEAddress.random(DeviceAddress(resolvableBy: IdentityResolvingKey(6), random: 2, toolbox))
        let stranger = LEAddress.random(DeviceAddress(resolvableBy: IdentityResolvingKey(7), random: 3, toolbox))
        for _ in 0..<2 {
            #expect(manager.identity(of: phoneAddress) == phone)
            #expect(manager.identity(of: tabletAddress) == tablet)
            #expect(manager.identity(of: stranger) == nil)
        }
        #expect(manager.identity(of: tablet) == tablet)
        manager.deleteBond(phone)
        #expect(manager.identity(of: phoneAddress) == nil)
        #expect(manager.identity(of: tabletAddress) == tablet)
        // Many unknown peers do not fill the memory.
        var random = SplitMix64(seed: 9)
        for _ in 0..<2_000 {
            _ = manager.identity(of: .random(DeviceAddress(0x4000_0000_0000 | random.next() >> 18)))
        }
        #expect(manager.identity(of: tabletAddress) == tablet)
    }

    @Test("This device's own private addresses differ, and always resolve")
    func rotation() throws {
        var manager = SecurityManager(
            configuration: .device(identity: .public(DeviceAddress(1)), key: key.value),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 3, SplitMix64.draw)
        )
        var seen: Set<DeviceAddress> = []
        for _ in 1...21 {
            let made = manager.makePrivateAddress()
            let address = try #require(made)
            #expect(address.isResolvable(by: key, toolbox))
            seen.insert(address)
        }
        #expect(seen.count == 21)

        var withoutIdentity = SecurityManager(
            configuration: .device(),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 3, SplitMix64.draw)
        )
        #expect(withoutIdentity.makePrivateAddress() == nil)
    }

    // MARK: Repeated attempts

    @Test("Each failure doubles the wait, quiet time shortens it, and a success ends it")
    func waits() {
        let peer = LEAddress.public(DeviceAddress(1))
        var attempts = RepeatedAttempts(RepeatedAttemptLimits())
        var now = Duration.zero
        #expect(attempts.waitingTime(of: peer, at: now) == nil)
        for expected in [1, 2, 4, 8, 16, 32, 64, 128, 256, 256, 256] {
            attempts.failed(peer, at: now)
            #expect(attempts.waitingTime(of: peer, at: now) == now + .seconds(expected))
            #expect(attempts.waitingTime(of: .public(DeviceAddress(2)), at: now) == nil)
            now += .seconds(expected)
            #expect(attempts.waitingTime(of: peer, at: now) == nil)
        }
        // 9 failures count. After 30 minutes 3 of them are forgotten, and the next one is the 7th.
        now += .seconds(1800) - .seconds(256)
        attempts.failed(peer, at: now)
        #expect(attempts.waitingTime(of: peer, at: now) == now + .seconds(64))
        attempts.succeeded(peer)
        #expect(attempts.waitingTime(of: peer, at: now) == nil)
        attempts.failed(peer, at: now)
        #expect(attempts.waitingTime(of: peer, at: now) == now + .seconds(1))
    }

    @Test("The number of remembered peers is limited")
    func manyPeers() {
        var attempts = RepeatedAttempts(RepeatedAttemptLimits())
        for number in 0..<UInt64(RepeatedAttempts.maximumRecords + 1) {
            attempts.failed(.public(DeviceAddress(number)), at: .zero)
        }
        #expect(attempts.waitingTime(of: .public(DeviceAddress(0)), at: .zero) == nil)
        #expect(attempts.waitingTime(of: .public(DeviceAddress(1)), at: .zero) != nil)
    }

    @Test("A peer that guesses has to wait, under any private address")
    func guessing() throws {
        let phoneKey = IdentityResolvingKey(0x77)
        let bond = Bond(
            identity: .public(DeviceAddress(0xAA)),
            keys: .secureConnections(LongTermKey(1)),
            isAuthenticated: true,
            peerIdentityResolvingKey: phoneKey
        )
        var pair = SecurityPair(
            central: .device(.keyboardOnly),
            peripheral: .device(.displayOnly),
            bonds: [.peripheral: [bond]]
        )
        pair.user = { side, kind, pair in
            if case .displayPasskey(let passkey) = kind, let wrong = Passkey(passkey.number ^ 1) {
                pair.answerPasskeyRequest(on: side.other, wrong)
            }
            if case .requestPasskey = kind, case .displayPasskey(let passkey) = pair.shown[side.other] {
                return Passkey(passkey.number ^ 1).map(PairingAnswer.passkey)
            }
            return nil
        }
        var wait = 1
        for attempt in UInt32(1)...6 {
            pair.addresses[.central] = .random(DeviceAddress(resolvableBy: phoneKey, random: attempt, toolbox))
            pair.reconnect()
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.failure(.peripheral) == .refused(.confirmValueFailed))
            let failed = pair.now

            // At once, and a moment before the time is up, it is refused without another look.
            for elapsed in [Duration.zero, .seconds(wait) - .milliseconds(50)] {
                pair.now = failed + elapsed
                pair.addresses[.central] = .random(
                    DeviceAddress(resolvableBy: phoneKey, random: attempt + 100, toolbox)
                )
                pair.reconnect()
                pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
                #expect(pair.reply(of: .peripheral) == [0x05, 0x09], "attempt \(attempt)")
                #expect(throws: SecurityRefusal.self) {
                    try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
                }
            }
            pair.now = failed + .seconds(wait)
            wait *= 2
        }
    }

    @Test("A storm of Pairing Requests gets one refusal each, and costs nothing")
    func storm() throws {
        var pair = SecurityPair(central: .device(), peripheral: .device())
        pair.user = { _, _, _ in .reject }
        pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
        #expect(pair.reply(of: .peripheral) == [0x05, 0x05])
        for _ in 0..<1_000 {
            pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
            #expect(pair.reply(of: .peripheral) == [0x05, 0x09])
        }
        // Refusals do not prolong the wait.
        pair.now = .seconds(1)
        pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
        #expect(pair.reply(of: .peripheral) == [0x05, 0x05])

        // A peer that sends without ever listening fills no memory.
        for _ in 0..<1_000 {
            pair.managers[.peripheral]?.receive([0x03], on: Side.peripheral.handle, at: pair.now)
        }
        var count = 0
        while pair.reply(of: .peripheral) != nil { count += 1 }
        #expect(count == SecurityLink.maximumOutboundCount)
        try pair.expectPairingWorks()
    }

    @Test("The protection can be switched off for tests with real devices")
    func switchedOff() {
        var configuration = SecurityManager.Configuration.device()
        configuration.repeatedAttempts.firstInterval = .zero
        var pair = SecurityPair(central: .device(), peripheral: configuration)
        pair.user = { _, _, _ in .reject }
        for _ in 0..<3 {
            pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
            #expect(pair.reply(of: .peripheral) == [0x05, 0x05])
        }
    }
}
