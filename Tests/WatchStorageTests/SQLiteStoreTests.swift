import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import GRDB
import PebbleWatch
import Testing
import WatchStorage

@Suite struct SQLiteStoreTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("cairn-store-\(UUID().uuidString)").path

    private func bond(_ number: UInt64, key: UInt128 = 7) -> Bond {
        Bond(
            identity: .random(DeviceAddress(0xC000_0000_0000 | number)),
            keys: .secureConnections(LongTermKey(key)),
            isAuthenticated: true,
            peerIdentityResolvingKey: IdentityResolvingKey(key &+ 1),
            metadata: Bond.Metadata(name: "phone \(number)")
        )
    }

    @Test func startsEmptyAndRemembersEverything() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let identity = LocalIdentity(
            address: .random(DeviceAddress(0xC123_4567_89AB)),
            identityResolvingKey: IdentityResolvingKey(0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF)
        )
        let client = GATTClientState(
            subscriptions: [AttributeHandle(rawValue: 3): .indications, AttributeHandle(rawValue: 9): .notifications],
            supportedFeatures: 5,
            isChangeAware: false
        )
        do {
            let store = try SQLiteStore(directory: directory)
            #expect(try store.load() == WatchMemory())
            try store.apply(.identity(identity))
            try store.apply(.bond(bond(1), replacingOthers: false))
            try store.apply(.bond(bond(2), replacingOthers: false))
            try store.apply(.client(bond(2).identity, client, seenDatabaseHash: [1, 2, 3]))
        }
        let memory = try SQLiteStore(directory: directory).load()
        #expect(memory.identity == identity)
        #expect(
            memory.phones == [
                RememberedPhone(bond: bond(1)),
                RememberedPhone(bond: bond(2), client: client, seenDatabaseHash: [1, 2, 3]),
            ]
        )
    }

    /// Under the same identity there may be another phone, unless the old key was in use when the new one came.
    @Test(arguments: [false, true]) func pairingAgainKeepsWhatAProvenPhoneSubscribedTo(isProven: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        let client = GATTClientState(subscriptions: [AttributeHandle(rawValue: 3): .indications])
        try store.apply(.bond(bond(1), replacingOthers: true))
        try store.apply(.client(bond(1).identity, client, seenDatabaseHash: nil))
        try store.apply(.bond(bond(1, key: 99), replacingOthers: true, keepingClient: isProven))
        let expected = isProven ? client : GATTClientState()
        #expect(try store.load().phones == [RememberedPhone(bond: bond(1, key: 99), client: expected)])
    }

    /// The order says which phone goes when there is one too many.
    @Test func aPhoneThatPairsAgainIsTheNewest() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        for number: UInt64 in [1, 2, 3, 1] { try store.apply(.bond(bond(number), replacingOthers: false)) }
        let newestLast: [UInt64] = [2, 3, 1]
        #expect(try store.load().phones.map { $0.bond } == newestLast.map { bond($0) })
    }

    /// The stored form, by hand: version 1, a Database Hash of 16 bytes, and nothing else.
    private func services(hash: UInt8) throws -> PhoneServiceCache {
        var reader = ByteReader([1, 16] + [UInt8](repeating: hash, count: 16) + [0, 0, 0, 0])
        return try PhoneServiceCache(reading: &reader)
    }

    @Test func aPhonesServicesAreKeptUntilItPairsAgain() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            let store = try SQLiteStore(directory: directory)
            try store.apply(.bond(bond(1), replacingOthers: true))
            try store.apply(.phoneServices(bond(1).identity, services(hash: 1)))
            try store.apply(.phoneServices(bond(1).identity, services(hash: 2)))
            try store.apply(.phoneServices(bond(2).identity, services(hash: 3)))
        }
        let store = try SQLiteStore(directory: directory)
        let second = try services(hash: 2)
        #expect(try store.load().phones == [RememberedPhone(bond: bond(1), services: second)])
        try store.apply(.client(bond(1).identity, GATTClientState(), seenDatabaseHash: [7]))
        #expect(try store.load().phones.first?.services == second)
        try store.apply(.bond(bond(1, key: 99), replacingOthers: true))
        #expect(try store.load().phones.first?.services == nil)
        try store.apply(.phoneServices(bond(1).identity, services(hash: 4)))
        try store.apply(.forget(bond(1).identity))
        try store.apply(.bond(bond(1), replacingOthers: true))
        #expect(try store.load().phones == [RememberedPhone(bond: bond(1))])
    }

    @Test func servicesThatCannotBeReadAreForgottenAndTheBondStays() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            let store = try SQLiteStore(directory: directory)
            try store.apply(.bond(bond(1), replacingOthers: true))
            try store.apply(.phoneServices(bond(1).identity, services(hash: 1)))
        }
        try DatabaseQueue(path: directory + "/" + SQLiteStore.fileName).write { database in
            try database.execute(sql: "UPDATE phone SET services = x'0102'")
        }
        #expect(try SQLiteStore(directory: directory).load().phones == [RememberedPhone(bond: bond(1))])
    }

    @Test func aSecondPhoneReplacesTheFirstAndForgettingForgets() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        try store.apply(.bond(bond(1), replacingOthers: true))
        try store.apply(.bond(bond(2), replacingOthers: true))
        #expect(try store.load().phones.map(\.bond) == [bond(2)])
        try store.apply(.client(bond(1).identity, GATTClientState(), seenDatabaseHash: nil))
        #expect(try store.load().phones.count == 1, "what belongs to no bond is not kept")
        try store.apply(.forget(bond(2).identity))
        #expect(try store.load().phones.isEmpty)
    }

    @Test func onlyTheOwnerCanReadIt() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        try store.apply(.bond(bond(1), replacingOthers: true))
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try permissions(directory) == 0o700)
        for file in try FileManager.default.contentsOfDirectory(atPath: directory) {
            #expect(try permissions(directory + "/" + file) == 0o600, "\(file)")
        }
    }

    @Test func twoProcessesCannotShareIt() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        try store.apply(.bond(bond(1), replacingOthers: true))
        #expect {
            let other = try SQLiteStore(directory: directory)
            _ = try other.load()
        } throws: { error in
            guard case .unusable(_, let reason)? = error as? WatchStoreError else { return false }
            return reason.contains("another process")
        }
    }

    @Test func aPlaceThatCannotBeUsedSaysSo() throws {
        #expect(throws: WatchStoreError.self) { _ = try SQLiteStore(directory: "/proc/nowhere") }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("cairn-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: true)
        try Data("this is not a database, and long enough to show it".utf8)
            .write(to: URL(fileURLWithPath: file + "/" + SQLiteStore.fileName))
        #expect {
            _ = try SQLiteStore(directory: file).load()
        } throws: { error in
            guard case .corrupt? = error as? WatchStoreError else { return false }
            return true
        }
    }
}
