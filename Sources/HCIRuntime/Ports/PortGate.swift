import Glibc
import LinuxBluetooth
import Logging

/// The door of a TCP port: it lets in who may use the port and speaks its protocol, and closes every other connection.
///
/// A connection that has said nothing yet waits outside: it has neither a session nor a controller, and costs a descriptor.
/// There is room for `silentLimit` of them; then the one that has waited longest makes room.
package final class PortGate {
    /// How many connections may wait that have said nothing.
    package static let silentLimit = 32
    /// How many connections are taken at a time. The kernel's list of sockets is read once for all of them.
    private static let connectionsPerLook = 64
    /// How long no connection is looked at after that: with it, reading the list takes little of the loop's time, however often
    /// a program connects.
    private static let pause: Duration = .milliseconds(100)
    /// What each row of that list adds to the pause.
    private static let pausePerRow: Duration = .microseconds(50)

    /// A connection that has been taken and not been let in yet.
    private final class Caller {
        private(set) var socket: FileDescriptor?
        let descriptor: Int32
        let endpoints: (own: TCPSocketTable.Endpoint, peer: TCPSocketTable.Endpoint)?
        var token: PollSet.Token?

        init(_ socket: consuming FileDescriptor) {
            descriptor = socket.number
            endpoints = socket.tcpEndpoints
            self.socket = consume socket
        }

        /// The first bytes of what waits to be read.
        func firstBytes() -> [UInt8] {
            switch socket {
            case .some(let socket): socket.peek(PortProtocol.firstByteCount)
            case nil: []
            }
        }

        func takeSocket() -> FileDescriptor? { socket.take() }
    }

    private let listener: StreamListener
    private let speaks: PortProtocol
    private let users: PortUsers
    private let name: String
    private let log: Logger
    private var silent: [Caller] = []
    private var listenerToken: PollSet.Token?
    private var pauseEnds: Duration?
    private var refusals = LineBudget(lines: 3, each: .seconds(60))

    /// Opens the port, on this machine's loopback; 0 lets the kernel choose one.
    /// - Parameter name: what the log calls it, such as `the emulator's port`.
    package init(
        port: UInt16,
        speaks: PortProtocol,
        users: PortUsers,
        name: String,
        log: Logger
    ) throws(StreamListener.PortError) {
        listener = try StreamListener(loopbackPort: port)
        self.speaks = speaks
        self.users = users
        self.name = name
        self.log = log
    }

    /// The port that it listens on.
    package var port: UInt16 { listener.port }

    package func addPollRequests(to set: inout PollSet) {
        listenerToken = pauseEnds == nil ? set.add(listener.descriptor, reading: true, writing: false) : nil
        for caller in silent { caller.token = set.add(caller.descriptor, reading: true, writing: false) }
    }

    /// Takes who has come, and looks at what the others have said.
    /// - Parameter admit: is given each connection that may use the port and has begun to speak its protocol; what it said is
    ///   still to be read.
    package func takeInput(_ set: borrowing PollSet, at now: Duration, admit: (consuming FileDescriptor) -> Void) {
        let known = silent
        silent = []
        for caller in known {
            var hasMore = true
            if let token = caller.token, set.isReadable(token) { hasMore = false }
            judge(caller, hasMore: hasMore, at: now, admit)
        }
        if let token = listenerToken, set.isReadable(token) {
            // What they have said may be there already, or only a part of it.
            for caller in takeCallers(at: now) { judge(caller, hasMore: true, at: now, admit) }
        }
        if silent.count > Self.silentLimit { silent.removeFirst(silent.count - Self.silentLimit) }
    }

    package func advance(to now: Duration) {
        if let end = pauseEnds, end <= now { pauseEnds = nil }
        if let leftOut = refusals.reopened(at: now) { tellLeftOut(leftOut) }
    }

    package var nextDeadline: Duration? {
        guard let end = pauseEnds, let opening = refusals.opening else { return pauseEnds ?? refusals.opening }
        return min(end, opening)
    }

    /// Takes waiting connections of those who may use the port, and closes the others.
    private func takeCallers(at now: Duration) -> [Caller] {
        var callers: [Caller] = []
        do throws(SystemError) {
            while callers.count < Self.connectionsPerLook, let socket = try listener.accept() {
                socket.wakeReader(at: PortProtocol.firstByteCount)
                callers.append(Caller(socket))
            }
        } catch {
            log.error("cannot take the next connection to \(name): \(error)")
            pauseEnds = now + .seconds(1)
        }
        guard !callers.isEmpty else { return [] }
        do throws(SystemError) {
            let table = try TCPSocketTable(connectedTo: port)
            pauseEnds = max(pauseEnds ?? .zero, now + Self.pause + Self.pausePerRow * table.rowCount)
            return callers.filter { isPermitted($0, by: table, at: now) }
        } catch {
            refuse("nobody can be let in, since the kernel does not say who it is: \(error)", at: now)
            return []
        }
    }

    private func isPermitted(_ caller: Caller, by table: TCPSocketTable, at now: Duration) -> Bool {
        guard let (own, peer) = caller.endpoints, let user = table.owner(of: peer, connectedTo: own) else {
            // It has gone already: its owner cannot be known, and there is no program to answer.
            refuse("closed a connection to \(name) that its own side had closed before", at: now)
            return false
        }
        guard users.contains(user) else {
            refuse(
                "closed a connection to \(name): it is from the user with the number \(user), who may not use it",
                at: now
            )
            return false
        }
        return true
    }

    /// - Parameter hasMore: whether more may come; if not, what is there is all, since a connection becomes readable only when
    ///   it has enough to be judged by, or is at its end.
    private func judge(
        _ caller: Caller,
        hasMore: Bool,
        at now: Duration,
        _ admit: (consuming FileDescriptor) -> Void
    ) {
        let bytes = caller.firstBytes()
        guard bytes.count == PortProtocol.firstByteCount || !hasMore else { return silent.append(caller) }
        // A connection that closes without a byte needs no line.
        guard !bytes.isEmpty else { return }
        switch speaks.verdict(on: bytes) {
        case .welcome:
            guard let socket = caller.takeSocket() else { return }
            socket.wakeReader(at: 1)
            admit(socket)
        case .foreign(let what):
            refuse("closed a connection to \(name) that began with \(what)", at: now)
        }
    }

    private func refuse(_ line: String, at now: Duration) {
        switch refusals.take(at: now) {
        case .tell(let leftOut):
            if let leftOut { tellLeftOut(leftOut) }
            log.warning("\(line)")
        case .leaveOut: break
        }
    }

    private func tellLeftOut(_ count: Int) { log.warning("closed \(count) more connections to \(name)") }
}
