import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// The L2CAP channels that one phone has opened to the watch's streams: the Pebble Protocol on its own, and loopbacks.
struct PhoneChannels: Sendable {
    /// The channels to the Pebble stream.
    private var streams = SmallTable<Channel.ID, SessionStream>()
    /// The channels to loopback streams, which send every byte back.
    private var loopbacks = SmallTable<Channel.ID, WatchStream>()
    /// What is read from channels, kept for its storage.
    private var buffer: [UInt8] = []

    var sessions: [SessionID] { streams.values.compactMap(\.session) }

    /// Whether there is none.
    var isEmpty: Bool { streams.isEmpty && loopbacks.isEmpty }

    var hasSession: Bool { streams.keys.contains { streams[$0]?.session != nil } }

    func has(_ session: SessionID) -> Bool { streams.keys.contains { streams[$0]?.session == session } }

    /// The phone has opened a channel.
    mutating func opened(_ id: Channel.ID, to stream: WatchStream, at now: Duration) {
        switch stream {
        case .pebble: streams[id] = SessionStream(at: now)
        case .loopback, .secondLoopback: loopbacks[id] = stream
        }
    }

    /// Whether a channel goes to the Pebble stream.
    func isPebble(_ id: Channel.ID) -> Bool { streams[id] != nil }

    /// Takes what came in on a channel to the Pebble stream; nil if there is no such channel.
    mutating func receive(_ bytes: ArraySlice<UInt8>, on id: Channel.ID) -> SessionStream.Input? {
        streams[id]?.receive(bytes)
    }

    func session(on id: Channel.ID) -> SessionID? { streams[id]?.session }

    mutating func setSession(_ session: SessionID, on id: Channel.ID) { streams[id]?.session = session }

    /// A channel that closes has not sent so many bytes.
    mutating func unsent(_ count: Int, on id: Channel.ID) { streams[id]?.unsentCount = count }

    /// A channel has closed.
    /// - Returns: the stream that it went to, its session, and how many bytes of that were not sent; nil if there is no such
    ///   channel.
    mutating func closed(_ id: Channel.ID) -> (stream: WatchStream, session: SessionID?, unsentCount: Int)? {
        if let stream = loopbacks.removeValue(forKey: id) { return (stream, nil, 0) }
        return streams.removeValue(forKey: id).map { (.pebble, $0.session, $0.unsentCount) }
    }

    // MARK: Time

    /// When the next companion that opened a channel must have introduced itself.
    var nextDeadline: Duration? {
        var next: Duration?
        for id in streams.keys { next.lower(to: streams[id]?.deadline) }
        return next
    }

    /// The channels on which nobody has introduced himself in time.
    func strangers(at now: Duration) -> [Channel.ID] {
        guard let deadline = nextDeadline, deadline <= now else { return [] }
        return streams.keys.filter { id in streams[id]?.deadline.map { $0 <= now } ?? false }
    }

    // MARK: Bytes

    /// Reads what has come in on a channel. The storage goes back by `give(back:)`.
    mutating func read(_ id: Channel.ID, from host: inout LEHost, at now: Duration) -> [UInt8] {
        var bytes: [UInt8] = []
        swap(&bytes, &buffer)
        bytes.removeAll(keepingCapacity: true)
        host.channels.read(from: id, into: &bytes, at: now)
        return bytes
    }

    mutating func give(back bytes: consuming [UInt8]) { buffer = bytes }

    /// Gives channels what their sessions have to say, and loopbacks what they have heard.
    mutating func pump(_ core: inout WatchCore, _ policy: inout LinkPolicy, at now: Duration) {
        for id in streams.keys {
            guard let session = streams[id]?.session else { continue }
            // A newer session of the same companion has taken its place.
            guard core.system.sessions.isOpen(session) else {
                core.host.channels.close(id, at: now)
                continue
            }
            pump(id, of: session, &core, &policy, at: now)
        }
        for id in loopbacks.keys { echo(id, &core.host, &policy, at: now) }
    }

    /// A message or a part of one in each SDU.
    private func pump(
        _ id: Channel.ID,
        of session: SessionID,
        _ core: inout WatchCore,
        _ policy: inout LinkPolicy,
        at now: Duration
    ) {
        while true {
            let bytes = core.system.takeOutbound(
                of: session,
                over: .stream,
                atMost: core.host.channels.writableSDUCount(of: id),
                undelivered: core.host.channels.unsentCount(of: id),
                at: now
            )
            guard !bytes.isEmpty else { return }
            policy.need(.stream, at: now)
            do {
                try core.host.channels.writeSDU(bytes, to: id, at: now)
            } catch {
                core.log(.error, .l2cap, "\(id.connection): a stream did not take what it had room for: \(error)")
                return core.host.channels.close(id, at: now)
            }
        }
    }

    /// Sends back as much as there is room for. The rest is not read, so that the phone gets no credits for more: a phone that
    /// does not listen cannot go on talking.
    private mutating func echo(_ id: Channel.ID, _ host: inout LEHost, _ policy: inout LinkPolicy, at now: Duration) {
        buffer.removeAll(keepingCapacity: true)
        host.channels.read(host.channels.writableCount(of: id), from: id, into: &buffer, at: now)
        guard !buffer.isEmpty else { return }
        // There was room for all of it.
        _ = host.channels.write(buffer[...], to: id, at: now)
        policy.need(.stream, at: now)
    }
}

// MARK: - Sessions over channels

extension PhoneConnection {
    /// A channel has bytes to be read.
    mutating func read(_ id: Channel.ID, _ core: inout WatchCore, at now: Duration) {
        guard channels.isPebble(id) else { return }
        policy.need(.stream, at: now)
        let bytes = channels.read(id, from: &core.host, at: now)
        receive(bytes[...], on: id, &core, at: now)
        channels.give(back: bytes)
    }

    private mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        on id: Channel.ID,
        _ core: inout WatchCore,
        at now: Duration
    ) {
        switch channels.receive(bytes, on: id) {
        case .incomplete, nil:
            break
        case .introduced(let destination, let rest):
            let session = core.system.session(for: destination, over: .stream, among: sessions, at: now)
            channels.setSession(session, on: id)
            abandonReplacedTransports(&core, at: now)
            core.system.receive(rest, on: session, over: .stream, at: now)
        case .refused(let rejection):
            core.log(.warning, .session, "\(handle): a stream is closed, since its introduction is bad: \(rejection)")
            core.host.channels.close(id, at: now)
        case .bytes(let bytes):
            guard let session = channels.session(on: id) else { return }
            core.system.receive(bytes, on: session, over: .stream, at: now)
        }
    }

    /// A channel has closed.
    /// - Parameter unread: what had come in and was not read.
    mutating func closed(
        _ id: Channel.ID,
        _ closure: ChannelClosure,
        unread: [UInt8],
        _ core: inout WatchCore,
        at now: Duration
    ) {
        if !unread.isEmpty { receive(unread[...], on: id, &core, at: now) }
        guard let (stream, session, unsentCount) = channels.closed(id) else { return }
        core.emit(.streamClosed(handle, stream, closure))
        guard let session else { return }
        companions.leave(session, core.system)
        core.system.leave(session, over: .stream, undelivered: unsentCount, reason: "\(closure)", at: now)
    }
}

extension WatchSystem {
    /// The session of a companion whose transport has opened: the one that it has on its link over another transport, or a new
    /// one.
    mutating func session(
        for destination: PPoGATTDestination,
        over transport: SessionTransport,
        among sessions: [SessionID],
        at now: Duration
    ) -> SessionID {
        guard let there = self.sessions.joinable(for: destination, over: transport, among: sessions) else {
            return openSession(destination, over: transport, among: sessions, at: now)
        }
        // It goes on over the better one.
        self.sessions.open[there]?.join(transport)
        return there
    }
}
