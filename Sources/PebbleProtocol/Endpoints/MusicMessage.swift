import ByteCoding

/// Endpoint 0x0020: media control. Commands of one byte from the watch, what plays from the phone; little-endian.
public enum MusicMessage: EndpointMessage {
    /// Watch to phone.
    case command(Command)
    /// `10`, phone to watch.
    case nowPlaying(Track)
    /// `11`, phone to watch.
    case playState(PlayState)
    /// `12`, phone to watch: percent.
    case volume(UInt8)
    /// `13`, package and name with length bytes, phone to watch.
    case player(package: String, name: String)

    /// What the watch asks for.
    public enum Command: UInt8, Sendable {
        /// Pauses what plays, or plays what is paused.
        case playOrPause = 0x01
        /// Pauses.
        case pause = 0x02
        /// Plays on.
        case play = 0x03
        /// Goes to the next track.
        case next = 0x04
        /// Goes to the previous track.
        case previous = 0x05
        /// Makes the volume higher; by how much is up to the phone.
        case volumeUp = 0x06
        /// Makes the volume lower; by how much is up to the phone.
        case volumeDown = 0x07
        /// Tell everything about what plays.
        case getAll = 0x08
    }

    /// What plays. Layout: three texts with length bytes, then optionally length (UInt32), count and index (UInt16).
    public struct Track: Equatable, Sendable {
        /// Who plays.
        public var artist: String
        /// Where it is from.
        public var album: String
        /// What plays.
        public var title: String
        /// Absent in the short form.
        public var details: Details?

        /// The track's length, and its place in a list.
        public struct Details: Equatable, Sendable {
            /// How long the track is.
            public var lengthMilliseconds: UInt32
            /// How many tracks the list has.
            public var trackCount: UInt16
            /// Which of them plays.
            public var trackIndex: UInt16

            /// Details by their fields.
            public init(lengthMilliseconds: UInt32, trackCount: UInt16, trackIndex: UInt16) {
                self.lengthMilliseconds = lengthMilliseconds
                self.trackCount = trackCount
                self.trackIndex = trackIndex
            }
        }

        /// A track; without details in the short form.
        public init(artist: String, album: String, title: String, details: Details? = nil) {
            self.artist = artist
            self.album = album
            self.title = title
            self.details = details
        }
    }

    /// Whether it plays, and how. Layout: state, position and rate (Int32 each), shuffle, repeat, and what else may
    /// follow.
    public struct PlayState: Equatable, Sendable {
        /// What it does.
        public var state: State
        /// Where in the track it is.
        public var positionMilliseconds: Int32
        /// 100 is the usual speed.
        public var ratePercent: Int32
        /// Whether the order is random.
        public var shuffle: Shuffle
        /// What is repeated.
        public var repetition: Repetition

        /// What a player does.
        public enum State: UInt8, Sendable {
            /// The player is paused.
            case paused = 0
            /// The player plays.
            case playing = 1
            /// The player moves back in the track.
            case rewinding = 2
            /// The player moves forward in the track.
            case fastForwarding = 3
            /// The player did not say. Numbers without a name are read as this, too.
            case unknown = 4
        }

        /// Whether the order is random.
        public enum Shuffle: UInt8, Sendable {
            /// The player did not say. Numbers without a name are read as this, too.
            case unknown = 0
            /// Tracks play in the list's order.
            case off = 1
            /// Tracks play in a random order.
            case on = 2
        }

        /// What is repeated.
        public enum Repetition: UInt8, Sendable {
            /// The player did not say. Numbers without a name are read as this, too.
            case unknown = 0
            /// The list ends with its last track.
            case off = 1
            /// The track is repeated.
            case one = 2
            /// The list is repeated.
            case all = 3
        }

        /// A state by its fields.
        public init(
            state: State,
            positionMilliseconds: Int32,
            ratePercent: Int32,
            shuffle: Shuffle,
            repetition: Repetition
        ) {
            self.state = state
            self.positionMilliseconds = positionMilliseconds
            self.ratePercent = ratePercent
            self.shuffle = shuffle
            self.repetition = repetition
        }
    }

    private enum Code {
        static let nowPlaying: UInt8 = 0x10
        static let playState: UInt8 = 0x11
        static let volume: UInt8 = 0x12
        static let player: UInt8 = 0x13
    }

    public static var endpoint: Endpoint { .music }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let code = try reader.readUInt8("music.command")
        switch code {
        case Code.nowPlaying: self = .nowPlaying(try Track(reading: &reader))
        case Code.playState: self = .playState(try PlayState(reading: &reader))
        case Code.volume: self = .volume(try reader.readUInt8("music.volume"))
        case Code.player:
            let package = try reader.readPascalString("music.package")
            self = .player(package: package, name: try reader.readPascalString("music.name"))
        default:
            guard let command = Command(rawValue: code) else {
                throw ByteDecodingError("music.command", .invalidValue(UInt64(code)))
            }
            self = .command(command)
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .command(let command): payload.append(command.rawValue)
        case .nowPlaying(let track):
            payload.append(Code.nowPlaying)
            track.encode(to: &payload)
        case .playState(let state):
            payload.append(Code.playState)
            state.encode(to: &payload)
        case .volume(let percent): payload += [Code.volume, percent]
        case .player(let package, let name):
            payload.append(Code.player)
            payload.appendPascalString(package)
            payload.appendPascalString(name)
        }
    }
}

extension MusicMessage.Track {
    /// How long the details are when libpebble3 writes count and index with four bytes each.
    private static let wideDetailsLength = 12

    fileprivate init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        artist = try reader.readPascalString("music.artist")
        album = try reader.readPascalString("music.album")
        title = try reader.readPascalString("music.title")
        details = try? Self.readDetails(&reader)
    }

    private static func readDetails(_ reader: inout ByteReader) throws(ByteDecodingError) -> Details {
        let isWide = reader.count >= wideDetailsLength
        func readNumber(_ field: String) throws(ByteDecodingError) -> UInt16 {
            guard isWide else { return try reader.readLittleEndian(field) }
            return UInt16(clamping: try reader.readLittleEndian(field, as: UInt32.self))
        }
        return Details(
            lengthMilliseconds: try reader.readLittleEndian("music.length"),
            trackCount: try readNumber("music.track_count"),
            trackIndex: try readNumber("music.current_track")
        )
    }

    fileprivate func encode(to payload: inout [UInt8]) {
        payload.appendPascalString(artist)
        payload.appendPascalString(album)
        payload.appendPascalString(title)
        guard let details else { return }
        payload.appendLittleEndian(details.lengthMilliseconds)
        payload.appendLittleEndian(details.trackCount)
        payload.appendLittleEndian(details.trackIndex)
    }
}

extension MusicMessage.PlayState {
    /// Reads the fields. A state, a shuffle or a repetition whose number has no name is `unknown`.
    fileprivate init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        state = State(rawValue: try reader.readUInt8("music.state")) ?? .unknown
        positionMilliseconds = try reader.readLittleEndian("music.position")
        ratePercent = try reader.readLittleEndian("music.rate")
        shuffle = Shuffle(rawValue: try reader.readUInt8("music.shuffle")) ?? .unknown
        repetition = Repetition(rawValue: try reader.readUInt8("music.repeat")) ?? .unknown
    }

    fileprivate func encode(to payload: inout [UInt8]) {
        payload.append(state.rawValue)
        payload.appendLittleEndian(positionMilliseconds)
        payload.appendLittleEndian(ratePercent)
        payload += [shuffle.rawValue, repetition.rawValue]
    }
}
