import BluetoothHost
import ByteCoding
import PebbleProtocol

/// What the watch asks of the player: one byte, written to Remote Command.
enum AMSRemoteCommand: UInt8, Sendable, CaseIterable {
    case play = 0
    case pause = 1
    case togglePlayPause = 2
    case nextTrack = 3
    case previousTrack = 4
    case volumeUp = 5
    case volumeDown = 6
    case advanceRepeatMode = 7
    case advanceShuffleMode = 8
    case skipForward = 9
    case skipBackward = 10
    case likeTrack = 11
    case dislikeTrack = 12
    case bookmarkTrack = 13

    /// What a key of the watch means; nil for what the phone tells without being asked.
    init?(_ key: MusicMessage.Command) {
        switch key {
        case .playOrPause: self = .togglePlayPause
        case .pause: self = .pause
        case .play: self = .play
        case .next: self = .nextTrack
        case .previous: self = .previousTrack
        case .volumeUp: self = .volumeUp
        case .volumeDown: self = .volumeDown
        case .getAll: return nil
        }
    }
}

/// Something that the phone knows of its player: an entity's number and one of its attributes'.
enum AMSAttribute: Hashable, Sendable, CaseIterable {
    case playerName, playbackInfo, volume
    case queueIndex, queueCount, shuffleMode, repeatMode
    case artist, album, title, duration

    /// What attributes belong to.
    enum Entity: UInt8, Sendable, CaseIterable {
        case player = 0
        case queue = 1
        case track = 2

        /// What the watch wants to be told: of each entity everything but the player's name, which some versions of iOS do
        /// not survive being asked for.
        var wanted: [AMSAttribute] {
            AMSAttribute.allCases.filter { $0.entity == self && $0 != .playerName }
        }

        /// What is written to Entity Update: the entity, and the attributes that are wanted.
        var registration: [UInt8] { [rawValue] + wanted.map(\.number) }
    }

    var entity: Entity {
        switch self {
        case .playerName, .playbackInfo, .volume: .player
        case .queueIndex, .queueCount, .shuffleMode, .repeatMode: .queue
        case .artist, .album, .title, .duration: .track
        }
    }

    /// The attribute's number, of its entity's.
    var number: UInt8 {
        switch self {
        case .playerName, .queueIndex, .artist: 0
        case .playbackInfo, .queueCount, .album: 1
        case .volume, .shuffleMode, .title: 2
        case .repeatMode, .duration: 3
        }
    }

    /// What is written to Entity Attribute before its value can be read there.
    var selection: [UInt8] { [entity.rawValue, number] }

    /// Nil for numbers that have no meaning.
    init?(entity: UInt8, number: UInt8) {
        guard let found = Self.allCases.first(where: { $0.entity.rawValue == entity && $0.number == number }) else {
            return nil
        }
        self = found
    }
}

/// A value of Entity Update. Layout: entity, attribute, flags, text.
struct AMSEntityUpdate: Hashable, Sendable {
    let attribute: AMSAttribute
    /// Whether the text is only the beginning; the whole can be read.
    let isTruncated: Bool
    let text: ArraySlice<UInt8>

    private static let truncatedFlag: UInt8 = 0x01

    init(_ value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        let entity = try reader.readUInt8("entity_update.entity_id")
        let number = try reader.readUInt8("entity_update.attribute_id")
        guard let attribute = AMSAttribute(entity: entity, number: number) else {
            throw ByteDecodingError("entity_update.attribute_id", .invalidValue(UInt64(entity) << 8 | UInt64(number)))
        }
        self.attribute = attribute
        isTruncated = try reader.readUInt8("entity_update.flags") & Self.truncatedFlag != 0
        text = reader.readRemaining()
    }
}

/// Something that changed about the player, the queue or the track.
enum AMSChange: Equatable, Sendable {
    case playerName(String)
    case playback(Playback)
    /// In percent.
    case volume(UInt8)
    case queueIndex(UInt16)
    case queueCount(UInt16)
    case shuffle(MusicMessage.PlayState.Shuffle)
    case repetition(MusicMessage.PlayState.Repetition)
    case artist(String)
    case album(String)
    case title(String)
    case duration(milliseconds: UInt32)

    /// Whether it plays. Layout: state, rate and elapsed seconds as decimal numbers with commas between them; each may be
    /// left out.
    struct Playback: Equatable, Sendable {
        let state: MusicMessage.PlayState.State
        let ratePercent: Int32
        let positionMilliseconds: Int32
    }

    /// What an attribute's text says.
    init(_ attribute: AMSAttribute, _ text: ArraySlice<UInt8>) throws(ByteDecodingError) {
        switch attribute {
        case .playerName: self = .playerName(String(phoneText: text))
        case .playbackInfo: self = .playback(try Playback(text))
        case .volume:
            self = .volume(UInt8(clamping: min(try Self.number(text, times: 100, "player.volume"), 100)))
        case .queueIndex: self = .queueIndex(UInt16(clamping: try Self.number(text, times: 1, "queue.index")))
        case .queueCount: self = .queueCount(UInt16(clamping: try Self.number(text, times: 1, "queue.count")))
        case .shuffleMode:
            switch try Self.number(text, times: 1, "queue.shuffle_mode") {
            case 0: self = .shuffle(.off)
            case 1, 2: self = .shuffle(.on)
            default: self = .shuffle(.unknown)
            }
        case .repeatMode:
            switch try Self.number(text, times: 1, "queue.repeat_mode") {
            case 0: self = .repetition(.off)
            case 1: self = .repetition(.one)
            case 2: self = .repetition(.all)
            default: self = .repetition(.unknown)
            }
        case .artist: self = .artist(String(phoneText: text))
        case .album: self = .album(String(phoneText: text))
        case .title: self = .title(String(phoneText: text))
        case .duration:
            self = .duration(milliseconds: UInt32(clamping: try Self.number(text, times: 1000, "track.duration")))
        }
    }

    /// An empty text is nothing.
    private static func number(
        _ text: ArraySlice<UInt8>,
        times factor: Int64,
        _ field: String
    ) throws(ByteDecodingError) -> Int64 {
        text.isEmpty ? 0 : try AMSNumber.parse(text, times: factor, field)
    }
}

extension AMSChange.Playback {
    init(_ text: ArraySlice<UInt8>) throws(ByteDecodingError) {
        let fields = text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count == 3 else {
            throw ByteDecodingError("player.playback_info", .invalidLength(fields.count))
        }
        func number(_ index: Int, times factor: Int64, _ field: String) throws(ByteDecodingError) -> Int64? {
            fields[index].isEmpty ? nil : try AMSNumber.parse(fields[index], times: factor, field)
        }
        state =
            switch try number(0, times: 1, "player.playback_state") {
            case 0: .paused
            case 1: .playing
            case 2: .rewinding
            case 3: .fastForwarding
            default: .unknown
            }
        ratePercent = Int32(clamping: try number(1, times: 100, "player.playback_rate") ?? 0)
        positionMilliseconds = Int32(clamping: try number(2, times: 1000, "player.elapsed_time") ?? 0)
    }
}

/// Decimal numbers, such as `184.755`, without floating point.
enum AMSNumber {
    /// Longer numbers mean nothing.
    private static let digitLimit = 15

    /// The number times `factor`, a power of ten; what is behind the point then is cut off.
    static func parse(
        _ text: ArraySlice<UInt8>,
        times factor: Int64,
        _ field: String
    ) throws(ByteDecodingError) -> Int64 {
        var value: Int64 = 0
        var digitCount = 0
        /// By how much what stands behind the point still has to be multiplied; nil in front of it.
        var rest: Int64?
        let isNegative = text.first == UInt8(ascii: "-")
        for byte in isNegative ? text.dropFirst() : text {
            switch byte {
            case UInt8(ascii: "."):
                guard rest == nil else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
                rest = factor
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digitCount += 1
                guard digitCount <= digitLimit else { throw ByteDecodingError(field, .invalidLength(text.count)) }
                let digit = Int64(byte - UInt8(ascii: "0"))
                guard let left = rest else {
                    value = value * 10 + digit
                    continue
                }
                guard left > 1 else { continue }
                value = value * 10 + digit
                rest = left / 10
            default:
                throw ByteDecodingError(field, .invalidValue(UInt64(byte)))
            }
        }
        guard digitCount > 0 else { throw ByteDecodingError(field, .invalidLength(text.count)) }
        let product = value.multipliedReportingOverflow(by: rest ?? factor)
        guard !product.overflow else { throw ByteDecodingError(field, .invalidLength(text.count)) }
        return isNegative ? -product.partialValue : product.partialValue
    }
}

/// Why the phone refuses a command or a value, beyond ATT's own reasons.
extension ATTError {
    /// The watch has not set up what it uses.
    static let amsInvalidState = ATTError(rawValue: 0xA0)
    /// The command is malformed.
    static let amsInvalidCommand = ATTError(rawValue: 0xA1)
    /// The attribute is empty.
    static let amsAbsentAttribute = ATTError(rawValue: 0xA2)
}
