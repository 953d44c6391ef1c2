import NIOCore
import NIOPosix

/// The socket over which packets come and go as on a UART.
///
/// Neither side holds more than a few reads: who cannot write waits, and then does not read.
enum PacketSocket {
    typealias Channel = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Takes over a connected socket.
    static func open(_ descriptor: Int32) async throws -> Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .withConnectedSocket(descriptor, channelInitializer: prepare)
    }

    /// Connects to a Unix socket.
    static func open(_ path: String) async throws -> Channel {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(unixDomainSocketPath: path, channelInitializer: prepare)
    }

    @Sendable
    private static func prepare(_ channel: any NIOCore.Channel) -> EventLoopFuture<Channel> {
        channel.eventLoop.makeCompletedFuture {
            try Channel(
                wrappingChannelSynchronously: channel,
                configuration: .init(backPressureStrategy: .init(lowWatermark: 1, highWatermark: 4))
            )
        }
    }
}
