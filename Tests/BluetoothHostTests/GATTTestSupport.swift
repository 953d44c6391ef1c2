import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Bytes from hexadecimal text, in which spaces are ignored.
func hex(_ text: String, _ location: SourceLocation = #_sourceLocation) -> [UInt8] {
    guard let bytes = [UInt8](hexadecimal: text.filter { $0 != " " }) else {
        Issue.record("not hexadecimal: \(text)", sourceLocation: location)
        return []
    }
    return bytes
}

extension AttributeHandle: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt16) { self.init(rawValue: value) }
}

/// A GATT layer on one connection, whose peer is the test.
struct GATTRig {
    static let connection: ConnectionHandle = 0x0040
    var layer: GATTLayer
    var now = Duration.zero

    init(
        _ database: GATTDatabase = GATTDatabase(),
        mtu: Int? = nil,
        security: LinkSecurity = .none,
        configuration: GATTLayer.Configuration = .init()
    ) {
        layer = GATTLayer(database: database, configuration: configuration)
        layer.connectionOpened(Self.connection, security: security, at: now)
        if let mtu { raiseMTU(to: mtu) }
    }

    /// Lets the peer raise the MTU, and forgets that it did.
    mutating func raiseMTU(to mtu: Int) {
        receive([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
        _ = sent()
        _ = events()
    }

    mutating func receive(_ pdu: [UInt8]) { layer.receive(pdu[...], on: Self.connection, at: now) }
    mutating func receive(_ text: String) { receive(hex(text)) }

    /// Every PDU that waits, as hexadecimal.
    mutating func sent() -> [String] {
        var pdus: [String] = []
        var buffer: [UInt8] = []
        while layer.nextPDU(for: Self.connection, into: &buffer) { pdus.append(buffer.hexadecimal) }
        return pdus
    }

    /// Sends a PDU and takes every one that comes back, as hexadecimal.
    mutating func exchange(_ text: String) -> [String] {
        receive(text)
        return sent()
    }

    /// Every event that waits.
    mutating func events() -> [GATTEvent] {
        var events: [GATTEvent] = []
        while let event = layer.nextEvent() { events.append(event) }
        return events
    }

    mutating func advance(by duration: Duration) {
        now += duration
        layer.advance(to: now)
    }

    /// Sends a PDU, and expects exactly one back.
    mutating func expect(
        _ request: String,
        _ response: String,
        _ comment: Comment? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let expected = hex(response, location).hexadecimal
        #expect(exchange(request) == [expected], comment, sourceLocation: location)
    }

    /// Sends a PDU, and expects nothing back but a note that it was ignored.
    mutating func expectIgnored(
        _ pdu: String,
        _ reason: IgnoredPDU,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(exchange(pdu) == [], sourceLocation: location)
        let ignored = events().compactMap { if case .pduIgnored(_, let ignored) = $0 { ignored } else { nil } }
        #expect(ignored == [reason], sourceLocation: location)
    }
}

/// The database of the byte tables. Handles:
///
///     0001 service 1800            0006 service 1801          000f service S (128 bits)
///     0002 declaration             0007 declaration           0010 include of 180F
///     0003 2A00 "Cairn"            0008 2A05 (indicate)       0011 declaration
///     0004 declaration             0009 configuration         0012 C (128 bits), 30 bytes
///     0005 2A01 01 02 (up to 4)    000a service 180F          0013 declaration
///                                  000b declaration           0014 2AAA (write only)
///                                  000c 2A19 64 (notify)
///                                  000d configuration
///                                  000e 2901 "Level"
enum ByteTable {
    static let service = BluetoothUUID.uuid128(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    static let characteristic = BluetoothUUID.uuid128(0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100)
    /// The characteristic value of 30 bytes.
    static let longValue = Array(UInt8(0)..<30)

    /// - Parameter reliable: whether its values allow reliable writes; the handles stay as they are.
    static func database(reliable: Bool = false) throws -> GATTDatabase {
        let more: CharacteristicProperties = reliable ? .reliableWrite : []
        return try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(0x2A00), .read, name: "name", value: "Cairn")
                Characteristic(
                    .uuid16(0x2A01),
                    [.read, .write, .writeWithoutResponse, more],
                    name: "short",
                    value: .bytes([0x01, 0x02], maximumLength: 4),
                    addsDescriptors: false
                )
            }
            Service(.genericAttribute) {
                Characteristic(.serviceChanged, .indicate, name: "service changed")
            }
            Service(.uuid16(0x180F), name: "battery") {
                Characteristic(
                    .uuid16(0x2A19),
                    [.read, .notify, more],
                    name: "level",
                    value: [0x64],
                    addsDescriptors: false
                ) {
                    Descriptor.clientCharacteristicConfiguration()
                    Descriptor(.characteristicUserDescription, value: "Level")
                }
            }
            Service(service) {
                Include("battery")
                Characteristic(
                    characteristic,
                    [.read, .write, more],
                    name: "long",
                    value: .bytes(longValue),
                    addsDescriptors: false
                )
                Characteristic(.uuid16(0x2AAA), .write, name: "write only")
            }
        }
    }

    static func rig(mtu: Int? = nil, reliable: Bool = false) throws -> GATTRig {
        GATTRig(try database(reliable: reliable), mtu: mtu)
    }
}

/// A client's layer and a server's, whose PDUs are carried between them until both are silent.
struct GATTPair {
    var client = GATTLayer(database: GATTDatabase())
    var server: GATTLayer
    /// PDUs that the client sent.
    var requestCount = 0
    /// Handles and values that the server notified or indicated.
    var received: [String] = []
    let connection: ConnectionHandle = 0x0001

    init(_ database: GATTDatabase) {
        server = GATTLayer(database: database)
        client.connectionOpened(connection, at: .zero)
        server.connectionOpened(connection, at: .zero)
    }

    mutating func run() {
        var buffer: [UInt8] = []
        var isIdle = false
        while !isIdle {
            isIdle = true
            while client.nextPDU(for: connection, into: &buffer) {
                server.receive(buffer[...], on: connection, at: .zero)
                requestCount += 1
                isIdle = false
            }
            while server.nextPDU(for: connection, into: &buffer) {
                client.receive(buffer[...], on: connection, at: .zero)
                isIdle = false
            }
        }
    }

    mutating func perform(_ procedure: GATTProcedure) throws -> GATTResponse {
        let id = try client.start(procedure, on: connection, at: .zero)
        run()
        var response: GATTResponse?
        while let event = client.nextEvent() {
            switch event {
            case .procedureEnded(let result) where result.id == id: response = try result.result.get()
            case .valueReceived(let value): received.append("\(value.handle) \(value.value.hexadecimal)")
            default: break
            }
        }
        return try #require(response)
    }
}
