import BluetoothHCI
import BluetoothHost

/// The links that have ended: why, what the watch did about it, and whether it helped.
struct LinkHistory: Sendable {
    /// Links that have ended and of which no event has told.
    private var ended: [(disconnection: Disconnection, isStranger: Bool)] = []
    private(set) var last: Disconnection?
    /// How the last stranger's link ended, while a bonded phone was waited for.
    private(set) var lastStranger: Disconnection?
    private var wasChurning = false

    /// A link is gone.
    mutating func add(_ disconnection: Disconnection, isStranger: Bool) { ended.append((disconnection, isStranger)) }

    /// A phone is here, as far as is known.
    mutating func noteReturn(of phone: LEAddress, _ core: inout WatchCore, at now: Duration) {
        guard let last, last.phone == phone, last.absence == nil else { return }
        let absence = now - last.time
        self.last?.absence = absence
        core.emit(.recovery(.phoneIsBack(phone, after: absence)))
    }

    /// Whether there is anything to tell.
    func hasNews(isChurning: Bool) -> Bool { !ended.isEmpty || isChurning != wasChurning }

    /// Tells of the links that have ended, now that the advertising policy has decided.
    /// - Parameter remedy: what the watch does about them.
    mutating func report(_ remedy: Disconnection.Remedy, isChurning: Bool, _ core: inout WatchCore) {
        for (var disconnection, isStranger) in ended {
            disconnection.remedy = remedy
            core.emit(.recovery(.linkEnded(disconnection)))
            if isStranger { lastStranger = disconnection } else { last = disconnection }
        }
        ended.removeAll(keepingCapacity: true)
        guard isChurning != wasChurning else { return }
        wasChurning.toggle()
        core.emit(.recovery(.churning(wasChurning)))
    }

    /// Goes on where the watch that ran before stopped.
    mutating func follow(_ earlier: LinkHistory) {
        ended = earlier.ended
        last = earlier.last
    }
}
