import BluetoothHCI
import BluetoothHost

/// The phones that the watch knows: their bonds, what is remembered of each, which of that is in the store, and who may still come.
struct PhoneBook: Sendable {
    private let policy: PairingPolicy
    private let isBondable: Bool
    /// The bonded phones, by identity address.
    private(set) var all: [LEAddress: RememberedPhone]
    /// Those of them whose bonds the store has.
    private(set) var stored: Set<LEAddress>
    /// Those of them that were let in without a person, and may not know it: nothing was heard of them since.
    private var unheard: Set<LEAddress> = []
    /// Until when a phone without a bond may pair although there is one already.
    var windowEnd: Duration?
    /// Pairings that wait for a person.
    var prompts: [ConnectionHandle: PairingPrompt] = [:]
    /// The phone that was refused last; nil once one has paired, or the window was opened.
    var refused: RefusedPairing?

    init(_ configuration: WatchConfiguration, _ phones: [RememberedPhone]) {
        policy = configuration.pairing
        isBondable = configuration.isBondable
        all = isBondable ? Dictionary(phones.map { ($0.bond.identity, $0) }) { _, new in new } : [:]
        stored = Set(all.keys)
    }

    /// What is remembered of a bonded phone.
    subscript(identity: LEAddress) -> RememberedPhone? { all[identity] }

    /// The phones that are bonded, by identity address.
    var identities: [LEAddress] { all.keys.sorted { $0.address.value < $1.address.value } }

    // MARK: Bonds

    /// A phone has a new bond, which is not stored.
    /// - Parameter isRenewal: whether it is the phone that had the old one; any other starts as a new one.
    mutating func add(_ bond: Bond, isRenewal: Bool) {
        let known = isRenewal ? all[bond.identity] : nil
        all[bond.identity] = RememberedPhone(
            bond: bond,
            client: known?.client ?? GATTClientState(),
            seenDatabaseHash: known?.seenDatabaseHash
        )
        stored.remove(bond.identity)
    }

    mutating func remove(_ identity: LEAddress) {
        all[identity] = nil
        stored.remove(identity)
        unheard.remove(identity)
    }

    /// The store has a phone's bond.
    /// - Returns: false if the phone was forgotten or replaced meanwhile: the next change in the queue takes the bond back.
    mutating func bondStored(_ identity: LEAddress) -> Bool {
        guard all[identity] != nil else { return false }
        stored.insert(identity)
        return true
    }

    /// The bonds of the watch that ran before are stored, as far as they still count.
    mutating func follow(_ earlier: PhoneBook) { stored = earlier.stored.intersection(all.keys) }

    // MARK: What is remembered of them

    /// Remembers what a phone has subscribed to. The database that it knows counts as the present one unless it has not heard
    /// of a change.
    /// - Parameter hash: of the present database.
    /// - Returns: the change for the store; nil if nothing changed, or the store does not have the phone's bond.
    mutating func remember(_ client: GATTClientState, _ hash: [UInt8], of identity: LEAddress) -> MemoryChange? {
        guard var phone = all[identity], stored.contains(identity) else { return nil }
        phone.client = client
        if client.isChangeAware { phone.seenDatabaseHash = hash }
        guard phone != all[identity] else { return nil }
        all[identity] = phone
        return .client(identity, phone.client, seenDatabaseHash: phone.seenDatabaseHash)
    }

    /// Remembers a phone's services.
    /// - Returns: the change for the store; nil if nothing changed.
    mutating func remember(_ services: PhoneServiceCache, of identity: LEAddress) -> MemoryChange? {
        guard all[identity]?.services != services else { return nil }
        all[identity]?.services = services
        return .phoneServices(identity, services)
    }

    /// Forgets a phone's services.
    /// - Returns: the change for the store; nil if there were none.
    mutating func forgetServices(of identity: LEAddress) -> MemoryChange? {
        guard all[identity]?.services != nil else { return nil }
        all[identity]?.services = nil
        return .phoneServices(identity, PhoneServiceCache())
    }

    // MARK: Who may come

    var isWindowOpen: Bool { windowEnd != nil }

    /// Whether the watch waits for its first phone: also as long as the one that paired may not know that it has, since the
    /// link was lost at that moment.
    private var knowsNoPhone: Bool { all.keys.allSatisfy(unheard.contains) }

    /// Whether a phone may pair now that has not proved who it is: whatever name it gives itself, the answer is the same.
    var isPairable: Bool {
        guard isBondable else { return false }
        return policy.answer(to: knowsNoPhone ? .first : .stranger, isWindowOpen: isWindowOpen) != .no
    }

    /// What a phone that wants to pair is told.
    /// - Parameters:
    ///   - isProven: whether it has proved on this link that it has the key of its bond.
    ///   - isKnown: whether the watch has a bond under the name that it gives itself.
    func answer(isProven: Bool, isKnown: Bool) -> PairingPolicy.Answer {
        let applicant: PairingPolicy.Applicant =
            isProven ? .withKey : knowsNoPhone ? .first : isKnown ? .withoutKey : .stranger
        return policy.answer(to: applicant, isWindowOpen: isWindowOpen)
    }

    /// Whether nothing has been heard since they paired of phones that may not know it.
    var hasUnheard: Bool { !unheard.isEmpty }

    /// A phone has paired that may not know it.
    mutating func mayNotKnow(_ identity: LEAddress) { unheard.insert(identity) }

    /// A phone said something over a link that its key encrypts: it has the key.
    /// - Returns: whether that is news.
    mutating func heard(_ identity: LEAddress) -> Bool { unheard.remove(identity) != nil }

    // MARK: Who is asked

    /// The pairings that wait for a person, in the order of their links.
    var waitingPrompts: [PairingPrompt] { prompts.keys.sorted().compactMap { prompts[$0] } }

    /// Whether a pairing asks for a yes or a no.
    var asksQuestion: Bool { prompts.values.contains(where: \.kind.isQuestion) }

    /// Why there is nothing that a yes would answer.
    var whyNothingToConfirm: WatchCommandError {
        for prompt in waitingPrompts {
            switch prompt.kind {
            case .requestPasskey: return .passkeyIsAsked
            case .displayPasskey(let passkey): return .passkeyIsShown(passkey)
            case .confirmPairing, .numericComparison: continue
            }
        }
        return .nothingWaits
    }

    /// Why the owner of the watch should hear of a failed pairing; nil if there is nothing that could be done.
    /// - Parameter isKnown: whether the watch has a bond under the phone's name.
    func refusalReason(for failure: PairingFailure, isKnown: Bool) -> RefusedPairing.Reason? {
        switch failure {
        case .notPairable:
            return policy.mode == .reject ? .rejected : isKnown ? .keyLost : .closed
        case .refused(.authenticationRequirements) where isKnown, .refused(.keyRejected) where isKnown:
            return .weaker
        case .refused, .refusedByPeer, .timedOut, .disconnected, .encryptionFailed:
            return nil
        }
    }
}

extension PairingPrompt.Kind {
    /// Whether yes is an answer.
    var isQuestion: Bool {
        switch self {
        case .confirmPairing, .numericComparison: true
        case .displayPasskey, .requestPasskey: false
        }
    }
}
