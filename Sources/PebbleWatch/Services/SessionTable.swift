import BluetoothHost
import PebbleProtocol

/// The sessions that are open, in the order in which they were opened, and which of them wins where two are for the same
/// companion.
struct SessionTable: Sendable {
    /// The sessions by their names, oldest first.
    var open = SmallTable<SessionID, Session>()
    /// The number of the session that was opened last; 0 before the first.
    private(set) var lastNumber: UInt64 = 0
    /// Whether the system had a session when that was last asked.
    private var hadSystemSession = false

    /// Opens a session. What it replaces has been closed.
    mutating func add(_ destination: PPoGATTDestination, over transport: SessionTransport) -> SessionID {
        lastNumber += 1
        let id = SessionID(number: lastNumber)
        open[id] = Session(id: id, kind: destination.kind, transport: transport, application: destination.application)
        return id
    }

    /// The sessions whose place a new one takes.
    ///
    /// The newest wins: a system or hybrid session replaces an older one, and a companion's session that of the same
    /// watchapp. Only a developer's tool replaces no phone's: it takes the phone's place, and gives it back when it leaves.
    func replaced(by destination: PPoGATTDestination, over transport: SessionTransport) -> [SessionID] {
        let older = open.values.filter { session in
            guard destination.kind != .app else {
                return session.kind == .app && session.application == destination.application
            }
            return session.kind != .app && (session.isTool || !transport.isTool)
        }
        return older.map(\.id)
    }

    /// The session of the companion at a destination that can go on over another transport too; nil if there is none among
    /// these.
    func joinable(
        for destination: PPoGATTDestination,
        over transport: SessionTransport,
        among ids: [SessionID]
    ) -> SessionID? {
        ids.first { id in
            guard let session = open[id] else { return false }
            return session.isFor(destination) && session.canBeJoined(by: transport)
        }
    }

    /// The session that was opened last of those whose companion is wanted. Stored properties are read where they stand; a getter
    /// would be called on a copy of the session, with every message.
    func newest(where isWanted: (PPoGATTDestination) -> Bool) -> SessionID? {
        open.keys.last { id in
            guard let kind = open[id]?.kind, let application = open[id]?.application else { return false }
            return isWanted(PPoGATTDestination(kind: kind, application: application))
        }
    }

    /// The session that AppMessages of an app go to: of those that may carry them the app's own, or the newest.
    func newest(for audience: AppAudience) -> SessionID? {
        newest { $0.application == audience.app && audience.includes($0) } ?? newest { audience.includes($0) }
    }

    /// The newest session of the Pebble app, or of what stands for it.
    var newestOfSystem: SessionID? { newest { $0.kind != .app } }

    /// Whether the last session of a Pebble app has ended since this was last asked.
    mutating func systemSessionsHaveEnded() -> Bool {
        let hadSession = hadSystemSession
        hadSystemSession = newestOfSystem != nil
        return hadSession && !hadSystemSession
    }

    /// Whether a session still exists.
    func isOpen(_ id: SessionID) -> Bool { open[id] != nil }

    /// Whose session it is; nil if it is over.
    func companion(of id: SessionID) -> PPoGATTDestination? { open[id]?.companion }

    /// How the sessions are doing, oldest first.
    var status: [WatchStatus.Session] {
        open.values.map { session in
            WatchStatus.Session(
                id: session.id,
                kind: session.kind,
                transport: session.carrier,
                application: session.application
            )
        }
    }
}
