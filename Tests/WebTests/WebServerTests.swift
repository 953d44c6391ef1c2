import Foundation
import HTTPTypes
import Testing

@testable import Web

/// The routes, against a control socket that the test serves.
@Suite(.timeLimit(.minutes(1))) struct WebServerTests {
    @Test func aCommandIsPassedOnWithItsFields() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            let body = #"{"button":"up","long":true,"command":"reset","x":18446744073709551615}"#
            let answer = try await caller.send(.post, "/api/watches/bench/commands/press", body)
            #expect(answer.status == 200)
            #expect(answer.json == ["ok": true, "sequence": 1])
        }
        // What the address says counts, whatever the fields say.
        let expected: JSON = ["command": "press", "button": "up", "long": true, "x": .unsigned(.max)]
        #expect(fixture.watch.requests(of: "press") == [expected])
        #expect(!fixture.watch.asked.contains("reset"))
    }

    @Test func everyCommandIsARoute() async throws {
        let fixture = try await ServerFixture()
        let names = try Vocabulary().commands.keys.sorted()
        #expect(names.count > 40)
        try await fixture.run { caller in
            for name in names {
                let answer = try await caller.send(.post, "/api/watches/bench/commands/\(name)")
                #expect(answer.status == 200, "\(name)")
            }
        }
        #expect(Set(names).isSubset(of: fixture.watch.asked))
    }

    @Test(arguments: [
        ("bad-request", 400), ("nothing-waits", 409), ("busy", 429), ("not-permitted", 409), ("of-a-newer-watch", 409),
    ])
    func aRefusalKeepsItsCode(_ code: String, _ status: Int) async throws {
        let fixture = try await ServerFixture { request in
            guard request["command"] == "confirm" else { return FakeWatch.usual(request) }
            return .lines([#"{"error":{"code":"\#(code)","message":"no"},"ok":false}"#])
        }
        try await fixture.run { caller in
            let answer = try await caller.send(.post, "/api/watches/bench/commands/confirm")
            #expect((answer.status, answer.code) == (status, code))
        }
    }

    /// How soon is measured at the program, by `test_web_api.py`.
    @Test func aWatchThatHangsIsSaidTo() async throws {
        let fixture = try await ServerFixture(isQuick: true) { _ in .silence }
        try await fixture.run { caller in
            let answer = try await caller.send(.get, "/api/watches/bench/status")
            #expect((answer.status, answer.code) == (504, "watch-hangs"))
            let list = try await caller.send(.get, "/api/watches")
            let entry = list.json?["watches"]?.elements.first
            #expect(list.status == 200 && entry?["state"] == "down" && entry?["error"]?["code"]?.text == "watch-hangs")
        }
    }

    @Test func aWatchThatIsGoneOrBreaksTheConversationIsSaidTo() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            func check(_ status: Int, _ code: String) async throws {
                let answer = try await caller.send(.get, "/api/watches/bench/status")
                #expect((answer.status, answer.code) == (status, code))
                let list = try await caller.send(.get, "/api/watches")
                let entry = list.json?["watches"]?.elements.first
                #expect(list.status == 200 && entry?["state"] == "down" && entry?["error"]?["code"]?.text == code)
            }
            fixture.watch.answer { _ in .close }
            try await check(502, "watch-broke")
            fixture.watch.answer { _ in .lines(["this is no JSON", String(repeating: "x", count: 5 << 20)]) }
            try await check(502, "watch-broke")
            try await fixture.watch.kill()
            try await check(503, "watch-down")
            fixture.watch.answer(FakeWatch.usual)
            try await fixture.watch.start()
            try await #expect(caller.send(.get, "/api/watches/bench/status").status == 200)
        }
    }

    @Test func whatIsWrongWithARequestIsSaid() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            let press = "/api/watches/bench/commands/press"
            let long = #"{"button":""# + String(repeating: "x", count: WebRoutes.bodyLimit) + #""}"#
            let json: HTTPFields = [.contentType: "application/json"]
            func check(_ answer: Caller.Answer, _ status: Int, _ code: String, _ line: Int = #line) {
                #expect((answer.status, answer.code) == (status, code), "line \(line)")
                #expect(answer.json?["error"]?["message"]?.text?.isEmpty == false, "line \(line)")
            }
            check(try await caller.send(.get, "/api/watches/nope"), 404, "no-such-watch")
            check(try await caller.send(.post, "/api/watches/nope/commands/press"), 404, "no-such-watch")
            check(try await caller.send(.post, "/api/watches/bench/commands/nope"), 404, "no-such-command")
            check(try await caller.send(.get, "/api/nope"), 404, "no-such-route")
            check(try await caller.send(.delete, "/api/watches"), 405, "other-method")
            check(try await caller.send(.get, press), 405, "other-method")
            check(try await caller.send(.post, press, "[]"), 400, "bad-request")
            check(try await caller.send(.post, press, "{"), 400, "bad-request")
            check(try await caller.send(.post, press, long), 413, "too-large")
            check(try await caller.send(.post, press, "{}", headers: [.contentType: "text/plain"]), 415, "no-json")
            check(try await caller.send(.get, "/api/watches/bench/screen.png?scale=9"), 400, "bad-request")
            check(try await caller.send(.get, "/api/watches/bench/screen.png?scale=-1"), 400, "bad-request")
            check(try await caller.send(.get, "/api/watches/bench/events?only=button,nope"), 400, "bad-request")
            check(try await caller.send(.get, "/api/watches/bench/events?since=x"), 400, "bad-request")
            check(try await caller.send(.put, "/api/watches/bench/app?launch=perhaps"), 400, "bad-request")
            check(try await caller.bare(.get, "/api/watches"), 401, "no-token")
            check(try await caller.bare(.post, press, "{}", headers: json), 401, "no-token")
            check(try await caller.send(.get, "/api/watches", token: "wrong"), 401, "no-token")
            check(try await caller.send(.get, "/metrics", token: fixture.token + "x"), 401, "no-token")
        }
        #expect(!fixture.watch.asked.contains("press"))
    }

    @Test func theReadOnlyTokenMayLookAndNothingElse() async throws {
        let fixture = try await ServerFixture()
        let vocabulary = try Vocabulary()
        try await fixture.run { caller in
            for command in vocabulary.commands.values {
                let path = "/api/watches/bench/commands/\(command.name)"
                let answer = try await caller.send(.post, path, token: fixture.readOnlyToken)
                #expect(answer.status == (command.onlyReads ? 200 : 403), "\(command.name)")
            }
            #expect(
                try await caller.send(.get, "/api/watches/bench/status", token: fixture.readOnlyToken).status == 200
            )
            let capture = try await caller.send(.get, "/api/watches/bench/capture", token: fixture.readOnlyToken)
            #expect((capture.status, capture.code) == (403, "read-only"))
            let install = try await caller.send(.put, "/api/watches/bench/app", "x", token: fixture.readOnlyToken)
            #expect(install.code == "read-only")
            let session = try await caller.send(.get, "/api/session", token: fixture.readOnlyToken)
            #expect(session.json == ["canChange": false, "version": .text(webVersion)])
        }
        #expect(!fixture.watch.asked.contains("reset") && !fixture.watch.asked.contains("packets"))
        #expect(vocabulary.commands.values.filter(\.onlyReads).count > 5)
    }

    @Test func aReadOnlyServerLetsNobodyChangeAnything() async throws {
        var configuration = WebConfiguration()
        configuration.isReadOnly = true
        let fixture = try await ServerFixture(configuration)
        try await fixture.run { caller in
            try await #expect(caller.send(.post, "/api/watches/bench/commands/tap").code == "read-only")
            try await #expect(caller.send(.get, "/api/session").json?["canChange"] == false)
        }
    }

    @Test func aBrowserBeginsASessionOnce() async throws {
        let fixture = try await ServerFixture()
        let oneTime = fixture.tokens.makeOneTimeToken(.change)
        try await fixture.run { caller in
            let begin = try await caller.bare(.get, "/?token=\(oneTime)")
            #expect(begin.status == 303 && begin.headers[.location] == "/")
            let cookie = try #require(begin.headers[.setCookie])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains("Secure"))
            try await #expect(caller.bare(.get, "/?token=\(oneTime)").status == 401)
            let pair = try #require(cookie.split(separator: ";").first.map(String.init))
            let tap = "/api/watches/bench/commands/tap"
            try await #expect(caller.bare(.get, "/api/session", headers: [.cookie: pair]).json?["canChange"] == true)
            // A cookie comes with requests of other pages too: what changes something says whose page it is.
            let none = try await caller.bare(.post, tap, headers: [.cookie: pair])
            #expect((none.status, none.code) == (403, "bad-origin"))
            let own = try await caller.bare(.post, tap, headers: [.cookie: pair, .origin: "http://localhost"])
            #expect(own.status == 200)
            for origin in ["http://evil.example", "https://localhost", "http://localhost:1", "null"] {
                let other = try await caller.bare(.post, tap, headers: [.cookie: pair, .origin: origin])
                #expect((other.status, other.code) == (403, "bad-origin"), "\(origin)")
            }
            try await #expect(caller.bare(.get, "/api/session", headers: [.cookie: pair + "0"]).status == 401)
        }
        #expect(fixture.watch.requests(of: "tap").count == 1)
    }

    @Test func everyAnswerTellsTheBrowserWhatItMayDo() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            for path in ["/", "/api/watches", "/nope", "/api/session"] {
                let headers = try await caller.bare(.get, path).headers
                #expect(headers[.contentSecurityPolicy]?.hasPrefix("default-src 'self'; img-src 'self' data:") == true)
                #expect(headers[.xContentTypeOptions] == "nosniff")
                #expect(headers[.accessControlAllowOrigin] == nil)
                #expect(headers[named: "Cross-Origin-Resource-Policy"] == "same-origin")
            }
        }
    }

    @Test func aWatchOfAnotherVersionIsNamed() async throws {
        let fixture = try await ServerFixture { request in
            switch request["command"]?.text {
            case "status": .lines([FakeWatch.status(version: "0.0.9")])
            case "tap": .lines([#"{"error":{"code":"bad-request","message":"“tap” is no command"},"ok":false}"#])
            default: FakeWatch.usual(request)
            }
        }
        try await fixture.run { caller in
            try await until("its version") {
                let entry = try await caller.send(.get, "/api/watches/bench").json
                return entry?["warning"]?["code"] == "other-version"
            }
            let entry = try await caller.send(.get, "/api/watches/bench").json
            let warning = try #require(entry?["warning"]?["message"]?.text)
            #expect(warning.contains("0.0.9") && warning.contains(webVersion))
            let answer = try await caller.send(.post, "/api/watches/bench/commands/tap")
            let message = try #require(answer.json?["error"]?["message"]?.text)
            #expect(answer.status == 400 && message.contains("“tap” is no command") && message.contains("0.0.9"))
        }
    }

    @Test func piecesOfAPackageShareAConnectionWithItsInstallation() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            let package = String(repeating: "p", count: 60_000)
            let type: HTTPFields = [.contentType: "application/octet-stream"]
            let answer = try await caller.send(.put, "/api/watches/bench/app?launch=true", package, headers: type)
            #expect(answer.status == 200)
        }
        let parts = fixture.watch.requests(of: "install-part").compactMap { $0["data"]?.text }
        #expect(parts.map { $0.count / 2 } == [24 * 1024, 24 * 1024, 60_000 - 48 * 1024])
        #expect(fixture.watch.requests(of: "install") == [["command": "install", "launch": true]])
    }

    @Test func metricsAreOfTheWatchAndOfTheProgram() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            _ = try await caller.send(.get, "/api/nope")
            let page = String(buffer: try await caller.send(.get, "/metrics", token: fixture.readOnlyToken).body)
            #expect(page.contains(#"cairn_up{watch="bench"} 1"#))
            #expect(page.contains(#"cairn_reconnections_total{watch="bench"} 3"#))
            #expect(page.contains(#"cairn_web_requests_total{route="NotFound",status="404"} 1"#))
            try await fixture.watch.kill()
            let later = String(buffer: try await caller.send(.get, "/metrics").body)
            #expect(later.contains(#"cairn_up{watch="bench"} 0"#))
        }
    }
}
