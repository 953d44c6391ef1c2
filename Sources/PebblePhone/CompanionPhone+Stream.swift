import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

// The Pebble Protocol over an L2CAP channel to the watch's stream: where it is, opening it, and its bytes.

extension WatchLink {
    /// How far the phone is with the watch's stream.
    enum Stream: Hashable, Sendable {
        case notBegun
        /// The watch is asked for the PSM.
        case readingPSM
        /// A channel is asked for.
        case opening
        case open(Channel.ID)
    }
}

extension CompanionPhone {
    /// What the phone says of itself on the stream: the Pebble app's, of every kind of session.
    private static let introduction = PPoGATTMeta(application: .system, sessionType: .hybrid)

    /// Reads where the stream is, once everything is known of the watch and pairing is over.
    mutating func openStreamIfReady(at now: Duration) {
        guard configuration.transport == .stream, let link, link.stream == .notBegun else { return }
        guard link.isExplored, link.security == .settled else { return }
        let service = link.explorer.watch.services.first { $0.uuid == .uuid128(PebbleAttribute.streamService) }
        let psm = service?.characteristics.first { $0.uuid == .uuid128(PebbleAttribute.publishedPSM) }
        guard let psm else {
            return giveUpOrWait(link.handle, .l2cap, "the watch does not publish its stream", at: now)
        }
        self.link?.stream = .readingPSM
        run(.read(psm.value), for: .psm, at: now)
    }

    /// The watch said where its stream is.
    mutating func receivePSM(_ value: ArraySlice<UInt8>, at now: Duration) {
        guard let handle = link?.handle else { return }
        do {
            var reader = ByteReader(value)
            let spsm = SPSM(rawValue: try reader.readLittleEndian("published_psm"))
            link?.stream = .opening
            _ = try host.channels.open(to: spsm, on: handle, at: now)
        } catch {
            giveUpOrWait(handle, .l2cap, "no channel can be asked for: \(error)", at: now)
        }
    }

    mutating func handle(_ event: ChannelEvent, at now: Duration) {
        switch event {
        case .opened(let channel) where link?.stream == .opening && channel.id.connection == link?.handle:
            var introduction: [UInt8] = []
            Self.introduction.encode(to: &introduction)
            // The first bytes of an empty channel always find room.
            _ = host.channels.write(introduction[...], to: channel.id, at: now)
            link?.stream = .open(channel.id)
            let session = PhoneSession(of: configuration.version, by: configuration.clock, from: now)
            link?.session = session
            link?.hadSession = true
            emit(.streamOpened(channel.spsm))
        case .readable(let id) where link?.stream == .open(id):
            var bytes: [UInt8] = []
            host.channels.read(from: id, into: &bytes, at: now)
            link?.session?.receive(bytes[...], at: now)
        case .closed(let id, let closure, _) where id.connection == link?.handle:
            closeSession(reason: "\(closure)", at: now)
            giveUpOrWait(id.connection, .l2cap, "the stream is closed: \(closure)", at: now)
        default:
            break
        }
    }
}
