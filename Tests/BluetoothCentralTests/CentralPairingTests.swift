import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import SeededRandomness
import Testing

/// A central whose prompts wait for the test.
private struct AskedCentral: HostOwner {
    var host: Central
    var ended: [CentralRequestID: Result<CentralResponse, CentralError>] = [:]
    var prompts: [PairingPrompt] = []
    var bonds: [Bond] = []

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .ended(let id, let result): ended[id] = result
            case .prompt(let prompt): prompts.append(prompt)
            case .bonded(let bond): bonds.append(bond)
            case .ready, .failed, .valueReceived, .disconnected, .notice: break
            }
        }
    }
}

/// A lamp whose prompts wait for the test.
private struct AskedLamp: HostOwner {
    var host: Peripheral<Lamp>
    var prompts: [PairingPrompt] = []
    var failures: [PairingFailure] = []

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .prompt(let prompt): prompts.append(prompt)
            case .pairingFailed(_, let failure): failures.append(failure)
            default: break
            }
        }
    }
}

/// A central and a lamp, each with a person who can compare two numbers, in virtual time.
private struct PairingRig {
    var air: SimulatedPair<AskedLamp, AskedCentral>

    /// - Parameters:
    ///   - storesBonds: whether a bond counts only once the test says that it is stored.
    ///   - pairing: who may pair with the lamp.
    init(storesBonds: Bool = false, pairing: PeripheralConfiguration.Pairing = .person(.displayYesNo)) throws {
        var security = SecurityManager.Configuration()
        security.ioCapability = .displayYesNo
        security.manInTheMiddleProtection = .requested
        let central = Central(
            CentralConfiguration(address: .staticRandom(0xCE17), security: security, storesBonds: storesBonds),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 9, SplitMix64.draw)
        )
        let lamp = try Peripheral(
            Lamp(),
            PeripheralConfiguration(name: "Lamp", address: CentralRig.address(0), pairing: pairing),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 4, SplitMix64.draw)
        )
        air = SimulatedPair(seed: 7, watch: AskedLamp(host: lamp), phone: AskedCentral(host: central))
    }

    mutating func connect() throws -> RemotePeripheral.ID {
        let id = air.onPhone { $0.host.connect(to: CentralRig.address(0), within: .seconds(20), at: $1) }
        guard case .success(.connected(let peripheral))? = end(of: id) else { throw CentralError.timedOut }
        return peripheral.id
    }

    /// Waits for a request's end.
    mutating func end(of id: CentralRequestID) -> Result<CentralResponse, CentralError>? {
        air.runUntilPhone(within: .seconds(20)) { $0.ended[id] != nil }
        return air.onPhone { phone, _ in phone.ended[id] }
    }

    /// Begins to secure the link, and waits until both are asked.
    mutating func secure(
        _ peripheral: RemotePeripheral.ID
    ) throws -> (request: CentralRequestID, central: PairingPrompt, lamp: PairingPrompt) {
        let id = air.onPhone { $0.host.secure(peripheral, at: $1) }
        air.run(for: .seconds(2))
        let central = try #require(air.onPhone { phone, _ in phone.prompts.popLast() })
        let lamp = try #require(air.onWatch { lamp, _ in lamp.prompts.popLast() })
        return (id, central, lamp)
    }

    /// Secures the link, with no one to ask.
    mutating func pair(_ peripheral: RemotePeripheral.ID) -> LinkSecurity? {
        let id = air.onPhone { $0.host.secure(peripheral, at: $1) }
        guard case .success(.secured(let security))? = end(of: id) else { return nil }
        air.run(for: .seconds(2))
        return security
    }

    mutating func disconnect(_ peripheral: RemotePeripheral.ID) {
        let id = air.onPhone { $0.host.disconnect(peripheral, at: $1) }
        #expect(end(of: id) == .success(.disconnected))
        air.run(for: .seconds(1))
    }
}

/// Pairing as a central: the answers of a person, bonds and their store, and what makes it fail.
@Suite struct CentralPairingTests {
    // MARK: Prompts

    @Test(
        "both persons see the same number, and after both have agreed the link is protected against a man in the middle"
    )
    func bothAgree() throws {
        var rig = try PairingRig()
        let peripheral = try rig.connect()
        let (request, central, lamp) = try rig.secure(peripheral)
        guard case .numericComparison(let shown) = central.kind, case .numericComparison(let other) = lamp.kind else {
            Issue.record("\(central.kind), \(lamp.kind)")
            return
        }
        #expect(shown == other)
        #expect(shown.digits.count == 6)
        // A passkey is no answer to this, and an answer counts once.
        let passkey = try #require(Passkey(shown.number))
        #expect(rig.air.onPhone { $0.host.answer(central.id, with: .passkey(passkey), at: $1) } == false)
        #expect(rig.air.onPhone { $0.host.answer(central.id, with: .accept, at: $1) } == true)
        #expect(rig.air.onPhone { $0.host.answer(central.id, with: .accept, at: $1) } == false)
        rig.air.run(for: .seconds(2))
        #expect(rig.air.onPhone { phone, _ in phone.ended[request] } == nil, "the lamp's person has not answered")
        #expect(rig.air.onWatch { $0.host.answer(lamp.id, with: .accept, at: $1) } == true)
        guard case .success(.secured(let security))? = rig.end(of: request) else {
            Issue.record("not secured")
            return
        }
        #expect(security.isEncrypted)
        #expect(security.isAuthenticated)
        #expect(security.keySize == 16)
    }

    @Test("a person's no ends the request on both sides, and the next pairing has to wait for a second")
    func thePersonRejects() throws {
        var rig = try PairingRig()
        let peripheral = try rig.connect()
        let (request, prompt, _) = try rig.secure(peripheral)
        let rejected = rig.air.now
        #expect(rig.air.onPhone { $0.host.answer(prompt.id, with: .reject, at: $1) } == true)
        let numericComparisonFailed = PairingFailedReason(rawValue: 0x0C)
        #expect(rig.end(of: request) == .failure(.pairingFailed(.refused(numericComparisonFailed))))
        #expect(rig.air.now == rejected)
        rig.air.run(for: .milliseconds(500))
        #expect(rig.air.onWatch { lamp, _ in lamp.failures } == [.refusedByPeer(numericComparisonFailed)])
        let early = rig.air.onPhone { $0.host.secure(peripheral, at: $1) }
        let end = rejected + .seconds(1)
        #expect(rig.end(of: early) == .failure(.pairingNotStarted(.tooSoon(until: end))))
        // The lamp counts from when it heard of it.
        rig.air.run(for: .seconds(1))
        let (late, central, lamp) = try rig.secure(peripheral)
        #expect(
            rig.air.onPhone { $0.host.answer(prompt.id, with: .accept, at: $1) } == false,
            "that was the last one's"
        )
        rig.air.onPhone { _ = $0.host.answer(central.id, with: .accept, at: $1) }
        rig.air.onWatch { _ = $0.host.answer(lamp.id, with: .accept, at: $1) }
        guard case .success(.secured)? = rig.end(of: late) else {
            Issue.record("not secured")
            return
        }
    }

    @Test("a central that does not pair has no prompts to answer")
    func aCentralThatDoesNotPair() throws {
        var pairing = try PairingRig()
        let peripheral = try pairing.connect()
        let (_, prompt, _) = try pairing.secure(peripheral)
        var rig = ScriptedCentral.started()
        #expect(rig.use { $0.answer(prompt.id, with: .accept, at: $1) }.value == false)
    }

    // MARK: Bonds

    @Test("a bond counts once it is in the store, and the next connection uses its key")
    func aBondThatIsStored() throws {
        var rig = try PairingRig(storesBonds: true, pairing: .anyone)
        let peripheral = try rig.connect()
        #expect(rig.pair(peripheral)?.isEncrypted == true)
        #expect(rig.air.onPhone { phone, _ in phone.bonds.map(\.identity) } == [CentralRig.address(0)])
        // What is secured says that it is bonded once the bond is stored.
        #expect(rig.pair(peripheral)?.isBonded == false)
        rig.air.onPhone { $0.host.bondStored(CentralRig.address(0), at: $1) }
        #expect(rig.pair(peripheral)?.isBonded == true)
        // The next connection uses its key.
        rig.disconnect(peripheral)
        let later = try rig.connect()
        #expect(rig.pair(later)?.isBonded == true)
        #expect(rig.air.onPhone { phone, _ in phone.bonds.count } == 1)
    }

    // MARK: A scripted peripheral

    private static var configuration: CentralConfiguration {
        CentralConfiguration(address: .staticRandom(0xCE17), security: SecurityManager.Configuration())
    }

    private static var bonded: CentralConfiguration {
        var configuration = Self.configuration
        configuration.bonds = [
            Bond(
                identity: ScriptedCentral.peer,
                keys: .secureConnections(LongTermKey(0x000102030405060708090A0B0C0D0E0F)),
                isAuthenticated: false
            )
        ]
        return configuration
    }

    /// LE Enable Encryption with that key: Random_Number and Encrypted_Diversifier are zero, and the key is least significant octet
    /// first.
    private static let enableEncryption =
        "0119201c4000" + "0000000000000000" + "0000" + "0f0e0d0c0b0a09080706050403020100"

    /// Encryption Change.
    private static func encryptionChanged(_ status: String, _ isEnabled: String) -> String {
        ScriptedCentral.event("08", status + "4000" + isEnabled)
    }

    @Test("a peripheral that has lost its key fails the request with PIN or Key Missing")
    func aLostKey() throws {
        var rig = ScriptedCentral.started(Self.bonded)
        let (peripheral, _) = try rig.connect()
        let (request, sent) = rig.use { $0.secure(peripheral.id, at: $1) }
        #expect(sent == [Self.enableEncryption])
        rig.give(Self.encryptionChanged("06", "00"))
        #expect(rig.ended[request] == .failure(.encryptionFailed(.pinOrKeyMissing)))
        #expect(!rig.central.isShutDown, "the connection stays")
    }

    @Test("a link that has lost its encryption is encrypted again by the next request")
    func encryptionThatEnds() throws {
        var rig = ScriptedCentral.started(Self.bonded)
        let (peripheral, _) = try rig.connect()
        let first = rig.request { $0.secure(peripheral.id, at: $1) }
        rig.give(Self.encryptionChanged("00", "01"))
        let secured = LinkSecurity(isEncrypted: true, isBonded: true, keySize: 16)
        #expect(rig.ended[first] == .success(.secured(secured)))
        rig.give(Self.encryptionChanged("00", "00"))
        let (second, sent) = rig.use { $0.secure(peripheral.id, at: $1) }
        #expect(sent == [Self.enableEncryption])
        #expect(rig.ended[second] == nil)
        rig.give(Self.encryptionChanged("00", "01"))
        #expect(rig.ended[second] == .success(.secured(secured)))
    }

    @Test(
        "a peripheral that asks for security gets the bond's key, or a pairing, and a request of the application waits for it"
    )
    func aSecurityRequest() throws {
        var bonded = ScriptedCentral.started(Self.bonded)
        _ = try bonded.connect()
        // Security Request: bonding, Secure Connections.
        #expect(bonded.give(ScriptedCentral.frame("0600", "0b 09")) == [Self.enableEncryption])
        var stranger = ScriptedCentral.started(Self.configuration)
        let (peripheral, _) = try stranger.connect()
        // Pairing Request: no input and no output, no data out of band, bonding and Secure Connections, keys of 16 octets
        // (Core 5.4, Vol 3, Part H, 3.5.1).
        let request = try #require(stranger.smp("0b 09").first)
        #expect(request.hasPrefix("01030009" + "10"))
        let (id, sent) = stranger.use { $0.secure(peripheral.id, at: $1) }
        #expect(sent.isEmpty, "one pairing at a time")
        #expect(stranger.ended[id] == nil)
        // Pairing Failed: Pairing Not Supported.
        stranger.smp("05 05")
        #expect(stranger.ended[id] == .failure(.pairingFailed(.refusedByPeer(PairingFailedReason(rawValue: 0x05)))))
    }

    @Test("a peripheral that asks for more than its bond was made with gets a pairing, and not the bond's key")
    func aSecurityRequestBeyondTheBond() throws {
        var rig = ScriptedCentral.started(Self.bonded)
        _ = try rig.connect()
        // Security Request: bonding, protection against man in the middle, Secure Connections. The bond has no such protection.
        let sent = rig.smp("0b 0d")
        #expect(sent.first?.hasPrefix("01030009" + "10") == true, "\(sent)")
    }

    @Test("a central that does not pair says so to a peripheral that asks for security")
    func aSecurityRequestToACentralThatDoesNotPair() throws {
        var rig = ScriptedCentral.started()
        _ = try rig.connect()
        // Pairing Failed: Pairing Not Supported.
        #expect(rig.smp("0b 09") == ["0505"])
    }

    @Test("a connection that is lost in the middle of a pairing ends the request with the reason of the loss")
    func aLossWhilePairing() throws {
        var rig = ScriptedCentral.started(Self.configuration)
        let (peripheral, _) = try rig.connect()
        let request = rig.request { $0.secure(peripheral.id, at: $1) }
        rig.give(ScriptedCentral.disconnected("08"))
        #expect(rig.ended[request] == .failure(.disconnected(.connectionTimeout)))
        #expect(rig.disconnections == [.connectionTimeout])
    }

    @Test("a peripheral that is silent for 30 seconds ends the pairing, and there is no other on that connection")
    func aSilentPeripheral() throws {
        var rig = ScriptedCentral.started(Self.configuration)
        let (peripheral, _) = try rig.connect()
        let request = rig.request { $0.secure(peripheral.id, at: $1) }
        rig.advance(by: .milliseconds(29_999))
        #expect(rig.ended[request] == nil)
        rig.advance(by: .milliseconds(1))
        #expect(rig.ended[request] == .failure(.pairingFailed(.timedOut)))
        let (again, sent) = rig.use { $0.secure(peripheral.id, at: $1) }
        #expect(rig.ended[again] == .failure(.pairingNotStarted(.timedOut)))
        #expect(sent.isEmpty)
    }
}
