import HTTPTypes
import Hummingbird

/// An answer that is no success: its status, and what stands in `error` of its body.
struct APIError: Error, Equatable {
    let status: HTTPResponse.Status
    /// For programs: a name that does not change.
    let code: String
    /// For people: what happened, and what to do.
    let message: String
    /// Headers that belong to the status.
    var headers: HTTPFields = [:]

    init(_ status: HTTPResponse.Status, _ code: String, _ message: String, headers: HTTPFields = [:]) {
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers
    }

    /// `code` and `message`.
    var json: JSON { ["code": .text(code), "message": .text(message)] }

    /// The whole answer.
    var response: Response {
        var response = Response.json(["error": json], status: status)
        response.headers.append(contentsOf: headers)
        return response
    }
}

extension APIError {
    static let unauthorized = APIError(
        .unauthorized,
        "no-token",
        "who is it? Send “Authorization: Bearer TOKEN”, or open the address that cairn-web printed in a browser",
        headers: [.wwwAuthenticate: #"Bearer realm="cairn-web""#]
    )

    static func unknownWatch(_ name: String, among known: [String]) -> APIError {
        let there = known.isEmpty ? "there is none" : "there are " + known.joined(separator: ", ")
        return APIError(.notFound, "no-such-watch", "no watch is called “\(name.prefix(80))”; \(there)")
    }

    static func tooLarge(limit: Int) -> APIError {
        APIError(.contentTooLarge, "too-large", "a body of this request has at most \(limit) bytes")
    }

    static func tooMany(_ what: String) -> APIError {
        APIError(
            .tooManyRequests,
            "too-many",
            "\(what); end one of them, or try again later",
            headers: [.retryAfter: "1"]
        )
    }

    static func badField(_ message: String) -> APIError { APIError(.badRequest, "bad-request", message) }
}

extension Response {
    /// A JSON value.
    static func json(_ value: JSON, status: HTTPResponse.Status = .ok) -> Response {
        json(value.line, status: status)
    }

    /// A JSON document that is one already.
    static func json(_ document: ByteBuffer, status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: document)
        )
    }
}
