import AirSimulator
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import Testing

/// What services want done, and what becomes of what cannot be done.
@Suite struct ServiceOutputTests {
    // MARK: Sending

    @Test("an indication goes to those that have subscribed to indications, and is confirmed")
    func indications() throws {
        var rig = try StationRig(Bell())
        let subscribe = GATTProcedure.subscribe(clientConfiguration: Bell.ringConfiguration, .notifications)
        #expect(try rig.perform(subscribe) == .success(.written))
        rig.change { $0.order = { $0.indicate(.ring, [1]) } }
        #expect(rig.air.onPhone { phone, _ in phone.received.isEmpty }, "the phone wants notifications alone")
        let both = GATTProcedure.subscribe(clientConfiguration: Bell.ringConfiguration, [.notifications, .indications])
        #expect(try rig.perform(both) == .success(.written))
        rig.change {
            $0.order = {
                $0.indicate(.ring, [2])
                $0.notify(.ring, [3])
                $0.indicate(.ring, [4])
            }
        }
        let received = rig.air.onPhone { phone, _ in phone.received }
        #expect(received.allSatisfy { $0.handle == Bell.ring })
        #expect(received.filter(\.isIndication).map(\.value) == [[2], [4]])
        #expect(received.filter { !$0.isIndication }.map(\.value) == [[3]])
        #expect(rig.takeEvents().notSent.isEmpty)
    }

    @Test("a value for one peer that has not subscribed to it is not sent, and the application is told")
    func aValueForAPeerThatHasNotSubscribed() throws {
        var rig = try StationRig(Bell())
        let peer = try rig.peer()
        #expect(peer.address == .staticRandom(0xCE17))
        rig.change {
            $0.order = {
                $0.notify(.ring, [1], to: peer)
                $0.indicate(.ring, [2], to: peer)
            }
        }
        #expect(rig.air.onPhone { phone, _ in phone.received.isEmpty })
        #expect(rig.takeEvents().notSent == [.notSubscribed(Bell.ring), .notSubscribed(Bell.ring)])
    }

    @Test("of more notifications than the queue holds the last are not sent, and the application is told")
    func tooManyNotifications() throws {
        var rig = try StationRig(Bell())
        let subscribe = GATTProcedure.subscribe(clientConfiguration: Bell.ringConfiguration, .notifications)
        #expect(try rig.perform(subscribe) == .success(.written))
        rig.change { $0.order = { for number in 0..<34 { $0.notify(.ring, [UInt8(number)]) } } }
        #expect(rig.air.onPhone { phone, _ in phone.received.map(\.value) } == (0..<32).map { [UInt8($0)] })
        #expect(rig.takeEvents().notSent == [.queueFull, .queueFull])
    }

    // MARK: Values in the database

    @Test("a service changes what the database keeps for it, and not beyond the length that it declared")
    func keptValues() throws {
        var rig = try StationRig(Bell())
        #expect(try rig.perform(.read(Bell.kept)) == .success(.value([1])))
        rig.change { $0.order = { $0.set(.kept, [1, 2, 3, 4]) } }
        #expect(try rig.perform(.read(Bell.kept)) == .success(.value([1, 2, 3, 4])))
        #expect(rig.takeEvents().notSet.isEmpty)
        rig.change {
            $0.order = {
                $0.set(.kept, [1, 2, 3, 4, 5])
                $0.set(.ring, [9])
            }
        }
        #expect(
            rig.takeEvents().notSet == [
                "kept: attribute 0x000C cannot have a value of 5 bytes",
                "ring: the value of attribute 0x0009 is not kept in the database",
            ]
        )
        #expect(try rig.perform(.read(Bell.kept)) == .success(.value([1, 2, 3, 4])))
        #expect(try rig.perform(.read(Bell.ring)) == .success(.value([0x2A])))
    }

    @Test("for a value that a service declares and does not claim the peripheral answers with Unlikely Error")
    func aValueThatNobodyClaims() throws {
        var rig = try StationRig(Bell())
        #expect(try rig.refusal(of: .read(Bell.stray)) == .unlikelyError)
        #expect(try rig.refusal(of: .write(Bell.stray, [1])) == .unlikelyError)
        try rig.air.onPhone { phone, now in
            let connection = try #require(phone.connection)
            try phone.host.gatt.writeWithoutResponse([1], to: Bell.stray, on: connection, at: now)
        }
        rig.change {
            $0.order = {
                $0.notify(.stray, [1])
                $0.set(.stray, [1])
            }
        }
        #expect(rig.look(\.writes).isEmpty)
        let events = rig.takeEvents()
        #expect(events.notSent.isEmpty)
        #expect(events.notSet.isEmpty)
    }

    // MARK: Services that are withdrawn

    @Test("a service that hides itself is gone for peers, and what it was about to send does not leave")
    func aServiceThatIsWithdrawn() throws {
        var rig = try StationRig(Bell())
        let subscribe = GATTProcedure.subscribe(clientConfiguration: Bell.ringConfiguration, .notifications)
        #expect(try rig.perform(subscribe) == .success(.written))
        rig.change {
            $0.order = {
                $0.notify(.ring, [1])
                $0.show(false)
            }
        }
        #expect(rig.air.onPhone { phone, _ in phone.received.isEmpty })
        #expect(try rig.refusal(of: .read(Bell.ring)) == ATTError(rawValue: 0x01), "Invalid Handle")
        // It was to leave when the service was gone: the peripheral learned of that as it took the packet.
        #expect(rig.takeEvents().notSent == [.unknownAttribute(Bell.ring)])
        guard case .success(.services(let hidden))? = try rig.perform(.discoverAllPrimaryServices) else {
            Issue.record("no services")
            return
        }
        #expect(hidden.map(\.uuid) == [.genericAccess, .genericAttribute])
        // It comes back at its handles; twice is as good as once.
        for _ in 0..<2 { rig.change { $0.order = { $0.show(true) } } }
        #expect(try rig.perform(.read(Bell.ring)) == .success(.value([0x2A])))
    }

    // MARK: Answers

    @Test("a write that is accepted later is answered then, and one that is refused later with the error")
    func lateAnswers() throws {
        var rig = try StationRig(Bell())
        #expect(try rig.perform(.write(Bell.slow, [1, 2])) == nil)
        let accepted = try #require(rig.look(\.waiting).last)
        rig.change { $0.order = { $0.accept(accepted) } }
        #expect(rig.results == [.success(.written)])
        #expect(try rig.perform(.write(Bell.slow, [3])) == nil)
        let refused = try #require(rig.look(\.waiting).last)
        rig.change { $0.order = { $0.refuse(refused, with: ATTError(rawValue: 0x81)) } }
        guard case .failure(.refused(let refusal))? = rig.results.last else {
            Issue.record("the write was not refused")
            return
        }
        #expect(refusal.error.rawValue == 0x81)
        #expect(rig.look(\.writes) == [[1, 2], [3]])
    }

    @Test("an answer of the wrong kind is none: the request still waits for its own")
    func answersOfTheWrongKind() throws {
        var rig = try StationRig(Bell())
        #expect(try rig.perform(.write(Bell.slow, [1])) == nil)
        let write = try #require(rig.look(\.waiting).last)
        rig.change { $0.order = { $0.answer(write, with: [7]) } }
        #expect(rig.results == [])
        rig.change { $0.order = { $0.accept(write) } }
        #expect(rig.results == [.success(.written)])
        #expect(try rig.perform(.read(Bell.slow)) == nil)
        let read = try #require(rig.look(\.waiting).last)
        rig.change { $0.order = { $0.accept(read) } }
        #expect(rig.results == [])
        rig.change { $0.order = { $0.answer(read, with: [7]) } }
        #expect(rig.results.last == .success(.value([7])))
    }

    @Test("an answer that comes after the peripheral has refused in the service's stead is not sent")
    func answersThatAreTooLate() throws {
        var configuration = PeripheralConfiguration(name: "Bell", address: PeripheralTests.address)
        configuration.answerTime = .seconds(3)
        for procedure in [GATTProcedure.read(Bell.slow), .write(Bell.slow, [1])] {
            var rig = try StationRig(Bell(), configuration)
            #expect(try rig.perform(procedure) == nil)
            rig.air.run(for: .seconds(3))
            guard case .failure(.refused(let refusal))? = rig.results.last else {
                Issue.record("not refused within 4 s")
                return
            }
            #expect(refusal.error == .unlikelyError)
            let token = try #require(rig.look(\.waiting).last)
            rig.change {
                $0.order = {
                    $0.answer(token, with: [7])
                    $0.accept(token)
                    $0.refuse(token, with: .writeNotPermitted)
                }
            }
            #expect(rig.results.count == 1)
            #expect(try rig.perform(.read(Bell.ring)) == .success(.value([0x2A])), "the bearer is in step")
        }
    }

    @Test("an answer to a peer that has gone reaches nobody, not even the peer that came after it")
    func answersToThoseThatAreGone() throws {
        for procedure in [GATTProcedure.read(Bell.slow), .write(Bell.slow, [1])] {
            var rig = try StationRig(Bell())
            #expect(try rig.perform(procedure) == nil)
            try rig.air.onPhone { phone, now in phone.host.disconnect(try #require(phone.connection), at: now) }
            rig.air.run(for: .seconds(1))
            #expect(rig.takeEvents().disconnections == [.remoteUserTerminatedConnection])
            #expect(rig.look(\.disconnected) == [.staticRandom(0xCE17)])
            try rig.connect()
            try rig.start(procedure)
            rig.air.run(for: .seconds(1))
            let tokens = rig.look(\.waiting)
            #expect(tokens.count == 2)
            rig.change {
                $0.order = {
                    $0.answer(tokens[0], with: [7])
                    $0.accept(tokens[0])
                }
            }
            #expect(rig.results.isEmpty)
            rig.change { $0.order = { $0.refuse(tokens[1], with: ATTError(rawValue: 0x82)) } }
            #expect(rig.results.count == 1)
        }
    }

    // MARK: Connections

    @Test("a service ends the connection to a peer, and the peripheral can be found again")
    func aServiceThatDisconnects() throws {
        var rig = try StationRig(Bell())
        let peer = try rig.peer()
        rig.change { $0.order = { $0.disconnect(peer) } }
        #expect(rig.air.onPhone { phone, _ in phone.connection } == nil)
        #expect(rig.takeEvents().disconnections == [.connectionTerminatedByLocalHost])
        #expect(rig.air.onWatch { station, _ in station.host.peers.isEmpty })
        try rig.connect()
    }

    @Test("a peripheral is due when the first of its services is")
    func deadlines() throws {
        var services = TwoBells()
        services.first.nextDeadline = .seconds(5)
        services.second.nextDeadline = .seconds(3)
        let peripheral = try Peripheral(
            services,
            PeripheralConfiguration(name: "Bells", address: PeripheralTests.address),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1) { _ in 0 }
        )
        #expect(peripheral.nextDeadline == .seconds(3))
    }

    private struct TwoBells: ServiceSet {
        var first = Bell()
        var second = Bell()

        mutating func visitServices(_ visitor: inout some ServiceVisitor) {
            visitor.visit(&first)
            visitor.visit(&second)
        }
    }

    // MARK: Channels

    @Test("a channel's bytes reach the service that listens, which closes it")
    func aServiceThatClosesItsChannel() throws {
        var rig = try StationRig(Pipes())
        let phone = try rig.open(0x0080)
        guard case .opened(let channel)? = rig.look(\.first.calls).last else {
            Issue.record("the service does not know of the channel")
            return
        }
        rig.air.onPhone { owner, now in _ = owner.host.channels.write([1, 2, 3], to: phone, at: now) }
        rig.air.run(for: .seconds(1))
        #expect(rig.look(\.first.calls).dropFirst() == [.received([1, 2, 3])])
        // Another service can neither write to it nor close it.
        rig.change {
            $0.second.order = {
                $0.write([9], to: channel)
                $0.close(channel)
            }
        }
        #expect(rig.air.onPhone { owner, _ in owner.stream } == [])
        rig.change { $0.first.order = { $0.write([4, 5], to: channel) } }
        #expect(rig.air.onPhone { owner, _ in owner.stream } == [4, 5])
        rig.change { $0.first.order = { $0.close(channel) } }
        #expect(rig.look(\.first.calls).last == .closed(.byOwner))
        #expect(rig.look(\.second.calls).isEmpty)
        rig.air.onPhone { owner, now in
            #expect(owner.host.channels.write([1], to: phone, at: now) == 0, "the phone has heard that it is closed")
        }
    }

    @Test("what a peer has sent before it closes a channel that does not read reaches the service first")
    func bytesThatWaitWhenAChannelIsClosed() throws {
        var services = Pipes()
        // Of two thousand bytes it makes more than 64 KiB, which the phone does not take.
        services.first.answerFactor = 100
        var rig = try StationRig(services)
        let channel = try rig.open(0x0080)
        rig.air.onPhone { phone, now in
            phone.isReading = false
            _ = phone.host.channels.write(ArraySlice(repeating: 1, count: 2000), to: channel, at: now)
        }
        rig.air.run(for: .seconds(5))
        let before = rig.look(\.first.calls).count
        rig.air.onPhone { phone, now in _ = phone.host.channels.write([2, 2, 2], to: channel, at: now) }
        rig.air.run(for: .seconds(5))
        #expect(rig.look(\.first.calls).count == before, "it is held off")
        rig.air.onPhone { phone, now in phone.host.channels.close(channel, at: now) }
        rig.air.run(for: .seconds(1))
        #expect(rig.look(\.first.calls).dropFirst(before) == [.received([2, 2, 2]), .closed(.byPeer)])
    }
}
