import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// A channel manager with one connection, and the frames that it sends there.
struct ChannelEnd {
    static let handle: ConnectionHandle = 1

    var manager: ChannelManager
    private var signaling = SignalingChannel()
    private let role: ConnectionRole
    /// What is on its way to the other end.
    var wire: [(channel: ChannelID, payload: [UInt8])] = []
    /// How much one link layer packet carries, both ways.
    var dataLength = 27
    var events: [ChannelEvent] = []
    var now = Duration.zero

    init(_ role: ConnectionRole) {
        self.role = role
        manager = ChannelManager(random: 0)
        manager.connectionOpened(Self.handle)
    }

    var connection: ChannelConnection { manager.connections[0] }

    private var link: ChannelManager.Link {
        ChannelManager.Link(handle: Self.handle, security: .none, receiveLength: dataLength)
    }

    /// Puts the next frame on the wire, as `LELink` does.
    /// - Returns: false if there is none.
    mutating func send() -> Bool {
        var payload: [UInt8] = []
        if signaling.nextPDU(into: &payload) {
            wire.append((.signaling, payload))
        } else if let grant = manager.nextGrant(for: Self.handle) {
            signaling.encodeCredits(grant.credits, for: grant.channel, into: &payload)
            wire.append((.signaling, payload))
        } else if let channel = manager.nextFrame(for: Self.handle, dataLength: dataLength, into: &payload) {
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
            receive(signaling.receive(payload[...], role: role))
        } else {
            _ = manager.receive(payload[...], on: channel, Self.handle, &signaling, at: now)
        }
        takeEvents()
    }

    private mutating func receive(_ input: SignalingChannel.Input) {
        switch input {
        case .creditBased(let command, let identifier):
            _ = manager.receive(command, identifier: identifier, link, &signaling, at: now)
        case .disconnectionRequested(let destination, let source, let identifier):
            _ = manager.disconnectionRequested(
                destination: destination,
                source: source,
                identifier: identifier,
                Self.handle,
                &signaling
            )
        case .disconnected(let destination, let source, let identifier):
            _ = manager.disconnected(
                destination: destination,
                source: source,
                identifier: identifier,
                Self.handle,
                &signaling
            )
        case .rejected(_, let identifier): manager.rejected(identifier, Self.handle, &signaling)
        case .updateRequested, .updateAnswered, .handled: break
        }
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
        try manager.open(count, to: spsm, parameters, isEnhanced: isEnhanced, link, &signaling, at: now)
    }

    mutating func close(_ id: Channel.ID) {
        guard let place = manager.place(id) else { return }
        manager.close(place.connection, place.channel, .byOwner, &signaling, at: now)
        takeEvents()
    }

    /// Lets time pass.
    mutating func advance(by duration: Duration) {
        now += duration
        manager.expire(Self.handle, &signaling, at: now)
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
