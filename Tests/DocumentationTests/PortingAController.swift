import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

// snippet: board
/// What a port provides: the controller's bytes, the time, and waiting.
protocol Board {
    /// The time since an origin that does not move, which never goes back.
    var now: Duration { get }
    /// The bytes that have come from the controller; empty if there are none.
    mutating func readBytes() -> [UInt8]
    /// Sends bytes to the controller.
    mutating func send(_ bytes: [UInt8])
    /// Sleeps until bytes come, or until a time; nil for as long as no bytes come.
    /// - Returns: false when the program is to end.
    mutating func wait(until deadline: Duration?) -> Bool
}
// end

// snippet: loop
/// Runs a host on a controller that speaks H4.
func run(_ host: inout some HCIHost, on board: inout some Board) {
    var deframer = H4Deframer(from: .controller)
    var packet: [UInt8] = []
    host.start(at: board.now)
    repeat {
        deframer.append(board.readBytes())
        while let item = deframer.nextItem(into: &packet) {
            if case .packet = item { host.receive(packet[...], at: board.now) }
        }
        host.advance(to: board.now)
        while host.nextPacket(into: &packet) { board.send(packet) }
    } while board.wait(until: host.nextDeadline)
}
// end

// snippet: cryptography
/// What a chip's AES engine and elliptic curve library compute, as the host calls them.
func cryptography(of chip: some Cipher) -> LECryptography {
    LECryptography(
        aes128: { key, block in chip.encrypt(block, with: key) },
        aesCMAC: { key, message in chip.authenticate(message, with: key) },
        p256PublicKey: { privateKey in chip.publicKey(of: privateKey) },
        p256SharedSecret: { privateKey, peer in chip.sharedSecret(of: privateKey, and: peer) }
    )
}

/// A source that asks the chip's generator for every number, and keeps no state of its own.
func randomness(of chip: some Cipher) -> RandomSource {
    RandomSource { _ in chip.randomNumber() }
}
// end

protocol Cipher: Sendable {
    func encrypt(_ block: UInt128, with key: UInt128) -> UInt128?
    func authenticate(_ message: [UInt8], with key: UInt128) -> UInt128?
    func publicKey(of privateKey: UInt256) -> P256PublicKey?
    func sharedSecret(of privateKey: UInt256, and peer: P256PublicKey) -> UInt256?
    func randomNumber() -> UInt64
}

/// A chip whose functions are those of a library.
struct SoftwareCipher: Cipher {
    func encrypt(_ block: UInt128, with key: UInt128) -> UInt128? { LECryptography.swiftCrypto.aes128(key, block) }
    func authenticate(_ message: [UInt8], with key: UInt128) -> UInt128? {
        LECryptography.swiftCrypto.aesCMAC(key, message)
    }
    func publicKey(of privateKey: UInt256) -> P256PublicKey? { LECryptography.swiftCrypto.p256PublicKey(privateKey) }
    func sharedSecret(of privateKey: UInt256, and peer: P256PublicKey) -> UInt256? {
        LECryptography.swiftCrypto.p256SharedSecret(privateKey, peer)
    }
    func randomNumber() -> UInt64 { UInt64.random(in: .min ... .max) }
}

/// A board whose controller is a simulated one, with a central on the same air.
struct SimulatedBoard: Board {
    private(set) var now = Duration.zero
    private var air = Air(seed: 1, quality: .perfect)
    private let own: ControllerID
    private let other: ControllerID
    private var central: Central
    private var connection: CentralRequestID?
    private(set) var peripheral: RemotePeripheral?
    /// When it gives up.
    private let end = Duration.seconds(20)

    init() {
        own = air.addController()
        other = air.addController()
        central = Central(cryptography: .swiftCrypto, randomness: .system)
        central.start(at: .zero)
        connection = central.connect(to: .staticRandom(7), within: end, at: .zero)
    }

    mutating func readBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        var packet: [UInt8] = []
        while air.nextPacket(from: own, into: &packet) { bytes += packet }
        return bytes
    }

    mutating func send(_ bytes: [UInt8]) { air.receive(bytes[...], from: own, at: now) }

    mutating func wait(until deadline: Duration?) -> Bool {
        air.advance(to: now)
        var packet: [UInt8] = []
        while central.nextPacket(into: &packet) { air.receive(packet[...], from: other, at: now) }
        while air.nextPacket(from: other, into: &packet) { central.receive(packet[...], at: now) }
        while let event = central.nextEvent() {
            if case .ended(connection, .success(.connected(let found))) = event { peripheral = found }
        }
        // Little by little, so that no deadline of the air or of the central is missed.
        now = min(now + .milliseconds(1), deadline.map { max($0, now) } ?? .seconds(3600))
        central.advance(to: now)
        air.advance(to: now)
        return peripheral == nil && now < end
    }
}

@Suite struct PortingAControllerTests {
    @Test func aHostRunsOnABoard() throws {
        let chip = SoftwareCipher()
        var peripheral = try Peripheral(
            HeartRate(),
            PeripheralConfiguration(name: "Board", address: .staticRandom(7), pairing: .anyone),
            cryptography: cryptography(of: chip),
            randomness: randomness(of: chip)
        )
        var board = SimulatedBoard()
        run(&peripheral, on: &board)
        #expect(board.peripheral?.services.last?.uuid == .uuid16(0x180D))
    }

    @Test func theChipComputesWhatTheHostAsks() {
        let cryptography = cryptography(of: SoftwareCipher())
        // FIPS 197, C.1.
        let key: UInt128 = 0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F
        let block: UInt128 = 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF
        #expect(cryptography.aes128(key, block) == 0x69C4_E0D8_6A7B_0430_D8CD_B780_70B4_C55A)
        #expect(cryptography.aesCMAC(key, []) != nil)
        #expect(cryptography.p256PublicKey(UInt256(high: 0, low: 1)) != nil)
    }
}
