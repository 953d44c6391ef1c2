import BluetoothHost
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// What the watch does with what it remembers of a phone's services.
@Suite struct PhoneServiceMemoryTests {
    typealias Phone = FakePhoneDatabase

    private static let wanted = [WantedService.ppogatt, Phone.wantedService]

    /// One connection: the finder, and clients that subscribe to what is found as the watch's clients do.
    private struct Link {
        var finder: PhoneServiceFinder
        /// What is found and has not vanished, whose subscription was accepted.
        var used: [PhoneService] = []
        var vanished: [PhoneService] = []

        init(_ memory: PhoneServiceCache? = nil, of wanted: [WantedService] = PhoneServiceMemoryTests.wanted) {
            finder = PhoneServiceFinder(of: wanted)
            finder.start(remembering: memory)
        }

        /// Asks until there are no more questions.
        mutating func run(on phone: inout Phone, stepLimit: Int = .max) {
            var stepCount = 0
            while stepCount < stepLimit {
                stepCount += 1
                while let event = finder.nextEvent() { handle(event, phone: &phone) }
                guard let procedure = finder.nextProcedure() else { return }
                finder.finish(phone.answer(procedure))
            }
        }

        private mutating func handle(_ event: PhoneServiceFinder.Event, phone: inout Phone) {
            switch event {
            case .found(let service): use(service, on: &phone)
            case .vanished(let service):
                vanished.append(service)
                used.removeAll { $0.range == service.range && $0.uuid == service.uuid }
            case .unchanged, .unclear, .problem: break
            }
        }

        private mutating func use(_ service: PhoneService, on phone: inout Phone) {
            let configuration = service.characteristics.compactMap(\.configuration).first
            guard let configuration else { return used.append(service) }
            if case .failure = phone.answer(.subscribe(clientConfiguration: configuration, .notifications)) {
                if !finder.refused(service) { finder.forget(service) }
                return
            }
            if let transport = PPoGATTService(service) {
                let known = finder.meta(of: transport)
                if known?.isFresh != true, case .success(.value(let value)) = phone.answer(.read(transport.meta)) {
                    if let known, known.value[...] != value {
                        if !finder.refused(service) { finder.forget(service) }
                        return
                    }
                    finder.metaRead(value, of: transport)
                }
            }
            finder.proved(service)
            used.append(service)
        }

        /// Whose the PPoGATT services in use are.
        var owners: Set<[UInt8]> { Set(used.compactMap(PPoGATTService.init).compactMap { finder.meta(of: $0)?.value }) }
    }

    /// Connects to the phone for the first time.
    private func memory(of phone: inout Phone) throws -> PhoneServiceCache {
        var link = Link()
        link.run(on: &phone)
        #expect(link.used.count == phone.services.filter { $0 != .other }.count)
        phone.disconnect()
        phone.forgetWhatWasAsked()
        return try #require(link.finder.memory)
    }

    // MARK: Nothing changed

    @Test func withAHashOneReadIsEnough() throws {
        var phone = Phone(.hash, [.other, .ppogatt(1), .wanted, .ppogatt(2)])
        let memory = try memory(of: &phone)
        var link = Link(memory)
        link.run(on: &phone)
        #expect(link.used.count == 3)
        #expect(phone.asked.first == .readOneByUUID(.databaseHash))
        #expect(phone.discoveries == [])
        #expect(link.finder.memory == memory)
    }

    @Test func withAPromiseEachCompanionIsAskedWhoItIs() throws {
        var phone = Phone(.indications, [.other, .ppogatt(1), .wanted, .ppogatt(2)])
        let memory = try memory(of: &phone)
        var link = Link(memory)
        link.run(on: &phone)
        #expect(link.used.count == 3)
        #expect(phone.discoveries == [])
        #expect(link.finder.memory == memory)
    }

    @Test func withoutEitherTheCompanionComesFirstAndTheRestIsLookedFor() throws {
        var phone = Phone(.nothing, [.other, .ppogatt(1)])
        let memory = try memory(of: &phone)
        phone.services.append(.ppogatt(2))
        var link = Link(memory)
        link.run(on: &phone, stepLimit: 2)
        #expect(link.used.count == 1)
        #expect(phone.discoveries == [])
        link.run(on: &phone)
        #expect(link.used.count == 2)
        #expect(link.vanished.isEmpty)
    }

    @Test func thatThereWasNoCompanionIsBelievedOnlyWithAHash() throws {
        for promise in Phone.Promise.allCases {
            var phone = Phone(promise, [.wanted])
            let memory = try memory(of: &phone)
            var link = Link(memory)
            link.run(on: &phone)
            #expect(phone.asked.contains(.discoverPrimaryServices(WantedService.ppogatt.uuid)) == (promise != .hash))
        }
    }

    @Test func whatNobodyWantedBeforeIsLookedForAlone() throws {
        var phone = Phone(.hash, [.ppogatt(1), .wanted])
        var first = Link(of: [.ppogatt])
        first.run(on: &phone)
        let memory = try #require(first.finder.memory)
        phone.disconnect()
        phone.forgetWhatWasAsked()
        var link = Link(memory)
        link.run(on: &phone)
        #expect(link.used.count == 2)
        let searches = phone.asked.filter { if case .discoverPrimaryServices = $0 { true } else { false } }
        #expect(searches == [.discoverPrimaryServices(Phone.wantedService.uuid)])
    }

    // MARK: Something changed

    @Test(arguments: Phone.Promise.allCases)
    func whatMovedIsFoundAgainAndNothingElseIsWritten(promise: Phone.Promise) throws {
        var phone = Phone(promise, [.ppogatt(1), .wanted])
        let memory = try memory(of: &phone)
        phone.services = [.other, .other, .ppogatt(1), .wanted]
        var link = Link(memory)
        link.run(on: &phone)
        #expect(link.used.count == 2)
        #expect(link.owners == [Phone.Service.ppogatt(1).meta])
        #expect(phone.wrongWrites.isEmpty)
        #expect(link.finder.memory?.services == link.used)
    }

    @Test(arguments: Phone.Promise.allCases)
    func companionsThatChangedPlacesAreNotMistakenForEachOther(promise: Phone.Promise) throws {
        var phone = Phone(promise, [.ppogatt(1), .ppogatt(2)])
        let memory = try memory(of: &phone)
        // The layout, and so the hash, stays what it is.
        phone.services = [.ppogatt(2), .ppogatt(1)]
        var link = Link(memory)
        link.run(on: &phone)
        let metas = link.used.compactMap(PPoGATTService.init)
            .sorted { $0.data < $1.data }.map { link.finder.meta(of: $0)?.value }
        #expect(metas == [Phone.Service.ppogatt(2).meta, Phone.Service.ppogatt(1).meta])
    }

    @Test func aRefusalIsBlamedOnMemoryOnce() throws {
        var phone = Phone(.hash, [.ppogatt(1)])
        let memory = try memory(of: &phone)
        var finder = PhoneServiceFinder(of: Self.wanted)
        finder.start(remembering: memory)
        var found: [PhoneService] = []
        func run() {
            while let procedure = finder.nextProcedure() { finder.finish(phone.answer(procedure)) }
            while let event = finder.nextEvent() { if case .found(let service) = event { found.append(service) } }
        }
        run()
        #expect(found.count == 1)
        let isBlamed = finder.refused(found[0])
        #expect(isBlamed)
        run()
        #expect(found.count == 2)
        #expect(phone.asked.contains(.discoverPrimaryServices(WantedService.ppogatt.uuid)))
        let isBlamedAgain = finder.refused(found[1])
        #expect(!isBlamedAgain, "it is not from memory now")
    }

    @Test func aChangeThatIsIndicatedDuringTheCheckCountsToo() throws {
        var phone = Phone(.indications, [.ppogatt(1), .wanted])
        let memory = try memory(of: &phone)
        phone.services = [.ppogatt(1), .other, .wanted]
        var link = Link(memory)
        link.finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        link.run(on: &phone)
        #expect(link.used.count == 2)
        #expect(phone.wrongWrites.isEmpty)
        #expect(link.finder.memory?.services.count == 2)
    }

    /// Phones that change in any way while the watch is away, and some also while it is there, a thousand times over.
    @Test(arguments: Phone.Promise.allCases, 0..<8 as Range<UInt64>)
    func whateverChangesTheWatchUsesWhatIsThere(promise: Phone.Promise, seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let choices: [Phone.Service] = [.other, .ppogatt(1), .ppogatt(2), .ppogatt(3), .wanted]
        var phone = Phone(promise, [.ppogatt(1), .wanted])
        var memory: PhoneServiceCache?
        for round in 0..<40 {
            var hasChanged = false
            if round > 0, Bool.random(using: &random) {
                hasChanged = true
                phone.services = (0..<Int.random(in: 0...5, using: &random)).map { _ in
                    choices.randomElement(using: &random) ?? .other
                }
            }
            var link = Link(memory)
            link.run(on: &phone, stepLimit: Int.random(in: 0...4, using: &random))
            // A bonded client hears of what it missed, at some time.
            if hasChanged, promise != .nothing { link.finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF]) }
            link.run(on: &phone)
            let expected = phone.services.filter { $0 != .other }
            #expect(link.used.count == expected.count, "seed \(seed), round \(round): \(phone.services.map(\.uuid))")
            #expect(link.owners == Set(expected.map(\.meta).filter { !$0.isEmpty }), "seed \(seed), round \(round)")
            if promise == .hash { #expect(phone.wrongWrites.isEmpty, "seed \(seed), round \(round)") }
            memory = link.finder.memory ?? memory
            phone.disconnect()
        }
    }

    // MARK: The stored form

    @Test func whatIsStoredIsWhatIsRead() throws {
        var phone = Phone(.hash, [.ppogatt(1), .other, .wanted, .ppogatt(2)])
        let memory = try memory(of: &phone)
        #expect(memory.services.count == 3 && memory.metas.count == 2 && memory.databaseHash == phone.hash)
        var bytes: [UInt8] = []
        memory.encode(to: &bytes)
        var reader = ByteReader(bytes)
        #expect(try PhoneServiceCache(reading: &reader) == memory)
        for length in bytes.indices {
            #expect(throws: ByteDecodingError.self) {
                var cut = ByteReader(bytes.prefix(length))
                _ = try PhoneServiceCache(reading: &cut)
            }
        }
        var random = SplitMix64(seed: 7)
        for _ in 0..<2000 {
            var damaged = bytes
            damaged[Int.random(in: 1..<damaged.count, using: &random)] = .random(in: 0...255, using: &random)
            var reader = ByteReader(damaged)
            // Both results are right, as long as there is no trap.
            _ = try? PhoneServiceCache(reading: &reader)
        }
    }
}
