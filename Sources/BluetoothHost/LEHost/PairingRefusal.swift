import ByteCoding

/// What a host without a Security Manager says on its channel: that it does not pair.
///
/// Source: Core 5.4, Vol 3, Part H, 3.5.5.
struct PairingRefusal: Sendable {
    private static let pairingRequest: UInt8 = 0x01
    private static let pairingFailed: UInt8 = 0x05
    private static let securityRequest: UInt8 = 0x0B
    private static let pairingNotSupported: UInt8 = 0x05

    private var isAnswerDue = false

    /// Takes a command of the peer: those that begin a pairing are refused, others mean nothing without one.
    /// - Returns: whether the command was one to refuse.
    mutating func receive(_ payload: ArraySlice<UInt8>) -> Bool {
        guard let code = payload.first, code == Self.pairingRequest || code == Self.securityRequest else {
            return false
        }
        isAnswerDue = true
        return true
    }

    /// Puts the next command to be sent into `buffer`, replacing its content.
    mutating func nextPDU(into buffer: inout [UInt8]) -> Bool {
        guard isAnswerDue else { return false }
        isAnswerDue = false
        buffer.removeAll(keepingCapacity: true)
        buffer.append(Self.pairingFailed)
        buffer.append(Self.pairingNotSupported)
        return true
    }
}
