import PebbleProtocol

/// What an installed app does on this watch. Its own ARM code cannot run here.
public enum AppBehavior: Sendable, Equatable {
    /// Sends every dictionary back.
    case echo
    /// Takes every dictionary, and sends what it is told to from outside: see ``WatchCommand/sendAppMessage(_:)``.
    case external
    /// Answers by rules.
    case scripted(AppScript)

    /// The app that shows this behaviour under an installed app's UUID and name.
    func app(for metadata: AppMetadata) -> any WatchApp {
        switch self {
        case .echo: EchoApp(metadata)
        case .external: ScriptedApp(metadata, AppScript())
        case .scripted(let script): ScriptedApp(metadata, script)
        }
    }
}

/// What an app says and shows, and when: the rules of a ``ScriptedApp``.
public struct AppScript: Sendable, Equatable {
    /// Something that a script has the app do.
    public struct Action: Sendable, Equatable {
        /// The dictionary to send; nil for none.
        public var tuples: [Tuple]?
        /// What to draw, in this order.
        public var drawings: [Drawing]
        /// How long after what caused it.
        public var delay: Duration

        /// Draws and sends, after a while.
        public init(tuples: [Tuple]? = nil, drawings: [Drawing] = [], delay: Duration = .zero) {
            self.tuples = tuples
            self.drawings = drawings
            self.delay = delay
        }
    }

    /// A tuple to send.
    public struct Tuple: Sendable, Equatable {
        /// The tuple's key in the dictionary that is sent.
        public var key: UInt32
        /// Where its value comes from: the script itself, or the dictionary that is being answered.
        public var source: Source

        /// Where its value comes from.
        public enum Source: Sendable, Equatable {
            /// This value, of this type, every time.
            case value(AppMessageValue)
            /// The value that the received dictionary has under a key; the tuple is left out if it has none.
            case received(UInt32)
        }

        /// A tuple.
        public init(key: UInt32, source: Source) {
            self.key = key
            self.source = source
        }
    }

    /// What a received dictionary must be like, and what is done then.
    public struct Rule: Sendable, Equatable {
        /// What must be there; other keys may be too. Numbers are compared as numbers, whatever their width.
        public var conditions: [Condition]
        /// What is done then, in this order. The actions answer the dictionary that met the conditions.
        public var actions: [Action]

        /// A rule.
        public init(conditions: [Condition], actions: [Action]) {
            self.conditions = conditions
            self.actions = actions
        }
    }

    /// Something that a received dictionary must have.
    public enum Condition: Sendable, Equatable {
        /// There is a tuple with this key, whatever its value.
        case has(UInt32)
        /// The first tuple with this key has this value: numbers are compared whatever their width, texts as texts, bytes as
        /// bytes.
        case equals(UInt32, AppMessageValue)
    }

    /// The largest dictionary that the app takes, in bytes; nil for as large as the phone allows, zero for none at all.
    public var inboxSize: Int?
    /// The largest dictionary that the app sends, in bytes; nil for as large as the phone allows, zero for none at all.
    public var outboxSize: Int?
    /// What is done when the app starts, in this order; there is no received dictionary then.
    public var onLaunch: [Action]
    /// The first rule whose conditions are met is carried out, and no other.
    public var rules: [Rule]
    /// What is done when a button goes down; a button without an entry does nothing. An entry for the back button has no
    /// effect: that button ends the app.
    public var onButton: [WatchButton: [Action]]

    /// A script; without arguments one that takes everything and says nothing.
    public init(
        inboxSize: Int? = nil,
        outboxSize: Int? = nil,
        onLaunch: [Action] = [],
        rules: [Rule] = [],
        onButton: [WatchButton: [Action]] = [:]
    ) {
        self.inboxSize = inboxSize
        self.outboxSize = outboxSize
        self.onLaunch = onLaunch
        self.rules = rules
        self.onButton = onButton
    }
}
