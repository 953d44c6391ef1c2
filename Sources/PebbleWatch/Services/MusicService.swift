import BluetoothHCI
import ByteCoding
import PebbleProtocol

/// Endpoint 0x0020: what plays on the phone, and the keys that control it. An iPhone's player speaks AMS.
///
/// One phone's player is shown: that of the first who speaks, until it is gone.
public struct MusicService: Sendable, Equatable, EndpointService {
    static var endpoint: Endpoint { .music }

    /// Who tells what plays.
    enum Source: Sendable, Equatable {
        /// The Pebble app.
        case session
        /// The phone itself, through AMS.
        case phone(ConnectionHandle)
    }

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
    /// Nil while no source has anything to tell.
    private(set) var source: Source?

    /// How many bytes of a text the watch keeps.
    static let textLimit = 64
    /// In milliseconds: a position further away means nothing.
    private static let longestTrack = 1e12

    /// Where in the track it is by now, in milliseconds.
    public func position(at now: Duration) -> Int64? {
        guard let playState else { return nil }
        let elapsed = (now - playStateTime) / .milliseconds(1)
        let moved = playState.state == .paused ? 0 : elapsed * Double(playState.ratePercent) / 100
        // A rate can be anything that a phone says.
        return Int64(playState.positionMilliseconds) + Int64(max(-Self.longestTrack, min(moved, Self.longestTrack)))
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let message = try MusicMessage(payload: message.payload)
        if case .command = message {
            return context.log(.info, .session, "\(session): the phone sent a watch's music command")
        }
        guard source == nil || source == .session else {
            return context.log(.debug, .session, "\(session): another player is shown already")
        }
        source = .session
        switch message {
        case .nowPlaying(var track):
            track.artist = track.artist.cut(to: Self.textLimit)
            track.album = track.album.cut(to: Self.textLimit)
            track.title = track.title.cut(to: Self.textLimit)
            guard track != self.track else { return }
            self.track = track
            context.emit(.nowPlaying(track))
        case .playState(let state):
            set(state, in: &context)
        case .volume(let percent):
            set(volume: percent, in: &context)
        case .player(_, let name):
            player = name.cut(to: Self.textLimit)
        case .command:
            break
        }
    }

    private mutating func set(_ state: MusicMessage.PlayState, in context: inout ServiceContext) {
        playState = state
        playStateTime = context.now
        context.emit(.playState(state))
    }

    private mutating func set(volume percent: UInt8, in context: inout ServiceContext) {
        volume = percent
        context.emit(.volume(percent))
    }

    /// A phone whose Pebble app tells what plays is there: it is asked for everything, unless another player is shown.
    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {
        guard case .phoneAnnounced(let phone, let session) = effect, session == context.systemSession,
            phone.platform.operatingSystem == .android, source == nil || source == .session
        else { return }
        source = .session
        _ = send(.getAll, in: &context)
    }

    /// Asks the phone for something; it says nothing to that but what it changes.
    /// - Returns: false when there is no phone.
    mutating func send(_ command: MusicMessage.Command, in context: inout ServiceContext) -> Bool {
        if case .phone(let connection) = source {
            guard let command = AMSRemoteCommand(command) else { return false }
            context.phoneRequests.append(.music(command, on: connection))
            return true
        }
        guard let session = context.systemSession else { return false }
        context.reply(MusicMessage.command(command), on: session)
        return true
    }

    /// What is known goes with the phone that said it.
    mutating func systemSessionClosed() {
        if source == .session { self = MusicService() }
    }
}

// MARK: - AMS

extension MusicService {
    /// Whether what plays is told by a phone's own service.
    var isFromPhonesOwnService: Bool {
        if case .phone = source { true } else { false }
    }

    /// Says everything once more that is known.
    func repeatAll(in context: inout ServiceContext) {
        if let track { context.emit(.nowPlaying(track)) }
        if let playState { context.emit(.playState(playState)) }
        if let volume { context.emit(.volume(volume)) }
    }

    /// Whether another player than a phone's own is shown.
    func isTaken(from connection: ConnectionHandle) -> Bool { source.map { $0 != .phone(connection) } ?? false }

    /// A phone will tell what plays.
    mutating func registered(on connection: ConnectionHandle) {
        if source == nil { source = .phone(connection) }
    }

    /// It will not any more.
    mutating func unregistered(on connection: ConnectionHandle) {
        if source == .phone(connection) { self = MusicService() }
    }

    /// Something about a phone's player changed. The phone says it piece by piece.
    mutating func receive(_ change: AMSChange, from connection: ConnectionHandle, in context: inout ServiceContext) {
        // The first values come before the last registration is acknowledged.
        registered(on: connection)
        guard source == .phone(connection) else { return }
        switch change {
        case .playerName(let name): player = name.cut(to: Self.textLimit)
        case .volume(let percent): set(volume: percent, in: &context)
        case .playback(let playback):
            var state = playState ?? .unknown
            state.state = playback.state
            state.ratePercent = playback.ratePercent
            state.positionMilliseconds = playback.positionMilliseconds
            set(state, in: &context)
        case .shuffle(let shuffle): playState = (playState ?? .unknown).with { $0.shuffle = shuffle }
        case .repetition(let repetition): playState = (playState ?? .unknown).with { $0.repetition = repetition }
        case .queueIndex(let index): setDetails { $0.trackIndex = index }
        case .queueCount(let count): setDetails { $0.trackCount = count }
        case .duration(let milliseconds): setDetails { $0.lengthMilliseconds = milliseconds }
        case .artist(let artist): setTrack(in: &context) { $0.artist = artist.cut(to: Self.textLimit) }
        case .album(let album): setTrack(in: &context) { $0.album = album.cut(to: Self.textLimit) }
        case .title(let title): setTrack(in: &context) { $0.title = title.cut(to: Self.textLimit) }
        }
    }

    private mutating func setTrack(in context: inout ServiceContext, _ change: (inout MusicMessage.Track) -> Void) {
        var track = track ?? .none
        change(&track)
        guard track != self.track else { return }
        self.track = track
        context.emit(.nowPlaying(track))
    }

    /// Numbers alone are no news.
    private mutating func setDetails(_ change: (inout MusicMessage.Track.Details) -> Void) {
        var track = track ?? .none
        var details = track.details ?? .init(lengthMilliseconds: 0, trackCount: 0, trackIndex: 0)
        change(&details)
        track.details = details
        self.track = track
    }
}

extension MusicMessage.Track {
    fileprivate static let none = MusicMessage.Track(artist: "", album: "", title: "")
}

extension MusicMessage.PlayState {
    fileprivate static let unknown = MusicMessage.PlayState(
        state: .unknown,
        positionMilliseconds: 0,
        ratePercent: 0,
        shuffle: .unknown,
        repetition: .unknown
    )

    fileprivate func with(_ change: (inout Self) -> Void) -> Self {
        var state = self
        change(&state)
        return state
    }
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
