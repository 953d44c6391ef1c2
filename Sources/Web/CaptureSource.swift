import Hummingbird
import NIOCore

/// A connection over which a watch gives its packets.
struct CaptureSource: Sendable {
    private let channel: any Channel
    private let lines: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    private init(_ lines: NIOAsyncChannel<ByteBuffer, ByteBuffer>) {
        channel = lines.channel
        self.lines = lines
    }

    /// Connects to a watch.
    static func begin(_ watch: Watch) async throws(APIError) -> CaptureSource {
        // What it would refuse, it refuses here, where the client can still be told.
        _ = try await watch.perform("packets")
        do throws(WatchFailure) {
            return CaptureSource(
                try await watch.socket.connect { channel in
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            )
        } catch {
            throw error.error
        }
    }

    /// Ends it.
    func end() { channel.close(promise: nil) }

    /// Gives packets until the watch or the client ends it. While the client does not read, neither does this: the watch leaves
    /// packets out, and says how many.
    func write(to writer: inout any ResponseBodyWriter, _ counts: Counts) async throws {
        try await lines.executeThenClose { inbound, outbound in
            try await outbound.write(JSON.object(["command": "packets"]).line.asLine)
            var start: Double?
            for try await line in inbound {
                guard let started = start else {
                    start = PacketCapture.start(answer: line)
                    continue
                }
                switch PacketCapture.record(line, since: started) {
                case .packet(let record): try await writer.write(record)
                case .lost(let count): counts.change { $0.lostPackets += count }
                case nil: break
                }
            }
        }
    }
}
