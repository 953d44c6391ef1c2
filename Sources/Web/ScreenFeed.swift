import FoundationEssentials
import NIOCore

/// What the screen of one watch shows, for every reader: it is asked for only while somebody reads, and given when it has
/// changed.
actor ScreenFeed {
    /// How often it is looked at.
    private static let interval: Duration = .milliseconds(100)
    /// How often a watch that gives no picture is asked again.
    private static let pause: Duration = .seconds(1)

    private let socket: ControlSocket
    private var readers: [Int: StreamQueue] = [:]
    private var lastID = 0
    private var looking: Task<Void, Never>?
    /// What was shown last, while somebody looks.
    private var shown: (data: String, block: ByteBuffer)?

    init(_ socket: ControlSocket) { self.socket = socket }

    /// A reader from now on, who gets what is shown now first.
    func subscribe() -> WatchFeed.Subscription {
        // Somebody who reads too slowly wants to see what is shown by then.
        let queue = StreamQueue(.newest)
        if let shown { queue.offer(shown.block) }
        lastID += 1
        readers[lastID] = queue
        if looking == nil { looking = Task { await look() } }
        return WatchFeed.Subscription(id: lastID, queue: queue)
    }

    /// A reader is gone.
    func end(_ subscription: WatchFeed.Subscription) { readers[subscription.id] = nil }

    private func look() async {
        let conversation = Conversation(socket)
        let request = JSON.object(["command": "screenshot"])
        while !readers.isEmpty {
            do throws(WatchFailure) {
                take(try await conversation.ask(request, within: socket.patience))
                try? await Task.sleep(for: Self.interval)
            } catch {
                // When it is back, what it shows is given whether it has changed or not.
                shown = nil
                try? await Task.sleep(for: Self.pause)
            }
        }
        await conversation.end()
        shown = nil
        looking = nil
        // A reader who came meanwhile.
        if !readers.isEmpty { looking = Task { await look() } }
    }

    private func take(_ line: ByteBuffer) {
        guard let picture = ScreenPicture(answer: line), picture.data != shown?.data else { return }
        guard let bytes = picture.bytes else { return }
        let frame: JSON = [
            "width": .integer(Int64(picture.width)), "height": .integer(Int64(picture.height)),
            "shape": picture.isRound ? "round" : "rect", "png": .text(Data(bytes).base64EncodedString()),
        ]
        let block = ServerSentEvent.block("frame", frame.line)
        shown = (picture.data, block)
        for queue in readers.values { queue.offer(block) }
    }
}
