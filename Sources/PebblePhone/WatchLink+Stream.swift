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

    /// What the phone says of itself on the stream: the Pebble app's, of every kind of session.
    private static let introduction = PPoGATTMeta(application: .system, sessionType: .hybrid)

    /// Reads where the stream is.
    mutating func openStream(_ core: inout PhoneCore, at now: Duration) {
        guard stream == .notBegun else { return }
        let service = watch.services.first { $0.uuid == .uuid128(PebbleAttribute.streamService) }
        let psm = service?.characteristics.first { $0.uuid == .uuid128(PebbleAttribute.publishedPSM) }
        guard let psm else {
            return giveUpOrWait(.l2cap, "the watch does not publish its stream", &core, at: now)
        }
        stream = .readingPSM
        run(.read(psm.value), for: .psm, &core, at: now)
    }

    /// The watch said where its stream is.
    mutating func receivePSM(_ value: ArraySlice<UInt8>, _ core: inout PhoneCore, at now: Duration) {
        do {
            var reader = ByteReader(value)
            let spsm = SPSM(rawValue: try reader.readLittleEndian("published_psm"))
            stream = .opening
            _ = try core.host.channels.open(to: spsm, on: handle, at: now)
        } catch {
            giveUpOrWait(.l2cap, "no channel can be asked for: \(error)", &core, at: now)
        }
    }

    /// Takes what the host reports of an L2CAP channel.
    mutating func receive(_ event: ChannelEvent, _ core: inout PhoneCore, at now: Duration) {
        switch event {
        case .opened(let channel) where stream == .opening && channel.id.connection == handle:
            var introduction: [UInt8] = []
            Self.introduction.encode(to: &introduction)
            // The first bytes of an empty channel always find room.
            _ = core.host.channels.write(introduction[...], to: channel.id, at: now)
            stream = .open(channel.id)
            openSession(&core, at: now)
            core.emit(.streamOpened(channel.spsm))
        case .readable(let id) where stream == .open(id):
            var bytes: [UInt8] = []
            core.host.channels.read(from: id, into: &bytes, at: now)
            session?.receive(bytes[...], at: now)
        case .closed(let id, let closure, _) where id.connection == handle:
            closeSession(reason: "\(closure)", &core, at: now)
            giveUpOrWait(.l2cap, "the stream is closed: \(closure)", &core, at: now)
        default:
            break
        }
    }
}
