import AirSimulator
import Faults
import Testing

@testable import HCIRuntime

/// Faults of the radio: what the air is while they are there, and after.
@Suite struct RadioFaultTests {
    @Test(arguments: RadioFault.allCases) func theAirIsSpoiltWhileItIsThere(_ fault: RadioFault) throws {
        var air = Air(seed: 1)
        let (watch, phone) = (air.addController(.modern), air.addController(.modern))
        var faults = RadioFaults(around: watch)
        try faults.faults.add(Fault(parsing: "\(fault.rawValue) for=5s"), as: FaultID(rawValue: 1), at: .zero)
        faults.apply(to: &air, others: [watch, phone], at: .zero)
        let loss = air.linkQuality(between: watch, and: phone).loss
        switch (fault, loss) {
        case (.loss, .uniform(probability: 0.3)), (.burst, .bursty), (.fade, .fading), (.deaf, .none),
            (.clockDrift, .none):
            break
        default: Issue.record("\(fault): \(loss)")
        }
        #expect(faults.faults.running.first?.firings == 1)
        #expect(faults.nextDeadline == .seconds(5))
        faults.apply(to: &air, others: [watch, phone], at: .seconds(5))
        #expect(air.linkQuality(between: watch, and: phone) == .perfect)
        while faults.faults.nextFiring() != nil {}
        #expect(faults.isIdle)
    }

    @Test func aSilenceEndsByItself() {
        var air = Air(seed: 1)
        let (watch, phone) = (air.addController(.modern), air.addController(.modern))
        var faults = RadioFaults(around: watch)
        faults.silence(phone, for: .seconds(3), at: .zero)
        faults.apply(to: &air, others: [phone], at: .zero)
        #expect(air.linkQuality(between: watch, and: phone) == .outOfRange)
        faults.apply(to: &air, others: [phone], at: .seconds(3))
        #expect(air.linkQuality(between: watch, and: phone) == .perfect && faults.isIdle)
    }
}
