import BluetoothHCI
import ByteCoding
import PebbleWatch
import SeededRandomness

/// A controller that records what it advertises, and fails when a test wants it to: it refuses commands,
/// reports connections that fail, resets itself, ends sets. It answers within a millisecond or not at all.
struct FakeController {
    enum Kind: Sendable, CaseIterable {
        case legacy, oneSet, severalSets

        var hasSets: Bool { self != .legacy }
        var setCount: Int { self == .severalSets ? 4 : 1 }
    }

    struct AdvertisingState: Equatable {
        var isEnabled = false
        var intervalSlots: UInt32 = 0
        var isConnectable = false
        var channels: UInt8 = 0
        var data: [UInt8] = []
        var address: [UInt8] = []
    }

    let kind: Kind
    /// By handle; a legacy controller has only 0.
    var sets: [UInt8: AdvertisingState] = [:]
    var connection: UInt16?
    /// How many of 256 advertising commands are refused for no reason.
    var refusalRate: UInt64 = 0
    /// How many were.
    var refusals = 0
    /// Whether it answers at all.
    var isMute = false
    var random: SplitMix64
    /// What it has for the host.
    var outbox: [[UInt8]] = []
    /// Every advertising command, as it came.
    var commands: [[UInt8]] = []
    private var nextHandle: UInt16 = 0x40
    private var randomAddress: [UInt8] = []

    init(_ kind: Kind, seed: UInt64) {
        self.kind = kind
        random = SplitMix64(seed: seed)
    }

    var connectable: AdvertisingState? { sets.values.first { $0.isEnabled && $0.isConnectable } }
    var beacon: AdvertisingState? { sets.values.first { $0.isEnabled && !$0.isConnectable } }

    // MARK: What happens to it

    /// A phone connects, if anything can be connected to.
    mutating func phoneConnects() -> Bool {
        guard connection == nil, let (handle, _) = sets.first(where: { $0.value.isEnabled && $0.value.isConnectable })
        else { return false }
        sets[handle]?.isEnabled = false
        let link = nextHandle
        nextHandle = nextHandle % 0x0E00 + 1
        connection = link
        // LE Connection Complete: peripheral, a phone, 30 ms, no latency, 6 s.
        var parameters: [UInt8] = [0x01, 0x00]
        parameters.appendLittleEndian(link)
        parameters += [0x01, 0x01, 0x11, 0x22, 0x33, 0x44, 0x55, 0xC0, 0x18, 0x00, 0x00, 0x00, 0x58, 0x02, 0x00]
        outbox.append([0x04, 0x3E, UInt8(parameters.count)] + parameters)
        if kind.hasSets {
            outbox.append([0x04, 0x3E, 0x06, 0x12, 0x00, handle] + [UInt8(link & 0xFF), UInt8(link >> 8)] + [0x00])
        }
        return true
    }

    mutating func linkEnds(_ reason: UInt8) {
        guard let link = connection else { return }
        connection = nil
        outbox.append([0x04, 0x05, 0x04, 0x00, UInt8(link & 0xFF), UInt8(link >> 8), reason])
    }

    /// LE Connection Complete with a status: what some controllers say instead of a link that ends at once.
    mutating func connectionIsNotEstablished() {
        guard connection == nil, let (handle, _) = sets.first(where: { $0.value.isEnabled && $0.value.isConnectable })
        else { return }
        sets[handle]?.isEnabled = false
        outbox.append([0x04, 0x3E, 19, 0x01, 0x3E] + [UInt8](repeating: 0, count: 17))
    }

    /// A controller with sets ends one of its own accord.
    mutating func endsASet() {
        guard kind.hasSets, let (handle, _) = sets.first(where: { $0.value.isEnabled }) else { return }
        sets[handle]?.isEnabled = false
        outbox.append([0x04, 0x3E, 0x06, 0x12, 0x43, handle, 0x00, 0x00, 0x00])
    }

    /// It loses its state and reports a Hardware Error.
    mutating func breaks() {
        sets = [:]
        connection = nil
        outbox.append([0x04, 0x10, 0x01, 0x42])
    }

    // MARK: Commands

    mutating func receive(_ packet: [UInt8]) {
        guard !isMute, packet.count >= 4, packet[0] == 0x01 else { return }
        let opcode = UInt16(packet[1]) | UInt16(packet[2]) << 8
        let parameters = Array(packet[4...])
        let isAdvertising =
            [0x2005, 0x2006, 0x2008, 0x2009, 0x200A].contains(opcode) || (0x2035...0x203D).contains(opcode)
        if isAdvertising {
            commands.append(packet)
            // A controller that refuses during the start-up cannot be used; other tests are about that.
            let isStartUp = opcode == 0x203A || opcode == 0x203B || (opcode == 0x2005 && sets.isEmpty)
            if !isStartUp, random.next() & 0xFF < refusalRate {
                refusals += 1
                return answer(opcode, [0x0C])
            }
        }
        switch opcode {
        case 0x0C03:
            sets = [:]
            connection = nil
            answer(opcode, [0])
        case 0x1002: answer(opcode, [0] + supportedCommands)
        case 0x2003: answer(opcode, [0, 0, kind.hasSets ? 0x10 : 0, 0, 0, 0, 0, 0, 0])
        case 0x2002: answer(opcode, [0, 0xFB, 0x00, 0x08])
        case 0x203A: answer(opcode, [0, 0xFB, 0x00])
        case 0x203B: answer(opcode, [0, UInt8(kind.setCount)])
        case 0x2005:
            randomAddress = parameters
            answer(opcode, [sets[0]?.isEnabled == true ? 0x0C : 0])
        case 0x2006: setParameters(parameters)
        case 0x2008: answer(opcode, [0]); change(0) { $0.data = Array(parameters[1..<(1 + Int(parameters[0]))]) }
        case 0x200A: enable(0, parameters[0] == 1, opcode)
        case 0x2036: setExtendedParameters(parameters)
        case 0x2035: answer(opcode, [0]); change(parameters[0]) { $0.address = Array(parameters[1...]) }
        case 0x2037: answer(opcode, [0]); change(parameters[0]) { $0.data = Array(parameters[4...]) }
        case 0x2039: enable(parameters[2], parameters[0] == 1, opcode)
        case 0x203C:
            let isFree = sets[parameters[0]].map { !$0.isEnabled } ?? false
            if isFree { sets[parameters[0]] = nil }
            answer(opcode, [isFree ? 0 : 0x0C])
        case 0x2016, 0x0406:
            outbox.append([0x04, 0x0F, 0x04, 0x00, 0x01, packet[1], packet[2]])
            if opcode == 0x0406 { linkEnds(0x16) }
        default: answer(opcode, [0])
        }
    }

    private mutating func answer(_ opcode: UInt16, _ returns: [UInt8]) {
        outbox.append([0x04, 0x0E, UInt8(3 + returns.count), 0x01, UInt8(opcode & 0xFF), UInt8(opcode >> 8)] + returns)
    }

    private mutating func change(_ handle: UInt8, _ body: (inout AdvertisingState) -> Void) {
        body(&sets[handle, default: AdvertisingState()])
    }

    private mutating func setParameters(_ parameters: [UInt8]) {
        // Core 5.4, Vol 4, Part E, 7.8.5: not while advertising is enabled.
        guard sets[0]?.isEnabled != true else { return answer(0x2006, [0x0C]) }
        let address = randomAddress
        change(0) {
            $0.intervalSlots = UInt32(parameters[0]) | UInt32(parameters[1]) << 8
            $0.isConnectable = parameters[4] == 0
            $0.channels = parameters[13]
            $0.address = address
        }
        answer(0x2006, [0])
    }

    private mutating func setExtendedParameters(_ parameters: [UInt8]) {
        let handle = parameters[0]
        // Core 5.4, Vol 4, Part E, 7.8.53.
        guard sets[handle]?.isEnabled != true else { return answer(0x2036, [0x0C]) }
        guard sets[handle] != nil || sets.count < kind.setCount else { return answer(0x2036, [0x07]) }
        change(handle) {
            $0.intervalSlots = UInt32(parameters[3]) | UInt32(parameters[4]) << 8 | UInt32(parameters[5]) << 16
            $0.isConnectable = parameters[1] & 1 != 0
            $0.channels = parameters[9]
        }
        answer(0x2036, [0, 0])
    }

    private mutating func enable(_ handle: UInt8, _ isEnabled: Bool, _ opcode: UInt16) {
        guard sets[handle] != nil else { return answer(opcode, [isEnabled ? 0x42 : kind.hasSets ? 0x42 : 0]) }
        sets[handle]?.isEnabled = isEnabled
        answer(opcode, [0])
    }

    /// Supported_Commands with those bits that the start-up looks for (Core 5.4, Vol 4, Part E, 6.27).
    private var supportedCommands: [UInt8] {
        var bits = [UInt8](repeating: 0, count: 64)
        bits[25] = 0xFF
        bits[26] = 0xFF
        bits[27] = 0x7F
        if kind.hasSets {
            bits[36] = 0xFF
            bits[37] = 0xFF
        }
        return bits
    }
}
