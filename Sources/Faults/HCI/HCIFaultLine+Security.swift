import BluetoothHCI
import BluetoothHost

/// Pairing and encryption.
extension HCIFaultLine {
    mutating func judgePairing(_ pdu: FaultPDU, _ index: Int, _ direction: FaultDirection) -> Verdict {
        guard let code = pdu[0].flatMap(SMPCode.init(rawValue:)) else { return .pass(pdu) }
        return direction == .fromPhone ? judgePhonesPairing(pdu, code, index) : judgeWatchsPairing(pdu, code, index)
    }

    private mutating func judgePhonesPairing(_ pdu: FaultPDU, _ code: SMPCode, _ index: Int) -> Verdict {
        guard code == .pairingRequest else { return .pass(pdu) }
        links[index].isPairingMute = false
        guard let fault = fire(.pairingRefused, on: index) else { return .pass(pdu) }
        let handle = links[index].handle
        let reason = UInt8(fault.fault.number(.reason) ?? 5)
        faults.tell(fault, on: handle, "a pairing is refused with the reason \(reason)")
        send(.smp([SMPCode.pairingFailed.rawValue, reason]), on: handle)
        return .drop
    }

    private mutating func judgeWatchsPairing(_ pdu: FaultPDU, _ code: SMPCode, _ index: Int) -> Verdict {
        let handle = links[index].handle
        if links[index].isPairingMute { return .drop }
        if let fault = fire(.pairingStalled, on: index, where: { code.isStep($0.word(.step) ?? "confirm") }) {
            links[index].isPairingMute = true
            faults.tell(fault, on: handle, "the pairing stalls at \(fault.fault.word(.step) ?? "confirm")")
            return .drop
        }
        var changed = pdu
        switch code {
        case .pairingResponse:
            guard let fault = fire(.otherModel, on: index) else { return .pass(pdu) }
            let model = fault.fault.word(.to) ?? "just-works"
            changed.setModel(model)
            faults.tell(fault, on: handle, "the watch pairs by \(model)")
        case .pairingConfirm:
            guard let fault = fire(.wrongConfirm, on: index) else { return .pass(pdu) }
            changed.flip(1)
            faults.tell(fault, on: handle, "the Pairing Confirm is wrong")
        case .pairingDHKeyCheck:
            guard let fault = fire(.wrongDHKeyCheck, on: index) else { return .pass(pdu) }
            changed.flip(1)
            faults.tell(fault, on: handle, "the Pairing DHKey Check is wrong")
        case .pairingRequest, .pairingRandom, .pairingFailed, .encryptionInformation, .centralIdentification,
            .identityInformation, .identityAddressInformation, .signingInformation, .securityRequest, .pairingPublicKey,
            .keypressNotification:
            break
        }
        return .pass(changed)
    }

    /// The host hands the controller a key.
    /// - Returns: the command in its stead; nil to leave it.
    mutating func judgeKey(_ command: HCICommandPacket) -> [UInt8]? {
        guard let reply = try? LELongTermKeyRequestReply(parameters: command.parameters), let index = link(reply.handle)
        else { return nil }
        if let fault = fire(.encryptionRefused, on: index) {
            faults.tell(fault, on: reply.handle, "the watch says that it has no key")
            return LELongTermKeyRequestNegativeReply(handle: reply.handle).packet
        }
        if let fault = fire(.keyCorrupted, on: index) {
            faults.tell(fault, on: reply.handle, "the key is one bit off")
            return LELongTermKeyRequestReply(handle: reply.handle, longTermKey: reply.longTermKey ^ 1).packet
        }
        return nil
    }
}

extension SMPCode {
    /// Whether a PDU belongs to a step, by the words of the fault's parameter.
    fileprivate func isStep(_ step: String) -> Bool {
        switch self {
        case .pairingResponse: step == "response"
        case .pairingPublicKey: step == "public-key"
        case .pairingConfirm: step == "confirm"
        case .pairingRandom: step == "random"
        case .pairingDHKeyCheck: step == "dhkey-check"
        case .encryptionInformation, .centralIdentification, .identityInformation, .identityAddressInformation,
            .signingInformation:
            step == "keys"
        case .pairingRequest, .pairingFailed, .securityRequest, .keypressNotification: false
        }
    }
}

extension FaultPDU {
    /// Bit 2 of AuthReq: protection against a man in the middle (Core 5.4, Vol 3, Part H, 3.5.1).
    private static let mitm: UInt8 = 0b100

    /// Changes a Pairing Response so that both sides choose a model: code (1), IO capability (1), OOB (1), AuthReq (1)...
    fileprivate mutating func setModel(_ model: String) {
        guard payload.count > 3 else { return }
        // IO capabilities: 0x00 DisplayOnly, 0x01 DisplayYesNo, 0x03 NoInputNoOutput (Core 5.4, Vol 3, Part H, table 3.4).
        switch model {
        case "numeric": payload[1] = 0x01
        case "passkey": payload[1] = 0x00
        default: payload[1] = 0x03
        }
        payload[2] = 0
        payload[3] = model == "just-works" ? payload[3] & ~Self.mitm : payload[3] | Self.mitm
    }
}
