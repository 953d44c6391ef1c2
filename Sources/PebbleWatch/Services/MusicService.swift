import ByteCoding
import PebbleProtocol

/// Endpoint 0x0020: what plays on the phone, and the keys that control it.
public struct MusicService: Sendable, Equatable {
    /// What plays; nil before the phone has said anything.
    public private(set) var track: MusicMessage.Track?
    /// Whether it plays.
    public private(set) var playState: MusicMessage.PlayState?
    /// When `playState` came: the position has moved on since.
    public private(set) var playStateTime: Duration = .zero
    /// In percent.
    public private(set) var volume: UInt8?
    /// The name of the app that plays.
    public private(set) var player: String?

    /// How many bytes of a text the watch keeps.
    static let textLimit = 64

    /// Where in the track it is by now, in milliseconds.
    public func position(at now: Duration) -> Int64? {
        guard let playState else { return nil }
        let elapsed = (now - playStateTime) / .milliseconds(1)
        let moved = playState.state == .paused ? 0 : elapsed * Double(playState.ratePercent) / 100
        return Int64(playState.positionMilliseconds) + Int64(moved)
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try MusicMessage(payload: message.payload) {
        case .nowPlaying(var track):
            track.artist = track.artist.cut(to: Self.textLimit)
            track.album = track.album.cut(to: Self.textLimit)
            track.title = track.title.cut(to: Self.textLimit)
            guard track != self.track else { return }
            self.track = track
            context.emit(.nowPlaying(track))
        case .playState(let state):
            playState = state
            playStateTime = context.now
            context.emit(.playState(state))
        case .volume(let percent):
            volume = percent
            context.emit(.volume(percent))
        case .player(_, let name):
            player = name.cut(to: Self.textLimit)
        case .command:
            context.log(.info, "session", "\(session): the phone sent a watch's music command")
        }
    }

    /// Asks the phone for something; it says nothing to that but what it changes.
    /// - Returns: false when there is no phone.
    mutating func send(_ command: MusicMessage.Command, in context: inout ServiceContext) -> Bool {
        guard let session = context.systemSession else { return false }
        context.reply(MusicMessage.command(command), on: session)
        return true
    }

    /// What is known goes with the phone that said it.
    mutating func sessionClosed() { self = MusicService() }
}

extension String {
    /// As many whole characters from the front as fit into so many bytes of UTF-8.
    func cut(to byteCount: Int) -> String {
        guard utf8.count > byteCount else { return self }
        var text = ""
        var length = 0
        for scalar in unicodeScalars {
            length += UTF8.width(scalar)
            guard length <= byteCount else { break }
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}
