import AirSimulator
import BluetoothCentral
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import Testing

/// A central with peripherals on the same air, in virtual time.
@Suite struct CentralTests {
    // MARK: Finding

    @Test func anAdvertiserIsFoundByItsServiceAndItsName() throws {
        var rig = try CentralRig(lamps: 2)
        let result = try rig.perform { central, now in
            central.find(within: .seconds(5), at: now) { $0.services.contains(Lamp.uuid) && $0.name == "Lamp 1" }
        }
        guard case .success(.found(let found))? = result else {
            Issue.record("not found: \(String(describing: result))")
            return
        }
        #expect(found.address == CentralRig.address(1))
        #expect(found.isConnectable)
        #expect(found.rssiDBm != nil)
        #expect(rig.simulation.now < .seconds(5))
    }

    @Test func nothingIsFoundInTime() throws {
        var rig = try CentralRig()
        let result = try rig.perform { central, now in
            central.find(within: .seconds(7), at: now) { $0.name == "nobody" }
        }
        #expect(result == .failure(.notFound))
        #expect(rig.simulation.now == .seconds(7))
    }

    @Test func allAdvertisersAreScanned() throws {
        var rig = try CentralRig(lamps: 3)
        guard case .success(.scanned(let all))? = try rig.perform({ $0.scan(for: .seconds(3), at: $1) }) else {
            Issue.record("no scan")
            return
        }
        #expect(rig.simulation.now == .seconds(3))
        #expect(Set(all.map(\.address)) == Set((0..<3).map(CentralRig.address)))
        // Each once, with what its scan response added to its advertisement.
        #expect(all.count == 3)
        #expect(Set(all.map(\.name)) == ["Lamp 0", "Lamp 1", "Lamp 2"])
    }

    @Test func twoSearchesAtOnceEndEachForItself() throws {
        var rig = try CentralRig()
        let first = try rig.use { $0.find(within: .seconds(2), at: $1) { $0.name == "nobody" } }
        let second = try rig.use { $0.find(within: .seconds(9), at: $1) { $0.name == "Lamp 0" } }
        guard case .success(.found)? = try rig.end(of: second) else {
            Issue.record("not found")
            return
        }
        #expect(try rig.end(of: first) == .failure(.notFound))
        #expect(rig.simulation.now == .seconds(2))
    }

    @Test func ofTooManyAdvertisersTheLatestAreRemembered() throws {
        var rig = try CentralRig(lamps: 270)
        guard case .success(.scanned(let all))? = try rig.perform({ $0.scan(for: .seconds(10), at: $1) }) else {
            Issue.record("no scan")
            return
        }
        #expect(all.count == 256)
    }

    // MARK: Connecting

    @Test func theDatabaseIsDiscovered() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        #expect(peripheral.address == CentralRig.address(0))
        #expect(peripheral.services.map(\.uuid) == [.genericAccess, .genericAttribute, Lamp.uuid])
        let lamp = try #require(peripheral.services.last)
        #expect(lamp.characteristics.map(\.uuid) == [Lamp.text, Lamp.secret, Lamp.level, Lamp.plain])
        #expect(lamp.characteristics.map { $0.clientConfiguration != nil } == [false, false, true, false])
        #expect(try peripheral.characteristic(Lamp.level, of: Lamp.uuid).properties == [.read, .notify])
        #expect(throws: CentralError.noSuchService(.uuid16(0x180F))) {
            try peripheral.characteristic(Lamp.level, of: .uuid16(0x180F))
        }
        #expect(throws: CentralError.noSuchCharacteristic(.uuid16(0x2A19))) {
            try peripheral.characteristic(.uuid16(0x2A19), of: Lamp.uuid)
        }
    }

    @Test func aPeripheralThatIsNotThereTimesOut() throws {
        var rig = try CentralRig()
        let absent = try rig.perform { $0.connect(to: .staticRandom(0xABCD), within: .seconds(4), at: $1) }
        #expect(absent == .failure(.timedOut))
        #expect(rig.simulation.now == .seconds(4))
        // The controller is free for the next one.
        _ = try rig.connect()
    }

    @Test func aPeripheralThatIsLostWhileItIsDiscoveredEndsTheRequest() throws {
        var rig = try CentralRig()
        let id = try rig.use { $0.connect(to: CentralRig.address(0), within: .seconds(30), at: $1) }
        let lamp = rig.lamps[0]
        _ = rig.simulation.run(until: .seconds(5)) { $0.withHost(lamp) { $0.isShutDown } == false }
        rig.setQuality(.outOfRange)
        guard case .failure(.disconnected)? = try rig.end(of: id) else {
            Issue.record("the request did not end with the connection")
            return
        }
        // The application never heard of this connection.
        #expect(try rig.seen(\.disconnections).isEmpty)
    }

    @Test func aDiscoveryThatTakesTooLongIsGivenUp() throws {
        var rig = try CentralRig()
        let id = try rig.use { $0.connect(to: CentralRig.address(0), within: .milliseconds(300), at: $1) }
        #expect(try rig.end(of: id) == .failure(.timedOut))
        rig.simulation.run(for: .seconds(5))
        #expect(try rig.use { central, _ in central.isShutDown }, "the connection was not ended")
        #expect(try rig.seen(\.disconnections).isEmpty, "the application never heard of it")
    }

    @Test func connectionsAreMadeOneAfterTheOther() throws {
        var rig = try CentralRig(lamps: 3)
        let ids = try (0..<3).map { lamp in
            try rig.use { $0.connect(to: CentralRig.address(lamp), within: .seconds(20), at: $1) }
        }
        var peripherals: [RemotePeripheral] = []
        for id in ids {
            guard case .success(.connected(let peripheral))? = try rig.end(of: id) else { continue }
            peripherals.append(peripheral)
        }
        #expect(peripherals.map(\.address) == (0..<3).map(CentralRig.address))
        #expect(Set(peripherals.map(\.id)).count == 3)
        // All of them at once, each with its own values.
        for (lamp, peripheral) in peripherals.enumerated() {
            let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
            let bytes = [UInt8(lamp)]
            #expect(try rig.perform { $0.write(bytes, to: text, of: peripheral.id, at: $1) } == .success(.written))
        }
        for (lamp, id) in rig.lamps.enumerated() {
            let now = rig.simulation.now
            let text = rig.simulation.withHost(id) { $0.update(at: now) { $0.text } }
            #expect(text == [UInt8(lamp)])
        }
    }

    @Test func findingGoesOnAfterAConnectionWasMade() throws {
        var rig = try CentralRig(lamps: 2)
        let found = try rig.use { $0.find(within: .seconds(20), at: $1) { $0.name == "Lamp 1" } }
        _ = try rig.connect(0)
        guard case .success(.found)? = try rig.end(of: found) else {
            Issue.record("not found")
            return
        }
    }

    // MARK: Values

    @Test func valuesOfAnyLengthAreReadAndWritten() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
        #expect(try rig.perform { $0.read(text, of: peripheral.id, at: $1) } == .success(.value(Array("hello".utf8))))
        for length in [0, 1, 20, 21, 244, 245, 512] {
            let bytes = [UInt8](repeating: UInt8(length & 0xFF), count: length)
            #expect(try rig.perform { $0.write(bytes, to: text, of: peripheral.id, at: $1) } == .success(.written))
            #expect(try rig.perform { $0.read(text, of: peripheral.id, at: $1) } == .success(.value(bytes)))
        }
    }

    @Test func aWriteCommandGoesOutWithoutAnAnswer() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
        let now = rig.simulation.now
        let result = try rig.perform { $0.writeWithoutResponse([9], to: text, of: peripheral.id, at: $1) }
        #expect(result == .success(.written))
        #expect(rig.simulation.now == now)
        #expect(try rig.perform { $0.read(text, of: peripheral.id, at: $1) } == .success(.value([9])))
        let long = [UInt8](repeating: 1, count: 600)
        guard
            case .failure(.notStarted(.invalidValueLength))? =
                try rig.perform({ $0.writeWithoutResponse(long, to: text, of: peripheral.id, at: $1) })
        else {
            Issue.record("a command of 600 bytes")
            return
        }
    }

    @Test func refusalsAreNamed() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let plain = try peripheral.characteristic(Lamp.plain, of: Lamp.uuid)
        guard
            case .failure(.procedure(.refused(let refusal)))? =
                try rig.perform({ $0.read(plain, of: peripheral.id, at: $1) })
        else {
            Issue.record("the read was not refused")
            return
        }
        #expect(refusal.error.rawValue == 0x80)
        let result = try rig.perform { $0.subscribe(to: plain, of: peripheral.id, at: $1) }
        #expect(result == .failure(.cannotSubscribe(Lamp.plain)))
    }

    @Test func valuesAreHeardUntilTheCentralUnsubscribes() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let level = try peripheral.characteristic(Lamp.level, of: Lamp.uuid)
        #expect(try rig.perform { $0.subscribe(to: level, of: peripheral.id, at: $1) } == .success(.written))
        rig.simulation.run(for: .seconds(5))
        let values = try rig.seen(\.values)
        #expect(values.count == 5)
        #expect(values.allSatisfy { $0.handle == level.handle })
        let levels = values.compactMap(\.bytes.first)
        #expect(zip(levels, levels.dropFirst()).allSatisfy { $1 == $0 + 1 })
        #expect(try rig.perform { $0.subscribe(to: level, of: peripheral.id, [], at: $1) } == .success(.written))
        let count = try rig.seen(\.values.count)
        rig.simulation.run(for: .seconds(5))
        #expect(try rig.seen(\.values.count) == count)
    }

    // MARK: Losses

    @Test func aLossEndsWhatIsUnderWay() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
        rig.setQuality(.outOfRange)
        let result = try rig.perform { $0.read(text, of: peripheral.id, at: $1) }
        #expect(result == .failure(.disconnected(.connectionTimeout)))
        #expect(try rig.seen(\.disconnections) == [.connectionTimeout])
        // Afterwards the connection is unknown, and a later one has another name.
        let later = try rig.perform { $0.read(text, of: peripheral.id, at: $1) }
        #expect(later == .failure(.disconnected(nil)))
        #expect(try rig.perform { $0.disconnect(peripheral.id, at: $1) } == .success(.disconnected))
        rig.setQuality(.perfect)
        rig.simulation.run(for: .seconds(10))
        #expect(try rig.connect().id != peripheral.id)
    }

    @Test func aPeripheralThatDoesNotAnswerTimesOut() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
        let now = rig.simulation.now
        let lamp = rig.lamps[0]
        rig.simulation.withHost(lamp) { $0.update(at: now) { $0.isAnswering = false } }
        // The peripheral's own layer refuses in time.
        guard
            case .failure(.procedure(.refused(let refusal)))? =
                try rig.perform({ $0.read(text, of: peripheral.id, at: $1) })
        else {
            Issue.record("the read was not refused")
            return
        }
        #expect(refusal.error == .unlikelyError)
    }

    @Test func disconnectingEndsTheConnection() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        #expect(try rig.perform { $0.disconnect(peripheral.id, at: $1) } == .success(.disconnected))
        #expect(try rig.use { central, _ in central.isShutDown })
        _ = try rig.connect()
    }

    @Test func aLostControllerEndsConnectionsAndItsReturnGoesOnSearching() throws {
        var rig = try CentralRig()
        let peripheral = try rig.connect()
        let search = try rig.use { $0.find(within: .seconds(30), at: $1) { $0.name == "Lamp 0" } }
        try rig.use { $0.controllerLost(at: $1) }
        #expect(try rig.seen(\.disconnections) == [.hardwareFailure])
        let text = try peripheral.characteristic(Lamp.text, of: Lamp.uuid)
        let read = try rig.perform { $0.read(text, of: peripheral.id, at: $1) }
        #expect(read == .failure(.disconnected(nil)))
        try rig.use { $0.start(at: $1) }
        guard case .success(.found)? = try rig.end(of: search) else {
            Issue.record("not found after the controller came back")
            return
        }
    }

    // MARK: Cancelling

    @Test func requestsAreCancelled() throws {
        var rig = try CentralRig()
        let search = try rig.use { $0.find(within: .seconds(30), at: $1) { $0.name == "nobody" } }
        rig.simulation.run(for: .seconds(1))
        try rig.use { $0.cancel(search, at: $1) }
        #expect(try rig.end(of: search, within: .zero) == .failure(.cancelled))
        let absent = try rig.use { $0.connect(to: .staticRandom(0xABCD), within: .seconds(30), at: $1) }
        rig.simulation.run(for: .seconds(1))
        try rig.use { $0.cancel(absent, at: $1) }
        #expect(try rig.end(of: absent, within: .zero) == .failure(.cancelled))
        // Twice does no harm, and the controller is free.
        try rig.use { $0.cancel(absent, at: $1) }
        _ = try rig.connect()
    }

    @Test func shuttingDownEndsEverything() throws {
        var rig = try CentralRig()
        _ = try rig.connect()
        let search = try rig.use { $0.find(within: .seconds(30), at: $1) { $0.name == "nobody" } }
        try rig.use { $0.beginShutdown(at: $1) }
        #expect(try rig.end(of: search, within: .zero) == .failure(.cancelled))
        rig.simulation.run(for: .seconds(1))
        #expect(try rig.use { central, _ in central.isShutDown })
        let late = try rig.perform { $0.scan(for: .seconds(3), at: $1) }
        #expect(late == .failure(.cancelled))
    }

    // MARK: Security

    @Test func securedLinksReadWhatOthersMayNot() throws {
        var configuration = CentralConfiguration()
        configuration.security = SecurityManager.Configuration()
        var rig = try CentralRig(configuration, pairing: .anyone)
        var peripheral = try rig.connect()
        let secret = try peripheral.characteristic(Lamp.secret, of: Lamp.uuid)
        guard
            case .failure(.procedure(.refused))? = try rig.perform({ $0.read(secret, of: peripheral.id, at: $1) }),
            case .success(.secured(let security))? = try rig.perform({ $0.secure(peripheral.id, at: $1) })
        else {
            Issue.record("the secret was read too early, or the link not secured")
            return
        }
        #expect(security.isEncrypted)
        #expect(try rig.perform { $0.read(secret, of: peripheral.id, at: $1) } == .success(.value([0x5E])))
        rig.simulation.run(for: .seconds(2))
        #expect(try rig.seen(\.bonds).map(\.identity) == [CentralRig.address(0)])
        // The next connection uses the key, and makes no new one.
        _ = try rig.perform { $0.disconnect(peripheral.id, at: $1) }
        peripheral = try rig.connect()
        guard case .success(.secured(let again))? = try rig.perform({ $0.secure(peripheral.id, at: $1) }) else {
            Issue.record("the bond's key was not used")
            return
        }
        #expect(again.isBonded)
        rig.simulation.run(for: .seconds(2))
        #expect(try rig.seen(\.bonds).count == 1)
        // What is secured stays so.
        #expect(try rig.perform { $0.secure(peripheral.id, at: $1) } == .success(.secured(again)))
    }

    @Test func aCentralWithoutSecuritySaysSo() throws {
        var rig = try CentralRig(pairing: .anyone)
        let peripheral = try rig.connect()
        #expect(try rig.perform { $0.secure(peripheral.id, at: $1) } == .failure(.doesNotPair))
    }

    @Test func aPeripheralThatDoesNotPairFailsIt() throws {
        var configuration = CentralConfiguration()
        configuration.security = SecurityManager.Configuration()
        var rig = try CentralRig(configuration)
        let peripheral = try rig.connect()
        let result = try rig.perform { $0.secure(peripheral.id, at: $1) }
        #expect(result == .failure(.pairingFailed(.refusedByPeer(.pairingNotSupported))))
    }
}
