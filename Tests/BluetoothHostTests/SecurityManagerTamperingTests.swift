import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// Pairings in which one command is changed on its way: each fails, for the right reason, and leaves no state.
@Suite("Security Manager: tampering")
struct SecurityManagerTamperingTests {
    struct Tampering: Sendable, CustomTestStringConvertible {
        let name: String
        let model: SecurityManagerOutcomeTests.Model
        /// Who sends the command that is changed, which one, and how often it was seen before.
        let sender: Side
        let code: SMPCode
        var occurrence = 0
        let reason: UInt8
        /// What arrives instead. The second argument is everything that was sent before.
        let change: @Sendable ([UInt8], [(sender: Side, bytes: [UInt8])]) -> [[UInt8]]
        var testDescription: String { "\(model): \(name)" }
    }

    static func flip(_ index: Int) -> @Sendable ([UInt8], [(sender: Side, bytes: [UInt8])]) -> [[UInt8]] {
        { bytes, _ in
            var changed = bytes
            if changed.indices.contains(index) { changed[index] ^= 0x01 }
            return [changed]
        }
    }

    static let justWorks = SecurityManagerOutcomeTests.justWorks
    static let comparison = SecurityManagerOutcomeTests.comparison
    static let passkey = SecurityManagerOutcomeTests.peripheralShows
    static let legacy = SecurityManagerOutcomeTests.legacyJustWorks
    static let debugKey: [UInt8] = [0x0C] + debugX.reversed() + debugY.reversed()
    private static let debugX =
        [UInt8](
            hexadecimal: "20b003d2f297be2c5e2c83a7e9f9a5b9eff49111acf4fddbcc0301480e359de6"
        ) ?? []
    private static let debugY =
        [UInt8](
            hexadecimal: "dc809c49652aeb6d63329abf5a52155c766345c28fed3024741c8ed01589d28b"
        ) ?? []

    static let tamperings: [Tampering] =
        Side.allCases.flatMap { sender in
            [
                Tampering(
                    name: "\(sender)'s key is not on the curve",
                    model: justWorks,
                    sender: sender,
                    code: .pairingPublicKey,
                    reason: 0x0B,
                    change: flip(40)
                ),
                Tampering(
                    name: "\(sender)'s key has y = 0",
                    model: comparison,
                    sender: sender,
                    code: .pairingPublicKey,
                    reason: 0x0B,
                    change: { bytes, _ in [Array(bytes.prefix(33)) + Array(repeating: 0, count: 32)] }
                ),
                Tampering(
                    name: "\(sender)'s key is the point that is none",
                    model: passkey,
                    sender: sender,
                    code: .pairingPublicKey,
                    reason: 0x0B,
                    change: { _, _ in [[0x0C] + Array(repeating: 0, count: 64)] }
                ),
                Tampering(
                    name: "\(sender) uses the debug key",
                    model: justWorks,
                    sender: sender,
                    code: .pairingPublicKey,
                    reason: 0x0A,
                    change: { _, _ in [debugKey] }
                ),
                Tampering(
                    name: "\(sender)'s key comes twice",
                    model: comparison,
                    sender: sender,
                    code: .pairingPublicKey,
                    reason: 0x08,
                    change: { bytes, _ in [bytes, bytes] }
                ),
                Tampering(
                    name: "\(sender)'s check value is wrong",
                    model: justWorks,
                    sender: sender,
                    code: .pairingDHKeyCheck,
                    reason: 0x0B,
                    change: flip(16)
                ),
                Tampering(
                    name: "\(sender)'s check value is wrong, while the users compare",
                    model: comparison,
                    sender: sender,
                    code: .pairingDHKeyCheck,
                    reason: 0x0B,
                    change: flip(1)
                ),
                Tampering(
                    name: "\(sender)'s commitment is wrong in round 1",
                    model: passkey,
                    sender: sender,
                    code: .pairingConfirm,
                    reason: 0x04,
                    change: flip(3)
                ),
                Tampering(
                    name: "\(sender)'s random number is wrong in round 20",
                    model: passkey,
                    sender: sender,
                    code: .pairingRandom,
                    occurrence: 19,
                    reason: 0x04,
                    change: flip(16)
                ),
                Tampering(
                    name: "\(sender)'s commitment is that of the round before",
                    model: passkey,
                    sender: sender,
                    code: .pairingConfirm,
                    occurrence: 7,
                    reason: 0x04,
                    change: { bytes, seen in
                        [seen.last { $0.sender == sender && $0.bytes.first == bytes.first }?.bytes ?? bytes]
                    }
                ),
                Tampering(
                    name: "\(sender)'s commitment comes twice",
                    model: passkey,
                    sender: sender,
                    code: .pairingConfirm,
                    occurrence: 2,
                    reason: 0x08,
                    change: { bytes, _ in [bytes, bytes] }
                ),
                Tampering(
                    name: "\(sender)'s random number comes instead of its commitment",
                    model: passkey,
                    sender: sender,
                    code: .pairingConfirm,
                    reason: 0x08,
                    change: { bytes, _ in [[0x04] + bytes.dropFirst()] }
                ),
                Tampering(
                    name: "\(sender)'s random number is wrong",
                    model: legacy,
                    sender: sender,
                    code: .pairingRandom,
                    reason: 0x04,
                    change: flip(9)
                ),
                Tampering(
                    name: "\(sender)'s random number comes without its commitment",
                    model: legacy,
                    sender: sender,
                    code: .pairingConfirm,
                    reason: 0x08,
                    change: { bytes, _ in [[0x04] + bytes.dropFirst()] }
                ),
                Tampering(
                    name: "\(sender) sends a public key",
                    model: legacy,
                    sender: sender,
                    code: .pairingConfirm,
                    reason: 0x08,
                    change: { _, _ in [debugKey] }
                ),
                Tampering(
                    name: "\(sender) gives a key before the link is encrypted",
                    model: comparison,
                    sender: sender,
                    code: .pairingDHKeyCheck,
                    reason: 0x08,
                    change: { _, _ in [[0x08] + Array(repeating: 7, count: 16)] }
                ),
                Tampering(
                    name: "\(sender)'s identity comes without its key",
                    model: justWorks,
                    sender: sender,
                    code: .identityInformation,
                    reason: 0x08,
                    change: { _, _ in [] }
                ),
                Tampering(
                    name: "\(sender) gives a signature key that was not asked for",
                    model: justWorks,
                    sender: sender,
                    code: .identityInformation,
                    reason: 0x08,
                    change: { bytes, _ in [[0x0A] + bytes.dropFirst()] }
                ),
                Tampering(
                    name: "\(sender)'s identity is a private address",
                    model: justWorks,
                    sender: sender,
                    code: .identityAddressInformation,
                    reason: 0x0A,
                    change: { _, _ in [[0x09, 0x01, 1, 2, 3, 4, 5, 0x46]] }
                ),
                Tampering(
                    name: "\(sender)'s LTK has no name",
                    model: legacy,
                    sender: sender,
                    code: .centralIdentification,
                    reason: 0x08,
                    change: { _, _ in [] }
                ),
                Tampering(
                    name: "\(sender)'s commitment is cut short",
                    model: legacy,
                    sender: sender,
                    code: .pairingConfirm,
                    reason: 0x0A,
                    change: { bytes, _ in [Array(bytes.dropLast())] }
                ),
            ]
        } + [
            Tampering(
                name: "the peripheral reflects the central's key",
                model: comparison,
                sender: .peripheral,
                code: .pairingPublicKey,
                reason: 0x0B,
                change: { bytes, seen in
                    [seen.last { $0.sender == .central && $0.bytes.first == bytes.first }?.bytes ?? bytes]
                }
            ),
            Tampering(
                name: "the peripheral reflects the central's x with the other y",
                model: comparison,
                sender: .peripheral,
                code: .pairingPublicKey,
                reason: 0x0B,
                change: { bytes, seen in
                    let key = seen.last { $0.sender == .central && $0.bytes.first == bytes.first }?.bytes ?? bytes
                    return [Array(key.prefix(33)) + negated(Array(key.suffix(32)))]
                }
            ),
            Tampering(
                name: "the peripheral's commitment is wrong",
                model: justWorks,
                sender: .peripheral,
                code: .pairingConfirm,
                reason: 0x04,
                change: flip(1)
            ),
            Tampering(
                name: "the peripheral's nonce is wrong",
                model: comparison,
                sender: .peripheral,
                code: .pairingRandom,
                reason: 0x04,
                change: flip(1)
            ),
            Tampering(
                // The initiator makes no commitment here; its DHKey check fails instead.
                name: "the central's nonce is wrong",
                model: justWorks,
                sender: .central,
                code: .pairingRandom,
                reason: 0x0B,
                change: flip(1)
            ),
            Tampering(
                name: "the peripheral reflects the central's commitment",
                model: legacy,
                sender: .peripheral,
                code: .pairingConfirm,
                reason: 0x04,
                change: { bytes, seen in
                    [seen.last { $0.sender == .central && $0.bytes.first == bytes.first }?.bytes ?? bytes]
                }
            ),
            Tampering(
                name: "the peripheral promises keys that were not asked for",
                model: justWorks,
                sender: .peripheral,
                code: .pairingResponse,
                reason: 0x0A,
                change: { bytes, _ in [Array(bytes.dropLast()) + [0x07]] }
            ),
            Tampering(
                name: "the peripheral asks for keys that were not offered",
                model: justWorks,
                sender: .peripheral,
                code: .pairingResponse,
                reason: 0x0A,
                change: { bytes, _ in [Array(bytes.prefix(5)) + [0x0B, 0x03]] }
            ),
            Tampering(
                name: "the peripheral has only 7 octets of key",
                model: justWorks,
                sender: .peripheral,
                code: .pairingResponse,
                reason: 0x06,
                change: { bytes, _ in [Array(bytes.prefix(4)) + [0x07] + bytes.suffix(2)] }
            ),
            Tampering(
                name: "the peripheral has no Secure Connections",
                model: justWorks,
                sender: .peripheral,
                code: .pairingResponse,
                reason: 0x03,
                change: { bytes, _ in [Array(bytes.prefix(3)) + [0x05] + bytes.suffix(3)] }
            ),
            Tampering(
                name: "the peripheral's response comes twice",
                model: justWorks,
                sender: .peripheral,
                code: .pairingResponse,
                reason: 0x08,
                change: { bytes, _ in [bytes, bytes] }
            ),
            Tampering(
                name: "the central begins another pairing",
                model: comparison,
                sender: .central,
                code: .pairingRandom,
                reason: 0x08,
                change: { _, _ in [SecurityManagerRefusalTests.goodRequest] }
            ),
            Tampering(
                name: "the central's request comes twice",
                model: justWorks,
                sender: .central,
                code: .pairingRequest,
                reason: 0x08,
                change: { bytes, _ in [bytes, bytes] }
            ),
        ]

    /// The other y of the same x, least significant octet first: the prime minus y.
    static func negated(_ y: [UInt8]) -> [UInt8] {
        let prime = [UInt8](hexadecimal: "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff") ?? []
        var borrow = 0
        return zip(prime.reversed(), y).map { p, digit in
            var difference = Int(p) - Int(digit) - borrow
            borrow = difference < 0 ? 1 : 0
            if difference < 0 { difference += 256 }
            return UInt8(difference)
        }
    }

    @Test("A command that is wrong, twice, early or missing ends the pairing", arguments: tamperings)
    func tampering(_ sample: Tampering) throws {
        var pair = sample.model.pair()
        var count = 0
        let receiver = sample.sender.other
        var answer: [UInt8]?
        pair.intercept = { sender, bytes, pair in
            if count > sample.occurrence, sender == receiver, bytes.first == 0x05, answer == nil { answer = bytes }
            guard sender == sample.sender, bytes.first == sample.code.rawValue else { return .pass }
            count += 1
            return count == sample.occurrence + 1 ? .replace(sample.change(bytes, pair.transcript)) : .pass
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(answer == [0x05, sample.reason])
        #expect(pair.failure(receiver) == .refused(PairingFailedReason(rawValue: sample.reason)))
        #expect(pair.bond(receiver) == nil)
        #expect(pair.managers[receiver]?.bonds.isEmpty == true)
        #expect(pair.managers[receiver]?.nextDeadline == nil)
        #expect(pair.managers[receiver]?.isPairable == true)
        try pair.expectPairingWorks()
    }
}
