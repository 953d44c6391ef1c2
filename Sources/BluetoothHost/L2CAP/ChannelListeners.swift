/// The services that peers may open credit-based channels to.
///
/// Source: Core 5.4, Vol 3, Part A, 4.22.
struct ChannelListeners: Sendable {
    private var listeners: [(spsm: SPSM, listener: ChannelListener)] = []
    /// The dynamic SPSM to hand out next, if it is free.
    private var nextSPSM: UInt16

    /// - Parameter random: decides which SPSM is handed out first.
    init(random: UInt16) {
        let range = SPSM.dynamicRange
        nextSPSM = range.lowerBound + random % UInt16(range.count)
    }

    /// What a service asks and offers; nil if there is none.
    subscript(spsm: SPSM) -> ChannelListener? { listeners.first { $0.spsm == spsm }?.listener }

    /// - Parameter wanted: nil for any dynamic SPSM.
    mutating func add(_ listener: ChannelListener, on wanted: SPSM?) throws(ChannelError) -> SPSM {
        let spsm = if let wanted { wanted } else { try freeSPSM() }
        guard spsm.isValid, self[spsm] == nil else { throw .spsmNotAvailable(spsm) }
        guard listener.parameters.areValid else { throw .invalidParameters }
        listeners.append((spsm, listener))
        return spsm
    }

    mutating func remove(_ spsm: SPSM) { listeners.removeAll { $0.spsm == spsm } }

    /// Checks what all channels of a peer's request have in common.
    func admit(
        to spsm: SPSM,
        _ terms: ChannelTerms,
        isEnhanced: Bool,
        _ security: LinkSecurity
    ) throws(ChannelRefusal) -> ChannelListener {
        let least = isEnhanced ? ChannelTerms.minimumEnhancedLength : ChannelTerms.minimumLength
        guard terms.mtu >= least, (least...ChannelTerms.maximumMPS).contains(Int(terms.mps)),
            !isEnhanced || terms.credits > 0
        else { throw ChannelRefusal(isEnhanced ? .invalidParameters : .unacceptableParameters) }
        guard let listener = self[spsm], isEnhanced || !listener.takesEnhancedOnly else {
            throw ChannelRefusal(.spsmNotSupported)
        }
        if let error = listener.requirement.refusal(of: security) {
            throw ChannelRefusal(ChannelResult(refusing: error))
        }
        return listener
    }

    /// The next SPSM that is free: one that was given back is not given out again soon.
    private mutating func freeSPSM() throws(ChannelError) -> SPSM {
        let range = SPSM.dynamicRange
        for _ in range {
            let spsm = SPSM(rawValue: nextSPSM)
            nextSPSM = nextSPSM == range.upperBound ? range.lowerBound : nextSPSM + 1
            if self[spsm] == nil { return spsm }
        }
        throw .noSPSMLeft
    }
}

/// Why a peer may not open a channel.
struct ChannelRefusal: Error {
    let result: ChannelResult
    init(_ result: ChannelResult) { self.result = result }
}
