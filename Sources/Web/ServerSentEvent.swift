import NIOCore

/// Blocks of `text/event-stream`.
///
/// Source: HTML Living Standard, 9.2 Server-sent events.
enum ServerSentEvent {
    /// A comment, which keeps proxies and readers from taking the stream for dead.
    static let comment = ByteBuffer(string: ": here\n\n")

    /// An event.
    /// - Parameters:
    ///   - name: without line ends.
    ///   - data: one line.
    ///   - id: what a client that comes back says it has had.
    static func block(_ name: String, _ data: ByteBuffer, id: UInt64? = nil) -> ByteBuffer {
        var block = ByteBuffer()
        block.reserveCapacity(data.readableBytes + name.utf8.count + 48)
        if let id { block.writeString("id: \(id)\n") }
        block.writeString("event: \(name)\ndata: ")
        block.writeImmutableBuffer(data)
        block.writeString("\n\n")
        return block
    }

    /// The end of a stream whose reader was too slow.
    static func overrun(lost: Int) -> ByteBuffer {
        let message = "you did not read in time: \(lost) or more were lost, and the stream ends; open it again"
        return block("overrun", JSON.object(["lost": .integer(Int64(lost)), "message": .text(message)]).line)
    }
}
