import NIOCore

/// The API in OpenAPI 3.1, made of control's own schema: `GET /openapi.json`, and `Docs/openapi.json`.
public struct OpenAPIDocument {
    private let vocabulary: Vocabulary

    /// The document of a vocabulary.
    public init(_ vocabulary: Vocabulary) { self.vocabulary = vocabulary }

    /// The document, with its last line's end.
    public var text: String { String(buffer: json.document) }

    /// The document.
    var json: JSON {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "cairn-web", "version": .text(webVersion),
                "description": "Watches of Cairn over HTTP. Docs/web.md says how to use it.",
            ],
            "security": [["token": []], ["session": []]],
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "token": ["type": "http", "scheme": "bearer"],
                    "session": ["type": "apiKey", "in": "cookie", "name": "cairn-session-PORT"],
                ],
                "parameters": ["watch": Self.watchParameter],
                "responses": .object(
                    Self.failures.mapValues { meaning in
                        let content = Self.content("application/json", Self.reference("Error"))
                        return ["description": .text(meaning), "content": content]
                    }
                ),
                "schemas": .object(schemas),
            ],
        ]
    }

    private static let watchParameter: JSON = [
        "name": "watch", "in": "path", "required": true, "description": "the watch's name",
        "schema": ["type": "string", "minLength": 1, "maxLength": 64],
    ]

    private var paths: [String: JSON] {
        var paths: [String: JSON] = [
            "/api/watches": [
                "get": get("watches", "List the watches, and how they are doing.", Self.reference("Watches"))
            ],
            "/api/watches/{watch}": ofWatch(
                get("watch", "Say how a watch is doing, or why it cannot be asked.", Self.reference("Watch"), of: .list)
            ),
            "/api/watches/{watch}/status": ofWatch(
                get("status", "Give what `cairn status --json` prints.", Self.reference("Status"), of: .watch)
            ),
            "/api/watches/{watch}/events": ofWatch(events),
            "/api/watches/{watch}/screen.png": ofWatch(screen),
            "/api/watches/{watch}/screen/frames": ofWatch(
                stream(
                    "frames",
                    "Give the picture now, and whenever it has changed, as events `frame`.",
                    "text/event-stream"
                )
            ),
            "/api/watches/{watch}/capture": ofWatch(
                stream(
                    "capture",
                    "Give the HCI packets from now on as a pcap file that grows. Keys are among them.",
                    "application/vnd.tcpdump.pcap"
                )
            ),
            "/api/watches/{watch}/app": ofWatch(installation),
            "/api/session": ["get": get("session", "Say what this client may do.", Self.reference("Session"))],
            "/api/one-time-tokens": ["post": oneTimeToken],
            "/api/vocabulary": ["get": get("vocabulary", "Give control's own schema.", ["type": "object"])],
            "/metrics": [
                "get": operation(
                    "metrics",
                    "Say how all is doing, for Prometheus.",
                    Self.content("text/plain", Self.anyText),
                    .none
                )
            ],
            "/openapi.json": ["get": get("openapi", "Give this document.", ["type": "object"])],
        ]
        for command in vocabulary.commands.values {
            paths["/api/watches/{watch}/commands/" + command.name] = ofWatch(post(command))
        }
        return paths
    }

    private func ofWatch(_ operations: JSON) -> JSON {
        var members = operations.members
        // An operation that stands alone is a GET.
        if members["operationId"] != nil { members = ["get": operations] }
        members["parameters"] = [Self.reference("watch", in: "parameters")]
        return .object(members)
    }

    /// Which errors an operation can have beside those of every one.
    private enum Asks {
        /// Nothing of a watch.
        case none
        /// A name alone.
        case list
        /// The watch.
        case watch

        var statuses: [Int] {
            switch self {
            case .none: []
            case .list: [404]
            case .watch: [400, 404, 409, 429, 502, 503, 504]
            }
        }
    }

    private func get(_ id: String, _ help: String, _ schema: JSON, of asks: Asks = .none) -> JSON {
        operation(id, help, Self.content("application/json", schema), asks)
    }

    private func stream(_ id: String, _ help: String, _ type: String) -> JSON {
        var members = operation(id, help, Self.content(type, Self.anyText), .watch).members
        // It has no end: a program that tries every operation has to know.
        members["x-endless"] = true
        return .object(members)
    }

    private var events: JSON {
        let help = "Say what happens from now on. The stream stays when the watch goes."
        var members = stream("events", help, "text/event-stream").members
        members["parameters"] = [
            [
                "name": "only", "in": "query", "description": "only events of these names, with commas between",
                "schema": ["type": "array", "items": ["enum": .list(vocabulary.events.map { .text($0) })]],
                "style": "form", "explode": false,
            ],
            [
                "name": "since", "in": "query",
                "description": "what has happened after the event of this number comes first; so does Last-Event-ID",
                "schema": ["type": "integer", "minimum": 0, "maximum": .integer(.max)],
            ],
        ]
        return .object(members)
    }

    private var screen: JSON {
        let help = "Give the picture that the screen shows."
        var members = operation("screen", help, Self.content("image/png", nil), .watch).members
        members["parameters"] = [
            [
                "name": "scale", "in": "query", "description": "how wide a pixel of the watch is",
                "schema": ["type": "integer", "minimum": 1, "maximum": 8, "default": 1],
            ]
        ]
        return .object(members)
    }

    private var installation: JSON {
        var members = operation(
            "install-app",
            "Install the app of a package (.pbw), as a phone does.",
            Self.content("application/json", Self.reference("answer.install")),
            .watch,
            more: [403, 413, 415]
        ).members
        members["parameters"] = [
            [
                "name": "launch", "in": "query", "description": "whether it starts at once",
                "schema": ["type": "boolean", "default": false],
            ]
        ]
        members["requestBody"] = ["required": true, "content": ["application/octet-stream": [:]]]
        return ["put": .object(members)]
    }

    private var oneTimeToken: JSON {
        operation(
            "one-time-token",
            "Make a token with which a browser begins a session, once, with the permission of this client.",
            Self.content("application/json", Self.reference("OneTimeToken")),
            .none,
            more: [403]
        )
    }

    private func post(_ command: Vocabulary.Command) -> JSON {
        var members = operation(
            "command-" + command.name,
            command.help,
            Self.content("application/json", Self.reference("answer." + command.name)),
            .watch,
            more: [413, 415] + (command.onlyReads ? [] : [403])
        ).members
        members["x-only-reads"] = .flag(command.onlyReads)
        members["requestBody"] = [
            "required": .flag(command.needsFields),
            "content": Self.content("application/json", Self.reference("request." + command.name)),
        ]
        return ["post": .object(members)]
    }

    private func operation(_ id: String, _ help: String, _ content: JSON, _ asks: Asks, more: [Int] = []) -> JSON {
        var responses: [String: JSON] = ["200": ["description": "It was done.", "content": content]]
        for status in [401, 403] + asks.statuses + more {
            responses["\(status)"] = Self.reference("\(status)", in: "responses")
        }
        return ["operationId": .text(id), "summary": .text(help), "responses": .object(responses)]
    }

    /// The answers that are no success, by status.
    private static let failures = [
        "400": "A field or a parameter is wrong.",
        "401": "There is no token, or a wrong one.",
        "403": "The token may only look, or Host or Origin is not this server's.",
        "404": "There is no such watch.",
        "409": "The watch refuses; the code is its own.",
        "413": "The body is too large.",
        "415": "The body is of another type.",
        "429": "Too much of this is under way.",
        "502": "The watch broke the conversation.",
        "503": "The watch is down.",
        "504": "The watch hangs.",
    ]

    private static func content(_ type: String, _ schema: JSON?) -> JSON {
        .object([type: schema.map { ["schema": $0] } ?? [:]])
    }

    private static let anyText: JSON = ["type": "string"]

    private static func reference(_ name: String, in group: String = "schemas") -> JSON {
        ["$ref": .text("#/components/\(group)/\(name)")]
    }

    private var schemas: [String: JSON] {
        var schemas: [String: JSON] = [:]
        for (name, definition) in vocabulary.definitions where Self.isUsed(name) {
            schemas[name] = Self.moved(definition)
        }
        for command in vocabulary.commands.values { schemas["request." + command.name] = Self.moved(command.fields) }
        let status = vocabulary.definitions["answer.status"]?["properties"]?["status"]
        let failure: JSON = [
            "type": "object", "required": ["code", "message"],
            "properties": [
                "code": ["type": "string", "description": "for programs: a name that does not change"],
                "message": ["type": "string", "description": "for people"],
            ],
        ]
        schemas["Failure"] = failure
        schemas["Error"] = [
            "type": "object", "required": ["error"], "properties": ["error": Self.reference("Failure")],
        ]
        schemas["Status"] = status.map(Self.moved) ?? ["type": "object"]
        schemas["Watch"] = [
            "type": "object", "required": ["name", "state"],
            "properties": [
                "name": ["type": "string"], "state": ["enum": ["up", "down"]], "error": Self.reference("Failure"),
                "warning": Self.reference("Failure"), "status": Self.reference("Status"),
                "since": [
                    "type": "number",
                    "description": "when a watch that was up went down, in seconds since 1970",
                ],
            ],
        ]
        schemas["Watches"] = [
            "type": "object", "required": ["watches"],
            "properties": ["watches": ["type": "array", "items": Self.reference("Watch")]],
        ]
        schemas["Session"] = [
            "type": "object", "required": ["canChange", "version"],
            "properties": ["canChange": ["type": "boolean"], "version": ["type": "string"]],
        ]
        schemas["OneTimeToken"] = [
            "type": "object", "required": ["token", "path"],
            "properties": ["token": ["type": "string"], "path": ["type": "string"]],
        ]
        return schemas
    }

    /// Lines of the socket as a whole are none of HTTP.
    private static func isUsed(_ name: String) -> Bool {
        !name.hasPrefix("request") && !name.hasPrefix("packet") && !["failure", "answer"].contains(name)
    }

    /// References to definitions stand elsewhere here.
    private static func moved(_ schema: JSON) -> JSON {
        switch schema {
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { name, value in
                        if name == "$ref", let target = value.text?.suffix(after: "#/$defs/") {
                            return (name, .text("#/components/schemas/" + target))
                        }
                        return (name, moved(value))
                    }
                )
            )
        case .list(let elements): .list(elements.map(moved))
        case .null, .flag, .integer, .unsigned, .number, .text: schema
        }
    }
}
