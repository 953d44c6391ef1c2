import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// A channel manager with one connection, and the frames that it sends there.
struct ChannelEnd {
    static let handle: ConnectionHandle = 1

    var manager: ChannelManager
    /// What is on its way to the other end.
    var wire: [(channel: ChannelID, payload: [UInt8])] = []
    /// How much one link layer packet carries, both ways, in octets.
    var dataLength: UInt16 = 27 { didSet { manager.connectionChanged(link) } }
    private let role: ConnectionRole
    var events: [ChannelEvent] = []
    var now = Duration.zero

    init(_ role: ConnectionRole) {
        self.role = role
        manager = ChannelManager(random: 0)
        manager.connectionOpened(link)
    }

    var connection: ChannelConnection { manager.connections[0] }

    private var link: Connection {
        var link = Connection(
            handle: Self.handle,
            role: role,
            peer: .public(.zero),
            peerAddressOnAir: .public(.zero),
            ownAddress: .public(.zero),
            interval: ConnectionInterval(rawValue: 24),
            latency: 0,
            supervisionTimeout: SupervisionTimeout(rawValue: 500)
        )
        link.receiveLength.octets = dataLength
        return link
    }

    /// Puts the next frame on the wire, as `LELink` does.
    /// - Returns: false if there is none.
    mutating func send() -> Bool {
        var payload: [UInt8] = []
        if manager.nextSignalingPDU(for: Self.handle, into: &payload) {
            wire.append((.signaling, payload))
        } else if let channel = manager.nextFrame(for: Self.handle, dataLength: Int(dataLength), into: &payload) {
            wire.append((channel, payload))
        } else {
            return false
        }
        takeEvents()
        return true
    }

    /// Takes a frame from the other end, as `LEHost` does.
    mutating func receive(_ payload: [UInt8], on channel: ChannelID) {
        if channel == .signaling {
            _ = manager.receiveSignaling(payload[...], on: Self.handle, at: now)
        } else if case .readable(let id) = manager.receive(payload[...], on: channel, Self.handle, at: now) {
            events.append(.readable(id))
        }
        takeEvents()
    }

    private mutating func takeEvents() {
        while let event = manager.nextEvent() { events.append(event) }
    }

    mutating func listen(_ parameters: ChannelParameters) throws -> SPSM {
        try manager.listen(ChannelListener(requirement: .open, parameters: parameters, maximumChannels: 64), on: nil)
    }

    mutating func open(
        _ count: Int,
        to spsm: SPSM,
        _ parameters: ChannelParameters,
        isEnhanced: Bool
    ) throws(ChannelError) -> [Channel.ID] {
        try manager.open(count, to: spsm, parameters, isEnhanced: isEnhanced, on: Self.handle, at: now)
    }

    mutating func close(_ id: Channel.ID) {
        manager.close(id, at: now)
        takeEvents()
    }

    /// Lets time pass.
    mutating func advance(by duration: Duration) {
        now += duration
        _ = manager.advance(to: now)
        takeEvents()
    }

    /// Uses an open channel in place; nil if it is not open.
    mutating func with<Result>(_ id: Channel.ID, _ use: (inout CreditBasedChannel) -> Result) -> Result? {
        guard let place = manager.place(id) else { return nil }
        return use(&manager.connections[place.connection].open[place.channel])
    }
}

/// Two ends, and a link between them on which every frame waits until the test lets it through.
struct ChannelPair {
    var ends = [ChannelEnd(.central), ChannelEnd(.peripheral)]

    /// Lets the oldest frame of an end arrive at the other one.
    /// - Returns: false if there is none.
    mutating func deliver(from end: Int) -> Bool {
        guard !ends[end].wire.isEmpty else { return false }
        let frame = ends[end].wire.removeFirst()
        ends[1 - end].receive(frame.payload, on: frame.channel)
        return true
    }

    /// Lets everything through until nothing moves.
    mutating func settle() {
        var isMoving = true
        while isMoving {
            isMoving = false
            for end in 0...1 {
                while ends[end].send() { isMoving = true }
                while deliver(from: end) { isMoving = true }
            }
        }
    }

    /// Opens channels from end 0 to end 1.
    /// - Returns: their names at each end.
    mutating func open(_ count: Int, isEnhanced: Bool, _ parameters: [ChannelParameters]) throws -> [[Channel.ID]] {
        let spsm = try ends[1].listen(parameters[1])
        var own: [Channel.ID] = []
        for _ in 0..<(isEnhanced ? 1 : count) {
            own += try ends[0].open(isEnhanced ? count : 1, to: spsm, parameters[0], isEnhanced: isEnhanced)
        }
        settle()
        #expect(ends[0].events.opened.map(\.id) == own)
        return [own, ends[1].events.opened.map(\.id)]
    }
}
