import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// A response that goes on: what a queue has, as long as the client stays, and is not too slow.
struct EventStream: Sendable {
    /// How often a comment is sent.
    private static let commentInterval: Duration = .seconds(15)
    /// How long a client that was cut off may take to read that it was: in turns of the clock.
    private static let patience = 30
    /// How long a turn is.
    private static let turn: Duration = .seconds(1)

    let queue: StreamQueue
    let place: StreamPlaces.Place
    let counts: Counts
    /// Is called when the stream has ended.
    let onEnd: @Sendable () async -> Void

    private static let headers: HTTPFields = {
        var headers: HTTPFields = [.contentType: "text/event-stream", .cacheControl: "no-store"]
        // A proxy that gathers what it passes on would hold events back.
        headers[named: "X-Accel-Buffering"] = "no"
        return headers
    }()

    /// The response to a request.
    func response(to request: Request, _ channel: any Channel) -> Response {
        Response(
            status: .ok,
            headers: Self.headers,
            body: ResponseBody { writer in
                let keeper = Task { await keep(channel) }
                defer { keeper.cancel() }
                do {
                    try await withGracefulShutdownHandler {
                        try await request.body.consumeWithInboundCloseHandler { _ in
                            try await write(to: &writer)
                        } onInboundClosed: {
                            queue.finish()
                        }
                    } onGracefulShutdown: {
                        queue.finish()
                    }
                } catch {
                    await onEnd()
                    throw error
                }
                await onEnd()
                withExtendedLifetime(place) {}
                try await writer.finish(nil)
            }
        )
    }

    private func write(to writer: inout any ResponseBodyWriter) async throws {
        while true {
            switch await queue.next() {
            case .pieces(let pieces):
                for piece in pieces { try await writer.write(piece) }
            case .overrun(let lost):
                counts.change { $0.overruns += 1 }
                return try await writer.write(ServerSentEvent.overrun(lost: lost))
            case .finished: return
            }
        }
    }

    /// Sends comments, and ends the connection of a client that does not even read that it was cut off.
    private func keep(_ channel: any Channel) async {
        var nextComment = ContinuousClock.now + Self.commentInterval
        while (try? await Task.sleep(for: Self.turn)) != nil {
            if ContinuousClock.now >= nextComment {
                queue.offer(ServerSentEvent.comment)
                nextComment += Self.commentInterval
            }
            if queue.isStuck(after: Self.patience) {
                counts.change { $0.overruns += 1 }
                return channel.close(promise: nil)
            }
        }
    }
}
