import BluetoothHCI
import PebbleProtocol

/// How soon the two sides of a link hear each other, in the firmware's three steps. Speed costs both batteries.
public enum ResponseTime: UInt8, Sendable, Comparable, CaseIterable {
    /// What a link has while no consumer needs speed.
    case slow = 0
    /// Between the two. No consumer on the watch wants it, but a phone can ask for it.
    case middle = 1
    /// What a link has while a consumer needs speed: in the watch's own profiles the shortest interval, and no latency.
    case fast = 2

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Who on the watch needs the phone to be near for a while.
public enum SpeedConsumer: String, Sendable, CaseIterable {
    /// The watch looks for the phone's services.
    case discovery
    /// Somebody waits in front of a pairing dialog.
    case pairing
    /// A watchapp and its companion talk.
    case appMessage
    /// Somebody speaks to the watch.
    case voice
    /// An object goes one way or the other: an app, a firmware, a core dump.
    case objectTransfer
    /// A screenshot, or an app that is fetched on demand.
    case shortTransfer
    /// Bytes move on a stream.
    case stream
    /// The phone asked for it itself.
    case phone

    /// How long a consumer that does not say that it is done can have what it asked for.
    var longestNeed: Duration {
        switch self {
        case .discovery: .seconds(30)
        case .pairing: .seconds(40)
        case .appMessage, .voice: .seconds(10)
        case .objectTransfer: .seconds(60)
        case .shortTransfer: .seconds(5)
        case .stream: .seconds(10)
        case .phone: .seconds(300)
        }
    }

    /// The consumer that a message of the Pebble Protocol belongs to, if it needs any speed.
    init?(_ endpoint: Endpoint) {
        switch endpoint {
        case .appMessage: self = .appMessage
        case .voiceControl, .audioStream: self = .voice
        case .putBytes, .getBytes: self = .objectTransfer
        case .screenshot, .appFetch: self = .shortTransfer
        default: return nil
        }
    }
}

/// What the watch asks phones for: the parameters of each response time, and the rules that they must keep.
public struct LinkProfile: Sendable, Equatable {
    /// What the command line calls it.
    public let name: String
    /// What phones refuse.
    public let rules: ConnectionParameterRules
    private let slow: ConnectionParameters
    private let middle: ConnectionParameters
    private let fast: ConnectionParameters

    /// A profile; what breaks the rules in it is never asked for.
    public init(
        name: String,
        rules: ConnectionParameterRules,
        slow: ConnectionParameters,
        middle: ConnectionParameters,
        fast: ConnectionParameters
    ) {
        self.name = name
        self.rules = rules
        self.slow = slow
        self.middle = middle
        self.fast = fast
    }

    /// The parameters of a response time.
    public func parameters(for responseTime: ResponseTime) -> ConnectionParameters {
        switch responseTime {
        case .slow: slow
        case .middle: middle
        case .fast: fast
        }
    }

    /// As the watches of 2025: 15 ms when it matters, else 30 to 45 ms of which three of four can be slept through.
    public static let pebble = LinkProfile(
        name: "pebble",
        rules: .apple,
        slow: .request(.milliseconds(30), .milliseconds(45), latency: 3),
        middle: .request(.milliseconds(30), .milliseconds(45), latency: 3),
        fast: .request(.milliseconds(15), .milliseconds(15), latency: 0)
    )

    /// The same for phones that judge by the rules of 2012, as far as those allow.
    public static let apple2012 = LinkProfile(
        name: "apple-2012",
        rules: .apple2012,
        slow: .request(.milliseconds(30), .milliseconds(50), latency: 3),
        middle: .request(.milliseconds(30), .milliseconds(50), latency: 3),
        fast: .request(.milliseconds(20), .milliseconds(40), latency: 0)
    )

    /// What a phone wants to be asked for, by the rules that hold anyway.
    init(_ sets: ConnectionParametersCommand.ParameterSets, rules: ConnectionParameterRules) {
        self.init(
            name: "of the phone",
            rules: rules,
            slow: ConnectionParameters(sets.slow),
            middle: ConnectionParameters(sets.middle),
            fast: ConnectionParameters(sets.fast)
        )
    }

    /// All profiles, by their names.
    public static let all = [pebble, apple2012]
}

extension ConnectionParameters {
    fileprivate init(_ set: ConnectionParametersCommand.ParameterSet) {
        self.init(
            intervalMinimum: ConnectionInterval(rawValue: set.intervalMinimum),
            intervalMaximum: ConnectionInterval(rawValue: set.intervalMaximum),
            latency: set.latency,
            supervisionTimeout: SupervisionTimeout(rawValue: set.supervisionTimeout)
        )
    }

    /// Parameters as a watch asks for them: always with the longest supervision timeout that phones grant, because a link
    /// that is lost for nothing costs seconds.
    static func request(
        _ shortest: ConnectionInterval,
        _ longest: ConnectionInterval,
        latency: UInt16
    ) -> ConnectionParameters {
        ConnectionParameters(
            intervalMinimum: shortest,
            intervalMaximum: longest,
            latency: latency,
            supervisionTimeout: .milliseconds(6000)
        )
    }
}

extension ResponseTime: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    public var description: String {
        switch self {
        case .slow: "slow"
        case .middle: "middle"
        case .fast: "fast"
        }
    }
}
