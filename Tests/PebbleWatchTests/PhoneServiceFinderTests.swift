import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// How the watch follows a phone's database that changes while it is connected.
@Suite struct PhoneServiceFinderTests {
    /// A phone's database as far as the finder asks about it: PPoGATT services of six handles each, by their first handle.
    private struct Phone {
        var services: Set<UInt16>
        /// The services whose data characteristic the watch has subscribed to.
        var subscribed: Set<UInt16> = []
        /// Whether Service Changed has a configuration: it has on iOS, not on Android.
        var hasConfiguration = true
        /// Why the configurations of PPoGATT services cannot be read: Android's apps make them write-only.
        var readingRefusal: ATTError?
        var reads: [AttributeHandle] = []

        static let serviceChanged = handle(3)

        static func handle(_ value: UInt16) -> AttributeHandle { AttributeHandle(rawValue: value) }

        static func transport(_ start: UInt16) throws -> PhoneService {
            PhoneService(
                uuid: WantedService.ppogatt.uuid,
                range: try #require(AttributeHandleRange(handle(start), handle(start + 5))),
                characteristics: [
                    PhoneService.Characteristic(
                        uuid: .uuid128(PebbleAttribute.ppogattData),
                        properties: [.writeWithoutResponse, .notify],
                        value: handle(start + 2),
                        configuration: handle(start + 3)
                    ),
                    PhoneService.Characteristic(
                        uuid: .uuid128(PebbleAttribute.ppogattMeta),
                        properties: .read,
                        value: handle(start + 5),
                        configuration: nil
                    ),
                ]
            )
        }

        mutating func answer(_ procedure: GATTProcedure) throws -> Result<GATTResponse, GATTProcedureError> {
            switch procedure {
            case .exchangeMTU:
                return .success(.mtu(185))
            case .readOneByUUID:
                return .success(.values([]))
            case .discoverPrimaryServices(.genericAttribute):
                let range = try #require(AttributeHandleRange(Self.handle(1), Self.handle(4)))
                return .success(.services([DiscoveredService(uuid: .genericAttribute, range: range)]))
            case .discoverPrimaryServices(let uuid) where uuid != WantedService.ppogatt.uuid:
                return .success(.services([]))
            case .discoverPrimaryServices(let uuid):
                let ranges = services.sorted().compactMap { start in
                    AttributeHandleRange(Self.handle(start), Self.handle(start + 5))
                }
                return .success(.services(ranges.map { DiscoveredService(uuid: uuid, range: $0) }))
            case .discoverCharacteristics(let range, _) where range.start == Self.handle(1):
                return .success(
                    .characteristics([
                        DiscoveredCharacteristic(
                            uuid: .serviceChanged,
                            properties: .indicate,
                            declaration: Self.handle(2),
                            value: Self.serviceChanged
                        )
                    ])
                )
            case .discoverCharacteristics(let range, _):
                let start = range.start.rawValue
                return .success(
                    .characteristics([
                        DiscoveredCharacteristic(
                            uuid: .uuid128(PebbleAttribute.ppogattData),
                            properties: [.writeWithoutResponse, .notify],
                            declaration: Self.handle(start + 1),
                            value: Self.handle(start + 2)
                        ),
                        DiscoveredCharacteristic(
                            uuid: .uuid128(PebbleAttribute.ppogattMeta),
                            properties: .read,
                            declaration: Self.handle(start + 4),
                            value: Self.handle(start + 5)
                        ),
                    ])
                )
            case .discoverDescriptors(let range):
                guard range.start != Self.handle(4) || hasConfiguration else { return .success(.descriptors([])) }
                return .success(
                    .descriptors([DiscoveredDescriptor(uuid: .clientCharacteristicConfiguration, handle: range.start)])
                )
            case .subscribe:
                return .success(.written)
            case .read(let handle):
                reads.append(handle)
                if let readingRefusal {
                    let response = ATTErrorResponse(requestOpcode: 0x0A, handle: handle, error: readingRefusal)
                    return .failure(.refused(response))
                }
                let isSubscribed = subscribed.contains(handle.rawValue - 3)
                return .success(.value(isSubscribed ? [0x01, 0x00] : [0x00, 0x00]))
            default:
                Issue.record("the finder asked for \(procedure)")
                return .failure(.disconnected)
            }
        }
    }

    /// Lets the finder ask until it has no more questions.
    private func run(_ finder: inout PhoneServiceFinder, on phone: inout Phone) throws -> [PhoneServiceFinder.Event] {
        while let procedure = finder.nextProcedure() { finder.finish(try phone.answer(procedure)) }
        var events: [PhoneServiceFinder.Event] = []
        while let event = finder.nextEvent() { events.append(event) }
        return events
    }

    private func started(_ phone: inout Phone) throws -> PhoneServiceFinder {
        var finder = PhoneServiceFinder()
        finder.start()
        let expected = try phone.services.sorted().map { PhoneServiceFinder.Event.found(try Phone.transport($0)) }
        #expect(try run(&finder, on: &phone) == expected)
        phone.subscribed = phone.services
        return finder
    }

    @Test func aServiceThatAppearsLaterIsFoundAndTheOthersStay() throws {
        var phone = Phone(services: [0x20])
        var finder = try started(&phone)
        phone.services.insert(0x30)
        finder.databaseChanged([0x30, 0x00, 0x35, 0x00])
        #expect(try run(&finder, on: &phone) == [.found(try Phone.transport(0x30))])
        #expect(phone.reads.isEmpty, "a service outside of the range is not read")
    }

    @Test func aServiceThatIsRemovedIsGone() throws {
        var phone = Phone(services: [0x20, 0x30])
        var finder = try started(&phone)
        phone.services.remove(0x30)
        phone.subscribed.remove(0x30)
        finder.databaseChanged([0x30, 0x00, 0x35, 0x00])
        #expect(try run(&finder, on: &phone) == [.vanished(try Phone.transport(0x30))])
    }

    @Test func aServiceThatIsAddedAgainAtTheSameHandlesIsANewOne() throws {
        var phone = Phone(services: [0x20, 0x30])
        var finder = try started(&phone)
        phone.subscribed.remove(0x30)
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        let again = try Phone.transport(0x30)
        #expect(
            try run(&finder, on: &phone) == [.unchanged(try Phone.transport(0x20)), .vanished(again), .found(again)]
        )
    }

    /// With and without a configuration for Service Changed, repeatedly, and with the indications before and after the
    /// watch has looked at the services.
    @Test(arguments: [true, false], [1, 2, 3])
    func aServiceThatIsAddedAgainAndAgainIsNewEachTime(hasConfiguration: Bool, indicationCount: Int) throws {
        var phone = Phone(services: [0x20, 0x30], hasConfiguration: hasConfiguration)
        var finder = try started(&phone)
        let (other, again) = (try Phone.transport(0x20), try Phone.transport(0x30))
        for _ in 0..<3 {
            phone.subscribed.remove(0x30)
            for _ in 0..<indicationCount { finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF]) }
            let events = try run(&finder, on: &phone)
            #expect(events.filter { $0 != .unchanged(other) } == [.vanished(again), .found(again)])
            phone.subscribed.insert(0x30)
        }
    }

    @Test func aServiceThatIsAddedAgainDuringTheLookIsNew() throws {
        var phone = Phone(services: [0x20], hasConfiguration: false)
        var finder = try started(&phone)
        let service = try Phone.transport(0x20)
        // The watch looks while it is away, and once more when it is back.
        phone.services = []
        phone.subscribed = []
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        let check = finder.nextProcedure()
        finder.finish(try phone.answer(try #require(check)))
        phone.services = [0x20]
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        #expect(try run(&finder, on: &phone) == [.vanished(service), .found(service)])
    }

    /// Android refuses to read what its app made write-only, and asks no app.
    @Test(arguments: [ATTError.readNotPermitted, .insufficientAuthentication, .requestNotSupported, .unlikelyError])
    func aSubscriptionThatCannotBeReadTellsNothing(error: ATTError) throws {
        var phone = Phone(services: [0x20], hasConfiguration: false, readingRefusal: error)
        var finder = try started(&phone)
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        #expect(try run(&finder, on: &phone) == [.unclear(try Phone.transport(0x20))])
    }

    @Test(arguments: [ATTError.invalidHandle, .attributeNotFound])
    func aSubscriptionThatIsNotThereIsGone(error: ATTError) throws {
        var phone = Phone(services: [0x20], hasConfiguration: false, readingRefusal: error)
        var finder = try started(&phone)
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        let service = try Phone.transport(0x20)
        #expect(try run(&finder, on: &phone) == [.vanished(service), .found(service)])
    }

    /// What shows that an app has started again where the phone does not let its subscription be read, in any order.
    @Test func anAppThatStartsHasStartedAgain() {
        var doubt = RestartDoubt()
        var starts = doubt.appStarts()
        var unreadable = doubt.subscriptionIsUnreadable()
        #expect(!starts && !unreadable, "the database has not changed")
        doubt.raise()
        unreadable = doubt.subscriptionIsUnreadable()
        starts = doubt.appStarts()
        #expect(!unreadable && starts)
        doubt = RestartDoubt()
        doubt.raise()
        starts = doubt.appStarts()
        unreadable = doubt.subscriptionIsUnreadable()
        #expect(!starts && unreadable, "the subscription was still being read")
    }

    @Test func changesOnChangesFindEachServiceOnce() throws {
        var phone = Phone(services: [0x20])
        var finder = try started(&phone)
        phone.services = [0x20, 0x30, 0x40]
        var events: [PhoneServiceFinder.Event] = []
        for _ in 0..<3 {
            // Each comes while the last one's discovery is under way.
            finder.databaseChanged([0x30, 0x00, 0xFF, 0xFF])
            if let procedure = finder.nextProcedure() {
                finder.databaseChanged([0x30, 0x00, 0xFF, 0xFF])
                finder.finish(try phone.answer(procedure))
            }
        }
        events += try run(&finder, on: &phone)
        #expect(events == [.found(try Phone.transport(0x30)), .found(try Phone.transport(0x40))])
    }

    private func indication(_ handle: UInt16, isIndication: Bool = true) -> ReceivedValue {
        ReceivedValue(
            connection: 1,
            handle: Phone.handle(handle),
            value: [0x01, 0x00, 0xFF, 0xFF],
            isIndication: isIndication
        )
    }

    @Test func aChangeBeforeServiceChangedIsFoundIsHeardToo() throws {
        var phone = Phone(services: [], hasConfiguration: false)
        var finder = PhoneServiceFinder()
        finder.start()
        for _ in 0..<3 {
            let procedure = finder.nextProcedure()
            finder.finish(try phone.answer(try #require(procedure)))
        }
        #expect(finder.isServiceChanged(indication(3)))
        #expect(!finder.isServiceChanged(indication(3, isIndication: false)), "that is a transport's packet")
        phone.services = [0x20]
        finder.databaseChanged([0x01, 0x00, 0xFF, 0xFF])
        #expect(try run(&finder, on: &phone) == [.found(try Phone.transport(0x20))])
        #expect(finder.isServiceChanged(indication(3)))
        #expect(!finder.isServiceChanged(indication(4)), "an indication of something else")
    }

    @Test func aChangeBeforeTheSubscriptionIsSeenAfterIt() throws {
        var phone = Phone(services: [])
        var finder = PhoneServiceFinder()
        finder.start()
        for _ in 0..<3 {
            let procedure = finder.nextProcedure()
            finder.finish(try phone.answer(try #require(procedure)))
        }
        phone.services = [0x20]
        #expect(try run(&finder, on: &phone) == [.found(try Phone.transport(0x20))])
    }

    @Test(
        arguments: [[], [0x30, 0x00], [0x30, 0x00, 0x20, 0x00], [0x00, 0x00, 0x10, 0x00], [1, 0, 2, 0, 3]] as [[UInt8]]
    )
    func aSenselessRangeIsIgnored(value: [UInt8]) throws {
        var phone = Phone(services: [0x20])
        var finder = try started(&phone)
        finder.databaseChanged(value[...])
        #expect(finder.nextProcedure() == nil)
    }

    @Test func aTransportThatCameToNothingCountsAsNew() throws {
        var phone = Phone(services: [0x20])
        var finder = try started(&phone)
        finder.forget(try Phone.transport(0x20))
        finder.lookAgain()
        #expect(try run(&finder, on: &phone) == [.found(try Phone.transport(0x20))])
    }
}
