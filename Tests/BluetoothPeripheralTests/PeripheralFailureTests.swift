import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import SeededRandomness
import Testing

/// Peripherals that cannot be made, controllers that fail, and pairings that a person answers.
@Suite struct PeripheralFailureTests {
    private static func make<Services: ServiceSet>(
        _ services: Services,
        _ configuration: PeripheralConfiguration = PeripheralConfiguration(
            name: "Bell",
            address: PeripheralTests.address
        )
    ) throws(PeripheralError) -> Peripheral<Services> {
        try Peripheral(
            services,
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
    }

    // MARK: What cannot be made

    /// A service whose handle is that of another one.
    private struct Squatter: GATTService {
        enum Value: String, CaseIterable { case nothing }
        let declaration = Service(.uuid16(0xFF70), at: AttributeHandle(rawValue: 0x0001))
        var values: [Value] { [] }
        func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([]) }
        func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
            .done
        }
    }

    @Test("services that do not fit into one database are refused, with the service that is in the way")
    func aDatabaseThatIsRefused() {
        let error = GATTDatabaseError.handleTaken(AttributeHandle(rawValue: 0x0001), .uuid16(0xFF70))
        #expect(throws: PeripheralError.database(error)) { try Self.make(Squatter()) }
        #expect(PeripheralError.database(error).description == error.description)
    }

    @Test("two services cannot listen on one SPSM, nor one on none that there is")
    func channelsThatCannotBeListenedFor() {
        var services = Pipes()
        services.second.wantedSPSM = SPSM(rawValue: 0x0080)
        #expect(throws: PeripheralError.channel(.spsmNotAvailable(SPSM(rawValue: 0x0080)))) { try Self.make(services) }
        services.second.wantedSPSM = SPSM(rawValue: 0x0100)
        #expect(throws: PeripheralError.channel(.spsmNotAvailable(SPSM(rawValue: 0x0100)))) { try Self.make(services) }
    }

    @Test("a peripheral that cannot be made says why")
    func descriptions() {
        #expect(
            PeripheralError.valueNotDeclared("level").description
                == "the value 'level' has no characteristic in its service's declaration"
        )
        #expect(
            PeripheralError.value(.valueNotStored(AttributeHandle(rawValue: 0x0009))).description
                == "the value of attribute 0x0009 is not kept in the database"
        )
        #expect(
            PeripheralError.channel(.spsmNotAvailable(SPSM(rawValue: 0x0080))).description
                == "SPSM 0x0080 is another service's, or none that a service can have"
        )
        #expect(
            PeripheralError.channel(.sduTooLong(maximum: 23)).description
                == "the SDU is longer than the 23 bytes that the peer takes"
        )
    }

    // MARK: The controller

    @Test("a lost controller ends connections, and once it is back the peripheral is found again")
    func aLostController() throws {
        var rig = try StationRig(Bell())
        #expect(try rig.perform(.read(Bell.slow)) == nil)
        _ = rig.takeEvents()
        rig.air.onWatch { $0.host.controllerLost(at: $1) }
        let events = rig.takeEvents()
        #expect(events.disconnections == [.hardwareFailure])
        #expect(rig.air.onWatch { station, _ in station.host.peers.isEmpty })
        #expect(rig.air.onWatch { station, _ in station.host.isShutDown })
        #expect(rig.look(\.disconnected) == [.staticRandom(0xCE17)])
        rig.air.onWatch { $0.host.start(at: $1) }
        rig.air.run(for: .seconds(5))
        #expect(rig.takeEvents().readyCount == 1)
        #expect(rig.air.onPhone { phone, _ in phone.connection } == nil)
        try rig.connect()
        #expect(try rig.perform(.read(Bell.ring)) == .success(.value([0x2A])))
        #expect(rig.air.onWatch { station, _ in station.host.peers.map(\.address) } == [.staticRandom(0xCE17)])
    }

    @Test("a controller that refuses to be reset is reported")
    func aControllerThatCannotBeReset() throws {
        var peripheral = try Self.make(Bell())
        peripheral.start(at: .zero)
        var buffer: [UInt8] = []
        let hasPacket = peripheral.nextPacket(into: &buffer)
        #expect(hasPacket)
        #expect(buffer == [0x01, 0x03, 0x0C, 0x00])
        // Command Complete: Hardware Failure.
        peripheral.receive([0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x03], at: .zero)
        var failures: [StartUpFailure] = []
        while let event = peripheral.nextEvent() {
            if case .failed(let failure) = event { failures.append(failure) }
        }
        #expect(failures == [.commandFailed(HCIOpcode(rawValue: 0x0C03), .hardwareFailure)])
        #expect(!peripheral.isReady)
    }

    @Test("a set that the controller does not put on the air is reported, and the others are on the air all the same")
    func aSetThatFails() throws {
        var configuration = PeripheralConfiguration(name: "Bell", address: PeripheralTests.address)
        let beacon = AdvertisingSetID(rawValue: 1)
        // 32 bytes are more than a legacy advertisement holds.
        configuration.beacons = [
            AdvertisingSet(
                id: beacon,
                kind: .nonConnectable,
                interval: .milliseconds(100),
                data: [UInt8](repeating: 0, count: 32)
            )
        ]
        var rig = try StationRig(Bell(), configuration)
        let failed = rig.takeEvents().compactMap { event in
            if case .advertisingFailed(let id, let status) = event { "\(id.rawValue): \(status.rawValue)" } else { nil }
        }
        // Invalid HCI Command Parameters.
        #expect(failed == ["1: 18"])
    }

    @Test("a peripheral that takes leave takes its beacons off the air as well")
    func beaconsAreTakenOffTheAir() throws {
        var configuration = PeripheralConfiguration(name: "Bell", address: PeripheralTests.address)
        configuration.beacons = [
            AdvertisingSet(
                id: AdvertisingSetID(rawValue: 1),
                kind: .nonConnectable,
                interval: .milliseconds(100),
                data: [0x02, 0x01, 0x04]
            )
        ]
        var rig = try StationRig(Bell(), configuration)
        /// How long the peripheral's radio sends advertisements in a second.
        func advertises() -> Duration {
            let id = rig.air.watch.controller
            let before = rig.air.simulation.air.radioUsage(of: id)
            rig.air.run(for: .seconds(1))
            return (rig.air.simulation.air.radioUsage(of: id) - before).advertising.transmitting
        }
        // The phone is connected: only the beacon is on the air.
        let connected = advertises()
        #expect(connected > .zero)
        rig.air.onWatch { $0.host.beginShutdown(at: $1) }
        rig.air.run(for: .seconds(1))
        let isShutDown = rig.air.onWatch { station, _ in station.host.isShutDown }
        #expect(isShutDown == true)
        let afterwards = advertises()
        #expect(afterwards == .zero)
    }

    // MARK: Pairing

    private static var asking: PeripheralConfiguration {
        PeripheralConfiguration(
            name: "Bell",
            address: PeripheralTests.address,
            pairing: .person(.displayYesNo),
            storesBonds: true
        )
    }

    /// Lets the phone ask for a pairing.
    /// - Returns: what the person at the peripheral is asked.
    private static func pair(_ rig: inout StationRig<Bell>) throws -> PairingPrompt {
        try rig.air.onPhone { phone, now in
            phone.host.advance(to: now)
            let connection = try #require(phone.connection)
            try phone.host.security?.pair(connection, at: now)
        }
        rig.air.run(for: .seconds(2))
        let prompts = rig.takeEvents().compactMap { if case .prompt(let prompt) = $0 { prompt } else { nil } }
        return try #require(prompts.first)
    }

    @Test("a person who says no ends the pairing, and yes at another time pairs; the bond counts once it is stored")
    func aPersonAnswers() throws {
        var rig = try StationRig(Bell(), Self.asking)
        let no = try Self.pair(&rig)
        #expect(no.kind == .confirmPairing)
        #expect(rig.air.onWatch { $0.host.answer(no.id, with: .reject, at: $1) } == true)
        #expect(rig.air.onWatch { $0.host.answer(no.id, with: .accept, at: $1) } == false, "it is answered")
        rig.air.run(for: .seconds(2))
        let failures = rig.takeEvents().compactMap { event in
            if case .pairingFailed(_, let failure) = event { failure } else { nil }
        }
        // Pairing Not Supported.
        #expect(failures == [.refused(PairingFailedReason(rawValue: 0x05))])
        #expect(try rig.peer().security == .none)
        let yes = try Self.pair(&rig)
        #expect(rig.air.onWatch { $0.host.answer(yes.id, with: .accept, at: $1) } == true)
        rig.air.run(for: .seconds(2))
        let events = rig.takeEvents()
        let paired = events.compactMap { if case .paired(let peer, _) = $0 { peer.address } else { nil } }
        let bonded = events.compactMap { if case .bonded(let bond) = $0 { bond.identity } else { nil } }
        #expect(paired == [.staticRandom(0xCE17)])
        #expect(bonded == [.staticRandom(0xCE17)])
        #expect(try rig.peer().security == LinkSecurity(isEncrypted: true, keySize: 16))
        rig.air.onWatch { $0.host.bondStored(.staticRandom(0xCE17), at: $1) }
        #expect(try rig.peer().security == LinkSecurity(isEncrypted: true, isBonded: true, keySize: 16))
    }

    @Test("a peripheral that does not pair has no prompts to answer")
    func aPeripheralThatDoesNotPair() throws {
        var asked = try StationRig(Bell(), Self.asking)
        let prompt = try Self.pair(&asked)
        var peripheral = try Self.make(Bell())
        let isTaken = peripheral.answer(prompt.id, with: .accept, at: .zero)
        #expect(!isTaken)
    }
}
