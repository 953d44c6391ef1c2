import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness

/// Two Security Managers, their users, and the channel between them, on which the program sits.
///
/// What must hold: no random number or commitment is sent twice; a bond follows from a pairing that was completed; nothing
/// follows Pairing Failed; deadlines are within those of the Core; no key is in any text; and whatever happened, two devices
/// that are left alone can pair afterwards.
struct SecurityMachine {
    private enum Side: Int, CaseIterable {
        case central, peripheral

        var other: Side { self == .central ? .peripheral : .central }
        var handle: ConnectionHandle { self == .central ? 0x0001 : 0x0040 }
        var address: LEAddress {
            self == .central ? .random(DeviceAddress(0xC111_2233_4455)) : .public(DeviceAddress(0x001A_7DDA_7113))
        }
    }

    private static let models: [(IOCapability, IOCapability, SecurityManager.PairingMethods)] = [
        (.noInputNoOutput, .noInputNoOutput, .secureConnections), (.displayYesNo, .displayYesNo, .secureConnections),
        (.keyboardOnly, .displayOnly, .secureConnections), (.displayOnly, .keyboardOnly, .secureConnections),
        (.noInputNoOutput, .noInputNoOutput, .legacy), (.keyboardOnly, .displayOnly, .legacy),
        (.displayOnly, .keyboardOnly, .legacy), (.keyboardDisplay, .keyboardDisplay, .secureConnectionsOrLegacy),
    ]
    /// Core 5.4, Vol 3, Part H, 3.4.
    private static let procedureTimeout = Duration.seconds(30)

    private var managers: [SecurityManager]
    private var program: FuzzProgram
    private var digest = FuzzDigest()
    private var now = Duration.zero
    private var isConnected = false
    /// Whether the program still decides what users and the channel do.
    private var isHostile = true
    private var linkKey: LongTermKey?
    private var prompts: [PairingPrompt?] = [nil, nil]
    private var shown: [PairingPrompt.Kind?] = [nil, nil]
    private var waiting: [(to: Side, bytes: [UInt8])] = []
    /// The random numbers that each side has sent.
    private var numbers: Set<[UInt8]> = []
    private var completed = [0, 0]
    private var keys: Set<String> = []
    private var transcript: [[UInt8]] = []
    private var work = 0

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = try SecurityMachine(input)
        while !machine.program.isAtEnd { try machine.step() }
        try machine.finish()
        return machine.digest.value
    }

    private init(_ input: ArraySlice<UInt8>) throws {
        program = FuzzProgram(input)
        let (central, peripheral, methods) = Self.models[program.number(below: Self.models.count)]
        managers = []
        for (side, capability) in zip(Side.allCases, [central, peripheral]) {
            var configuration = SecurityManager.Configuration()
            configuration.ioCapability = capability
            configuration.manInTheMiddleProtection = .requested
            configuration.pairingMethods = methods
            configuration.identity = LocalIdentity(
                address: side == .central ? .random(DeviceAddress(0xC0FF_EE00_0001)) : side.address,
                identityResolvingKey: IdentityResolvingKey(0x1111 + UInt128(side.rawValue))
            )
            configuration.repeatedAttempts.firstInterval = .zero
            managers.append(
                SecurityManager(
                    configuration: configuration,
                    cryptography: .swiftCrypto,
                    randomness: RandomSource(state: UInt64(3 + side.rawValue), SplitMix64.draw)
                )
            )
        }
        connect()
    }

    private mutating func connect() {
        for side in Side.allCases {
            managers[side.rawValue]
                .connectionOpened(
                    side.handle,
                    role: side == .central ? .initiator : .responder,
                    ownAddress: side.address,
                    peerAddress: side.other.address
                )
        }
        (isConnected, linkKey) = (true, nil)
    }

    private mutating func disconnect() throws {
        for side in Side.allCases { managers[side.rawValue].connectionClosed(side.handle) }
        (isConnected, linkKey, prompts, shown, waiting) = (false, nil, [nil, nil], [nil, nil], [])
        try drain()
    }

    private mutating func step() throws {
        let side = program.flag() ? Side.central : .peripheral
        switch program.number(below: 12) {
        case 0, 1: try? managers[0].pair(Side.central.handle, at: now)
        case 2: try? managers[1].sendSecurityRequest(Side.peripheral.handle, at: now)
        case 3: try? managers[0].encrypt(Side.central.handle, at: now)
        case 4: managers[side.rawValue].cancelPairing(side.handle, at: now)
        case 5: try receive(program.piece(upTo: 80), on: side)
        case 6:
            // Another command of this run: early, late, or reflected.
            guard !transcript.isEmpty else { break }
            try receive(program.variation(of: transcript[Int(program.byte()) % transcript.count]), on: side)
        case 7: answer(side)
        case 8: try advance(by: program.span())
        case 9:
            try disconnect()
            connect()
        case 10:
            let status: HCIStatus = program.flag() ? .success : .pinOrKeyMissing
            managers[side.rawValue]
                .encryptionChanged(on: side.handle, status: status, isEncrypted: program.flag(), at: now)
        default:
            let name = LongTermKeyName(encryptedDiversifier: 0, randomNumber: UInt64(program.byte() & 1))
            managers[1].longTermKeyRequested(on: Side.peripheral.handle, name: name)
            while managers[1].nextAction() != nil {}
        }
        try drain()
        try carry(atMost: program.number(below: 32))
        if !isConnected { connect() }
    }

    private mutating func answer(_ side: Side) {
        guard let prompt = prompts[side.rawValue] else { return }
        let answer: PairingAnswer? =
            switch program.number(below: 5) {
            case 0: .reject
            case 1: .accept
            case 2: Passkey(UInt32(program.word())).map(PairingAnswer.passkey)
            default: agreeable(side, prompt.kind)
            }
        if let answer { managers[side.rawValue].answer(prompt.id, with: answer, at: now) }
    }

    private func agreeable(_ side: Side, _ kind: PairingPrompt.Kind) -> PairingAnswer? {
        switch kind {
        case .confirmPairing: return .accept
        case .displayPasskey: return nil
        case .numericComparison(let value):
            if case .numericComparison(let other)? = shown[side.other.rawValue], other != value { return .reject }
            return .accept
        case .requestPasskey:
            if case .displayPasskey(let passkey)? = shown[side.other.rawValue] { return .passkey(passkey) }
            guard case .requestPasskey? = shown[side.other.rawValue] else { return nil }
            return Passkey(271_828).map(PairingAnswer.passkey)
        }
    }

    // MARK: The channel

    private mutating func receive(_ bytes: [UInt8], on side: Side) throws {
        guard isConnected else { return }
        managers[side.rawValue].receive(bytes[...], on: side.handle, at: now)
        try drain()
    }

    /// Carries what waits, as long as there is any; a hostile program drops, changes, repeats.
    private mutating func carry(atMost limit: Int) throws {
        var count = 0
        while count < limit, isConnected, !waiting.isEmpty {
            count += 1
            now += .milliseconds(10)
            let (side, bytes) = waiting.removeFirst()
            switch isHostile ? program.byte() : 0 {
            case 250: continue
            case 251: try receive(program.variation(of: bytes), on: side)
            case 252:
                try receive(bytes, on: side)
                try receive(bytes, on: side)
            default: try receive(bytes, on: side)
            }
        }
    }

    private mutating func advance(by span: Duration) throws {
        let end = now + span
        while let deadline = managers.compactMap(\.nextDeadline).min(), deadline <= end {
            now = max(now, deadline)
            for side in Side.allCases { managers[side.rawValue].advance(to: now) }
            try drain()
            work += 1
            try expect(work < 10_000, "time does not pass")
        }
        now = end
        for side in Side.allCases { managers[side.rawValue].advance(to: now) }
        try drain()
    }

    // MARK: What comes out

    private mutating func drain() throws {
        var goesOn = true
        while goesOn {
            goesOn = false
            for side in Side.allCases {
                while let action = managers[side.rawValue].nextAction() {
                    goesOn = true
                    try perform(action, of: side)
                }
                while let event = managers[side.rawValue].nextEvent() {
                    goesOn = true
                    try handle(event, on: side)
                }
                try takePDUs(of: side)
            }
            work += 1
            try expect(work < 20_000, "the two do not come to rest")
        }
    }

    private mutating func takePDUs(of side: Side) throws {
        var buffer: [UInt8] = []
        var hasFailed = false
        while managers[side.rawValue].nextPDU(for: side.handle, into: &buffer) {
            try expect(!hasFailed, "\(side) sent \(buffer.hexadecimal) after Pairing Failed")
            hasFailed = buffer.first == 0x05
            digest.add(buffer)
            try expect(buffer.count <= 65 && !buffer.isEmpty, "a command of \(buffer.count) bytes")
            // Pairing Random, and the commitment to it: neither may come again, in this pairing or in any other.
            if buffer[0] == 0x04 || buffer[0] == 0x03 {
                let isNew = numbers.insert([UInt8(side.rawValue)] + buffer).inserted
                try expect(isNew, "\(side) sent \(buffer.hexadecimal) a second time")
            }
            transcript.append(buffer)
            if transcript.count > 64 { transcript.removeFirst() }
            waiting.append((side.other, buffer))
        }
        if let deadline = managers[side.rawValue].nextDeadline {
            try expect(!hasFailed, "\(side) waits for something although its pairing has failed")
            try expect(deadline <= now + Self.procedureTimeout, "a deadline \(deadline - now) ahead")
        }
    }

    private mutating func handle(_ event: SecurityEvent, on side: Side) throws {
        let text = "\(event) \(managers[side.rawValue])"
        digest.add(text)
        for key in keys { try expect(!text.contains(key), "a key is in \(text)") }
        switch event {
        case .prompt(let prompt):
            prompts[side.rawValue] = prompt
            shown[side.rawValue] = prompt.kind
            for side in Side.allCases where !isHostile {
                guard let open = prompts[side.rawValue], let answer = agreeable(side, open.kind) else { continue }
                managers[side.rawValue].answer(open.id, with: answer, at: now)
            }
        case .pairingCompleted:
            completed[side.rawValue] += 1
            (prompts[side.rawValue], shown[side.rawValue]) = (nil, nil)
        case .pairingFailed: (prompts[side.rawValue], shown[side.rawValue]) = (nil, nil)
        case .bonded(_, let bond):
            try expect(completed[side.rawValue] > 0, "\(side) has a bond, and no pairing was completed")
            managers[side.rawValue].bondStored(bond.identity)
        case .securityRequested, .encryptionFailed, .securityChanged: break
        }
        let security = managers[side.rawValue].security(of: side.handle)
        if let security, security.isAuthenticated {
            try expect(security.isEncrypted, "authenticated, and not encrypted")
        }
    }

    /// What two link layers do with a key.
    private mutating func perform(_ action: SecurityAction, of side: Side) throws {
        guard isConnected, case .enableEncryption(_, let name, let key) = action else { return }
        try expect(side == .central, "the peripheral turned encryption on")
        note(key)
        managers[1].longTermKeyRequested(on: Side.peripheral.handle, name: name)
        switch managers[1].nextAction() {
        case .replyLongTermKey(_, let reply) where reply == key:
            linkKey = key
            for side in Side.allCases {
                managers[side.rawValue].encryptionChanged(on: side.handle, status: .success, isEncrypted: true, at: now)
            }
        case .replyLongTermKey:
            // The first encrypted packet fails its check: the link is lost.
            try disconnect()
        case .rejectLongTermKeyRequest, .enableEncryption, nil:
            managers[0]
                .encryptionChanged(
                    on: Side.central.handle,
                    status: .pinOrKeyMissing,
                    isEncrypted: linkKey != nil,
                    at: now
                )
        }
    }

    /// In no text may a key be seen: as hexadecimal of either order, or as a number.
    private mutating func note(_ key: LongTermKey) {
        guard keys.count < 32 else { return }
        var bytes: [UInt8] = []
        key.encode(to: &bytes)
        keys.insert(bytes.hexadecimal)
        keys.insert([UInt8](bytes.reversed()).hexadecimal)
        keys.insert(String(bytes.reversed().reduce(UInt128(0)) { $0 << 8 | UInt128($1) }))
    }

    // MARK: The end

    private mutating func finish() throws {
        isHostile = false
        try disconnect()
        try advance(by: .seconds(12_000))
        for side in Side.allCases {
            try expect(managers[side.rawValue].nextDeadline == nil, "\(side) waits for something without a link")
            for bond in managers[side.rawValue].bonds { managers[side.rawValue].deleteBond(bond.identity) }
        }
        connect()
        let before = completed
        do {
            try managers[0].pair(Side.central.handle, at: now)
        } catch {
            throw FuzzFinding("a pairing cannot begin afterwards: \(error)")
        }
        try drain()
        try carry(atMost: 200)
        for side in Side.allCases {
            try expect(completed[side.rawValue] == before[side.rawValue] + 1, "\(side) cannot pair afterwards")
        }
    }
}
