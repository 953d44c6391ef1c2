import BluetoothHCI
import BluetoothHost
import ByteCoding

/// Sees to it that every bonded phone hears of a changed database once: after encryption, after the pause that iOS needs,
/// and again after a lost link until it has confirmed.
///
/// Which database a phone knows is told by the Database Hash that is remembered with its bond. A phone that knows
/// the present one is never disturbed.
struct DatabaseChanges: Sendable {
    /// A Service Changed indication that is due.
    struct Indication: Equatable, Sendable {
        let connection: ConnectionHandle
        let range: AttributeHandleRange

        /// The characteristic's value: first and last affected handle, two bytes each, least significant first.
        var value: [UInt8] {
            var value: [UInt8] = []
            value.appendLittleEndian(range.start.rawValue)
            value.appendLittleEndian(range.end.rawValue)
            return value
        }
    }

    private struct Phone: Sendable {
        /// What has changed since the phone last knew; nil if nothing.
        var pending: AttributeHandleRange?
        /// When it may be told; nil until it subscribes.
        var due: Duration?
        var isInFlight = false
    }

    /// How long after encryption the first indication goes out.
    private let delay: Duration
    private var phones: [ConnectionHandle: Phone] = [:]

    /// iOS loses an indication that comes sooner after encryption than this.
    static let iOSDelay: Duration = .seconds(10)

    init(delay: Duration) {
        self.delay = delay
    }

    /// A phone connected; it knows the present database until something else turns out.
    mutating func connected(_ connection: ConnectionHandle, at now: Duration) {
        phones[connection] = Phone(due: now)
    }

    /// A bonded phone's link is encrypted, and the database that it last saw is not the present one.
    mutating func isOutdated(_ connection: ConnectionHandle, at now: Duration) {
        // What changed between two runs is not known, so everything may have.
        phones[connection]?.pending = .all
        phones[connection]?.due = now + delay
    }

    /// The database changed within a range while the watch runs.
    mutating func changed(_ range: AttributeHandleRange) {
        for connection in phones.keys {
            let all = phones[connection]?.pending?.joined(with: range) ?? range
            phones[connection]?.pending = all
        }
    }

    /// The phone subscribed to Service Changed.
    mutating func subscribed(_ connection: ConnectionHandle, at now: Duration) {
        guard phones[connection]?.due == nil else { return }
        phones[connection]?.due = now + delay
    }

    /// The phone found out by itself, by reading the Database Hash.
    mutating func isAware(_ connection: ConnectionHandle) {
        phones[connection]?.pending = nil
    }

    /// The phone has confirmed: it knows the present database, unless it changed again meanwhile.
    /// - Returns: whether the phone is up to date now.
    mutating func confirmed(_ connection: ConnectionHandle) -> Bool {
        guard phones[connection]?.isInFlight == true else { return false }
        phones[connection]?.isInFlight = false
        return phones[connection]?.pending == nil
    }

    /// The link is gone. What was not confirmed is found out again on the next one.
    mutating func disconnected(_ connection: ConnectionHandle) {
        phones[connection] = nil
    }

    /// When `nextIndication(at:)` has something.
    var nextDeadline: Duration? {
        phones.values.lazy.filter { $0.pending != nil && !$0.isInFlight }.compactMap { $0.due }.min()
    }

    /// The next indication that is due; it counts as sent.
    mutating func nextIndication(at now: Duration) -> Indication? {
        let ready = phones.filter { _, phone in
            phone.pending != nil && !phone.isInFlight && phone.due.map { $0 <= now } ?? false
        }
        guard let connection = ready.keys.min(), let range = phones[connection]?.pending else { return nil }
        phones[connection]?.pending = nil
        phones[connection]?.isInFlight = true
        return Indication(connection: connection, range: range)
    }

    /// An indication that was queued did not leave.
    /// - Parameter value: the characteristic's value.
    mutating func wasNotSent(_ value: ArraySlice<UInt8>, on connection: ConnectionHandle) {
        var reader = ByteReader(value)
        guard let start = try? reader.readLittleEndian("service_changed.start", as: UInt16.self),
            let end = try? reader.readLittleEndian("service_changed.end", as: UInt16.self),
            let range = AttributeHandleRange(AttributeHandle(rawValue: start), AttributeHandle(rawValue: end))
        else { return }
        wasNotSent(Indication(connection: connection, range: range))
    }

    /// An indication could not be sent, because the phone has not subscribed: it goes out after it does.
    mutating func wasNotSent(_ indication: Indication) {
        let range = phones[indication.connection]?.pending?.joined(with: indication.range) ?? indication.range
        phones[indication.connection]?.pending = range
        phones[indication.connection]?.isInFlight = false
        phones[indication.connection]?.due = nil
    }
}

extension AttributeHandleRange {
    /// The smallest range that holds both.
    func joined(with other: AttributeHandleRange) -> AttributeHandleRange {
        AttributeHandleRange(min(start, other.start), max(end, other.end)) ?? self
    }
}
