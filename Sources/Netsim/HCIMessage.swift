import BluetoothHCI

/// An HCI packet as messages of gRPC carry it: the packet indicator in one field, the packet in another.
///
/// Unlike the bytes of a UART, messages have boundaries, so a message that holds no packet is left out, and the next one counts.
struct HCIMessage: Equatable, Sendable {
    /// The packet indicator (Core 5.4, Vol 4, Part A, 2).
    var type: Int
    /// The packet without it.
    var body: [UInt8]

    /// How much of what was left out is shown to a person.
    static let shown = 16

    init(type: Int, body: [UInt8]) {
        self.type = type
        self.body = body
    }

    /// Takes a whole packet, its indicator first.
    init?(packet: [UInt8]) {
        guard let first = packet.first else { return nil }
        self.init(type: Int(first), body: Array(packet.dropFirst()))
    }

    /// The packet as a UART carries it; nil if the message is no whole packet that `source` sends.
    func packet(from source: H4Deframer.Source) -> [UInt8]? {
        guard let indicator = UInt8(exactly: type) else { return nil }
        let bytes = [indicator] + body
        guard let found = H4Deframer(from: source).nextItem(at: bytes[...]), found.item == .packet,
            found.count == bytes.count
        else { return nil }
        return bytes
    }

    /// The first bytes, for a person.
    var beginning: ArraySlice<UInt8> { body.prefix(Self.shown) }
}

/// The packets that come over a socket.
struct PacketCutter {
    private var deframer: H4Deframer
    private var buffer: [UInt8] = []

    init(from source: H4Deframer.Source) { deframer = H4Deframer(from: source) }

    /// Takes bytes, and gives each packet that is whole now. What begins no packet is left out.
    mutating func take(_ bytes: some Collection<UInt8>, _ handle: (HCIMessage) -> Void) {
        deframer.append(bytes)
        while let item = deframer.nextItem(into: &buffer) {
            if item == .packet, let message = HCIMessage(packet: buffer) { handle(message) }
        }
    }
}
