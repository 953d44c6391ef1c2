import SeededRandomness

/// What becomes of advertising on an air with many on it, worked out from the Core Specification and from arithmetic: nothing
/// here knows how the simulator does it.
enum CrowdedAirOracle {
    /// The share of an advertiser's packets that no other one destroys.
    ///
    /// A packet of `airTime` is destroyed by one that begins less than `airTime` before or after it. Another advertiser sends one
    /// on that channel in each event, and its events are the interval and half of the greatest advDelay apart on average
    /// (Core 5.4, Vol 6, Part B, 4.4.2.2.1). So it leaves the packet alone with the probability 1 - 2 * airTime / mean.
    /// - Parameters:
    ///   - airTime: of each packet, in microseconds.
    ///   - interval: of each advertiser, in microseconds.
    static func undisturbedShare(advertisers: Int, airTime: Double, interval: Double) -> Double {
        let disturbed = 2 * airTime / (interval + 5000)
        return (1..<advertisers).reduce(1) { share, _ in share * (1 - disturbed) }
    }

    /// A scanner that asks for a scan response, with the backoff of Core 5.4, Vol 6, Part B, 4.4.3.2.
    private struct Scanner {
        var upperLimit = 1
        var backoffCount = 1
        var successesInARow = 0
        var failuresInARow = 0

        mutating func requestEnded(success: Bool, _ random: inout SplitMix64) {
            successesInARow = success ? successesInARow + 1 : 0
            failuresInARow = success ? 0 : failuresInARow + 1
            if successesInARow == 2 {
                upperLimit = max(1, upperLimit / 2)
                successesInARow = 0
            }
            if failuresInARow == 2 {
                upperLimit = min(256, upperLimit * 2)
                failuresInARow = 0
            }
            backoffCount = Int.random(in: 1...upperLimit, using: &random)
        }
    }

    /// How many packets of one advertiser it takes until each of several scanners that hear all of them has had its scan
    /// response. Two requests at once destroy each other; who has the response asks no more.
    static func packetsUntilAllAnswered(scanners count: Int, seed: UInt64) -> Int {
        var random = SplitMix64(seed: seed)
        var scanners = [Scanner](repeating: Scanner(), count: count)
        var packets = 0
        while !scanners.isEmpty {
            packets += 1
            for index in scanners.indices { scanners[index].backoffCount -= 1 }
            let asking = scanners.indices.filter { scanners[$0].backoffCount <= 0 }
            if asking.count == 1 {
                scanners.remove(at: asking[0])
            } else {
                for index in asking { scanners[index].requestEnded(success: false, &random) }
            }
        }
        return packets
    }
}
