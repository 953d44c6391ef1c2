import ByteCoding
import PebbleProtocol

/// What every service of the watch can be asked for. Each call but ``endpoint`` has an answer for a service that does not care.
///
/// Calls come in the order of the table (``WatchServices/visitServices(_:in:)``). What the services share, and what they do to
/// the watch, is in the context: a service never calls another one, it leaves a ``ServiceEffect``.
protocol WatchService: Sendable {
    /// The endpoint whose messages it takes; no other service takes them.
    static var endpoint: Endpoint { get }

    /// Whether it takes messages without a payload, which are legal. The firmware drops them without a word for most endpoints.
    static var takesEmptyMessages: Bool { get }

    /// When ``advance(in:)`` has something to do; nil if only a call can bring something.
    var nextDeadline: Duration? { get }

    /// Lets time pass, which may be before the deadline: it is called when any service's has come.
    mutating func advance(in context: inout ServiceContext)

    /// A session is about to be gone: ends what it was bringing, before others hear that it is gone.
    mutating func sessionEnding(_ session: SessionID, in context: inout ServiceContext)

    /// A session is gone: forgets what was meant for it.
    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext)

    /// The Pebble app has no session any more: forgets what its phone said. It follows ``sessionClosed(_:in:)``.
    mutating func systemSessionClosed()

    /// The next message of what is handed over piece by piece, as a session has room for it; nil if there is none for it.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage?

    /// The store has carried out a change that was handed over for its ``endpoint``, or could not. Changes finish in the
    /// order in which they were handed over.
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext)

    /// Something that a service did concerns others: every service sees it once the one that did it has returned.
    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext)
}

/// A service that companions call.
protocol EndpointService: WatchService {
    /// Takes a message of its ``WatchService/endpoint``, from a session that may use it.
    /// - Throws: what is wrong with the message, if it is to be dropped without an answer.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError)
}

/// A service that companions call to see or change what runs on the watch.
protocol AppEndpointService: WatchService {
    /// Takes a message of its ``WatchService/endpoint``, from a session that may use it.
    /// - Parameter apps: the running app, and those that can run.
    /// - Throws: what is wrong with the message, if it is to be dropped without an answer.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        with apps: inout AppManager,
        in context: inout ServiceContext
    ) throws(ByteDecodingError)
}

extension WatchService {
    static var takesEmptyMessages: Bool { false }
    var nextDeadline: Duration? { nil }
    mutating func advance(in context: inout ServiceContext) {}
    mutating func sessionEnding(_ session: SessionID, in context: inout ServiceContext) {}
    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {}
    mutating func systemSessionClosed() {}
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? { nil }
    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {}
    mutating func see(_ effect: ServiceEffect, in context: inout ServiceContext) {}
}

/// Sees each service of the table in turn.
protocol EndpointVisitor {
    /// What the visitor has for every service.
    associatedtype Context

    /// Sees a service.
    mutating func visit(_ service: inout some EndpointService, in context: inout Context)
    /// Sees a service that works on the running app.
    mutating func visit(
        _ service: inout some AppEndpointService,
        with apps: inout AppManager,
        in context: inout Context
    )
}
