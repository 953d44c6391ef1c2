import HTTPTypes
import Hummingbird
import NIOCore

/// Which names this server answers to, and which pages may use it.
struct HostRule: Sendable {
    /// The names, in lower case, without port.
    let names: Set<String>
    /// Whether the page is given over TLS.
    let isSecure: Bool

    /// - Parameters:
    ///   - address: where the server listens.
    ///   - more: other names, such as that of a proxy in front.
    init(address: String, more: [String], isSecure: Bool) {
        var names: Set = ["localhost", "127.0.0.1", "[::1]"]
        names.insert(address.contains(":") ? "[\(address)]" : address.lowercased())
        names.formUnion(more.map { $0.lowercased() })
        self.names = names
        self.isSecure = isSecure
    }

    /// Whether a request's Host names this server: a page whose name was bound to this address names itself.
    func allows(host: String) -> Bool { names.contains(Self.name(of: host)) }

    /// Whether the page that sends a request is this server's own.
    func allows(origin: String, host: String) -> Bool {
        origin.lowercased() == (isSecure ? "https://" : "http://") + host.lowercased()
    }

    /// Without the port.
    private static func name(of host: String) -> String {
        let host = host.lowercased()
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            let rest = host[host.index(after: end)...]
            return rest.isEmpty || isPort(rest) ? String(host[...end]) : host
        }
        guard let colon = host.firstIndex(of: ":"), isPort(host[colon...]) else { return host }
        return String(host[..<colon])
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && text.dropFirst().allSatisfy { $0.isASCII && $0.isNumber }
    }
}

/// What every request has to pass: its Host, its Origin, and who sends it. Every answer leaves with the headers that a browser
/// needs, and an error as JSON.
struct Gate: RouterMiddleware {
    typealias Context = WebContext

    let rule: HostRule
    let tokens: Tokens
    let cookieName: CookieName
    /// Whether no client may change anything.
    let isReadOnly: Bool
    let counts: Counts

    /// What the page may load: its own files, and pictures that it makes itself.
    private static let policy =
        "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    func handle(
        _ request: Request,
        context: WebContext,
        next: (Request, WebContext) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, try admitted(request, context))
        } catch let error as APIError {
            response = error.response
        } catch let error as HTTPError {
            response = Self.explain(error).response
        }
        response.headers[.contentSecurityPolicy] = Self.policy
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[named: "Referrer-Policy"] = "no-referrer"
        // Another server of this machine is the same site, whose pages have the cookie sent.
        response.headers[named: "Cross-Origin-Resource-Policy"] = "same-origin"
        if response.headers[.cacheControl] == nil { response.headers[.cacheControl] = "no-cache" }
        let route = context.endpointPath ?? "none"
        let status = Int(response.status.code)
        counts.change { $0.requests[Counts.Request(route: route, status: status), default: 0] += 1 }
        return response
    }

    private static func explain(_ error: HTTPError) -> APIError {
        switch error.status {
        case .notFound:
            APIError(.notFound, "no-such-route", "nothing is there; GET /openapi.json says what is")
        case .contentTooLarge: .tooLarge(limit: WebRoutes.bodyLimit)
        default: APIError(error.status, "bad-request", error.body ?? error.status.reasonPhrase)
        }
    }

    /// The request's context, with the client if it is known.
    private func admitted(_ request: Request, _ context: WebContext) throws(APIError) -> WebContext {
        let host = request.head.authority ?? ""
        guard rule.allows(host: host) else {
            throw APIError(
                .forbidden,
                "bad-host",
                "this server is not called “\(host.prefix(80))”; use its address, or start cairn-web with --allow-host NAME"
            )
        }
        let origin = request.headers[.origin]
        if let origin, !rule.allows(origin: origin, host: host) {
            throw APIError(.forbidden, "bad-origin", "a page of “\(origin.prefix(80))” may not use this server")
        }
        var context = context
        context.client = client(of: request, context)
        guard let client = context.client, client.isByCookie, !Self.isSafe(request.method) else { return context }
        guard origin != nil else {
            throw APIError(
                .forbidden,
                "bad-origin",
                "a request with a cookie that changes something says with Origin which page sends it; programs send a token"
            )
        }
        return context
    }

    private func client(of request: Request, _ context: WebContext) -> Tokens.Client? {
        let client: Tokens.Client?
        if let header = request.headers[.authorization] {
            let parts = header.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
            let address = context.channel.remoteAddress?.ipAddress ?? "here"
            client = tokens.client(bearer: parts[1].trimmingSpaces, from: address)
        } else {
            client = request.cookies[cookieName.text].flatMap { tokens.client(session: $0.value) }
        }
        guard isReadOnly, let client else { return client }
        return Tokens.Client(permission: .look, id: client.id, isByCookie: client.isByCookie)
    }

    private static func isSafe(_ method: HTTPRequest.Method) -> Bool { method == .get || method == .head }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}

extension WebContext {
    /// The client, which must be known.
    func known() throws(APIError) -> Tokens.Client {
        guard let client else { throw .unauthorized }
        return client
    }

    /// The client, which must be one that may change something.
    /// - Parameter what: what it wants, for the error.
    func changing(_ what: String) throws(APIError) -> Tokens.Client {
        let client = try known()
        guard client.permission == .change else {
            throw APIError(
                .forbidden,
                "read-only",
                "\(what) needs the token that may change something; this one may only look"
            )
        }
        return client
    }
}
