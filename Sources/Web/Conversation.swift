import NIOCore

/// One client's connection to a watch, kept from command to command: what `install-part` brings, `install` finds on the same
/// connection only, and so it is with `backup` and `backup-part`.
actor Conversation {
    /// The commands that need it.
    static let commands: Set = ["install-part", "install", "backup", "backup-part"]

    private let socket: ControlSocket
    private var channel: (any Channel)?
    /// When it was used last.
    private(set) var lastUse = ContinuousClock.now

    init(_ socket: ControlSocket) { self.socket = socket }

    /// Sends a request over the connection, which is made if there is none, or if the last one has ended.
    /// - Returns: the line of the answer.
    func ask(_ request: JSON, within patience: Duration) async throws(WatchFailure) -> ByteBuffer {
        lastUse = .now
        let channel = try await openChannel()
        let answer = channel.eventLoop.makePromise(of: ByteBuffer.self)
        // It is awaited before it can come.
        channel.pipeline.fireUserInboundEventTriggered(AnswerHandler.Awaited(promise: answer))
        let end = channel.eventLoop.scheduleTask(in: TimeAmount(patience)) {
            answer.fail(WatchFailure.hangs(patience))
            // Its answer may still come, and would be taken for the next one's.
            channel.close(promise: nil)
        }
        channel.writeAndFlush(request.line.asLine, promise: nil)
        defer { end.cancel() }
        do {
            return try await answer.futureResult.get()
        } catch {
            throw error as? WatchFailure ?? .broke("the connection to the watch has failed: \(error)")
        }
    }

    private func openChannel() async throws(WatchFailure) -> any Channel {
        if let channel, channel.isActive { return channel }
        let opened = try await socket.connect { channel in
            try channel.pipeline.syncOperations.addHandler(AnswerHandler())
            return channel
        }
        channel = opened
        return opened
    }

    /// Ends the connection.
    func end() { channel?.close(promise: nil) }
}

/// Gives the lines of a connection to those who wait for answers, in order.
private final class AnswerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Something waits for the next answer.
    struct Awaited: Sendable {
        let promise: EventLoopPromise<ByteBuffer>
    }

    private var awaited: [EventLoopPromise<ByteBuffer>] = []

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let event = event as? Awaited else { return context.fireUserInboundEventTriggered(event) }
        guard context.channel.isActive else { return event.promise.fail(Self.ended) }
        awaited.append(event.promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let line = unwrapInboundIn(data)
        guard ControlLine(line).isAnswer, !awaited.isEmpty else { return }
        awaited.removeFirst().succeed(line)
    }

    func channelInactive(context: ChannelHandlerContext) {
        for promise in awaited { promise.fail(Self.ended) }
        awaited = []
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private static let ended = WatchFailure.broke("the watch ended the connection without an answer")
}

/// The conversations of all clients with all watches.
actor Conversations {
    /// How many one watch has at most.
    private static let limit = 2
    /// How long one is kept without a command.
    private static let idleLimit: Duration = .seconds(60)

    private struct Key: Hashable {
        let watch: String
        let client: String
    }

    private var all: [Key: Conversation] = [:]

    /// The client's with a watch.
    func conversation(of client: String, with watch: Watch) async throws(APIError) -> Conversation {
        await dropIdle()
        let key = Key(watch: watch.name, client: client)
        if let conversation = all[key] { return conversation }
        guard all.keys.filter({ $0.watch == watch.name }).count < Self.limit else {
            throw .tooMany("\(Self.limit) clients install on “\(watch.name)”, or back it up")
        }
        let conversation = Conversation(watch.socket)
        all[key] = conversation
        return conversation
    }

    private func dropIdle() async {
        for (key, conversation) in all where await ContinuousClock.now - conversation.lastUse > Self.idleLimit {
            await conversation.end()
            all[key] = nil
        }
    }

    /// Looks for idle ones until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(15))) != nil { await dropIdle() }
    }
}
