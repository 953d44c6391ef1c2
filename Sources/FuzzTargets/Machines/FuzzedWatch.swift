import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness

/// A watch whose store answers as it is told, and to which packets can come that no controller has sent.
struct FuzzedWatch: HCIHost {
    static let address = DeviceAddress(0xC011_2233_4455)

    var watch: Watch
    /// One in this many changes of the memory is refused; nil for none.
    var refusesOneOf: Int?
    /// The connection that came last.
    private(set) var link: UInt16 = 0x0040
    private(set) var digest = FuzzDigest()
    private(set) var mostEvents = 0
    private var changes = 0

    init(seed: UInt64, memory: WatchMemory = WatchMemory()) throws {
        let configuration = WatchConfiguration(
            identity: WatchIdentity(address: memory.identity?.address ?? .random(Self.address))
        )
        watch = try Watch(
            configuration,
            memory: memory,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
    }

    @discardableResult
    mutating func take(_ input: WatchInput, at now: Duration) -> WatchInputResult? {
        let result = try? watch.take(input, at: now)
        settle(at: now)
        return result
    }

    private mutating func settle(at now: Duration) {
        while let (id, _) = watch.nextMemoryChange() {
            changes += 1
            let isRefused = refusesOneOf.map { changes % $0 == 0 } ?? false
            _ = try? watch.take(.memoryChangeFinished(id, failure: isRefused ? .full(path: "/state") : nil), at: now)
        }
        var count = 0
        while let event = watch.nextEvent() {
            count += 1
            // Its name alone: every text costs as much as the packet that caused it.
            digest.add(String("\(event)".prefix { $0 != "(" }))
        }
        mostEvents = max(mostEvents, count)
    }

    // MARK: HCIHost

    mutating func start(at now: Duration) { take(.start, at: now) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        if let handle = packet.connectedHandle { link = handle }
        take(.packet(packet), at: now)
    }

    mutating func advance(to now: Duration) { take(.time, at: now) }

    var nextDeadline: Duration? { watch.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard watch.nextPacket(into: &buffer) else { return false }
        digest.add(buffer)
        return true
    }
}

/// A phone that does what it is told, has stored every bond at once, and sends packets that it never meant to.
struct FuzzedPhone: HCIHost {
    var phone: CommandedPhone
    /// What it sends besides, before anything else.
    var forged: [[UInt8]] = []
    /// What its commands came to, by their numbers.
    private(set) var results: [UInt64: Result<PhoneCommandResult, PhoneCommandError>] = [:]
    private(set) var link: UInt16 = 0x0040
    private var lastRequest: UInt64 = 0

    init(_ transport: PhoneTransport, number: UInt64) throws {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0000 + number),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600, offsetMinutes: 60, zoneName: "Europe/Paris")
        )
        configuration.transport = transport
        phone = try CommandedPhone(configuration, randomness: RandomSource(state: number, SplitMix64.draw))
    }

    @discardableResult
    mutating func begin(_ command: PhoneCommand, at now: Duration) -> UInt64 {
        lastRequest += 1
        phone.begin(command, as: PhoneRequestID(rawValue: lastRequest), at: now)
        settle(at: now)
        return lastRequest
    }

    private mutating func settle(at now: Duration) {
        while let event = phone.nextEvent() {
            if case .bonded(let bond) = event { phone.bondStored(bond.identity, at: now) }
        }
        while let (id, result) = phone.nextResult() { results[id.rawValue] = result }
    }

    // MARK: HCIHost

    mutating func start(at now: Duration) {
        phone.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        if let handle = packet.connectedHandle { link = handle }
        phone.receive(packet, at: now)
        settle(at: now)
    }

    mutating func advance(to now: Duration) {
        phone.advance(to: now)
        settle(at: now)
    }

    var nextDeadline: Duration? { phone.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard let packet = forged.popLast() else { return phone.nextPacket(into: &buffer) }
        buffer = packet
        return true
    }
}

extension ArraySlice<UInt8> {
    /// The handle in an LE Connection Complete event of either kind that says success.
    fileprivate var connectedHandle: UInt16? {
        let bytes = Array(prefix(7))
        guard bytes.count == 7, bytes[0] == 0x04, bytes[1] == 0x3E, bytes[3] == 0x01 || bytes[3] == 0x0A, bytes[4] == 0
        else { return nil }
        return UInt16(bytes[5]) | UInt16(bytes[6] & 0x0F) << 8
    }
}
