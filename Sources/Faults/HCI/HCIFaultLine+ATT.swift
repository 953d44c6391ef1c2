import BluetoothHCI
import BluetoothHost

/// The Attribute Protocol: requests of the phone's, answers and indications of the watch's.
extension HCIFaultLine {
    /// The error that a server without a request answers with (Core 5.4, Vol 3, Part F, 3.4.1.1).
    private static let requestNotSupported: UInt8 = 0x06
    /// The size of a Service Changed value: the first and the last handle (Core 5.4, Vol 3, Part G, 7.1).
    private static let serviceChangedSize = 4

    /// The phone says something.
    mutating func judgeRequest(_ pdu: FaultPDU, _ index: Int) -> Verdict {
        guard let opcode = pdu[0].flatMap(ATTOpcode.init(rawValue:)) else { return .pass(pdu) }
        switch opcode.role {
        case .request: break
        case .confirmation:
            guard links[index].anticipatedConfirmations > 0 else { return .pass(pdu) }
            links[index].anticipatedConfirmations -= 1
            return .drop
        case .command, .response, .notification, .indication: return .pass(pdu)
        }
        links[index].answer = nil
        let target = opcode.namesHandle ? pdu.word(at: 1) ?? 0 : 0
        let handle = links[index].handle
        let isMeant = { (fault: Fault) in
            (fault.number(.opcode) ?? Int(opcode.rawValue)) == Int(opcode.rawValue)
                && (fault.number(.handle) ?? Int(target)) == Int(target)
        }
        let what = "request \(opcode.rawValue) for handle \(target)"
        if opcode == .exchangeMTURequest, let fault = fire(.mtuRefused, on: index) {
            faults.tell(fault, on: handle, "the exchange of MTUs is not supported")
            return refuse(opcode, target, Self.requestNotSupported, handle)
        }
        if let fault = fire(.attError, on: index, where: isMeant) {
            let error = UInt8(fault.fault.number(.error) ?? 0x0E)
            faults.tell(fault, on: handle, "\(what) is answered with the error \(error)")
            return refuse(opcode, target, error, handle)
        }
        if let fault = fire(.attLate, on: index, where: isMeant) {
            links[index].answer = .late(fault, fault.fault.time(.delay) ?? .zero)
        } else if let fault = fire(.attNever, on: index, where: isMeant) {
            links[index].answer = .never(fault)
        } else if let fault = fire(.attTwice, on: index, where: isMeant) {
            links[index].answer = .twice(fault)
        } else if opcode == .readByTypeRequest, pdu.payload.count == 7,
            let type = pdu.word(at: 5), BluetoothUUID.uuid16(type) == .databaseHash,
            let fault = fire(.wrongHash, on: index)
        {
            links[index].answer = .wrongHash(fault)
        }
        return .pass(pdu)
    }

    /// The watch says something.
    mutating func judgeAnswer(_ pdu: FaultPDU, _ index: Int) -> Verdict {
        guard let opcode = pdu[0].flatMap(ATTOpcode.init(rawValue:)) else { return .pass(pdu) }
        switch opcode.role {
        case .response: return judgeResponse(pdu, index)
        case .indication: return judgeIndication(pdu, index)
        case .request, .command, .notification, .confirmation: return .pass(pdu)
        }
    }

    private mutating func judgeResponse(_ pdu: FaultPDU, _ index: Int) -> Verdict {
        let handle = links[index].handle
        let answer = links[index].answer
        links[index].answer = nil
        switch answer {
        case .late(let fault, let delay):
            faults.tell(fault, on: handle, "an answer is \(delay.faultText) late")
            return .delay(pdu, by: delay)
        case .never(let fault):
            faults.tell(fault, on: handle, "a request is not answered")
            return .drop
        case .twice(let fault):
            faults.tell(fault, on: handle, "a request is answered twice")
            return .twice(pdu)
        case .wrongHash(let fault):
            guard pdu[0] == ATTOpcode.readByTypeResponse.rawValue else { return .pass(pdu) }
            faults.tell(fault, on: handle, "the Database Hash is another one")
            var changed = pdu
            changed.flip(pdu.payload.count - 1)
            return .pass(changed)
        case nil: return .pass(pdu)
        }
    }

    private mutating func judgeIndication(_ pdu: FaultPDU, _ index: Int) -> Verdict {
        let handle = links[index].handle
        // Opcode and handle stand in front of the value. No other value that the watch indicates is as long.
        if pdu.payload.count == 3 + Self.serviceChangedSize, let fault = fire(.serviceChangedLost, on: index) {
            faults.tell(fault, on: handle, "Service Changed is lost")
            giveHost(.att([ATTOpcode.handleValueConfirmation.rawValue]), on: handle)
            return .drop
        }
        if let fault = fire(.confirmationNotAwaited, on: index) {
            faults.tell(fault, on: handle, "the watch does not wait for a confirmation")
            links[index].anticipatedConfirmations += 1
            giveHost(.att([ATTOpcode.handleValueConfirmation.rawValue]), on: handle)
        }
        return .pass(pdu)
    }

    private mutating func refuse(
        _ opcode: ATTOpcode,
        _ target: UInt16,
        _ error: UInt8,
        _ handle: ConnectionHandle
    ) -> Verdict {
        let target = [UInt8(truncatingIfNeeded: target), UInt8(truncatingIfNeeded: target >> 8)]
        send(.att([ATTOpcode.errorResponse.rawValue, opcode.rawValue] + target + [error]), on: handle)
        return .drop
    }
}

extension ATTOpcode {
    /// Whether a request of the opcode begins with a handle.
    fileprivate var namesHandle: Bool { self != .exchangeMTURequest && self != .executeWriteRequest }
}
