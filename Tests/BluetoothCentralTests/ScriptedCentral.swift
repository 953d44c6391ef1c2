import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import SeededRandomness
import Testing

/// A central whose controller is the test: HCI packets in hexadecimal go in and come out, and time passes when told.
///
/// The controller is one of Core 4.0 with 64 buffers of 251 bytes for LE. It has answered every command when a call returns.
struct ScriptedCentral {
    private(set) var central: Central
    private(set) var now = Duration.seconds(100)
    /// What the controller answers to a command, by the opcode as sent: return parameters, status first. Of a command that is
    /// not in it: success and nothing else. Nil as an answer is none at all.
    var answers: [String: String?] = [
        "0110": "00 06 0000 06 0f00 0000",
        "0210": "00 20 00 00 00 00 c0 00 00 00 00 00 00 00 00 a8 02 00 00 00 00 00 00 00 00 40 f7 ff f7 0f"
            + String(repeating: "00", count: 35),
        "0310": "00 0000000060000000",
        "0910": "00 1371da7d1a00",
        "0320": "00 0100000000000000",
        "0220": "00 fb00 40",
        "1c20": "00 ff03000000000000",
        "0f20": "00 04",
    ]
    private(set) var ended: [CentralRequestID: Result<CentralResponse, CentralError>] = [:]
    private(set) var failures: [StartUpFailure] = []
    private(set) var readyCount = 0
    private(set) var values: [RemoteValue] = []
    private(set) var disconnections: [HCIStatus] = []

    static let peer = LEAddress.random(DeviceAddress(0xD0_01_02_03_04_05))
    /// Its type and address as sent.
    private static let peerHex = "01 0504030201d0"
    /// Commands that are answered by Command Status: Disconnect, LE Create Connection, LE Read Remote Features, LE Enable
    /// Encryption.
    private static let asynchronous: Set<String> = ["0604", "0d20", "1620", "1920"]

    init(_ configuration: CentralConfiguration = CentralConfiguration()) {
        central = Central(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 0xCE17, SplitMix64.draw)
        )
    }

    /// A central whose controller is ready.
    static func started(_ configuration: CentralConfiguration = CentralConfiguration()) -> ScriptedCentral {
        var rig = ScriptedCentral(configuration)
        _ = rig.use { $0.start(at: $1) }
        #expect(rig.readyCount == 1)
        return rig
    }

    // MARK: Using it

    /// Uses the central, and answers what it then sends.
    /// - Returns: what the body returns, and the packets that the central sent.
    @discardableResult
    mutating func use<Value>(_ body: (inout Central, Duration) -> Value) -> (value: Value, sent: [String]) {
        let value = body(&central, now)
        return (value, serve())
    }

    /// Makes a request.
    mutating func request(_ begin: (inout Central, Duration) -> CentralRequestID) -> CentralRequestID {
        use(begin).value
    }

    /// Hands a packet from the controller to the central.
    /// - Returns: the packets that the central sent.
    @discardableResult
    mutating func give(_ packet: String) -> [String] {
        let bytes = hex(packet)
        return use { $0.receive(bytes[...], at: $1) }.sent
    }

    /// Lets time pass.
    /// - Returns: the packets that the central sent.
    @discardableResult
    mutating func advance(by span: Duration) -> [String] {
        now += span
        return use { $0.advance(to: $1) }.sent
    }

    private mutating func serve() -> [String] {
        var all: [String] = []
        var buffer: [UInt8] = []
        takeEvents()
        while central.nextPacket(into: &buffer) {
            let packet = hexadecimal(buffer)
            all.append(packet)
            if packet.hasPrefix("01"), let answer = answer(to: String(packet.dropFirst(2).prefix(4))) {
                central.receive(hex(answer)[...], at: now)
            }
            takeEvents()
        }
        return all
    }

    private func answer(to opcode: String) -> String? {
        let answer = answers[opcode, default: "00"]
        guard Self.asynchronous.contains(opcode) else { return answer.map { Self.event("0e", "01" + opcode + $0) } }
        return answer.map { Self.event("0f", $0 + "01" + opcode) }
    }

    private mutating func takeEvents() {
        while let event = central.nextEvent() {
            switch event {
            case .ready: readyCount += 1
            case .failed(let failure): failures.append(failure)
            case .ended(let id, let result):
                #expect(ended[id] == nil, "a request ends once")
                ended[id] = result
            case .valueReceived(_, let value): values.append(value)
            case .disconnected(_, let reason): disconnections.append(reason)
            case .prompt, .bonded, .notice: break
            }
        }
    }

    // MARK: What the controller and the peer say

    static func event(_ code: String, _ parameters: String) -> String {
        "04" + code + hexadecimal([UInt8(hex(parameters).count)]) + parameters
    }

    /// LE Connection Complete in the central's role: 30 ms, no latency, 4 s.
    static let connected = event("3e", "01 00 4000 00" + peerHex + "1800 0000 9001 00")

    /// LE Connection Complete with an error.
    static func notConnected(_ status: String) -> String {
        event("3e", "01" + status + "0000 00 00 000000000000 0000 0000 0000 00")
    }

    /// Disconnection Complete.
    static func disconnected(_ reason: String) -> String { event("05", "00 4000" + reason) }

    /// Hardware Error.
    static let hardwareError = event("10", "42")

    /// What the peer sends on the channel of the Attribute Protocol.
    @discardableResult
    mutating func att(_ pdu: String) -> [String] { Self.payloads(give(Self.frame("0400", pdu)), on: "0400") }

    /// What the peer sends on the channel of the Security Manager.
    @discardableResult
    mutating func smp(_ pdu: String) -> [String] { Self.payloads(give(Self.frame("0600", pdu)), on: "0600") }

    /// What was sent on a channel, among other packets.
    static func payloads(_ packets: [String], on channel: String) -> [String] {
        packets.filter { $0.hasPrefix("024000") && $0.dropFirst(14).hasPrefix(channel) }.map {
            String($0.dropFirst(18))
        }
    }

    /// An ACL packet of the peer with a whole L2CAP frame.
    static func frame(_ channel: String, _ payload: String) -> String {
        let count = UInt8(hex(payload).count)
        return "02 4020" + hexadecimal([count + 4, 0, count, 0]) + channel + payload
    }

    /// Connects to a peer that has one service 0xFF00 at 0x0001 to 0x0004, with the characteristic 0xFF01, whose value is at
    /// 0x0003.
    /// - Parameter properties: what can be done with the value: all that there is but indications, unless told otherwise.
    mutating func connect(
        properties: String = "1e"
    ) throws -> (peripheral: RemotePeripheral, value: RemoteCharacteristic) {
        let id = request { $0.connect(to: Self.peer, within: .seconds(60), at: $1) }
        let mtu = Self.payloads(give(Self.connected), on: "0400")
        #expect(mtu == ["020502"], "the client asks for an MTU of 517")
        #expect(att("03 1700") == ["100100ffff0028"])
        #expect(att("11 06 0100 0400 00ff") == ["100500ffff0028"])
        #expect(att("01 10 0500 0a") == ["08010004000328"])
        #expect(att("09 07 0200" + properties + "0300 01ff") == ["08030004000328"])
        #expect(att("01 08 0300 0a") == ["0404000400"])
        att("05 01 0400 0229")
        guard case .success(.connected(let peripheral))? = ended[id] else {
            Issue.record("not connected: \(String(describing: ended[id]))")
            throw CentralError.timedOut
        }
        return (peripheral, try peripheral.characteristic(.uuid16(0xFF01), of: .uuid16(0xFF00)))
    }
}

/// Bytes from hexadecimal text, in which blanks are ignored.
func hex(_ text: String, _ location: SourceLocation = #_sourceLocation) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    #expect(digits.count.isMultiple(of: 2), "not hexadecimal: \(text)", sourceLocation: location)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// Bytes as hexadecimal text.
func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
