import AirSimulator

/// What pairs that talk cost: one AppMessage a second each, to the watch and back.
struct CrowdTalk {
    let pairs: Int
    /// How many dictionaries came back.
    let echoes: Int
    /// How long the talk was, in simulated seconds.
    let seconds: Double
    /// How long a processor needed for it, in nanoseconds.
    let nanoseconds: Double
    /// How much of the heap a pair has, in bytes: both hosts, both controllers, and their share of the air.
    let bytesPerPair: Double

    /// Microseconds of a processor for a dictionary to the watch and back.
    var microsecondsPerEcho: Double { nanoseconds / 1000 / Double(max(1, echoes)) }
    /// How many simulated seconds pass in a second of one processor.
    var speed: Double { seconds / (nanoseconds / 1e9) }

    /// - Parameter seconds: how long the pairs talk, in simulated seconds, after a second that does not count.
    init(pairs: Int, seconds: Int, seed: UInt64) throws {
        let before = HeapUse.now
        var crowd = try Crowd(pairs, .oneByOne, seed: seed)
        crowd.run(for: .seconds(5))
        crowd.talk()
        crowd.run(for: .seconds(2))
        let echoesBefore = crowd.ask(\.echoes).reduce(0, +)
        let start = CPUTime.nanoseconds
        crowd.run(for: .seconds(seconds))
        nanoseconds = CPUTime.nanoseconds - start
        let used = HeapUse.now - before
        self.pairs = pairs
        self.seconds = Double(seconds)
        echoes = crowd.ask(\.echoes).reduce(0, +) - echoesBefore
        bytesPerPair = Double(used.bytes) / Double(pairs)
        let misses = crowd.ask(\.misses).reduce(0, +)
        // The dictionaries that are under way at the beginning and at the end may make a difference of one a phone.
        guard misses == 0, echoes >= pairs * (seconds - 1) else {
            throw WorkloadFailure("seed \(seed): \(echoes) echoes came back, \(misses) dictionaries were not sent")
        }
    }
}

/// How pairs find each other that all come to one air at one instant.
struct CrowdMeeting {
    let pairs: Int
    /// When the pairs that met had done so, since the beginning.
    let times: Distribution
    /// How many connections failed or were lost before a pair had met.
    let failures: Int
    /// How many of these never had a first packet.
    let unestablished: Int
    /// How long a processor needed until the last pair had met, in nanoseconds.
    let nanoseconds: Double
    /// Stands for every packet, if it was asked for.
    let transcript: String?

    var met: Int { times.seconds.count }

    /// - Parameters:
    ///   - limit: how long the pairs may take, in simulated seconds.
    ///   - hasTranscript: whether every packet is to be looked at.
    init(pairs: Int, limit: Int, seed: UInt64, hasTranscript: Bool = false) throws {
        var crowd = try Crowd(pairs, .together, seed: seed)
        let digest = TranscriptDigest()
        if hasTranscript { crowd.observe(digest.add) }
        let start = CPUTime.nanoseconds
        for _ in 0..<limit {
            crowd.run(for: .seconds(1))
            if crowd.ask({ $0.metAt != nil }).allSatisfy(\.self) { break }
        }
        nanoseconds = CPUTime.nanoseconds - start
        self.pairs = pairs
        times = Distribution(crowd.ask(\.metAt).compactMap(\.self))
        failures = crowd.ask(\.failures).reduce(0, +)
        unestablished = crowd.ask(\.unestablished).reduce(0, +)
        transcript = hasTranscript ? digest.text : nil
    }
}
