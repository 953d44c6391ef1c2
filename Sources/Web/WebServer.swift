import Glibc
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle

/// How the server is started.
public struct WebConfiguration: Sendable {
    /// Where it listens.
    public var address = "127.0.0.1"
    /// The port there; 0 for one that is free.
    public var port = 0
    /// Other names by which clients may call it.
    public var allowedHosts: [String] = []
    /// Whether no client may change anything.
    public var isReadOnly = false
    /// The files of a certificate with its chain, and of its key, in PEM; nil for no TLS.
    public var certificate: (chain: String, key: String)?

    /// How long a watch may take for a common answer, connecting included.
    public var patience: Duration = .milliseconds(900)

    /// What is usual: this machine alone, and a client knows within a second when a watch hangs.
    public init() {}
}

/// The server: an application of Hummingbird, and what follows the watches.
public struct WebServer: Sendable {
    /// How many connections are open at once at most; the next ones wait.
    private static let connectionLimit = 512
    /// How long a connection without a request may stay, or one whose request does not come whole.
    private static let idleTimeout: TimeAmount = .seconds(30)

    private let configuration: WebConfiguration
    private let tokens: Tokens
    private let logger: Logger
    private let vocabulary: Vocabulary
    private let bench: Bench
    private let conversations = Conversations()
    private let counts: Counts

    /// - Throws: `WebError` if the program's files are not there.
    public init(
        _ configuration: WebConfiguration,
        watches places: WatchPlaces,
        tokens: Tokens,
        logger: Logger
    ) throws(WebError) {
        self.configuration = configuration
        self.tokens = tokens
        self.logger = logger
        vocabulary = try Vocabulary()
        counts = Counts()
        bench = Bench(places, patience: configuration.patience)
    }

    /// The application.
    /// - Parameter onReady: is told where it listens, as the beginning of an address.
    /// - Throws: `WebError` if the certificate cannot be used.
    public func application(
        onReady: @escaping @Sendable (String) async -> Void
    ) throws(WebError) -> some ApplicationProtocol {
        let isSecure = configuration.certificate != nil
        let cookieName = CookieName()
        let router = Router(context: WebContext.self)
        router.add(
            middleware: Gate(
                rule: HostRule(address: configuration.address, more: configuration.allowedHosts, isSecure: isSecure),
                tokens: tokens,
                cookieName: cookieName,
                isReadOnly: configuration.isReadOnly,
                counts: counts
            )
        )
        WebRoutes(
            vocabulary: vocabulary,
            openAPI: OpenAPIDocument(vocabulary).json.document,
            bench: bench,
            tokens: tokens,
            places: StreamPlaces(counts: counts),
            conversations: conversations,
            counts: counts,
            traffic: TrafficBook(),
            page: PageFiles(),
            cookieName: cookieName,
            isSecure: isSecure
        ).add(to: router)
        let scheme = isSecure ? "https" : "http"
        let host = configuration.address.contains(":") ? "[\(configuration.address)]" : configuration.address
        let bench = bench
        return Application(
            router: router,
            server: try server(),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.address, port: configuration.port),
                availableConnectionsDelegate: .maximum(Self.connectionLimit, logger: logger)
            ),
            services: [Followers(bench: bench, conversations: conversations)],
            onServerRunning: { channel in
                let number = channel.localAddress?.port ?? 0
                cookieName.set(port: number)
                // Who asks as soon as the address is there finds the watches.
                await bench.look()
                await onReady("\(scheme)://\(host):\(number)")
            },
            logger: logger
        )
    }

    private func server() throws(WebError) -> HTTPServerBuilder {
        let plain = HTTPServerBuilder.http1(
            configuration: .init(
                idleTimeout: Self.idleTimeout,
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024,
                    maxHeaderListSize: 32 * 1024,
                    maxHeaderFieldCount: 100
                )
            )
        )
        guard let files = configuration.certificate else { return plain }
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(files.chain)
            let key = try NIOSSLPrivateKey(file: files.key, format: .pem)
            return try .tls(
                plain,
                tlsConfiguration: .makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) },
                    privateKey: .privateKey(key)
                )
            )
        } catch {
            throw WebError(
                .file,
                "the certificate \(files.chain) with the key \(files.key) cannot be used: \(error)",
                advice: "name PEM files that belong together with --certificate and --key"
            )
        }
    }
}

/// What runs beside the server.
private struct Followers: Service {
    let bench: Bench
    let conversations: Conversations

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await bench.run() }
                group.addTask { await conversations.run() }
            }
        }
    }
}

extension WebServer {
    /// Serves until SIGTERM or SIGINT.
    /// - Parameter onReady: is told where it listens, as the beginning of an address.
    /// - Throws: `WebError` if it cannot listen there.
    public func run(onReady: @escaping @Sendable (String) async -> Void) async throws {
        do {
            try await application(onReady: onReady).runService()
        } catch let error as WebError {
            throw error
        } catch {
            let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
            throw WebError(
                .address,
                "cannot listen at \(configuration.address), port \(configuration.port): \(reason)",
                advice: "name an address of this machine with --address, and a port that is free with --port; 0 is one"
            )
        }
    }
}
