/// Which transmit power level Read Transmit Power Level returns.
package enum TransmitPowerLevelType: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the level that the connection uses now.
    case current = 0
    /// 1: the highest level that the connection can use.
    case maximum = 1
}
