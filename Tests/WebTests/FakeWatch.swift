import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

@testable import Web

/// A control socket that the test serves: what each request is answered with is the test's to say.
final class FakeWatch: Sendable {
    /// What a request comes to.
    enum Reply: Sendable {
        case lines([String])
        /// Nothing, as of a watch that hangs.
        case silence
        /// The connection's end.
        case close
    }

    typealias Script = @Sendable (JSON) -> Reply

    /// What a watch of this version says if the test says nothing else.
    static let usual: Script = { request in
        switch request["command"]?.text {
        case "status": .lines([status(version: webVersion)])
        case "time": .lines([#"{"ok":true,"sequence":1,"time":{"is24Hour":true,"isSet":true,"seconds":1}}"#])
        default: .lines([#"{"ok":true,"sequence":1}"#])
        }
    }

    static func status(version: String) -> String {
        #"{"ok":true,"sequence":1,"status":{"name":"Pebble 0001","version":"\#(version)","links":[],"events":{"counts":{"phone-back":3},"last":1}}}"#
    }

    let path: String
    private let script: NIOLockedValueBox<Script>
    private let requests = NIOLockedValueBox<[JSON]>([])
    private let clients = NIOLockedValueBox<[any Channel]>([])
    private let listener = NIOLockedValueBox<(any Channel)?>(nil)

    init(path: String, _ script: @escaping Script = usual) async throws {
        self.path = path
        self.script = NIOLockedValueBox(script)
        try await start()
    }

    /// Listens, as a watch that is started again.
    func start() async throws {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                self.clients.withLockedValue { $0.append(channel) }
                return channel.pipeline.addHandler(Handler(self))
            }
            .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
        listener.withLockedValue { $0 = channel }
    }

    /// Ends, as a watch that is killed: the socket's file stays.
    func kill() async throws {
        let channel = listener.withLockedValue { listener in
            defer { listener = nil }
            return listener
        }
        try await channel?.close()
        let all = clients.withLockedValue { clients in
            defer { clients = [] }
            return clients
        }
        for client in all { try? await client.close() }
    }

    /// From now on requests are answered otherwise.
    func answer(_ script: @escaping Script) { self.script.withLockedValue { $0 = script } }

    /// What was asked so far, by the names of commands.
    var asked: [String] { requests.withLockedValue { $0.compactMap { $0["command"]?.text } } }

    /// The requests of a command.
    func requests(of command: String) -> [JSON] {
        requests.withLockedValue { $0.filter { $0["command"] == .text(command) } }
    }

    /// Says a line to every program, as an event.
    func say(_ line: String) {
        for client in clients.withLockedValue({ $0 }) where client.isActive {
            client.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
        }
    }

    fileprivate func reply(to line: ByteBuffer) -> Reply {
        guard let request = try? JSON(parsing: Data(line.readableBytesView)) else { return .close }
        requests.withLockedValue { $0.append(request) }
        return script.withLockedValue { $0 }(request)
    }

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = ByteBuffer

        private let watch: FakeWatch
        private let pending = NIOLockedValueBox(ByteBuffer())

        init(_ watch: FakeWatch) { self.watch = watch }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = unwrapInboundIn(data)
            let lines = pending.withLockedValue { pending in
                pending.writeBuffer(&bytes)
                var lines: [ByteBuffer] = []
                while let end = pending.readableBytesView.firstIndex(of: UInt8(ascii: "\n")),
                    let line = pending.readSlice(length: end - pending.readerIndex)
                {
                    pending.moveReaderIndex(forwardBy: 1)
                    lines.append(line)
                }
                return lines
            }
            for line in lines {
                switch watch.reply(to: line) {
                case .lines(let lines):
                    let text = lines.map { $0 + "\n" }.joined()
                    context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                case .silence: break
                case .close: context.close(promise: nil)
                }
            }
        }
    }
}

/// A directory of the test's own, gone with it.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        // The path of a socket has 107 bytes at most.
        path = "/tmp/cairn-web-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
