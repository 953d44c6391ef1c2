import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import PrivateFiles

/// Why a watch gave no answer.
enum WatchFailure: Error, Equatable {
    /// Nothing listens at its socket.
    case down(String)
    /// What listens there is another user's.
    case untrusted(String)
    /// It listens, and does not answer in time.
    case hangs(Duration)
    /// It ended the connection, or said what is no answer.
    case broke(String)

    /// What clients are told of it.
    var error: APIError {
        switch self {
        case .down(let why): APIError(.serviceUnavailable, "watch-down", why)
        case .untrusted(let why): APIError(.serviceUnavailable, "watch-not-trusted", why)
        case .hangs(let patience):
            APIError(
                .gatewayTimeout,
                "watch-hangs",
                "the watch has not answered in \(patience / .seconds(1)) s; see its log, and end it if it hangs"
            )
        case .broke(let why): APIError(.badGateway, "watch-broke", why)
        }
    }
}

/// The control socket of a watch: lines of JSON in both directions (`Docs/control.md`).
struct ControlSocket: Sendable {
    /// The longest line of a watch that is read.
    private static let lineLimit = 4 * 1024 * 1024

    /// Where it is.
    let path: String
    /// How long the watch may take for a common answer, connecting included.
    let patience: Duration

    typealias Inbound = NIOAsyncChannelInboundStream<ByteBuffer>
    typealias Outbound = NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// Sends one request on a connection of its own.
    /// - Parameter patience: how long it may take; nil for a common answer.
    /// - Returns: the line of the answer.
    func ask(_ request: JSON, within patience: Duration? = nil) async throws(WatchFailure) -> ByteBuffer {
        try await inTime(patience ?? self.patience) {
            try await withConnection { inbound, outbound in
                try await outbound.write(request.line.asLine)
                for try await line in inbound where ControlLine(line).isAnswer { return line }
                throw WatchFailure.broke("the watch ended the connection without an answer")
            }
        }
    }

    /// Works with a connection, and closes it then.
    func withConnection<Result: Sendable>(
        _ body: @Sendable @escaping (Inbound, Outbound) async throws -> Result
    ) async throws -> Result {
        let channel = try await connect { channel in
            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
        }
        return try await channel.executeThenClose { try await body($0, $1) }
    }

    /// Connects, and has the end of the connection's pipeline built, which gets lines.
    func connect<Output: Sendable>(
        _ build: @escaping @Sendable (any Channel) throws -> Output
    ) async throws(WatchFailure) -> Output {
        try checkTrust()
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let splitter = ByteToMessageHandler(LineSplitter(), maximumBufferSize: Self.lineLimit)
                        try channel.pipeline.syncOperations.addHandler(splitter)
                        return try build(channel)
                    }
                }
        } catch let error as IOError {
            throw explain(error.errnoCode)
        } catch {
            throw .down("cannot reach the watch at \(path): \(error)")
        }
    }

    /// What a person types, such as a passkey, is for no program of another user: the socket must be this user's or root's, or
    /// stand where only trusted users could have put it.
    private func checkTrust() throws(WatchFailure) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw explain(errno) }
        guard TrustedUsers.numbers().contains(status.st_uid) || PrivateDirectory.isOutOfReachOfOthers(path) else {
            throw .untrusted("what is at \(path) belongs to another user, who may have put it there for you")
        }
    }

    private func explain(_ code: Int32) -> WatchFailure {
        switch code {
        case ENOENT, ECONNREFUSED, ENOTDIR: .down("no watch runs at \(path); start it with cairn run")
        case EACCES:
            .down(
                "the watch at \(path) takes commands of the user who started it; run cairn-web as that user, or start the "
                    + "watch with --control-access group"
            )
        // A queue of connections that is full: nothing takes them from it.
        case EAGAIN: .hangs(patience)
        default: .down("cannot reach the watch at \(path): \(String(cString: strerror(code)))")
        }
    }

    /// Has something done, or fails when the time is over.
    func inTime<Result: Sendable>(
        _ patience: Duration,
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws(WatchFailure) -> Result {
        do {
            return try await withThrowingTaskGroup(of: Result.self) { group in
                group.addTask(operation: work)
                group.addTask {
                    try await Task.sleep(for: patience)
                    throw WatchFailure.hangs(patience)
                }
                defer { group.cancelAll() }
                guard let result = try await group.next() else { throw WatchFailure.hangs(patience) }
                return result
            }
        } catch let failure as WatchFailure {
            throw failure
        } catch is ByteToMessageDecoderError {
            throw .broke("the watch has sent a line that is too long")
        } catch {
            throw .broke("the connection to the watch has failed: \(error)")
        }
    }
}

/// Cuts bytes into lines, without their ends.
private struct LineSplitter: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    /// How much of what waits has no line's end in it.
    private var searched = 0

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        let end = buffer.withUnsafeReadableBytes { bytes -> Int? in
            guard let start = bytes.baseAddress, searched < bytes.count else { return nil }
            let found = memchr(start + searched, Int32(UInt8(ascii: "\n")), bytes.count - searched)
            return found.map { UnsafeRawPointer($0) - start }
        }
        guard let end, let line = buffer.readSlice(length: end) else {
            searched = buffer.readableBytes
            return .needMoreData
        }
        searched = 0
        buffer.moveReaderIndex(forwardBy: 1)
        context.fireChannelRead(wrapInboundOut(line))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext,
        buffer: inout ByteBuffer,
        seenEOF: Bool
    ) throws -> DecodingState {
        // Half a line says nothing.
        try decode(context: context, buffer: &buffer)
    }
}

/// What a line of a watch says, as far as this program looks at it.
struct ControlLine: Decodable, Sendable {
    /// Why something was not done.
    struct Failure: Decodable {
        let code: String
        let message: String
    }

    /// Of an answer: whether it was done.
    let ok: Bool?
    let error: Failure?
    /// Of an event: its name.
    let event: String?
    let sequence: UInt64?
    /// Of an event: when, in seconds since the watch was started.
    let at: Double?
    /// Of the event `message`.
    let fromPhone: Bool?
    let length: Int?
    let endpoint: Int?

    private enum Field: String, CodingKey {
        case ok, error, event, sequence, at, fromPhone, length, endpoint
    }

    /// Fields that other lines have under the same names, with other values, say nothing here.
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: Field.self)
        ok = try? fields.decode(Bool.self, forKey: .ok)
        error = try? fields.decode(Failure.self, forKey: .error)
        event = try? fields.decode(String.self, forKey: .event)
        sequence = try? fields.decode(UInt64.self, forKey: .sequence)
        at = try? fields.decode(Double.self, forKey: .at)
        fromPhone = try? fields.decode(Bool.self, forKey: .fromPhone)
        length = try? fields.decode(Int.self, forKey: .length)
        endpoint = try? fields.decode(Int.self, forKey: .endpoint)
    }

    private init() {
        (ok, error, event, sequence, at, fromPhone, length, endpoint) = (nil, nil, nil, nil, nil, nil, nil, nil)
    }

    /// Reads a line; one that is no JSON object says nothing.
    init(_ line: ByteBuffer) {
        self = (try? JSONDecoder().decode(ControlLine.self, from: Data(line.readableBytesView))) ?? ControlLine()
    }

    /// Whether it answers a request.
    var isAnswer: Bool { ok != nil }
}

extension ByteBuffer {
    /// With a line's end.
    var asLine: ByteBuffer {
        var line = self
        line.writeInteger(UInt8(ascii: "\n"))
        return line
    }
}
