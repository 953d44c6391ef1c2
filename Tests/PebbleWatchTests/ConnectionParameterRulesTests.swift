import BluetoothHCI
import PebbleWatch
import Testing

/// Which requests a phone grants: the rules of Apple's guidelines, one by one, on both sides of each limit.
@Suite struct ConnectionParameterRulesTests {
    typealias Violation = ConnectionParameterRules.Violation

    /// A request in milliseconds, and its result.
    struct Case: Sendable, CustomTestStringConvertible {
        let shortest: Double
        let longest: Double
        let latency: UInt16
        let timeout: Double
        let violation: Violation?

        init(_ shortest: Double, _ longest: Double, _ latency: UInt16, _ timeout: Double, _ violation: Violation?) {
            self.shortest = shortest
            self.longest = longest
            self.latency = latency
            self.timeout = timeout
            self.violation = violation
        }

        var testDescription: String { "\(shortest)-\(longest) ms, latency \(latency), \(timeout) ms" }

        func check(_ rules: ConnectionParameterRules) -> Violation? {
            let parameters = ConnectionParameters(
                intervalMinimum: .milliseconds(shortest),
                intervalMaximum: .milliseconds(longest),
                latency: latency,
                supervisionTimeout: .milliseconds(timeout)
            )
            do {
                try rules.check(parameters)
                return nil
            } catch {
                return error
            }
        }
    }

    private static let grid = Violation.intervalOffGrid(.milliseconds(15))
    private static let narrow = Violation.intervalSpreadTooNarrow(minimum: .milliseconds(15))

    /// Releases 7 to 21 of the guidelines.
    @Test(arguments: [
        // What the watches of 2025 ask for.
        Case(15, 15, 0, 6000, nil),
        Case(30, 45, 3, 6000, nil),
        // Interval Min >= 15 ms, and a multiple of it.
        Case(15, 30, 0, 6000, nil),
        Case(13.75, 28.75, 0, 6000, .intervalTooShort(minimum: .milliseconds(15))),
        Case(11.25, 21.25, 0, 6000, .intervalTooShort(minimum: .milliseconds(15))),
        Case(16.25, 31.25, 0, 6000, grid),
        Case(168.75, 201.25, 0, 6000, grid),
        Case(60, 75, 0, 6000, nil),
        // Interval Min + 15 ms <= Interval Max, or both 15 ms.
        Case(30, 30, 0, 6000, narrow),
        Case(30, 43.75, 0, 6000, narrow),
        Case(15, 28.75, 0, 6000, narrow),
        // Latency <= 30.
        Case(15, 30, 30, 6000, nil),
        Case(15, 30, 31, 6000, .latencyTooHigh(maximum: 30)),
        // 2 s <= supervision timeout <= 6 s.
        Case(15, 15, 0, 2000, nil),
        Case(15, 15, 0, 1990, .supervisionTimeoutOutOfRange(.seconds(2)...(.seconds(6)))),
        Case(15, 15, 0, 6010, .supervisionTimeoutOutOfRange(.seconds(2)...(.seconds(6)))),
        // Interval Max * (latency + 1) <= 2 s.
        Case(480, 500, 3, 6000, .supervisionTimeoutTooShortForLatency),
        Case(480, 501.25, 3, 6000, .silenceTooLong),
        // Interval Max * (latency + 1) * 3 < supervision timeout.
        Case(150, 200, 9, 6000, .supervisionTimeoutTooShortForLatency),
        Case(150, 198.75, 9, 6000, nil),
        Case(15, 15, 30, 2000, nil),
        // What the Core itself forbids.
        Case(45, 30, 0, 6000, .notAllowedByCore),
        Case(30, 45, 499, 6000, .notAllowedByCore),
    ])
    func apple(_ request: Case) {
        #expect(request.check(.apple) == request.violation)
    }

    /// Release 6, by which 15 ms exactly is refused, as owners of some phones have reported.
    @Test(arguments: [
        Case(20, 40, 0, 6000, nil),
        Case(30, 50, 3, 6000, nil),
        Case(15, 15, 0, 6000, .intervalTooShort(minimum: .milliseconds(20))),
        Case(18.75, 40, 0, 6000, .intervalTooShort(minimum: .milliseconds(20))),
        Case(20, 38.75, 0, 6000, .intervalSpreadTooNarrow(minimum: .milliseconds(20))),
        Case(20, 20, 0, 6000, .intervalSpreadTooNarrow(minimum: .milliseconds(20))),
        Case(30, 45, 3, 6000, .intervalSpreadTooNarrow(minimum: .milliseconds(20))),
        Case(20, 40, 4, 6000, nil),
        Case(20, 40, 5, 6000, .latencyTooHigh(maximum: 4)),
        Case(20, 40, 0, 720, nil),
        Case(20, 40, 0, 6010, .supervisionTimeoutOutOfRange(.zero...(.seconds(6)))),
    ])
    func apple2012(_ request: Case) {
        #expect(request.check(.apple2012) == request.violation)
    }

    /// No profile contains anything that its own phones would refuse.
    @Test(arguments: LinkProfile.all, ResponseTime.allCases)
    func profilesKeepTheirRules(_ profile: LinkProfile, _ responseTime: ResponseTime) throws {
        try profile.rules.check(profile.parameters(for: responseTime))
    }
}
