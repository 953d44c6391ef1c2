import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// A phone whose services are not where the watch remembers them, on the air and in virtual time. The phone does not say so: it
/// has no Database Hash, and does not keep its promise to indicate changes.
@Suite struct MovedPhoneServiceTests {
    private static let seed: UInt64 = 0x90BE
    private static let subscribed: AttributeName = "subscribed"
    private static let moved: AttributeName = "moved"

    /// A service of a phone that the watch uses; the characteristic that it subscribes to first has a name.
    private static func service(_ kind: PhoneServiceKind) -> Service {
        switch kind {
        case .notifications:
            Service(PhoneServiceUUID.ancs, name: moved) {
                Characteristic(PhoneServiceUUID.notificationSource, .notify, value: [])
                Characteristic(PhoneServiceUUID.controlPoint, .write, value: [])
                Characteristic(PhoneServiceUUID.dataSource, .notify, name: subscribed, value: [])
            }
        case .media:
            Service(PhoneServiceUUID.ams, name: moved) {
                Characteristic(PhoneServiceUUID.remoteCommand, [.write, .notify], value: [])
                Characteristic(PhoneServiceUUID.entityUpdate, [.write, .notify], name: subscribed, value: [])
                Characteristic(PhoneServiceUUID.entityAttribute, [.read, .write], value: [])
            }
        case .time:
            Service(PhoneServiceUUID.currentTimeService, name: moved) {
                // Saturday, 1 March 2025, 12:34:56.
                Characteristic(
                    PhoneServiceUUID.currentTime,
                    [.read, .notify],
                    name: subscribed,
                    value: [0xE9, 0x07, 3, 1, 12, 34, 56, 6, 0, 0]
                )
            }
        }
    }

    /// A phone with such a service, behind another one or not.
    private static func phone(_ kind: PhoneServiceKind, isMoved: Bool, bonds: [Bond] = []) throws -> RigPhone {
        var services = [Service(.genericAttribute) { Characteristic(.serviceChanged, .indicate, value: []) }]
        if isMoved {
            services.append(
                Service(.uuid16(0xAAAA)) {
                    for number: UInt16 in 0xAAA1...0xAAA8 { Characteristic(.uuid16(number), .read, value: [1]) }
                }
            )
        }
        services.append(service(kind))
        return RigPhone(address: 0x11, bonds: bonds, seed: seed, database: try GATTDatabase(services))
    }

    private static func rig(_ phone: RigPhone, memory: WatchMemory = WatchMemory()) throws -> RigPair {
        let configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        let watch = try RigWatch(configuration, memory: memory, seed: seed)
        return try RigPair(connecting: watch, phone, seed: seed)
    }

    /// Whether the watch has subscribed to the service where it is.
    private func isSubscribed(_ rig: inout RigPair) throws -> Bool {
        try rig.onPhone { phone, _ in
            let value = try #require(phone.host.gatt.database.handle(of: Self.subscribed))
            guard let connection = phone.connection else { return false }
            return phone.host.gatt.subscription(to: value, on: connection).contains(.notifications)
        }
    }

    /// What the watch said of the service, and of its memory, since this was last asked.
    private func said(_ rig: inout RigPair) -> (uses: [PhoneServiceEvent], isOutdated: Bool) {
        rig.onWatch { watch, _ in
            defer { watch.events = [] }
            var uses: [PhoneServiceEvent] = []
            var isOutdated = false
            for event in watch.events {
                switch event {
                case .phoneService(_, .problem): break
                case .phoneService(_, let use): uses.append(use)
                case .diagnostic(let diagnostic):
                    isOutdated = isOutdated || diagnostic.message.contains("is out of date")
                default: break
                }
            }
            return (uses, isOutdated)
        }
    }

    @Test(arguments: PhoneServiceKind.allCases)
    func aRefusedSubscriptionHasTheServiceLookedForWhereItIs(kind: PhoneServiceKind) throws {
        var first = try Self.rig(try Self.phone(kind, isMoved: false))
        try first.pair()
        first.run(for: .seconds(5))
        let used = said(&first)
        let wasSubscribed = try isSubscribed(&first)
        #expect(wasSubscribed && used.uses == [.began(kind)] && !used.isOutdated)
        let memory = first.onWatch { watch, _ in watch.memory }
        let remembered = try #require(memory.phones.first?.services)
        #expect(remembered.isPromised && remembered.services.map(\.uuid) == [kind.uuid])
        let bonds = first.onPhone { phone, _ in phone.bonds }

        var second = try Self.rig(try Self.phone(kind, isMoved: true, bonds: bonds), memory: memory)
        try second.encrypt(for: .seconds(10))
        let again = said(&second)
        #expect(again.isOutdated)
        #expect(again.uses == [.began(kind)])
        #expect(try isSubscribed(&second))
        let range = try #require(
            second.onWatch { watch, _ in watch.memory.phones.first?.services?.services.first?.range }
        )
        let isThere = try second.onPhone { phone, _ in
            try #require(phone.host.gatt.database.handle(of: Self.subscribed))
        }
        #expect(range.contains(isThere), "and it is remembered where it is")
    }

    /// A service that goes while the watch uses it is used no more.
    @Test(arguments: PhoneServiceKind.allCases)
    func aServiceThatTheAppTakesAwayIsUsedNoMore(kind: PhoneServiceKind) throws {
        var rig = try Self.rig(try Self.phone(kind, isMoved: false))
        try rig.pair()
        rig.run(for: .seconds(5))
        #expect(said(&rig).uses == [.began(kind)])
        try rig.onPhone { phone, now in
            let range = try #require(try phone.host.gatt.setPublished(false, service: Self.moved))
            let connection = try #require(phone.connection)
            let bytes = [range.start, range.end].flatMap { [UInt8($0.rawValue & 0xFF), UInt8($0.rawValue >> 8)] }
            // Service Changed is the first characteristic.
            try phone.host.gatt.indicate(bytes[...], of: handle(3), on: connection, at: now)
        }
        rig.run(for: .seconds(5))
        #expect(said(&rig).uses == [.ended(kind)])
    }

    // MARK: App Launch

    /// A phone wakes its app at the read of App Launch, whatever it answers.
    @Test func aRefusalOfAppLaunchIsNoHarm() throws {
        let service = Service(.uuid128(PebbleAttribute.appLaunchService)) {
            Characteristic(
                .uuid128(PebbleAttribute.appLaunch),
                .read,
                permissions: AttributePermissions(operations: []),
                value: []
            )
        }
        let database = try GATTDatabase([
            Service(.genericAttribute) { Characteristic(.serviceChanged, .indicate, value: []) }, service,
        ])
        var rig = try Self.rig(RigPhone(address: 0x11, seed: Self.seed, database: database))
        try rig.pair()
        rig.run(for: .seconds(10))
        let messages = rig.onWatch { watch, _ in
            watch.events.compactMap { if case .diagnostic(let diagnostic) = $0 { diagnostic.message } else { nil } }
        }
        #expect(messages.count { $0.contains("wakes the phone's Pebble app: it has no session") } == 1)
        #expect(messages.count { $0.contains("App Launch could not be read: ") } == 1)
        #expect(!messages.contains { $0.contains("is out of date") })
        #expect(rig.onPhone { phone, _ in phone.connection } != nil)
        let problems = rig.onWatch { watch, _ in
            watch.events.count { if case .phoneService(_, .problem) = $0 { true } else { false } }
        }
        #expect(problems == 0)
    }
}

extension PhoneServiceKind {
    /// The service's UUID.
    fileprivate var uuid: BluetoothUUID {
        switch self {
        case .notifications: PhoneServiceUUID.ancs
        case .media: PhoneServiceUUID.ams
        case .time: PhoneServiceUUID.currentTimeService
        }
    }
}
