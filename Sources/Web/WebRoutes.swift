import FoundationEssentials
import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The routes, and what each does.
struct WebRoutes: Sendable {
    /// How long the body of a command may be.
    static let bodyLimit = 64 * 1024
    /// How long an app's package may be: what control takes.
    static let packageLimit = 16 * 1024 * 1024
    /// How many bytes of a package one `install-part` brings.
    private static let partLength = 24 * 1024

    let vocabulary: Vocabulary
    let openAPI: ByteBuffer
    let bench: Bench
    let tokens: Tokens
    let places: StreamPlaces
    let conversations: Conversations
    let counts: Counts
    let traffic: TrafficBook
    let page: PageFiles
    let cookieName: CookieName
    let isSecure: Bool

    /// Adds all of them.
    func add(to router: Router<WebContext>) {
        add(.get, "/api/watches", to: router, watches)
        add(.get, "/api/watches/{watch}", to: router, watch)
        add(.get, "/api/watches/{watch}/status", to: router) { _, context in
            _ = try context.known()
            return .json(try await find(context).status())
        }
        for name in vocabulary.commands.keys {
            add(.post, "/api/watches/{watch}/commands/\(name)", to: router) { request, context in
                try await perform(name, request, context)
            }
        }
        add(.post, "/api/watches/{watch}/commands/{command}", to: router) { _, context in
            _ = try context.known()
            let name = try context.parameters.require("command")
            throw await unknownCommand(name, try await find(context))
        }
        add(.get, "/api/watches/{watch}/events", to: router, events)
        add(.get, "/api/watches/{watch}/screen.png", to: router, screen)
        add(.get, "/api/watches/{watch}/screen/frames", to: router, frames)
        add(.get, "/api/watches/{watch}/capture", to: router, capture)
        add(.put, "/api/watches/{watch}/app", to: router, install)
        add(.get, "/api/session", to: router) { _, context in
            let canChange = try context.known().permission == .change
            return .json(["canChange": .flag(canChange), "version": .text(webVersion)])
        }
        add(.post, "/api/one-time-tokens", to: router) { _, context in
            let token = tokens.makeOneTimeToken(try context.known().permission)
            return .json(["token": .text(token), "path": .text("/?token=" + token)])
        }
        add(.get, "/api/vocabulary", to: router) { _, context in
            _ = try context.known()
            return .json(vocabulary.document)
        }
        add(.get, "/openapi.json", to: router) { _, context in
            _ = try context.known()
            return .json(openAPI)
        }
        add(.get, "/metrics", to: router, metrics)
        add(.get, "/", to: router, root)
        add(.get, "/{file}", to: router, file)
        add(.get, "/assets/**", to: router, file)
    }

    /// Adds a route. Every other method of the same path is refused with the one that there is.
    private func add(
        _ method: HTTPRequest.Method,
        _ path: String,
        to router: Router<WebContext>,
        _ handler: @escaping @Sendable (Request, WebContext) async throws -> Response
    ) {
        router.on(RouterPath(path), method: method, use: handler)
        let methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"]
        for other in methods.compactMap({ HTTPRequest.Method($0) }) where other != method {
            router.on(RouterPath(path), method: other) { _, _ -> Response in
                throw APIError(
                    .methodNotAllowed,
                    "other-method",
                    "this takes \(method.rawValue), not \(other.rawValue)",
                    headers: [.allow: method.rawValue]
                )
            }
        }
    }

    private func find(_ context: WebContext) async throws -> Watch {
        let name = try context.parameters.require("watch")
        return try await bench.watch(name.removingPercentEncoding ?? name)
    }

    // MARK: Watches

    @Sendable private func watches(_ request: Request, _ context: WebContext) async throws -> Response {
        _ = try context.known()
        let watches = await bench.watches
        let summaries = await withTaskGroup(of: (Int, JSON).self) { group in
            for (index, watch) in watches.enumerated() { group.addTask { (index, await watch.summary) } }
            return await group.reduce(into: [Int: JSON]()) { $0[$1.0] = $1.1 }
        }
        return .json(["watches": .list(watches.indices.compactMap { summaries[$0] })])
    }

    @Sendable private func watch(_ request: Request, _ context: WebContext) async throws -> Response {
        _ = try context.known()
        return .json(await (try await find(context)).summary)
    }

    // MARK: Commands

    private func command(_ name: String, _ fields: [String: JSON], _ context: WebContext) async throws -> Response {
        let onlyReads = vocabulary.commands[name]?.onlyReads ?? false
        let client = onlyReads ? try context.known() : try context.changing("“\(name)”")
        let watch = try await find(context)
        guard Conversation.commands.contains(name) else { return .json(try await watch.perform(name, fields)) }
        let conversation = try await conversations.conversation(of: client.id, with: watch)
        return .json(try await watch.perform(name, fields, over: conversation))
    }

    private func perform(_ name: String, _ request: Request, _ context: WebContext) async throws -> Response {
        // Who may not ask learns nothing of the body.
        _ = try context.known()
        return try await command(name, try await fields(of: request), context)
    }

    private func fields(of request: Request) async throws(APIError) -> [String: JSON] {
        let body = try await collect(request, limit: Self.bodyLimit)
        guard body.readableBytes > 0 else { return [:] }
        let type = request.headers[.contentType]?.split(separator: ";").first.map { $0.lowercased() } ?? ""
        guard type == "application/json" else {
            throw APIError(
                .unsupportedMediaType,
                "no-json",
                "the fields of a command are a JSON object, with “Content-Type: application/json”"
            )
        }
        guard case .object(let fields)? = try? JSON(parsing: Data(body.readableBytesView)) else {
            throw .badField("the body is no JSON object")
        }
        return fields
    }

    private func collect(_ request: Request, limit: Int) async throws(APIError) -> ByteBuffer {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit {
            throw .tooLarge(limit: limit)
        }
        do {
            return try await request.body.collect(upTo: limit)
        } catch is NIOTooManyBytesError {
            throw .tooLarge(limit: limit)
        } catch {
            throw .badField("the body has not come whole")
        }
    }

    private func unknownCommand(_ name: String, _ watch: Watch) async -> APIError {
        let other = await watch.otherVersion.map { "; " + $0.message } ?? ""
        return APIError(
            .notFound,
            "no-such-command",
            "cairn-web \(webVersion) knows no command “\(name.prefix(80))”; GET /openapi.json lists them\(other)"
        )
    }

    @Sendable private func install(_ request: Request, _ context: WebContext) async throws -> Response {
        let client = try context.changing("installing an app")
        let launches = try flag("launch", of: request)
        let watch = try await find(context)
        var package = try await collect(request, limit: Self.packageLimit)
        guard package.readableBytes > 0 else {
            throw APIError.badField("the body is an app's package (.pbw), and is empty")
        }
        // A connection of its own: nobody else's parts get in between.
        let conversation = Conversation(watch.socket)
        defer { Task { await conversation.end() } }
        _ = client
        while let part = package.readSlice(length: min(Self.partLength, package.readableBytes)), part.readableBytes > 0
        {
            let digits = part.readableBytesView.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            _ = try await watch.perform("install-part", ["data": .text(digits)], over: conversation)
        }
        return .json(try await watch.perform("install", ["launch": .flag(launches)], over: conversation))
    }

    // MARK: Streams

    @Sendable private func events(_ request: Request, _ context: WebContext) async throws -> Response {
        let client = try context.known()
        let names = try eventNames(of: request)
        let since = try number("since", of: request) ?? request.headers[named: "Last-Event-ID"].flatMap(UInt64.init)
        let watch = try await find(context)
        let place = try places.take(for: client.id, kind: "events")
        let subscription = await watch.feed.subscribe(to: names, after: since)
        return EventStream(queue: subscription.queue, place: place, counts: counts) {
            await watch.feed.end(subscription)
        }.response(to: request, context.channel)
    }

    @Sendable private func frames(_ request: Request, _ context: WebContext) async throws -> Response {
        let client = try context.known()
        let watch = try await find(context)
        let place = try places.take(for: client.id, kind: "frames")
        let subscription = await watch.screen.subscribe()
        return EventStream(queue: subscription.queue, place: place, counts: counts) {
            await watch.screen.end(subscription)
        }.response(to: request, context.channel)
    }

    @Sendable private func capture(_ request: Request, _ context: WebContext) async throws -> Response {
        let client = try context.changing("a capture holds the keys of links, and")
        let watch = try await find(context)
        let place = try places.take(for: client.id, kind: "capture")
        // What it refuses shows before the stream begins.
        let source = try await CaptureSource.begin(watch)
        return Response(
            status: .ok,
            headers: [.contentType: "application/vnd.tcpdump.pcap", .cacheControl: "no-store"],
            body: ResponseBody { writer in
                defer { source.end() }
                try await withGracefulShutdownHandler {
                    try await request.body.consumeWithInboundCloseHandler { _ in
                        try await writer.write(PacketCapture.header)
                        try await source.write(to: &writer, counts)
                    } onInboundClosed: {
                        source.end()
                    }
                } onGracefulShutdown: {
                    source.end()
                }
                withExtendedLifetime(place) {}
                try await writer.finish(nil)
            }
        )
    }

    // MARK: The screen

    @Sendable private func screen(_ request: Request, _ context: WebContext) async throws -> Response {
        _ = try context.known()
        let scale = try number("scale", of: request) ?? 1
        guard (1...8).contains(scale) else { throw APIError.badField("“scale” is from 1 to 8") }
        let watch = try await find(context)
        let answer = try await watch.perform("screenshot", ["format": scale == 1 ? "png" : "raw"])
        let picture = ScreenPicture(answer: answer)
        guard let bytes = scale == 1 ? picture?.bytes : picture?.png(scale: Int(scale)) else {
            throw WatchFailure.broke("the watch's picture is none").error
        }
        return Response(
            status: .ok,
            headers: [.contentType: "image/png", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }

    // MARK: Metrics

    @Sendable private func metrics(_ request: Request, _ context: WebContext) async throws -> Response {
        _ = try context.known()
        let watches = await bench.watches
        let looks = await withTaskGroup(of: Metrics.Look.self) { group in
            for watch in watches { group.addTask { await look(at: watch) } }
            return await group.reduce(into: [Metrics.Look]()) { $0.append($1) }
        }
        let page = Metrics.page(of: looks.sorted { $0.name < $1.name }, counts.values)
        return Response(
            status: .ok,
            headers: [.contentType: Metrics.contentType, .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page))
        )
    }

    private func look(at watch: Watch) async -> Metrics.Look {
        let status = await ask(watch, "status")?["status"]
        let links = await status == nil ? nil : ask(watch, "links")?["links"]
        return Metrics.Look(
            name: watch.name,
            isUp: status != nil,
            status: status,
            traffic: await traffic.totals(of: watch.name, links?.elements),
            latencies: await watch.feed.latencies
        )
    }

    private func ask(_ watch: Watch, _ command: String) async -> JSON? {
        guard let answer = try? await watch.perform(command) else { return nil }
        return try? JSON(parsing: Data(answer.readableBytesView))
    }

    // MARK: The page

    @Sendable private func root(_ request: Request, _ context: WebContext) async throws -> Response {
        guard let token = request.uri.queryParameters["token"] else { return try await file(request, context) }
        guard let secret = tokens.beginSession(oneTime: String(token)) else {
            throw APIError(
                .unauthorized,
                "no-token",
                "this address has begun a session already, or is too old; start cairn-web again, or ask for another with "
                    + "POST /api/one-time-tokens"
            )
        }
        var cookie = "\(cookieName.text)=\(secret); Path=/; Max-Age=\(Tokens.sessionSeconds); HttpOnly; SameSite=Strict"
        if isSecure { cookie += "; Secure" }
        return Response(status: .seeOther, headers: [.location: "/", .setCookie: cookie, .cacheControl: "no-store"])
    }

    @Sendable private func file(_ request: Request, _ context: WebContext) async throws -> Response {
        guard let file = page[request.uri.path] else {
            throw APIError(.notFound, "no-such-route", "nothing is there; GET /openapi.json says what is")
        }
        return PageFiles.response(file)
    }

    // MARK: Parameters

    private func eventNames(of request: Request) throws(APIError) -> Set<String>? {
        let parameters = request.uri.queryParameters[values: "only"]
        guard !parameters.isEmpty else { return nil }
        let names = parameters.flatMap { $0.split(separator: ",") }.map(String.init)
        if let wrong = names.first(where: { !vocabulary.events.contains($0) }) {
            let known = vocabulary.events.joined(separator: ", ")
            throw .badField("no event is called “\(wrong.prefix(80))”; there are \(known)")
        }
        return Set(names)
    }

    private func number(_ name: String, of request: Request) throws(APIError) -> UInt64? {
        guard let text = request.uri.queryParameters[Substring(name)] else { return nil }
        guard text.allSatisfy({ $0.isASCII && $0.isNumber }), let number = UInt64(text) else {
            throw .badField("“\(name)” is a whole number")
        }
        return number
    }

    private func flag(_ name: String, of request: Request) throws(APIError) -> Bool {
        switch request.uri.queryParameters[Substring(name)] {
        case nil, "false": false
        case "true": true
        default: throw .badField("“\(name)” is true or false")
        }
    }
}

/// What has gone over the links of each watch.
actor TrafficBook {
    private var books: [String: LinkTotals] = [:]

    /// - Parameter links: what the watch says now; nil if it cannot be asked.
    func totals(of watch: String, _ links: [JSON]?) -> [LinkTotals.Key: LinkTotals.Count] {
        if let links { books[watch, default: LinkTotals()].take(links) }
        return books[watch]?.totals ?? [:]
    }
}
