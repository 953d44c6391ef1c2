import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import NIOPosix
import Testing

@testable import Web

/// A server with one watch, `bench`, which the test serves.
struct ServerFixture {
    let folder: TemporaryDirectory
    let watch: FakeWatch
    let tokens: Tokens
    let token: String
    let readOnlyToken: String
    private var configuration: WebConfiguration

    /// - Parameter isQuick: whether clients are told within a second that a watch hangs, as usual.
    init(
        _ configuration: WebConfiguration = WebConfiguration(),
        isQuick: Bool = false,
        script: @escaping FakeWatch.Script = FakeWatch.usual
    ) async throws {
        folder = try TemporaryDirectory()
        watch = try await FakeWatch(path: folder.path + "/bench.sock", script)
        tokens = try Tokens(path: folder.path + "/token")
        token = try Self.word(folder.path + "/token")
        readOnlyToken = try Self.word(folder.path + "/token.read-only")
        self.configuration = configuration
        // A machine that is full of other tests makes no watch hang, unless the test is about that.
        if !isQuick { self.configuration.patience = .seconds(20) }
    }

    private static func word(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs the server while something is done.
    func run(_ body: @escaping @Sendable (Caller) async throws -> Void) async throws {
        var places = WatchPlaces()
        try places.add(watch: "bench=" + watch.path)
        let server = try WebServer(configuration, watches: places, tokens: tokens, logger: Logger(label: "test"))
        try await server.application { _ in }.test(.live) { client in
            try await body(Caller(client: client, token: token))
        }
        try await watch.kill()
    }
}

/// A client of the server.
struct Caller: Sendable {
    let client: any TestClientProtocol
    let token: String

    /// Sends a request with the token, and gives the status and the body.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        token: String? = nil,
        headers more: HTTPFields = [:]
    ) async throws -> Answer {
        var headers: HTTPFields = [.authorization: "Bearer " + (token ?? self.token)]
        if body != nil { headers[.contentType] = "application/json" }
        for field in more { headers[field.name] = field.value }
        return try await bare(method, path, body, headers: headers)
    }

    /// Sends a request with these headers alone.
    func bare(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ body: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> Answer {
        let body = body.map { ByteBuffer(string: $0) }
        return try await client.execute(uri: path, method: method, headers: headers, body: body) { Answer($0) }
    }

    /// An answer.
    struct Answer {
        let status: Int
        let headers: HTTPFields
        let body: ByteBuffer

        init(_ response: TestResponse) {
            status = Int(response.status.code)
            headers = response.headers
            body = response.body
        }

        var json: JSON? { try? JSON(parsing: Data(body.readableBytesView)) }
        /// The `code` of an error.
        var code: String? { json?["error"]?["code"]?.text }
    }

    /// Reads a stream until it has what is wanted, or has ended.
    func stream(
        _ path: String,
        headers: [String] = [],
        until accept: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        try await open(path, headers: headers) { reader in try await reader.read(until: accept) }
    }

    /// Opens a stream, and closes it again.
    /// - Parameter receiveBuffer: how many bytes the kernel keeps for it; nil for as many as it likes.
    func open<Result: Sendable>(
        _ path: String,
        headers: [String] = [],
        receiveBuffer: Int? = nil,
        _ body: @escaping @Sendable (StreamReader) async throws -> Result
    ) async throws -> Result {
        let port = try #require(client.port)
        var bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        if let receiveBuffer {
            let size = SocketOptionValue(receiveBuffer)
            bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: size)
        }
        let channel =
            try await bootstrap
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            let lines = ["GET \(path) HTTP/1.1", "Host: localhost:\(port)", "Authorization: Bearer \(token)"] + headers
            try await outbound.write(ByteBuffer(string: lines.joined(separator: "\r\n") + "\r\n\r\n"))
            return try await body(StreamReader(inbound))
        }
    }
}

/// What comes over a stream.
final class StreamReader {
    private var bytes: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private(set) var text = ""

    init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>) { bytes = inbound.makeAsyncIterator() }

    /// The last characters of everything until the stream's end.
    func readToEnd(keeping count: Int) async throws -> String {
        var last = ByteBuffer()
        while var piece = try await bytes.next() {
            last.writeBuffer(&piece)
            last.moveReaderIndex(forwardBy: max(last.readableBytes - count, 0))
            last.discardReadBytes()
        }
        return String(buffer: last)
    }

    /// Everything so far, once it has what is wanted, or the stream has ended.
    func read(until accept: (String) -> Bool) async throws -> String {
        while !accept(text), let piece = try await bytes.next() { text += String(buffer: piece) }
        return text
    }
}

/// Waits until something is so, which other tasks bring about.
func until(_ what: String, _ accept: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(10)
    while try await !accept() {
        try #require(ContinuousClock.now < end, "waited 10 s for \(what)")
        try await Task.sleep(for: .milliseconds(10))
    }
}
