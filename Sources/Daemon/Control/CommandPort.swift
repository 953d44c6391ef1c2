import HCIRuntime
import LinuxBluetooth
import Logging

/// A Unix socket where programs of this user give commands, and the bytes between: who is let in, read, answered and left.
/// What the lines mean is its owner's.
///
/// A program that does not read holds up only itself: what it asked for is not read any further.
final class CommandPort<State> {
    /// How many programs may be connected at once.
    static var clientLimit: Int { 16 }
    /// Requests of one program that are answered in one turn of the loop, so that none keeps the radio waiting.
    private static var requestsPerTurn: Int { 64 }
    /// The most bytes that may wait for a program; it gets no more until it has read some.
    private static var outboundLimit: Int { 256 * 1024 }
    /// How long no program is let in after that failed: the reason, such as too many open files, will still be there.
    private static var acceptPause: Duration { .seconds(1) }

    /// A program.
    final class Client {
        /// What carries its lines.
        let stream: ByteStream
        /// What the owner keeps of it.
        var state: State
        fileprivate var pollToken: PollSet.Token?
        fileprivate var progress = Progress.reads

        fileprivate init(_ stream: ByteStream, _ state: State) {
            self.stream = stream
            self.state = state
        }
    }

    /// What answering a program's next request came to.
    enum Progress {
        /// There was no whole request: more is read.
        case reads
        /// It was answered, and there may be another.
        case answered
        /// It is answered later, and nothing more is read before that.
        case waits
        /// Whole requests wait for room, or for the next turn: nothing more is read.
        case behind
    }

    private let listener: PrivateSocket
    private let log: Logger
    private let makeState: () -> State
    private let refusal: () -> [UInt8]
    /// The programs that are connected.
    private(set) var clients: [Client] = [] { didSet { hasClients = !clients.isEmpty } }
    /// Whether there are any. It is kept, since each event and each turn of the loop asks, and mostly there are none.
    private(set) var hasClients = false
    private var listenerToken: PollSet.Token?
    private var acceptPauseEnds: Duration?

    /// Listens from now on, so that an error of the path shows at once.
    /// - Parameters:
    ///   - makeState: what is kept of a new program.
    ///   - refusal: the line to one program too many. It is made when there is one.
    init(
        path: String,
        access: ControlAccess,
        for purpose: PrivateSocket.Purpose,
        log: Logger,
        refusal: @autoclosure @escaping () -> [UInt8],
        makeState: @escaping () -> State
    ) throws(ProgramError) {
        listener = try PrivateSocket(path: path, access: access, for: purpose)
        self.log = log
        self.refusal = refusal
        self.makeState = makeState
        log.info("takes commands at \(path)")
    }

    func addPollRequests(to set: inout PollSet) {
        listenerToken =
            acceptPauseEnds == nil ? set.add(listener.descriptor, reading: true, writing: false) : nil
        guard hasClients else { return }
        for client in clients {
            client.pollToken = set.add(
                client.stream.descriptor,
                reading: client.progress == .reads,
                writing: client.stream.wantsToWrite
            )
        }
    }

    /// Reads what programs say.
    /// - Parameters:
    ///   - receive: is given a program's bytes.
    ///   - leave: is told of a program that has gone.
    func takeInput(
        _ set: borrowing PollSet,
        at now: Duration,
        receive: (Client, ArraySlice<UInt8>) -> Void,
        leave: (Client) -> Void
    ) {
        if hasClients {
            for client in clients { takeInput(of: client, set, receive, leave) }
        }
        if let token = listenerToken, set.isReadable(token) { acceptClients(at: now) }
    }

    private func takeInput(
        of client: Client,
        _ set: borrowing PollSet,
        _ receive: (Client, ArraySlice<UInt8>) -> Void,
        _ leave: (Client) -> Void
    ) {
        guard let token = client.pollToken else { return }
        switch client.progress {
        case .reads:
            guard set.isReadable(token) else { return }
            do {
                try client.stream.receive { receive(client, $0) }
            } catch {
                remove(client, leave)
            }
        case .waits:
            // Nothing is read of it, but what it waits for is of no use to a program that is gone.
            if set.isHungUp(token) { remove(client, leave) }
        case .answered, .behind:
            // Of a program that is behind, only its end is of interest: it shows when its answers are written.
            break
        }
    }

    /// Has requests answered, and writes.
    /// - Parameters:
    ///   - answer: takes the next request of a program.
    ///   - leave: is told of a program that has gone.
    /// - Returns: whether there was more to do than a fair share.
    func moveOutput(answer: (Client) -> Progress, leave: (Client) -> Void) -> Bool {
        var isBusy = false
        for client in clients {
            client.progress = progress(of: client, answer)
            do {
                try client.stream.flush()
            } catch {
                remove(client, leave)
                continue
            }
            // One that stopped for want of room continues when there is some; one that used up its share, at once.
            if client.progress == .behind, client.stream.hasRoom { isBusy = true }
        }
        return isBusy
    }

    private func progress(of client: Client, _ answer: (Client) -> Progress) -> Progress {
        var share = Self.requestsPerTurn
        while share > 0, client.stream.hasRoom {
            let progress = answer(client)
            guard progress == .answered else { return progress }
            share -= 1
        }
        return .behind
    }

    func advance(to now: Duration) {
        if let end = acceptPauseEnds, end <= now { acceptPauseEnds = nil }
    }

    var nextDeadline: Duration? { acceptPauseEnds }

    /// Lets no program in any more.
    func close() { listener.close() }

    private func acceptClients(at now: Duration) {
        do {
            while let socket = try listener.accept() {
                let stream = ByteStream(owning: socket, kind: .unixSocket, outboundLimit: Self.outboundLimit)
                guard clients.count < Self.clientLimit else {
                    stream.send(refusal())
                    try? stream.flush()
                    continue
                }
                clients.append(Client(stream, makeState()))
            }
        } catch {
            log.error("cannot take the next command: \(error); the next attempt is in \(Self.acceptPause)")
            acceptPauseEnds = now + Self.acceptPause
        }
    }

    private func remove(_ client: Client, _ leave: (Client) -> Void) {
        clients.removeAll { $0 === client }
        leave(client)
    }
}
