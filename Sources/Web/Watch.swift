import NIOConcurrencyHelpers
import NIOCore

/// A watch on the bench: its name, its control socket, and what happens on it.
final class Watch: Sendable {
    /// How many commands are under way at once at most: the watch lets 16 programs in, of which others are somebody else's.
    private static let commandLimit = 4
    /// How many waits are under way at once at most.
    private static let waitLimit = 4
    /// Commands that a watch may take longer for than the usual ones: they write to its disk, or are a part of what does, and what
    /// was brought before it is lost with a part that is late.
    private static let slowCommands: Set = ["install-part", "install", "backup", "backup-part", "reset"]
    /// How long those may take.
    private static let slowPatience: Duration = .seconds(10)
    /// How long `wait` waits if the request does not say, in seconds.
    private static let usualWait = 30.0
    /// The longest that `wait` takes, in seconds.
    private static let longestWait = 86_400.0

    let name: String
    let socket: ControlSocket
    let feed: WatchFeed
    let screen: ScreenFeed
    private let underWay = NIOLockedValueBox((commands: 0, waits: 0))

    init(name: String, path: String, patience: Duration) {
        self.name = name
        socket = ControlSocket(path: path, patience: patience)
        feed = WatchFeed(socket)
        screen = ScreenFeed(socket)
    }

    /// Sends a command.
    /// - Parameter conversation: what carries it, for a command that needs the connection of one before; nil for one of its own.
    /// - Returns: the line of the answer.
    /// - Throws: `APIError`.
    func perform(
        _ command: String,
        _ fields: [String: JSON] = [:],
        over conversation: Conversation? = nil
    ) async throws(APIError) -> ByteBuffer {
        let request = JSON.object(fields.merging(["command": .text(command)]) { $1 })
        let line = try await carry(request, command, over: conversation)
        let head = ControlLine(line)
        guard head.ok == true else { throw await explain(head.error) }
        return line
    }

    private func carry(
        _ request: JSON,
        _ command: String,
        over conversation: Conversation?
    ) async throws(APIError) -> ByteBuffer {
        let isWait = command == "wait"
        let hasRoom = underWay.withLockedValue { underWay in
            if isWait {
                guard underWay.waits < Self.waitLimit else { return false }
                underWay.waits += 1
            } else {
                guard underWay.commands < Self.commandLimit else { return false }
                underWay.commands += 1
            }
            return true
        }
        guard hasRoom else {
            let limit = isWait ? Self.waitLimit : Self.commandLimit
            throw .tooMany("\(limit) \(isWait ? "waits" : "commands") for “\(name)” are under way")
        }
        defer { underWay.withLockedValue { if isWait { $0.waits -= 1 } else { $0.commands -= 1 } } }
        do throws(WatchFailure) {
            let patience = patience(for: request, command)
            guard let conversation else { return try await socket.ask(request, within: patience) }
            return try await conversation.ask(request, within: patience)
        } catch {
            throw error.error
        }
    }

    private func patience(for request: JSON, _ command: String) -> Duration {
        guard command == "wait" else {
            return Self.slowCommands.contains(command) ? max(Self.slowPatience, socket.patience) : socket.patience
        }
        let seconds = request["seconds"]?.number ?? Self.usualWait
        return socket.patience + .seconds(min(max(seconds, 0), Self.longestWait))
    }

    /// What clients are told of a refusal: the watch's own code and words.
    private func explain(_ failure: ControlLine.Failure?) async -> APIError {
        guard let failure else { return WatchFailure.broke("the watch's answer is none").error }
        switch failure.code {
        case "bad-request":
            return APIError(
                .badRequest,
                failure.code,
                failure.message + (await otherVersion.map { "; " + $0.message } ?? "")
            )
        case "busy":
            return APIError(.tooManyRequests, failure.code, failure.message, headers: [.retryAfter: "1"])
        default: return APIError(.conflict, failure.code, failure.message)
        }
    }

    /// That the watch is of another version than this program; nil if it is not, or has not said its version.
    var otherVersion: APIError? {
        get async {
            guard case .up(let version?) = await feed.state, version != webVersion else { return nil }
            return APIError(
                .conflict,
                "other-version",
                "the watch “\(name)” is Cairn \(version), and this is cairn-web \(webVersion): what one knows, the other may not"
            )
        }
    }

    /// How it is doing, by its own account.
    func status() async throws(APIError) -> JSON {
        let answer = try await perform("status")
        guard let status = (try? JSON(parsing: .init(answer.readableBytesView)))?["status"] else {
            throw WatchFailure.broke("the watch's status is none").error
        }
        return status
    }

    /// How it is doing, for the list of watches.
    var summary: JSON {
        get async {
            var members: [String: JSON] = ["name": .text(name)]
            do throws(APIError) {
                let status = try await status()
                await feed.hasAnswered()
                members["state"] = "up"
                members["status"] = status
                if let version = status["version"]?.text, version != webVersion {
                    members["warning"] = await otherVersion?.json
                }
            } catch {
                // A client that asks too much hears nothing of the watch.
                let isUp = error.status == .tooManyRequests
                members["state"] = isUp ? "up" : "down"
                members["error"] = error.json
                if !isUp { members["since"] = await feed.hasNotAnswered().map { .number($0) } }
            }
            return .object(members)
        }
    }
}
