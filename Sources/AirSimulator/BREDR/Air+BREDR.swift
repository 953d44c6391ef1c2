import BluetoothHCI
import ByteCoding

/// The BR/EDR side of dual-mode controllers. Nobody else on the air has one: inquiries find nobody, and pages time out.
extension Air {
    /// How long one unit of an inquiry's length is: 1.28 s.
    private static let inquiryUnit = Microseconds(1_280_000)
    private static let inquiryComplete = HCIEventCode(rawValue: 0x01)
    private static let connectionComplete = HCIEventCode(rawValue: 0x03)
    private static let remoteNameRequestComplete = HCIEventCode(rawValue: 0x07)

    mutating func perform(_ command: BREDRCommand, _ parameters: ArraySlice<UInt8>, _ slot: Int) {
        let isValid = command.lengths.contains(parameters.count)
        if case .begin(let search) = command.action {
            let status = isValid ? begin(search, Array(parameters), slot) : .invalidHCICommandParameters
            return answerStatus(status, to: command.id.opcode, slot)
        }
        let outcome =
            isValid ? answer(command.action, Array(parameters), slot) : .failure(.invalidHCICommandParameters)
        let event = CommandComplete(
            commandCredits: Self.commandCredits,
            opcode: command.id.opcode,
            returnParameters: [outcome.status.rawValue] + (outcome.value ?? [])
        )
        controllers[slot].send(unmasked: event)
        if case .cancel(.page(let reason)) = command.action, outcome.status == .success { endPage(reason, slot) }
    }

    // MARK: What takes time

    private mutating func begin(_ search: BREDRCommand.Search, _ parameters: [UInt8], _ slot: Int) -> HCIStatus {
        switch search {
        case .inquiry:
            let length = parameters[3]
            guard (0x01...0x30).contains(length) else { return .invalidHCICommandParameters }
            guard controllers[slot].brEDR.inquiryEnd == nil else { return .commandDisallowed }
            controllers[slot].brEDR.inquiryEnd = now + Self.inquiryUnit * Int64(length)
        case .page(let reason):
            guard controllers[slot].brEDR.page == nil else { return .controllerBusy }
            controllers[slot].brEDR.page = BREDRState.Page(
                reason: reason,
                address: Array(parameters.prefix(6)),
                end: now + controllers[slot].brEDR.pageTimeout
            )
        }
        planBREDR(slot)
        return .success
    }

    private mutating func cancel(
        _ search: BREDRCommand.Search,
        _ parameters: [UInt8],
        _ slot: Int
    ) -> HCIOutcome<[UInt8]> {
        switch search {
        case .inquiry:
            guard controllers[slot].brEDR.inquiryEnd != nil else { return .failure(.commandDisallowed) }
            controllers[slot].brEDR.inquiryEnd = nil
            planBREDR(slot)
            return .success([])
        case .page(let reason):
            guard let page = controllers[slot].brEDR.page, page.reason == reason, page.address == parameters else {
                return .failure(.unknownConnectionIdentifier)
            }
            return .success(parameters)
        }
    }

    private mutating func planBREDR(_ slot: Int) {
        deadlines.set(controllers[slot].brEDR.nextEnd, for: controllers[slot].brEDRActor)
    }

    /// An inquiry or a page is over.
    mutating func stepBREDR(_ slot: Int) {
        if let end = controllers[slot].brEDR.inquiryEnd, end <= now {
            controllers[slot].brEDR.inquiryEnd = nil
            controllers[slot].send(Self.inquiryComplete, [HCIStatus.success.rawValue], if: .inquiryComplete)
        }
        if let page = controllers[slot].brEDR.page, page.end <= now { finishPage(page, .pageTimeout, slot) }
        planBREDR(slot)
    }

    private mutating func endPage(_ reason: BREDRCommand.PageReason, _ slot: Int) {
        guard let page = controllers[slot].brEDR.page, page.reason == reason else { return }
        finishPage(page, .unknownConnectionIdentifier, slot)
        planBREDR(slot)
    }

    /// Tells of the end of a page.
    private mutating func finishPage(_ page: BREDRState.Page, _ status: HCIStatus, _ slot: Int) {
        controllers[slot].brEDR.page = nil
        switch page.reason {
        case .connection:
            let asynchronousLink: UInt8 = 0x01
            let parameters = [status.rawValue, 0, 0] + page.address + [asynchronousLink, 0]
            controllers[slot].send(Self.connectionComplete, parameters, if: .connectionComplete)
        case .name:
            let name = [UInt8](repeating: 0, count: BREDRSetting.nameLength)
            let parameters = [status.rawValue] + page.address + name
            controllers[slot].send(Self.remoteNameRequestComplete, parameters, if: .remoteNameRequestComplete)
        }
    }

    // MARK: What is done at once

    private mutating func answer(
        _ action: BREDRCommand.Action,
        _ parameters: [UInt8],
        _ slot: Int
    ) -> HCIOutcome<[UInt8]> {
        switch action {
        case .write(let index):
            guard let first = parameters.first, BREDRSetting.all[index].values.contains(first) else {
                return .failure(.invalidHCICommandParameters)
            }
            controllers[slot].brEDR.settings[index] = parameters
            return .success([])
        case .read(let index): return .success(controllers[slot].brEDR.settings[index])
        case .cancel(let search): return cancel(search, parameters, slot)
        case .setEventFilter:
            // The kinds are none, inquiry results and connections: nobody ever passes or fails one.
            return parameters[0] <= 0x02 ? .success([]) : .failure(.invalidHCICommandParameters)
        case .readStoredLinkKeys: return .success([0, 0, 0, 0])
        case .deleteStoredLinkKeys: return .success([0, 0])
        case .readInquiryAccessCodes: return .success(controllers[slot].brEDR.inquiryAccessCodes)
        case .writeInquiryAccessCodes:
            guard parameters.count == 1 + 3 * Int(parameters[0]) else { return .failure(.invalidHCICommandParameters) }
            controllers[slot].brEDR.inquiryAccessCodes = parameters
            return .success([])
        case .countInquiryAccessCodes: return .success([UInt8(BREDRState.inquiryAccessCodeLimit)])
        case .classifyChannels: return .success([])
        case .readInquiryPower: return .success([0])
        case .readLEHostSupport: return .success([controllers[slot].brEDR.supportsLE ? 1 : 0, 0])
        case .setMinimumKeySize:
            return (7...16).contains(parameters[0]) ? .success([]) : .failure(.invalidHCICommandParameters)
        case .readFeatures: return readFeatures(page: parameters[0], slot)
        case .readCodecs: return .success([0, 0])
        case .readSimplePairingOptions:
            // Remote public key validation; keys of up to 16 octets.
            return .success([0x01, 16])
        // Answered by Command Status, not here.
        case .begin: return .failure(.commandDisallowed)
        }
    }

    private func readFeatures(page: UInt8, _ slot: Int) -> HCIOutcome<[UInt8]> {
        let pages = controllers[slot].linkManagerFeaturePages
        guard pages.indices.contains(Int(page)) else { return .failure(.invalidHCICommandParameters) }
        var answer: [UInt8] = [page, UInt8(pages.count - 1)]
        answer.appendLittleEndian(pages[Int(page)])
        return .success(answer)
    }
}
