import BluetoothHCI
import DequeModule

/// What is remembered of strangers who came: how often, by address and in all, since addresses cost nothing.
struct StrangerRecord: Sendable {
    /// A count that goes down by one each time a while has passed.
    private struct Count: Sendable {
        private var value = 0
        private var since: Duration = .zero
        private let recovery: Duration

        init(recovery: Duration) { self.recovery = recovery }

        func value(at now: Duration) -> Int { max(0, value - Int((now - since) / recovery)) }

        mutating func increase(at now: Duration) {
            value = min(value(at: now) + 1, StrangerRecord.highestCount)
            since = now
        }
    }

    /// Counts end here, so that patience is back at most so many recoveries after the last stranger has gone.
    static let highestCount = 8
    /// How long it takes until one time less counts, of all strangers and of one address.
    static let recovery: Duration = .seconds(60)
    static let recoveryOfAddress: Duration = .seconds(300)
    /// Of as many addresses it is remembered how often they came, the latest.
    static let addressLimit = 16
    /// So many strangers are let in...
    static let admissionLimit = 10
    /// ...within this time; more are turned away as soon as they have connected.
    static let admissionTime: Duration = .seconds(10)

    private var all = Count(recovery: recovery)
    private var byAddress: [(address: LEAddress, count: Count)] = []
    private var admissions: Deque<Duration> = []

    /// How often patience is halved with a stranger: the first two are let off, whatever their address.
    func halvings(of address: LEAddress, at now: Duration) -> Int {
        let ofAddress = byAddress.first { $0.address == address }?.count.value(at: now) ?? 0
        return max(all.value(at: now) - 2, ofAddress)
    }

    /// A stranger's link has failed.
    mutating func failed(_ address: LEAddress, at now: Duration) {
        all.increase(at: now)
        var count = Count(recovery: Self.recoveryOfAddress)
        if let index = byAddress.firstIndex(where: { $0.address == address }) {
            count = byAddress.remove(at: index).count
        } else if byAddress.count == Self.addressLimit {
            byAddress.removeFirst()
        }
        count.increase(at: now)
        byAddress.append((address, count))
    }

    /// Whether one more stranger is let in now.
    mutating func admits(at now: Duration) -> Bool {
        if admissions.count == Self.admissionLimit {
            guard let first = admissions.first, first + Self.admissionTime <= now else { return false }
            admissions.removeFirst()
        }
        admissions.append(now)
        return true
    }
}
