import BluetoothHost

/// When a watch that hides its address takes another one, so that a listener that hears it before and after cannot tell that it
/// is the same.
///
/// An address that vanishes and another one that appears at that moment belong to one watch. So all watches change theirs
/// around the same moments, the multiples of an address's lifetime since 1970; each falls silent at a random time before that
/// moment, and is heard again at a random time after it. Of two watches, either may be the first to fall silent, and the first
/// to be heard again.
struct AddressEpochs: Sendable {
    /// The most that passes between falling silent and the moment, and between the moment and being heard again.
    static let longestSilence: Duration = .seconds(2)
    /// The part of an address's lifetime that either may take.
    static let silencePart = 8

    private let lifetime: Duration
    /// What the time was at the origin of the watch's own, since 1970.
    private let wallClock: Duration
    private var random: RandomSource
    /// Whether nothing may be heard of the watch now.
    private(set) var isSilent = false
    /// When it falls silent, or is heard again.
    private(set) var nextDeadline: Duration

    init(
        lifetime: Duration,
        wallClock: Duration,
        random: RandomSource,
        at now: Duration
    ) {
        self.lifetime = lifetime
        self.wallClock = wallClock
        self.random = random
        nextDeadline = now
        planSilence(after: now)
    }

    /// The most that either part of a silence lasts.
    private var silence: Duration { min(Self.longestSilence, lifetime / Self.silencePart) }

    /// The first moment after a time at which all watches change their addresses.
    private func moment(after time: Duration) -> Duration {
        let sinceEpoch = wallClock + time
        return lifetime * (Int64(sinceEpoch / lifetime) + 1) - wallClock
    }

    private mutating func randomPart(of span: Duration) -> Duration {
        let nanoseconds = Int64(span / .nanoseconds(1))
        return .nanoseconds(Int64.random(in: 0...max(0, nanoseconds), using: &random))
    }

    private mutating func planSilence(after time: Duration) {
        var moment = moment(after: time)
        // One that is so near has had its silence, or the watch has only just begun.
        if moment - silence <= time { moment += lifetime }
        nextDeadline = moment - randomPart(of: silence)
    }

    /// Lets time pass.
    /// - Returns: whether the watch has fallen silent, or is to be heard again: under another address.
    mutating func advance(to now: Duration) -> Bool {
        guard nextDeadline <= now else { return false }
        isSilent.toggle()
        if isSilent {
            nextDeadline = moment(after: nextDeadline) + randomPart(of: silence)
            // Time that was slept through has been silence enough.
            guard nextDeadline <= now else { return true }
            isSilent = false
        }
        planSilence(after: now)
        return true
    }
}
