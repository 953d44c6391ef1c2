import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// Pairing and encryption through whole hosts and controllers: a phone and a watch on the air.
@Suite("LE host: pairing on the air")
struct LEHostPairingTests {
    static let controllers: [ControllerConfiguration] = [.modern, .legacy]

    @Test("Two hosts pair, and a protected value can be read then", arguments: [0, 1])
    func pairing(controller: Int) throws {
        var rig = try SecurityRig(controllers: Self.controllers[controller])
        rig.connect()
        #expect(rig.read() == .refused(.insufficientAuthentication))

        rig.phone { try? $0.security?.pair($1, at: $2) }
        rig.run()
        // Both users see the same number on a link of two real hosts.
        let shown = rig.events.map { _, events in
            events.compactMap { event -> NumericComparisonValue? in
                guard case .security(.prompt(let prompt)) = event, case .numericComparison(let value) = prompt.kind
                else { return nil }
                return value
            }
        }
        #expect(shown.count == 2 && shown[0].count == 1 && shown[0] == shown[1])
        for side in Side.allCases {
            #expect(
                rig.connection(side)?.security
                    == LinkSecurity(isEncrypted: true, isAuthenticated: true, isBonded: true, keySize: 16)
            )
        }
        #expect(rig.connection(.peripheral)?.peer == SecurityRig.phoneIdentity)
        #expect(rig.connection(.central)?.peer == SecurityRig.watchAddress)
        #expect(rig.bonds[.central]?.count == 1 && rig.bonds[.peripheral]?.count == 1)
        #expect(rig.read() == .value([42]))
    }

    @Test(
        "After a restart of both, under a new address, the link is encrypted with the stored keys",
        arguments: [0, 1]
    )
    func reconnection(controller: Int) throws {
        var first = try SecurityRig(controllers: Self.controllers[controller])
        first.connect()
        first.phone { try? $0.security?.pair($1, at: $2) }
        first.run()

        var rig = try SecurityRig(controllers: Self.controllers[controller], bonds: first.bonds, address: 2)
        #expect(rig.phoneAddress != first.phoneAddress)
        rig.connect()
        let connection = try #require(rig.connection(.peripheral))
        #expect(connection.peer == SecurityRig.phoneIdentity)
        #expect(connection.peerAddressOnAir == rig.phoneAddress)
        #expect(connection.security == LinkSecurity(isBonded: true))
        rig.phone { host, handle, now in try? host.security?.encrypt(handle, at: now) }
        rig.run()
        for side in Side.allCases {
            #expect(
                rig.connection(side)?.security
                    == LinkSecurity(isEncrypted: true, isAuthenticated: true, isBonded: true, keySize: 16)
            )
        }
        #expect(rig.read() == .value([42]))
        // Once more: the key of an encrypted link is renewed.
        rig.phone { host, handle, now in try? host.security?.encrypt(handle, at: now) }
        rig.run()
        #expect(rig.connection(.central)?.security.isEncrypted == true)
        #expect(rig.read() == .value([42]))
    }

    @Test("The watch asks for security, and the phone answers with the key that it has")
    func securityRequest() throws {
        var first = try SecurityRig()
        first.connect()
        first.phone { try? $0.security?.pair($1, at: $2) }
        first.run()
        var rig = try SecurityRig(bonds: first.bonds, address: 3)
        rig.connect()
        rig.watch { try? $0.security?.sendSecurityRequest($1, at: $2) }
        rig.run()
        #expect(rig.connection(.central)?.security.isEncrypted == true)
        #expect(rig.connection(.peripheral)?.security.isEncrypted == true)
    }

    @Test("A watch that forgot the phone says that the key is missing, and the link stays")
    func missingKey() throws {
        var first = try SecurityRig()
        first.connect()
        first.phone { try? $0.security?.pair($1, at: $2) }
        first.run()
        var rig = try SecurityRig(bonds: [.central: first.bonds[.central] ?? []])
        rig.connect()
        rig.phone { host, handle, now in try? host.security?.encrypt(handle, at: now) }
        rig.run()
        let failures = (rig.events[.central] ?? []).compactMap { event -> HCIStatus? in
            if case .security(.encryptionFailed(_, let status)) = event { status } else { nil }
        }
        #expect(failures == [.pinOrKeyMissing])
        #expect(rig.read() == .refused(.insufficientAuthentication))
        rig.phone { try? $0.security?.pair($1, at: $2) }
        rig.run()
        #expect(rig.read() == .value([42]))
    }

    @Test("Keys that differ end the link")
    func differentKeys() throws {
        var first = try SecurityRig()
        first.connect()
        first.phone { try? $0.security?.pair($1, at: $2) }
        first.run()
        var bonds = first.bonds
        bonds[.peripheral]?[0].keys = .secureConnections(LongTermKey(1))
        var rig = try SecurityRig(bonds: bonds)
        rig.connect()
        rig.phone { host, handle, now in try? host.security?.encrypt(handle, at: now) }
        rig.run()
        #expect(rig.connection(.central) == nil && rig.connection(.peripheral) == nil)
    }

    @Test("A phone that encrypts before its set is known gets its key")
    func earlyKeyRequest() throws {
        let bond = Bond(
            identity: SecurityRig.phoneIdentity,
            keys: .secureConnections(LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)),
            isAuthenticated: true
        )
        var rig = try SecurityRig(bonds: [.peripheral: [bond]])
        // Two sets, two addresses.
        rig.advertise()
        rig.advertise(2, as: .random(DeviceAddress(0xC000_0000_0002)))
        let answers = rig.simulation.withHost(rig.watchID) { host -> [String] in
            let none = String(repeating: "00", count: 6)
            // LE Enhanced Connection Complete as peripheral to the phone's identity; with extended advertising, LE
            // Advertising Set Terminated says with which set, but the key is asked for first.
            for text in [
                "04 3e 1f 0a 00 2301 01 01 eeddccbbaad0 \(none) \(none) 1800 0000 c800 00",
                "04 3e 0d 05 2301 0000000000000000 0000",
            ] {
                host.receive(([UInt8](hexadecimal: text) ?? [])[...], at: .seconds(60))
            }
            var packets: [String] = []
            var buffer: [UInt8] = []
            while host.nextPacket(into: &buffer) {
                packets.append(buffer.hexadecimal)
                // Command Status, for the one that may come in between: LE Read Remote Features.
                host.receive([0x04, 0x0F, 0x04, 0x00, 0x01, 0x16, 0x20], at: .seconds(60))
            }
            return packets
        }
        // LE Long Term Key Request Reply.
        #expect(answers?.contains("011a2012" + "2301" + "100f0e0d0c0b0a090807060504030201") == true, "\(answers ?? [])")
    }

    @Test("No log line of a pairing shows a key or a passkey")
    func logs() throws {
        var rig = try SecurityRig()
        rig.connect()
        rig.phone { try? $0.security?.pair($1, at: $2) }
        rig.run()
        let bond = try #require(rig.bonds[.peripheral]?.first)
        guard case .secureConnections(let key) = bond.keys else {
            Issue.record("not Secure Connections")
            return
        }
        var bytes: [UInt8] = []
        key.encode(to: &bytes)
        for (_, events) in rig.events {
            for event in events {
                let text = "\(event)".lowercased()
                #expect(!text.contains("\(key.value)") && !text.contains(bytes.hexadecimal))
                #expect(!text.contains([UInt8](bytes.reversed()).hexadecimal))
            }
        }
        let logged = (rig.events[.peripheral] ?? []).compactMap { event -> String? in
            if case .notice(let notice) = event { notice.description } else { nil }
        }
        #expect(logged.contains { $0.contains("paired by LE Secure Connections") })
    }
}

/// A phone and a watch on the air, whose users agree to everything and whose stores never fail.
struct SecurityRig {
    enum ReadOutcome: Equatable {
        case value([UInt8])
        case refused(ATTError)
        case nothing
    }

    static let watchAddress = LEAddress.random(DeviceAddress(0xC011_2233_4455))
    static let phoneIdentity = LEAddress.random(DeviceAddress(0xD0AA_BBCC_DDEE))
    static let phoneKey = IdentityResolvingKey(0x1234_5678_9ABC_DEF0)
    /// The handle of the value that only an authenticated link may read.
    static let secretValue: AttributeHandle = 0x0003

    var simulation: Simulation
    let phoneID, watchID: Simulation.HostID<LEHost>
    let phoneAddress: LEAddress
    var events: [Side: [LEHostEvent]] = [:]
    var bonds: [Side: [Bond]]

    init(
        controllers: ControllerConfiguration = .modern,
        bonds: [Side: [Bond]] = [:],
        address: UInt32 = 1
    ) throws {
        simulation = Simulation(seed: UInt64(address))
        phoneAddress = .random(DeviceAddress(resolvableBy: Self.phoneKey, random: address, CryptoToolbox(.swiftCrypto)))
        self.bonds = bonds
        let database = try GATTDatabase {
            Service(.uuid16(0xABCD)) {
                Characteristic(
                    .uuid16(0x1234),
                    .read,
                    permissions: AttributePermissions(read: .authenticated),
                    value: [42]
                )
            }
        }
        func host(_ own: LEAddress, _ identity: LEAddress, _ key: UInt128, _ side: Side) -> LEHost {
            LEHost(
                configuration: LEHost.Configuration(
                    ownAddress: own,
                    security: .device(.displayYesNo, mitm: .required, identity: identity, key: key)
                ),
                database: database,
                bonds: bonds[side] ?? [],
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: UInt64(address) << 8 | (side == .central ? 1 : 2), SplitMix64.draw)
            )
        }
        phoneID = simulation.add(host(phoneAddress, Self.phoneIdentity, Self.phoneKey.value, .central), controllers)
        watchID = simulation.add(host(Self.watchAddress, Self.watchAddress, 0x77, .peripheral), controllers)
        run()
    }

    func id(_ side: Side) -> Simulation.HostID<LEHost> { side == .central ? phoneID : watchID }

    mutating func connect() {
        advertise()
        let now = simulation.now
        _ = simulation.withHost(id(.central)) {
            $0.connect(
                to: Self.watchAddress,
                ConnectionParameters(
                    intervalMinimum: .milliseconds(30),
                    intervalMaximum: .milliseconds(30),
                    latency: 0,
                    supervisionTimeout: .milliseconds(4000)
                ),
                at: now
            )
        }
        run()
    }

    mutating func advertise(_ set: UInt8 = 1, as address: LEAddress? = nil) {
        let set = AdvertisingSet(
            id: AdvertisingSetID(rawValue: set),
            kind: .connectable,
            interval: .milliseconds(30),
            ownAddress: address,
            data: [0x02, 0x01, 0x06]
        )
        let now = simulation.now
        _ = simulation.withHost(id(.peripheral)) { $0.startAdvertising(set, at: now) }
        run()
    }

    /// Lets ten seconds pass, in which users answer and stores store.
    mutating func run() {
        for _ in 0..<100 {
            simulation.run(for: .milliseconds(100))
            for side in Side.allCases { drain(side) }
        }
    }

    private mutating func drain(_ side: Side) {
        let now = simulation.now
        var taken: [LEHostEvent] = []
        var stored: [Bond] = []
        _ = simulation.withHost(id(side)) { host in
            while let event = host.nextEvent() {
                taken.append(event)
                switch event {
                case .security(.prompt(let prompt)): host.security?.answer(prompt.id, with: .accept, at: now)
                case .security(.bonded(_, let bond)):
                    stored.append(bond)
                    host.security?.bondStored(bond.identity)
                default: break
                }
            }
        }
        events[side, default: []] += taken
        if !stored.isEmpty { bonds[side] = stored }
    }

    func connection(_ side: Side) -> Connection? {
        var copy = simulation
        return copy.withHost(id(side)) { $0.connections.first } ?? nil
    }

    mutating func phone(_ body: (inout LEHost, ConnectionHandle, Duration) -> Void) { use(.central, body) }

    mutating func watch(_ body: (inout LEHost, ConnectionHandle, Duration) -> Void) { use(.peripheral, body) }

    private mutating func use(_ side: Side, _ body: (inout LEHost, ConnectionHandle, Duration) -> Void) {
        let now = simulation.now
        _ = simulation.withHost(id(side)) { host in
            guard let handle = host.connections.first?.handle else { return }
            body(&host, handle, now)
        }
    }

    /// The response to the phone's read of the protected value.
    mutating func read() -> ReadOutcome {
        events[.central] = []
        phone { _ = try? $0.gatt.start(.read(Self.secretValue), on: $1, at: $2) }
        run()
        for case .gatt(.procedureEnded(let ended)) in events[.central] ?? [] {
            switch ended.result {
            case .success(.value(let value)): return .value(Array(value))
            case .failure(.refused(let response)): return .refused(response.error)
            default: return .nothing
            }
        }
        return .nothing
    }
}
