import BluetoothHost
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Phones that refuse what they are asked about their services: what the finder still relies on, and what it looks for afresh.
@Suite struct PhoneServiceTrustTests {
    typealias Phone = FakePhoneDatabase
    typealias Answer = Result<GATTResponse, GATTProcedureError>

    private static let wanted = [WantedService.ppogatt, Phone.wantedService]
    private static let refusal = GATTProcedureError.refused(
        ATTErrorResponse(requestOpcode: 0x0A, handle: handle(3), error: .unlikelyError)
    )

    /// Asks until there are no more questions.
    /// - Parameter refuses: what the phone refuses.
    /// - Returns: what was asked, and what the finder said.
    private func run(
        _ finder: inout PhoneServiceFinder,
        on phone: inout Phone,
        refuses: (GATTProcedure) -> Bool = { _ in false }
    ) -> (asked: [GATTProcedure], events: [PhoneServiceFinder.Event]) {
        var asked: [GATTProcedure] = []
        var events: [PhoneServiceFinder.Event] = []
        while let procedure = finder.nextProcedure() {
            asked.append(procedure)
            finder.finish(refuses(procedure) ? .failure(Self.refusal) : answer(procedure, on: &phone))
            while let event = finder.nextEvent() { events.append(event) }
        }
        return (asked, events)
    }

    /// The phone also tells all of its services at once.
    private func answer(_ procedure: GATTProcedure, on phone: inout Phone) -> Answer {
        guard procedure == .discoverAllPrimaryServices else { return phone.answer(procedure) }
        var services: [DiscoveredService] = []
        for uuid in [BluetoothUUID.genericAttribute] + phone.services.map(\.uuid) {
            guard case .success(.services(let found)) = phone.answer(.discoverPrimaryServices(uuid)) else { continue }
            services += found.filter { !services.contains($0) }
        }
        return .success(.services(services.sorted { $0.range.start < $1.range.start }))
    }

    /// What is remembered of a phone that the watch was connected to once.
    private func memory(
        of phone: inout Phone,
        refuses: (GATTProcedure) -> Bool = { _ in false }
    ) throws -> PhoneServiceCache {
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start()
        for case .found(let service) in run(&finder, on: &phone, refuses: refuses).events {
            guard let transport = PPoGATTService(service),
                case .success(.value(let meta)) = phone.answer(.read(transport.meta))
            else { continue }
            finder.metaRead(meta, of: transport)
        }
        phone.disconnect()
        return try #require(finder.memory)
    }

    /// The services that were found, by their UUIDs, and those that vanished.
    private func changes(_ events: [PhoneServiceFinder.Event]) -> [String] {
        events.compactMap { event in
            switch event {
            case .found(let service): "\(service.uuid == WantedService.ppogatt.uuid ? "PPoGATT" : "wanted") found"
            case .vanished(let service): "\(service.uuid == WantedService.ppogatt.uuid ? "PPoGATT" : "wanted") vanished"
            case .problem(let text): text
            case .unchanged, .unclear: nil
            }
        }
    }

    private static let mistrust = "what is remembered of the phone's services is out of date: "
    private static let refused = "\(refusal)"

    /// Whose a companion is could not be read where it was: nothing that is remembered counts.
    @Test func aCompanionThatCannotBeCheckedIsLookedForAfresh() throws {
        var phone = Phone(.indications, [.ppogatt(1), .wanted])
        let memory = try memory(of: &phone)
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start(remembering: memory)
        let (asked, events) = run(&finder, on: &phone) { if case .readOneByUUID = $0 { true } else { false } }
        #expect(asked.first == .readOneByUUID(.uuid128(PebbleAttribute.ppogattMeta), in: memory.services[0].range))
        #expect(asked.contains(.discoverPrimaryServices(WantedService.ppogatt.uuid)))
        let said = changes(events)
        #expect(said.first == Self.mistrust + "a PPoGATT service cannot be read: \(Self.refused)")
        #expect(said.filter { $0.hasSuffix("found") } == ["PPoGATT found", "wanted found"])
        #expect(!said.contains { $0.hasSuffix("vanished") }, "nothing was in use yet")
    }

    /// A phone that no longer takes the subscription to its changes has another database than it had. The companion has been
    /// checked on this link, and stays.
    @Test func withoutThePromiseOfChangesTheRestIsLookedForAfresh() throws {
        var phone = Phone(.indications, [.ppogatt(1), .wanted])
        let memory = try memory(of: &phone)
        let configuration = try #require(memory.genericAttribute?[.serviceChanged]?.configuration)
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start(remembering: memory)
        let subscription = GATTProcedure.subscribe(clientConfiguration: configuration, .indications)
        let (asked, events) = run(&finder, on: &phone) { $0 == subscription }
        #expect(asked.count { $0 == subscription } == 2, "once by memory, and once as it was found")
        var said = changes(events)
        let isFailure: (String) -> Bool = { $0.hasSuffix("failed: \(Self.refused)") }
        #expect(said.count(where: isFailure) == 1, "the second time is no word against memory")
        said.removeAll(where: isFailure)
        #expect(
            said == [
                "PPoGATT found", "wanted found",
                Self.mistrust + "Service Changed cannot be subscribed to: \(Self.refused)", "wanted vanished",
                "wanted found",
            ]
        )
    }

    /// With a Database Hash memory may lack the phone's own service, if it could not be read before: it alone is looked for.
    @Test func aProvedMemoryWithoutThePhonesOwnServiceLooksForThatAlone() throws {
        var phone = Phone(.hash, [.ppogatt(1), .wanted])
        let first = try memory(of: &phone) { procedure in
            if case .discoverCharacteristics(let range, _) = procedure { range.start == handle(1) } else { false }
        }
        #expect(first.databaseHash == phone.hash && first.genericAttribute == nil)
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start(remembering: first)
        let (asked, events) = run(&finder, on: &phone)
        #expect(changes(events) == ["PPoGATT found", "wanted found"])
        let range = try #require(AttributeHandleRange(handle(1), handle(6)))
        #expect(
            asked == [
                .readOneByUUID(.databaseHash), .exchangeMTU, .discoverPrimaryServices(.genericAttribute),
                .discoverCharacteristics(in: range),
                .discoverDescriptors(in: try #require(AttributeHandleRange(handle(4), handle(4)))),
                .subscribe(clientConfiguration: handle(4), .indications), .readOneByUUID(.databaseHash),
            ]
        )
        #expect(finder.memory?.genericAttribute?.range == range)
    }

    /// A client whose request was refused as no phone does that has the service: only what is remembered is doubted.
    @Test func aClientsRefusalDoubtsWhatIsRemembered() throws {
        var phone = Phone(.indications, [.ppogatt(1), .wanted])
        let memory = try memory(of: &phone)
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start(remembering: memory)
        _ = run(&finder, on: &phone)
        finder.refused(WantedService.media)
        #expect(finder.nextEvent() == nil, "nothing is remembered of that")
        finder.refused(Phone.wantedService)
        let again = run(&finder, on: &phone)
        let said = changes(again.events)
        let range = try #require(memory.services.last).range
        #expect(
            said == [
                "wanted vanished",
                Self.mistrust + "the service \(Phone.wantedService.uuid) at \(range) is not what it was",
                "wanted found",
            ]
        )
        finder.refused(Phone.wantedService)
        #expect(finder.nextEvent() == nil && finder.nextProcedure() == nil, "it was found on this link")
    }

    /// A configuration that is empty is no subscription: the service is another one.
    @Test func anEmptyConfigurationIsNoSubscription() throws {
        var phone = Phone(.indications, [.wanted])
        var finder = PhoneServiceFinder(of: [Phone.wantedService])
        finder.start()
        #expect(changes(run(&finder, on: &phone).events) == ["wanted found"])
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        var said: [String] = []
        while let procedure = finder.nextProcedure() {
            let isCheck = if case .read = procedure { true } else { false }
            finder.finish(isCheck ? .success(.value([])) : phone.answer(procedure))
            while let event = finder.nextEvent() { said += changes([event]) }
        }
        #expect(said == ["wanted vanished", "wanted found"])
    }

    /// What an earlier look has left to do of a kind of service is dropped when such services are found, and no more.
    @Test func aLaterLookTakesThePlaceOfAnEarlierOne() throws {
        let first = try #require(AttributeHandleRange(handle(0x10), handle(0x15)))
        let second = try #require(AttributeHandleRange(handle(0x20), handle(0x25)))
        var agenda = PhoneServiceAgenda()
        let kept: [PhoneServiceAgenda.Step] = [
            .find(.ppogatt), .findCharacteristics(PhoneServiceOutline(of: Phone.wantedService, at: first)),
            .readDatabaseHash,
        ]
        agenda.steps = [
            .findCharacteristics(PhoneServiceOutline(of: .ppogatt, at: first)), kept[0], kept[1],
            .findCharacteristics(PhoneServiceOutline(of: .ppogatt, at: second)), kept[2],
        ]
        agenda.dropOutlines(of: .ppogatt)
        #expect(Array(agenda.steps) == kept)
        agenda.append(once: kept[1])
        #expect(Array(agenda.steps) == kept, "it waits already")
        agenda.append(once: .findCharacteristics(PhoneServiceOutline(of: Phone.wantedService, at: second)))
        #expect(agenda.steps.count == 4, "another place is another question")
    }

    // MARK: A look at everything

    /// A service of which the phone does not tell the characteristics is left out, and the others are found. It is seen when the
    /// watch looks once more, because of what may have changed before the phone told of changes.
    @Test func aLookAtEverythingGoesOnAfterARefusal() throws {
        var phone = Phone(.indications, [.other, .ppogatt(1), .wanted])
        var finder = PhoneServiceFinder(of: Self.wanted, .everything)
        finder.start()
        // PPoGATT is behind four handles of the phone's own service and seven of another one.
        let range = try #require(AttributeHandleRange(handle(12), handle(17)))
        var isRefused = false
        let (asked, events) = run(&finder, on: &phone) { procedure in
            guard procedure == .discoverCharacteristics(in: range), !isRefused else { return false }
            isRefused = true
            return true
        }
        #expect(asked.first == .discoverAllPrimaryServices)
        #expect(asked.count { $0 == .discoverCharacteristics(in: range) } == 2)
        let said = changes(events)
        try #require(said.count == 4)
        #expect(said[0].hasSuffix("failed: \(Self.refused)"))
        #expect(said[1].contains("at \(range) lacks the characteristic "))
        #expect(said[2...] == ["wanted found", "PPoGATT found"])
        #expect(!finder.isSearching)
    }

    @Test func aPhoneThatTellsNothingHasNothing() {
        var phone = Phone(.indications, [.ppogatt(1)])
        var finder = PhoneServiceFinder(of: Self.wanted, .everything)
        finder.start()
        let (asked, events) = run(&finder, on: &phone) { $0 == .discoverAllPrimaryServices }
        #expect(asked == [.discoverAllPrimaryServices, .exchangeMTU])
        #expect(changes(events).count == 1 && changes(events)[0].hasSuffix("failed: \(Self.refused)"))
    }

    /// What answers no question of the survey asks nothing new.
    @Test func anAnswerOfAnotherKindTellsNothing() throws {
        let range = try #require(AttributeHandleRange(handle(0x10), handle(0x15)))
        var survey = PhoneServiceSurvey()
        let service = DiscoveredService(uuid: Phone.wantedService.uuid, range: range)
        let questions = survey.answered(.services, .services([service]))
        #expect(questions == [.characteristics(ofService: 0, in: range)])
        var more = survey.answered(.services, .written)
        more += survey.answered(.characteristics(ofService: 0, in: range), .mtu(185))
        more += survey.answered(.descriptors(of: handle(0x12), in: range), .services([]))
        #expect(more.isEmpty)
        #expect(survey.outlines(of: [Phone.wantedService]).map(\.range) == [range], "the service is still known")
    }

    // MARK: The stored form

    @Test(arguments: [0, 2, 255] as [UInt8])
    func aStoredFormOfAnotherVersionIsNotRead(version: UInt8) throws {
        // Version, no hash, no GATT service, no services, nothing searched, no meta values.
        let bytes: [UInt8] = [1, 0, 0, 0, 0, 0]
        var reader = ByteReader(bytes)
        #expect(try PhoneServiceCache(reading: &reader) == PhoneServiceCache())
        #expect(throws: ByteDecodingError("phone_services.version", .invalidValue(UInt64(version)))) {
            var reader = ByteReader([version] + bytes.dropFirst())
            _ = try PhoneServiceCache(reading: &reader)
        }
    }
}
