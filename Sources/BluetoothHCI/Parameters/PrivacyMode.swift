/// Whether a device in the resolving list may use its identity address on air.
package enum PrivacyMode: UInt8, Hashable, Sendable, CaseIterable {
    /// Only private addresses are accepted.
    case network = 0
    /// Its identity address is accepted too.
    case device = 1
}
