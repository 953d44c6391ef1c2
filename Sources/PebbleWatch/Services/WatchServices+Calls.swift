import ByteCoding
import PebbleProtocol

// How messages, time, the ends of sessions and the store's answers find their way to the services.

extension WatchServices {
    /// Gives a message to the service of its endpoint.
    ///
    /// An endpoint that clients know but no service here answers is ignored without a word, since they take a
    /// refusal of it for a failure.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        var delivery = Delivery(message, on: session)
        visitServices(&delivery, in: &context)
        settle(in: &context)
        if let failure = delivery.failure { throw failure }
        guard delivery.isDue, !message.payload.isEmpty else { return }
        context.log(.debug, .session, "\(message.endpoint): nothing here answers it")
    }

    /// The next message of what is handed over piece by piece, as the session has room for it.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? {
        var request = NextMessage(session)
        var nothing: Void = ()
        visitServices(&request, in: &nothing)
        return request.message
    }

    /// A session is gone.
    /// - Parameter wasSystem: whether the Pebble app has no session any more.
    mutating func sessionClosed(_ session: SessionID, wasSystem: Bool, in context: inout ServiceContext) {
        var ending = SessionEnd(session)
        visitServices(&ending, in: &context)
        settle(in: &context)
        var closure = SessionClosure(session, wasSystem: wasSystem)
        visitServices(&closure, in: &context)
        settle(in: &context)
    }

    /// The store has carried out a change, or could not.
    mutating func changeFinished(for owner: ChangeOwner, failure: WatchStoreError?, in context: inout ServiceContext) {
        guard case .service(let endpoint) = owner else { return }
        var report = StoreReport(endpoint, failure: failure)
        visitServices(&report, in: &context)
        settle(in: &context)
    }

    /// Lets time pass. What one service does takes effect before the next one is called.
    mutating func advance(in context: inout ServiceContext) {
        var advance = Advance()
        repeat {
            advance.begin()
            visitServices(&advance, in: &context)
            settle(in: &context)
        } while !advance.isFinished
    }

    /// Shows the services what one of them did, and what comes of that.
    mutating func settle(in context: inout ServiceContext) {
        while !context.effects.isEmpty {
            let effects = context.effects
            context.effects = []
            for effect in effects {
                var sight = Sight(effect)
                visitServices(&sight, in: &context)
            }
        }
    }
}

/// A visitor that does the same with every service, whether it works on the running app or not.
protocol WatchServiceVisitor: EndpointVisitor {
    associatedtype Context

    /// Sees a service of either kind.
    mutating func call(_ service: inout some WatchService, in context: inout Context)
}

extension WatchServiceVisitor {
    mutating func visit(_ service: inout some EndpointService, in context: inout Context) {
        call(&service, in: &context)
    }

    mutating func visit(
        _ service: inout some AppEndpointService,
        with apps: inout AppManager,
        in context: inout Context
    ) {
        call(&service, in: &context)
    }
}

/// Brings a message to the one service that takes it.
private struct Delivery: EndpointVisitor {
    /// Whether no service has taken it yet.
    private(set) var isDue = true
    private(set) var failure: ByteDecodingError?
    private let message: PebbleMessage
    private let session: SessionID

    init(_ message: PebbleMessage, on session: SessionID) {
        self.message = message
        self.session = session
    }

    mutating func visit(_ service: inout some EndpointService, in context: inout ServiceContext) {
        guard isTaken(by: service) else { return }
        do throws(ByteDecodingError) {
            try service.receive(message, on: session, in: &context)
        } catch {
            failure = error
        }
    }

    mutating func visit(
        _ service: inout some AppEndpointService,
        with apps: inout AppManager,
        in context: inout ServiceContext
    ) {
        guard isTaken(by: service) else { return }
        do throws(ByteDecodingError) {
            try service.receive(message, on: session, with: &apps, in: &context)
        } catch {
            failure = error
        }
    }

    private mutating func isTaken<Service: WatchService>(by service: borrowing Service) -> Bool {
        guard isDue, Service.endpoint == message.endpoint else { return false }
        isDue = false
        return Service.takesEmptyMessages || !message.payload.isEmpty
    }
}

/// Asks for the next message of something that is handed over piece by piece.
private struct NextMessage: WatchServiceVisitor {
    private(set) var message: PebbleMessage?
    private let session: SessionID

    init(_ session: SessionID) { self.session = session }

    mutating func call(_ service: inout some WatchService, in context: inout Void) {
        if message == nil { message = service.nextMessage(on: session) }
    }
}

/// Ends what a session was bringing.
private struct SessionEnd: WatchServiceVisitor {
    private let session: SessionID

    init(_ session: SessionID) { self.session = session }

    mutating func call(_ service: inout some WatchService, in context: inout ServiceContext) {
        service.sessionEnding(session, in: &context)
    }
}

/// Says that a session is gone.
private struct SessionClosure: WatchServiceVisitor {
    private let session: SessionID
    private let wasSystem: Bool

    init(_ session: SessionID, wasSystem: Bool) {
        self.session = session
        self.wasSystem = wasSystem
    }

    mutating func call(_ service: inout some WatchService, in context: inout ServiceContext) {
        service.sessionClosed(session, in: &context)
        if wasSystem { service.systemSessionClosed() }
    }
}

/// Tells a service how its change of the store went.
private struct StoreReport: WatchServiceVisitor {
    private let endpoint: Endpoint
    private let failure: WatchStoreError?

    init(_ endpoint: Endpoint, failure: WatchStoreError?) {
        self.endpoint = endpoint
        self.failure = failure
    }

    mutating func call<Service: WatchService>(_ service: inout Service, in context: inout ServiceContext) {
        if Service.endpoint == endpoint { service.changeFinished(failure: failure, in: &context) }
    }
}

/// Lets time pass for one service after the other, and stops where one has left effects.
private struct Advance: WatchServiceVisitor {
    private var place = 0
    private var doneCount = 0

    /// Whether time has passed for every service.
    var isFinished: Bool { doneCount == place }

    /// Goes on where it stopped.
    mutating func begin() { place = 0 }

    mutating func call(_ service: inout some WatchService, in context: inout ServiceContext) {
        defer { place += 1 }
        guard place == doneCount, context.effects.isEmpty else { return }
        service.advance(in: &context)
        doneCount += 1
    }
}

/// Shows the services what one of them did.
private struct Sight: WatchServiceVisitor {
    private let effect: ServiceEffect

    init(_ effect: ServiceEffect) { self.effect = effect }

    mutating func call(_ service: inout some WatchService, in context: inout ServiceContext) {
        service.see(effect, in: &context)
    }
}
