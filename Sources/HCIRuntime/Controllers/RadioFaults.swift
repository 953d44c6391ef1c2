import AirSimulator
import BluetoothHCI
import Faults

/// What is done on purpose to the air between one controller and all others.
///
/// Other controllers come and go; the fault is for those that are there, and is looked at again whenever one comes.
struct RadioFaults {
    /// Two controllers that are to hear nothing of each other for a while.
    private struct Silence {
        let other: ControllerID
        let end: Duration
    }

    var faults = FaultList()
    private let controller: ControllerID
    private var now: Duration = .zero
    private var silences: [Silence] = []
    /// What was before a fault, for each controller that one is applied to.
    private var before: [ControllerID: LinkQuality] = [:]
    private var applied: [ControllerID: LinkQuality] = [:]
    private var deaf: [ControllerID: String] = [:]
    private var drifts = false

    /// The air around a controller.
    init(around controller: ControllerID) { self.controller = controller }

    /// Whether nothing is spoilt.
    var isIdle: Bool { faults.isEmpty && silences.isEmpty && before.isEmpty && deaf.isEmpty && !drifts }

    /// When `apply` has something to do.
    var nextDeadline: Duration? {
        var next = faults.nextDeadline(after: now)
        for silence in silences { next = min(next ?? silence.end, silence.end) }
        return next
    }

    /// The two ends of a link hear nothing of each other for a while.
    mutating func silence(_ other: ControllerID, for length: Duration, at now: Duration) {
        silences.append(Silence(other: other, end: now + length))
    }

    /// By how much the watch's clock is fast that times its connections, in parts per million.
    private var clockError: Int { faults.atWork(.radio(.clockDrift), at: now)?.fault.number(.ppm) ?? 0 }

    /// Makes the air what the faults want it to be.
    mutating func apply(to air: inout Air, others: [ControllerID], at now: Duration) {
        self.now = max(now, self.now)
        for index in faults.running.indices where faults.update(index, { $0.begins(at: now) }) {
            faults.tell(faults.running[index], "it begins")
        }
        _ = faults.removeOver(at: now)
        silences.removeAll { $0.end <= now }
        if drifts || clockError != 0 {
            drifts = clockError != 0
            air.setClockError(of: controller, partsPerMillion: clockError)
        }
        for other in others where other != controller { apply(to: &air, other) }
    }

    private mutating func apply(to air: inout Air, _ other: ControllerID) {
        let wanted = silences.contains { $0.other == other } ? .outOfRange : quality
        if let wanted {
            if before[other] == nil { before[other] = air.linkQuality(between: controller, and: other) }
            if applied[other] != wanted { air.setLinkQuality(wanted, between: controller, and: other) }
            applied[other] = wanted
        } else if let old = before.removeValue(forKey: other) {
            applied[other] = nil
            air.setLinkQuality(old, between: controller, and: other)
        }
        let direction = faults.atWork(.radio(.deaf), at: now)?.fault.word(.direction)
        if deaf[other] != nil, deaf[other] != direction {
            air.setDeafness(of: controller, to: other, false)
            air.setDeafness(of: other, to: controller, false)
        }
        deaf[other] = direction
        switch direction {
        case "phone": air.setDeafness(of: other, to: controller, true)
        case .some: air.setDeafness(of: controller, to: other, true)
        case nil: break
        }
    }

    /// What faults want of the air; nil for what it is without them.
    private var quality: LinkQuality? {
        if let fault = faults.atWork(.radio(.loss), at: now)?.fault {
            return LinkQuality(loss: .uniform(probability: Double(fault.number(.percent) ?? 30) / 100))
        }
        if let fault = faults.atWork(.radio(.burst), at: now)?.fault {
            let bad = fault.time(.length) ?? .milliseconds(500)
            return LinkQuality(loss: .bursty(GilbertElliott(meanGood: fault.time(.over) ?? .seconds(2), meanBad: bad)))
        }
        if let fault = faults.atWork(.radio(.fade), at: now)?.fault {
            let from = Double(fault.number(.from) ?? 1)
            let fade = DistanceFade(
                from: from,
                to: Double(fault.number(.to) ?? 60),
                over: fault.time(.over) ?? .seconds(30)
            )
            return LinkQuality(loss: .fading(fade))
        }
        return nil
    }
}
