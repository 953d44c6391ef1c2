import PebbleProtocol

/// Sends every dictionary back to the phone as it came: the simplest app that proves both directions.
///
/// A dictionary that was acknowledged is sent back: while ``queueLimit`` of them wait for the outbox, further ones are refused.
public struct EchoApp: WatchApp {
    /// How many dictionaries wait for the outbox before new ones are refused.
    public static let queueLimit = OutboxQueue.limit

    public let uuid: PebbleUUID
    public let name: String
    public let flags: AppFlags
    public let sdk: SDKVersion
    /// The UUID that a companion sends its messages to: 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0.
    public static let identifier = PebbleUUID(
        upperHalf: 0x2C1D_6F5E_8F3A_4C57,
        lowerHalf: 0x9D0E_EC0E_C0EC_0EC0
    )

    private var queue = OutboxQueue()

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
        // The phone may push faster than it acknowledges what comes back.
        if !queue.send(message, &context) { context.refuseMessage() }
    }

    public mutating func outboxSent(_ message: AppMessageDictionary, _ context: inout AppContext) {
        queue.outboxIsFree(&context)
    }

    public mutating func outboxFailed(
        _ message: AppMessageDictionary,
        _ reason: AppMessageResult,
        _ context: inout AppContext
    ) {
        queue.outboxIsFree(&context)
    }
}
