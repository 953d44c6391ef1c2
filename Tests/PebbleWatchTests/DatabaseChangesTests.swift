import BluetoothHCI
import BluetoothHost
import Testing

@testable import PebbleWatch

/// Every bonded phone hears once of a changed database, also if an indication did not leave.
@Suite struct DatabaseChangesTests {
    private static func range(_ start: UInt16, _ end: UInt16) throws -> AttributeHandleRange {
        try #require(AttributeHandleRange(AttributeHandle(rawValue: start), AttributeHandle(rawValue: end)))
    }

    /// A phone that subscribed, and a database of which handles 10 to 20 have changed.
    private static func changed() throws -> (DatabaseChanges, ConnectionHandle) {
        let phone = try #require(ConnectionHandle(rawValue: 1))
        var changes = DatabaseChanges(delay: .seconds(10))
        changes.connected(phone, at: .zero)
        changes.changed(try range(10, 20))
        return (changes, phone)
    }

    @Test func whatDidNotLeaveGoesOutAfterTheNextSubscription() throws {
        var (changes, phone) = try Self.changed()
        let first = changes.nextIndication(at: .zero)
        #expect(first == DatabaseChanges.Indication(connection: phone, range: try Self.range(10, 20)))
        changes.wasNotSent([10, 0, 20, 0], on: phone)
        #expect(changes.nextDeadline == nil, "it has not subscribed")
        changes.changed(try Self.range(30, 31))
        changes.subscribed(phone, at: .seconds(1))
        #expect(changes.nextDeadline == .seconds(11))
        let second = changes.nextIndication(at: .seconds(11))
        #expect(second == DatabaseChanges.Indication(connection: phone, range: try Self.range(10, 31)))
        let isUpToDate = changes.confirmed(phone)
        #expect(isUpToDate)
    }

    @Test func aValueThatIsNoRangeChangesNothing() throws {
        for value: [UInt8] in [[], [10, 0, 20], [20, 0, 10, 0], [0, 0, 10, 0]] {
            var (changes, phone) = try Self.changed()
            _ = changes.nextIndication(at: .zero)
            changes.wasNotSent(value[...], on: phone)
            let isUpToDate = changes.confirmed(phone)
            #expect(isUpToDate, "\(value): the one in flight is still that of handles 10 to 20")
        }
    }

    @Test func onlyWhatIsInFlightIsConfirmed() throws {
        var (changes, phone) = try Self.changed()
        var confirmations = [changes.confirmed(phone)]
        _ = changes.nextIndication(at: .zero)
        changes.changed(try Self.range(40, 41))
        confirmations += [changes.confirmed(phone), changes.confirmed(phone)]
        #expect(
            confirmations == [false, false, false],
            "nothing was sent yet; then it has changed again; then nothing was sent"
        )
    }
}
