import BluetoothHCI

/// What the host of a dual-mode controller has set of its BR/EDR side, and what that is doing.
struct BREDRState: Sendable {
    /// Somebody is looked for, for a connection or by name.
    struct Page: Sendable {
        var reason: BREDRCommand.PageReason
        /// The address, as it is sent.
        var address: [UInt8]
        var end: Microseconds
    }

    /// The buffers for data of BR/EDR. No connection ever uses them.
    static let dataBuffers = ControllerConfiguration.DataBuffers(length: 1021, count: 8)
    /// How many inquiry access codes there can be at once.
    static let inquiryAccessCodeLimit = 2
    /// The general inquiry access code (GIAC).
    private static let generalInquiryAccessCode: [UInt8] = [0x33, 0x8B, 0x9E]

    /// The settings, in the order of `BREDRSetting.all`.
    var settings: [[UInt8]] = BREDRSetting.all.map(\.initial)
    /// Whether the host says that it speaks LE.
    var supportsLE = false
    /// How many inquiry access codes there are, and the codes.
    var inquiryAccessCodes: [UInt8] = [1] + generalInquiryAccessCode
    /// When the inquiry ends; nil without one.
    var inquiryEnd: Microseconds?
    var page: Page?

    /// A setting that is 1 when it is on.
    func isOn(_ command: UInt16) -> Bool {
        let opcode = HCIOpcode(.controllerAndBaseband, command)
        guard let index = BREDRSetting.all.firstIndex(where: { $0.write?.opcode == opcode }) else { return false }
        return settings[index].first == 1
    }

    /// How long a page lasts that nobody answers: 0.625 ms units.
    var pageTimeout: Microseconds {
        let opcode = HCIOpcode(.controllerAndBaseband, 0x0018)
        guard let index = BREDRSetting.all.firstIndex(where: { $0.write?.opcode == opcode }) else { return .zero }
        let slots = settings[index].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return Microseconds(625 * slots)
    }

    /// When something ends by itself; nil while nothing is under way.
    var nextEnd: Microseconds? {
        guard let inquiryEnd else { return page?.end }
        return min(inquiryEnd, page?.end ?? inquiryEnd)
    }
}

extension SimulatedController {
    /// The first page of the link manager's features.
    var linkManagerFeatures: LMPFeatures {
        guard configuration.isDualMode else { return [.brEDRNotSupported, .leSupported] }
        return [
            .leSupported, .extendedInquiryResponse, .simultaneousLEAndBREDR, .secureSimplePairing, .extendedFeatures,
        ]
    }

    /// The pages of the link manager's features: the controller's, the host's, and the controller's once more.
    ///
    /// Source: Core 5.4, Vol 2, Part C, 3.3.
    var linkManagerFeaturePages: [UInt64] {
        let host: [Bool] = [brEDR.isOn(0x0056), brEDR.supportsLE, false, brEDR.isOn(0x007A)]
        let secureConnections: UInt64 = 1 << 8
        return [
            linkManagerFeatures.rawValue,
            host.enumerated().reduce(0) { $0 | ($1.element ? 1 << UInt64($1.offset) : 0) },
            secureConnections,
        ]
    }
}
