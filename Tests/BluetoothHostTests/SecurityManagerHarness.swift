import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// Which of the two devices of a test.
enum Side: Hashable, Sendable, CaseIterable {
    case central, peripheral

    var other: Side { self == .central ? .peripheral : .central }
    var role: PairingRole { self == .central ? .initiator : .responder }
    /// The two devices number the link differently, as two controllers do.
    var handle: ConnectionHandle { self == .central ? 0x0001 : 0x0040 }
}

/// Two Security Managers, the channel between them, and the parts of two controllers that encrypt the link.
///
/// The channel takes 10 ms of virtual time a command. Users are a closure that is asked what to answer.
struct SecurityPair {
    /// What a test does with a command on its way.
    enum Interception {
        case pass
        case drop
        case replace([[UInt8]])
    }

    var managers: [Side: SecurityManager] = [:]
    var now = Duration.zero
    var isConnected = false
    /// What the users answer; nil keeps the prompt open.
    var user: (Side, PairingPrompt.Kind, inout SecurityPair) -> PairingAnswer? = { side, kind, pair in
        pair.agreeableAnswer(of: side, to: kind)
    }
    /// Sees each command on its way.
    var intercept: (Side, [UInt8], inout SecurityPair) -> Interception = { _, _, _ in .pass }
    /// Whether bonds are stored as soon as they are made.
    var stores = true
    var events: [Side: [SecurityEvent]] = [.central: [], .peripheral: []]
    /// Every command that was delivered, with its sender.
    var transcript: [(sender: Side, bytes: [UInt8])] = []
    /// The key that each link layer uses now.
    var linkKey: LongTermKey?
    /// What the users see at the moment.
    var shown: [Side: PairingPrompt.Kind] = [:]
    var addresses: [Side: LEAddress] = [
        .central: .random(DeviceAddress(0xC111_2233_4455)), .peripheral: .public(DeviceAddress(0x001A_7DDA_7113)),
    ]

    static let latency = Duration.milliseconds(10)

    init(
        seed: UInt64 = 1,
        central: SecurityManager.Configuration = .init(),
        peripheral: SecurityManager.Configuration = .init(),
        bonds: [Side: [Bond]] = [:],
        isPairable: Bool = true
    ) {
        managers[.central] = SecurityManager(
            configuration: central,
            bonds: bonds[.central] ?? [],
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        managers[.peripheral] = SecurityManager(
            configuration: peripheral,
            bonds: bonds[.peripheral] ?? [],
            isPairable: isPairable,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed ^ 0xABCD_EF01, SplitMix64.draw)
        )
        connect()
    }

    // MARK: Links

    mutating func connect() {
        for side in Side.allCases {
            managers[side]?
                .connectionOpened(
                    side.handle,
                    role: side.role,
                    ownAddress: addresses[side] ?? .public(.zero),
                    peerAddress: addresses[side.other] ?? .public(.zero)
                )
        }
        isConnected = true
        linkKey = nil
    }

    mutating func disconnect() {
        for side in Side.allCases { managers[side]?.connectionClosed(side.handle) }
        isConnected = false
        linkKey = nil
        drain()
    }

    mutating func reconnect() {
        if isConnected { disconnect() }
        for side in Side.allCases { events[side] = [] }
        transcript = []
        connect()
    }

    // MARK: Time

    /// Carries commands, actions and answers back and forth until nothing is left to carry, or for a while.
    mutating func run(atMost duration: Duration = .seconds(20)) {
        let end = now + duration
        while now < end, step() {}
    }

    /// Lets time pass, and carries out what is due.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        while let deadline = managers.values.compactMap(\.nextDeadline).min(), deadline <= end {
            now = max(now, deadline)
            for side in Side.allCases { managers[side]?.advance(to: now) }
            run()
        }
        now = max(now, end)
        for side in Side.allCases { managers[side]?.advance(to: now) }
        run()
    }

    /// One round: everything that is waiting arrives 10 ms later.
    /// - Returns: false if nothing was waiting.
    mutating func step() -> Bool {
        var isBusy = drain()
        var arriving: [(Side, [UInt8])] = []
        for side in Side.allCases {
            var buffer: [UInt8] = []
            while managers[side]?.nextPDU(for: side.handle, into: &buffer) == true {
                arriving.append((side, buffer))
            }
        }
        guard !arriving.isEmpty else { return isBusy }
        isBusy = true
        now += Self.latency
        for (sender, bytes) in arriving {
            let delivered: [[UInt8]]
            switch intercept(sender, bytes, &self) {
            case .pass: delivered = [bytes]
            case .drop: delivered = []
            case .replace(let others): delivered = others
            }
            for bytes in delivered where isConnected { deliver(bytes, from: sender) }
        }
        drain()
        return isBusy
    }

    mutating func deliver(_ bytes: [UInt8], from sender: Side) {
        transcript.append((sender, bytes))
        let receiver = sender.other
        managers[receiver]?.receive(bytes[...], on: receiver.handle, at: now)
        drain()
    }

    /// Carries out actions and answers prompts.
    @discardableResult
    mutating func drain() -> Bool {
        var isBusy = false
        var goesOn = true
        while goesOn {
            goesOn = false
            for side in Side.allCases {
                while let action = managers[side]?.nextAction() {
                    goesOn = true
                    perform(action, of: side)
                }
                while let event = managers[side]?.nextEvent() {
                    goesOn = true
                    handle(event, on: side)
                }
            }
            isBusy = isBusy || goesOn
        }
        return isBusy
    }

    private mutating func handle(_ event: SecurityEvent, on side: Side) {
        events[side]?.append(event)
        switch event {
        case .prompt(let prompt):
            shown[side] = prompt.kind
            // A user who sees a passkey does nothing; one who types it looks at the other device.
            if let answer = user(side, prompt.kind, &self) {
                managers[side]?.answer(prompt.id, with: answer, at: now)
            }
        case .bonded(_, let bond) where stores:
            managers[side]?.bondStored(bond.identity)
        case .pairingCompleted, .pairingFailed:
            shown[side] = nil
        default:
            break
        }
    }

    /// The user of a device that agrees to everything, and types what the other device shows.
    mutating func agreeableAnswer(of side: Side, to kind: PairingPrompt.Kind) -> PairingAnswer? {
        switch kind {
        case .confirmPairing: return .accept
        case .displayPasskey(let passkey):
            // The other user may already be waiting for it.
            answerPasskeyRequest(on: side.other, passkey)
            return nil
        case .numericComparison(let value):
            if case .numericComparison(let other) = shown[side.other], other != value { return .reject }
            return .accept
        case .requestPasskey:
            if case .displayPasskey(let passkey) = shown[side.other] { return .passkey(passkey) }
            // Both users type the same one, made up by them.
            if case .requestPasskey = shown[side.other], let passkey = Passkey(271_828) {
                answerPasskeyRequest(on: side.other, passkey)
                return .passkey(passkey)
            }
            return nil
        }
    }

    mutating func answerPasskeyRequest(on side: Side, _ passkey: Passkey) {
        guard case .requestPasskey = shown[side], let prompt = openPrompt(on: side) else { return }
        managers[side]?.answer(prompt, with: .passkey(passkey), at: now)
    }

    /// The prompt that was shown last.
    func openPrompt(on side: Side) -> PairingPrompt.ID? {
        for event in (events[side] ?? []).reversed() {
            if case .prompt(let prompt) = event { return prompt.id }
        }
        return nil
    }

    /// What two link layers do with a key, and what their hosts hear of it.
    private mutating func perform(_ action: SecurityAction, of side: Side) {
        guard isConnected else { return }
        switch action {
        case .enableEncryption(_, let name, let key):
            #expect(side == .central)
            managers[.peripheral]?.longTermKeyRequested(on: Side.peripheral.handle, name: name)
            switch managers[.peripheral]?.nextAction() {
            case .replyLongTermKey(_, let reply) where reply == key:
                linkKey = key
                encryptionChanged(.success, isEncrypted: true, on: Side.allCases)
            case .replyLongTermKey:
                // The first encrypted packet fails its check: the link is lost.
                disconnect()
            default:
                encryptionChanged(.pinOrKeyMissing, isEncrypted: linkKey != nil, on: [.central])
            }
        case .replyLongTermKey, .rejectLongTermKeyRequest:
            Issue.record("an answer to a request that nobody made")
        }
    }

    mutating func encryptionChanged(_ status: HCIStatus, isEncrypted: Bool, on sides: [Side]) {
        for side in sides {
            managers[side]?.encryptionChanged(on: side.handle, status: status, isEncrypted: isEncrypted, at: now)
        }
    }

    // MARK: Results

    func summary(_ side: Side) -> PairingSummary? {
        for case .pairingCompleted(_, let summary) in events[side] ?? [] { return summary }
        return nil
    }

    func failure(_ side: Side) -> PairingFailure? {
        for case .pairingFailed(_, let failure) in events[side] ?? [] { return failure }
        return nil
    }

    func bond(_ side: Side) -> Bond? {
        for case .bonded(_, let bond) in (events[side] ?? []).reversed() { return bond }
        return nil
    }

    func security(_ side: Side) -> LinkSecurity { managers[side]?.security(of: side.handle) ?? .none }

    /// The commands that one side sent, by code.
    func codes(from side: Side) -> [UInt8] { transcript.filter { $0.sender == side }.compactMap(\.bytes.first) }
}

// MARK: - Values

extension SecurityManager.Configuration {
    /// A device with an identity of its own.
    static func device(
        _ io: IOCapability = .noInputNoOutput,
        mitm: SecurityManager.ManInTheMiddleProtection = .requested,
        methods: SecurityManager.PairingMethods = .secureConnections,
        identity: LEAddress? = nil,
        key: UInt128 = 0
    ) -> Self {
        var configuration = SecurityManager.Configuration()
        configuration.ioCapability = io
        configuration.manInTheMiddleProtection = mitm
        configuration.pairingMethods = methods
        if let identity {
            configuration.identity = LocalIdentity(address: identity, identityResolvingKey: IdentityResolvingKey(key))
        }
        return configuration
    }
}
