import DequeModule
import PebbleProtocol

/// Sends every dictionary back to the phone as it came: the simplest app that proves both directions.
public struct EchoApp: WatchApp {
    /// How many dictionaries wait for the outbox before new ones are dropped.
    public static let queueLimit = 32

    public let uuid: PebbleUUID
    public let name: String
    public let flags: AppFlags
    public let sdk: SDKVersion
    /// The UUID that a companion sends its messages to: 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0.
    public static let identifier = PebbleUUID(
        upperHalf: 0x2C1D_6F5E_8F3A_4C57,
        lowerHalf: 0x9D0E_EC0E_C0EC_0EC0
    )

    private var waiting: Deque<AppMessageDictionary> = []
    private var isSending = false

    /// An echo with nothing to say yet.
    public init() {
        uuid = Self.identifier
        name = "Echo"
        flags = .allowsJavaScript
        sdk = .current
    }

    /// An echo under the name of an installed app.
    public init(_ metadata: AppMetadata) {
        uuid = metadata.uuid
        name = metadata.name
        flags = metadata.flags
        sdk = metadata.sdk
    }

    public mutating func didLaunch(_ context: inout AppContext) {
        _ = context.open(inboxSize: context.inboxSizeMaximum, outboxSize: context.outboxSizeMaximum)
    }

    public mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
        // The phone may push faster than it acknowledges our echoes: only one is ever under way.
        guard waiting.count < Self.queueLimit else { return }
        waiting.append(message)
        sendNext(&context)
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        isSending = false
        sendNext(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        isSending = false
        sendNext(&context)
    }

    private mutating func sendNext(_ context: inout AppContext) {
        while let next = waiting.first {
            guard !isSending else { return }
            waiting.removeFirst()
            // What is refused will never go: it is too long for this phone.
            isSending = context.send(next) == .ok
        }
    }
}
