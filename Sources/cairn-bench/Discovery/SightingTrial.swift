import AirSimulator
import BluetoothHCI
import SeededRandomness

/// How long a phone needs to hear a watch that advertises at an interval: link layers alone, neither of which knows what
/// the other one does.
struct SightingTrial: Sendable {
    let interval: AdvertisingInterval
    let scanner: ScannerProfile

    /// After this long the two will not meet any more.
    private static let patience: Duration = .seconds(3600)

    /// - Returns: The time from a moment at random to the first report.
    func run(seed: UInt64) throws -> Duration {
        var random = SplitMix64(seed: seed)
        var air = Air(seed: seed)
        let watch = air.addController()
        let phone = air.addController()
        // The scanner's windows lie anywhere between the advertising events, and the clock starts anywhere between the
        // windows and between the events.
        let scanStart = Duration.microseconds(Self.microseconds(below: scanner.interval.duration, &random))
        let phases = [scanner.interval.duration, interval.duration].map { Self.microseconds(below: $0, &random) }
        let start = scanStart + .microseconds(phases[0] + phases[1])
        send(SetEventMask(mask: .leMeta), to: phone, &air, at: .zero)
        send(LESetEventMask(mask: LEEventMask(LEAdvertisingReport.subevent)), to: phone, &air, at: .zero)
        let parameters = LESetAdvertisingParameters(
            intervalMinimum: interval,
            intervalMaximum: interval,
            type: .connectableScannable,
            ownAddressType: .public,
            peer: .public(.zero),
            channels: .all,
            filterPolicy: .anyone
        )
        send(parameters, to: watch, &air, at: .zero)
        send(LESetAdvertisingEnable(isEnabled: true), to: watch, &air, at: .zero)
        let scan = LESetScanParameters(
            type: .passive,
            interval: scanner.interval,
            window: scanner.window,
            ownAddressType: .public,
            filterPolicy: .anyone
        )
        send(scan, to: phone, &air, at: .zero)
        send(LESetScanEnable(isEnabled: true, filtersDuplicates: false), to: phone, &air, at: scanStart)
        air.advance(to: start)
        discardPackets(&air)
        var buffer: [UInt8] = []
        while let next = air.nextDeadline, next < start + Self.patience {
            air.advance(to: next)
            if air.nextPacket(from: phone, into: &buffer) { return next - start }
        }
        throw WorkloadFailure("seed \(seed): the watch was not heard within \(Self.patience)")
    }

    private static func microseconds(below span: Duration, _ random: inout SplitMix64) -> Int64 {
        Int64.random(in: 0..<max(1, Int64(span / .microseconds(1))), using: &random)
    }

    private func send(_ command: some HCICommand, to id: ControllerID, _ air: inout Air, at now: Duration) {
        air.receive(command.packet[...], from: id, at: now)
        discardPackets(&air)
    }

    private func discardPackets(_ air: inout Air) {
        var buffer: [UInt8] = []
        while air.nextPacket(into: &buffer) != nil {}
    }
}
