/// Which transmit power level Read Transmit Power Level returns.
public enum TransmitPowerLevelType: UInt8, Hashable, Sendable, CaseIterable {
    case current = 0
    case maximum = 1
}
