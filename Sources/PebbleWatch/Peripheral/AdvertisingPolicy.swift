import BluetoothHCI

/// Decides what the watch advertises, how often, and for how long.
///
/// The model is the firmware's: *jobs* (be discovered, be reconnected to) each walk a list of *terms* (an interval
/// for a time); exactly one job is on the air, and when there are several they take turns. The policy knows nothing
/// of payloads or controllers: it is told what happens and asked what should be on the air.
public struct AdvertisingPolicy: Sendable {
    /// Why the watch advertises.
    public enum Job: String, Sendable, CaseIterable {
        /// So that a phone that does not know the watch can find it.
        case discovery
        /// So that the phone that does know it can come back.
        case reconnection
    }

    /// One stretch of a job: this interval, for this long.
    public struct Term: Sendable, Equatable {
        public let interval: AdvertisingInterval
        /// Nil for ever.
        public let duration: Duration?

        /// Names an interval and how long it lasts; nil is for ever.
        public init(_ interval: AdvertisingInterval, for duration: Duration?) {
            self.interval = interval
            self.duration = duration
        }
    }

    /// The numbers of a policy; everything else is the same for all of them.
    public struct Profile: Sendable {
        public let name: String
        let discovery: [Term]
        let reconnection: [Term]
        /// How long each job is on the air when several take turns.
        let rotation: Duration
        /// Skip the first reconnection term when it was entered more often than this within the window.
        let churnLimit: Int
        let churnWindow: Duration

        /// As the watches of 2025 do it: 20 ms for 5 minutes (30 seconds to reconnect), then 1022 ms.
        public static let pebble = Profile(
            name: "pebble",
            discovery: [Term(.fastest, for: .seconds(300)), Term(.slowest, for: nil)],
            reconnection: [Term(.fastest, for: .seconds(30)), Term(.slowest, for: nil)],
            rotation: .seconds(1),
            churnLimit: 3,
            churnWindow: .seconds(60)
        )
    }

    /// What belongs on the air now.
    public struct OnAir: Sendable, Equatable {
        public let job: Job
        public let interval: AdvertisingInterval

        /// A job on the air at an interval.
        public init(job: Job, interval: AdvertisingInterval) {
            self.job = job
            self.interval = interval
        }
    }

    private struct Progress: Sendable {
        let job: Job
        var terms: ArraySlice<Term>
        /// How long the first of `terms` has been on the air.
        var elapsed: Duration = .zero
    }

    private let profile: Profile
    /// The jobs that exist, the one on the air first.
    private var ring: [Progress] = []
    private var isConnected = false
    private var lastAdvance: Duration = .zero
    /// When the job at the front of the ring went on the air, for taking turns.
    private var turnStart: Duration = .zero
    private var recentReconnections: [Duration] = []

    /// A policy with nothing to advertise yet.
    public init(profile: Profile) {
        self.profile = profile
    }

    /// What should be on the air, or nil while connected or when there is no reason to advertise.
    public var onAir: OnAir? {
        guard !isConnected, let front = ring.first, let term = front.terms.first else { return nil }
        return OnAir(job: front.job, interval: term.interval)
    }

    /// How long what is on the air stays there; nil for ever.
    public var nextDeadline: Duration? {
        guard !isConnected, let front = ring.first else { return nil }
        // The last term of a job lasts for ever, whatever it says: a watch that is not connected advertises.
        let duration = front.terms.count > 1 ? front.terms.first?.duration : nil
        let termEnd = duration.map { lastAdvance + ($0 - front.elapsed) }
        let turnEnd = ring.count > 1 ? turnStart + profile.rotation : nil
        switch (termEnd, turnEnd) {
        case (let term?, let turn?): return min(term, turn)
        case (let term, let turn): return term ?? turn
        }
    }

    /// Whether a job exists, on the air or not.
    public func isRunning(_ job: Job) -> Bool { ring.contains { $0.job == job } }

    /// Starts a job from its first term, on the air at once; a job that runs already starts over.
    public mutating func start(_ job: Job, at now: Duration) {
        advance(to: now)
        ring.removeAll { $0.job == job }
        ring.insert(Progress(job: job, terms: terms(for: job, at: now)), at: ring.startIndex)
        turnStart = now
    }

    /// Ends a job.
    public mutating func stop(_ job: Job, at now: Duration) {
        advance(to: now)
        guard ring.contains(where: { $0.job == job }) else { return }
        if ring.first?.job == job { turnStart = now }
        ring.removeAll { $0.job == job }
    }

    /// A phone connected: the controller has stopped advertising by itself, and terms stand still.
    public mutating func connected(at now: Duration) {
        advance(to: now)
        isConnected = true
    }

    /// The link is gone: the job that was on the air goes back there, where its term had stopped.
    public mutating func disconnected(at now: Duration) {
        advance(to: now)
        isConnected = false
        turnStart = now
    }

    /// Lets time pass: terms end, jobs take turns.
    public mutating func advance(to now: Duration) {
        guard now > lastAdvance else { return }
        defer { lastAdvance = now }
        guard !isConnected else { return }
        while let deadline = nextDeadline, deadline <= now {
            spend(deadline - lastAdvance)
            lastAdvance = deadline
            if ring.count > 1, turnStart + profile.rotation <= deadline {
                ring.append(ring.removeFirst())
                turnStart = deadline
            }
        }
        spend(now - lastAdvance)
    }

    /// Puts time on the front job's account and moves it to its next term when the first is used up.
    private mutating func spend(_ time: Duration) {
        guard !ring.isEmpty else { return }
        ring[0].elapsed += time
        if let duration = ring[0].terms.first?.duration, ring[0].elapsed >= duration, ring[0].terms.count > 1 {
            ring[0].terms.removeFirst()
            ring[0].elapsed = .zero
        }
    }

    private mutating func terms(for job: Job, at now: Duration) -> ArraySlice<Term> {
        switch job {
        case .discovery:
            return profile.discovery[...]
        case .reconnection:
            recentReconnections.removeAll { now - $0 > profile.churnWindow }
            recentReconnections.append(now)
            // A phone that connects and drops over and over would keep the watch in its fast, costly term.
            let churns = recentReconnections.count > profile.churnLimit
            return churns ? profile.reconnection.dropFirst() : profile.reconnection[...]
        }
    }
}

extension AdvertisingInterval {
    /// 20 ms: what both the firmware and Apple's guidelines use to be found quickly.
    static let fastest = AdvertisingInterval(rawValue: 32)
    /// 1021.875 ms: the firmware's slow interval (its "1022 ms" in whole slots).
    static let slowest = AdvertisingInterval(rawValue: 1635)
}
