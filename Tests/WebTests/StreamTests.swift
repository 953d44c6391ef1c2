import Foundation
import Testing

@testable import Web

/// Event streams, against a control socket that the test serves.
@Suite(.timeLimit(.minutes(1))) struct StreamTests {
    private static func event(_ name: String, _ sequence: Int, _ more: String = "") -> String {
        #"{"at":0.\#(sequence),"event":"\#(name)","sequence":\#(sequence)\#(more),"text":"it"}"#
    }

    @Test func eventsComeAsTheyAreAndOnlyThoseThatAreWanted() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            let text = try await caller.open("/api/watches/bench/events?only=button,lost") { reader in
                _ = try await reader.read { $0.contains(#"{"state":"up""#) }
                for line in [Self.event("advertising", 2), Self.event("button", 3)] { fixture.watch.say(line) }
                fixture.watch.say(#"{"at":1,"count":7,"event":"lost","text":"7 events were lost"}"#)
                return try await reader.read { $0.contains("lost") }
            }
            #expect(
                text.contains("content-type: text/event-stream".lowercased())
                    || text.contains("Content-Type: text/event-stream")
            )
            #expect(text.contains("id: 3\nevent: button\ndata: " + Self.event("button", 3) + "\n\n"))
            #expect(text.contains("event: lost\ndata: {") && !text.contains("event: advertising"))
        }
    }

    @Test func theStreamStaysWhenTheWatchGoes() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            try await caller.open("/api/watches/bench/events") { reader in
                _ = try await reader.read { $0.contains(#"{"state":"up""#) }
                fixture.watch.say(Self.event("button", 9))
                _ = try await reader.read { $0.contains("id: 9") }
                try await fixture.watch.kill()
                let down = try await reader.read { $0.contains(#""state":"down""#) }
                #expect(down.contains("event: state\ndata: {\"error\":{\"code\":\"watch-down\""))
                try await fixture.watch.start()
                let up = try await reader.read { $0.components(separatedBy: #""state":"up""#).count == 3 }
                #expect(up.components(separatedBy: "event: state").count == 4)
                // It counts from 1 again.
                fixture.watch.say(Self.event("button", 1))
                _ = try await reader.read { $0.contains("id: 1\n") }
            }
        }
    }

    @Test func aWatchThatHangsIsSaidToAndSoIsItsReturn() async throws {
        let fixture = try await ServerFixture(isQuick: true)
        try await fixture.run { caller in
            try await caller.open("/api/watches/bench/events") { reader in
                _ = try await reader.read { $0.contains(#"{"state":"up""#) }
                fixture.watch.answer { _ in .silence }
                _ = try await reader.read { $0.contains("watch-hangs") }
                fixture.watch.answer(FakeWatch.usual)
                // What it had not answered comes at last.
                fixture.watch.say(#"{"ok":true,"sequence":1}"#)
                _ = try await reader.read { $0.components(separatedBy: #""state":"up""#).count == 3 }
            }
        }
    }

    @Test func whatHasHappenedComesFirstAndOnce() async throws {
        let fixture = try await ServerFixture { request in
            guard request["command"] == "events", let since = request["since"]?.number else {
                return FakeWatch.usual(request)
            }
            let events = (1...5).filter { Double($0) > since }.map { Self.event("button", $0) }
            return .lines([#"{"ok":true}"#] + events)
        }
        try await fixture.run { caller in
            for headers in [["Last-Event-ID: 2"], []] {
                let path = "/api/watches/bench/events" + (headers.isEmpty ? "?since=2" : "")
                let text = try await caller.open(path, headers: headers) { reader in
                    _ = try await reader.read { $0.contains("id: 5\n") }
                    for sequence in [4, 5, 6] { fixture.watch.say(Self.event("button", sequence)) }
                    return try await reader.read { $0.contains("id: 6\n") }
                }
                let numbers = text.matches(of: /id: ([0-9]+)\n/).map { String($0.output.1) }
                #expect(numbers == ["3", "4", "5", "6"])
            }
        }
    }

    @Test func aFullHistoryReachesItsReader() async throws {
        let last = StreamQueue.countLimit
        let fixture = try await ServerFixture { request in
            guard request["command"] == "events", request["since"] != nil else { return FakeWatch.usual(request) }
            return .lines([#"{"ok":true}"#] + (1...last).map { Self.event("button", $0) })
        }
        try await fixture.run { caller in
            let text = try await caller.stream("/api/watches/bench/events?since=0") {
                $0.contains("id: \(last)\n") || $0.contains("event: overrun")
            }
            let numbers = text.matches(of: /id: ([0-9]+)\n/).map { Int($0.output.1) }
            #expect(numbers == Array(1...last) && !text.contains("event: overrun"))
        }
    }

    @Test func sinceWhenAWatchIsDownIsSaid() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            try await caller.open("/api/watches/bench/events") { reader in
                _ = try await reader.read { $0.contains(#"{"state":"up""#) }
                let before = Date().timeIntervalSince1970
                try await fixture.watch.kill()
                let text = try await reader.read { $0.contains(#""state":"down""#) }
                let after = Date().timeIntervalSince1970
                let said = try #require(text.firstMatch(of: /"since":([0-9.]+)/).flatMap { Double($0.output.1) })
                // It is given in milliseconds.
                #expect((before - 0.001...after + 0.001).contains(said))
                let down = try await caller.send(.get, "/api/watches/bench").json
                #expect(down?["since"]?.number == said)
                try await fixture.watch.start()
                _ = try await reader.read { $0.components(separatedBy: #""state":"up""#).count == 3 }
                let up = try await caller.send(.get, "/api/watches/bench").json
                #expect(up?["state"] == "up" && up?["since"] == nil)
            }
        }
    }

    @Test func aWatchThatHangsIsDownSinceItWasFirstAsked() async throws {
        let fixture = try await ServerFixture(isQuick: true)
        try await fixture.run { caller in
            _ = try await caller.stream("/api/watches/bench/events") { $0.contains(#"{"state":"up""#) }
            fixture.watch.answer { _ in .silence }
            let first = try await caller.send(.get, "/api/watches/bench").json
            #expect(first?["error"]?["code"] == "watch-hangs")
            let since = try #require(first?["since"]?.number)
            let second = try await caller.send(.get, "/api/watches/bench").json
            #expect(second?["since"]?.number == since)
            fixture.watch.answer(FakeWatch.usual)
            // What it had not answered comes at last.
            fixture.watch.say(#"{"ok":true,"sequence":1}"#)
            try await until("its return") {
                let entry = try await caller.send(.get, "/api/watches/bench").json
                return entry?["state"] == "up" && entry?["since"] == nil
            }
        }
    }

    @Test func ofAWatchThatWasNeverReachedThereIsNoSince() async throws {
        let fixture = try await ServerFixture()
        try await fixture.watch.kill()
        try await fixture.run { caller in
            let entry = try await caller.send(.get, "/api/watches/bench").json
            #expect(entry?["state"] == "down" && entry?["since"] == nil)
            let text = try await caller.stream("/api/watches/bench/events") { $0.contains(#""state":"down""#) }
            #expect(text.contains(#""state":"down""#) && !text.contains(#""since""#))
        }
    }

    @Test func aReaderThatDoesNotReadIsCutOffAndHoldsNothingUp() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            let padding = #","message":"\#(String(repeating: "x", count: 60_000))""#
            let end = try await caller.open("/api/watches/bench/events", receiveBuffer: 4096) { slow in
                _ = try await slow.read { $0.contains(#"{"state":"up""#) }
                try await caller.open("/api/watches/bench/events?only=button") { quick in
                    _ = try await quick.read { $0.contains(#"{"state":"up""#) }
                    // More than the kernel keeps for the slow one, and the server.
                    for sequence in 2...200 { fixture.watch.say(Self.event("app-logged", sequence, padding)) }
                    fixture.watch.say(Self.event("button", 201))
                    _ = try await quick.read { $0.contains("id: 201\n") }
                }
                return try await slow.readToEnd(keeping: 1000)
            }
            #expect(end.contains("event: overrun\ndata: {\"lost\":"))
            let metrics = String(buffer: try await caller.send(.get, "/metrics").body)
            #expect(metrics.contains("cairn_web_overruns_total 1"))
        }
    }

    @Test func oneConnectionToTheWatchIsEnoughForManyReaders() async throws {
        let fixture = try await ServerFixture()
        try await fixture.run { caller in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await caller.open("/api/watches/bench/events") { reader in
                            _ = try await reader.read { $0.contains(#"{"state":"up""#) }
                            _ = try await reader.read { $0.contains("id: 77\n") }
                        }
                    }
                }
                try await until("50 streams") {
                    String(buffer: try await caller.send(.get, "/metrics").body).contains(
                        #"cairn_web_streams{kind="events"} 50"#
                    )
                }
                fixture.watch.say(Self.event("button", 77))
                try await group.waitForAll()
            }
            try await until("no stream") {
                String(buffer: try await caller.send(.get, "/metrics").body).contains(
                    #"cairn_web_streams{kind="events"} 0"#
                )
            }
        }
        #expect(fixture.watch.requests(of: "events").count == 1)
    }

    @Test func aClientHasSoManyStreamsAndNoMore() async throws {
        let places = StreamPlaces(counts: Counts())
        var held = try (0..<StreamPlaces.clientLimit).map { _ in try places.take(for: "one", kind: "events") }
        #expect(throws: APIError.self) { try places.take(for: "one", kind: "events") }
        for client in ["two", "three", "four"] {
            held += try (0..<StreamPlaces.clientLimit).map { _ in try places.take(for: client, kind: "events") }
        }
        #expect { try places.take(for: "five", kind: "events") } throws: {
            ($0 as? APIError)?.status == .tooManyRequests
        }
        held.removeLast()
        _ = try places.take(for: "five", kind: "events")
    }

    @Test func aFrameComesWhenThePictureHasChanged() async throws {
        let picture: @Sendable (String) -> String = { data in
            #"{"ok":true,"sequence":1,"screen":{"width":2,"height":1,"isRound":true,"hasColor":true,"format":"png","data":"\#(data)"}}"#
        }
        let fixture = try await ServerFixture { request in
            request["command"] == "screenshot" ? .lines([picture("00ff")]) : FakeWatch.usual(request)
        }
        try await fixture.run { caller in
            let text = try await caller.open("/api/watches/bench/screen/frames") { reader in
                _ = try await reader.read { $0.contains("\n\n") && $0.contains("frame") }
                let looks = fixture.watch.requests(of: "screenshot").count
                // It is looked at more than once, and nothing is said of it.
                try await until("looks") { fixture.watch.requests(of: "screenshot").count > looks + 2 }
                fixture.watch.answer { request in
                    request["command"] == "screenshot" ? .lines([picture("01ff")]) : FakeWatch.usual(request)
                }
                return try await reader.read { $0.components(separatedBy: "event: frame").count == 3 }
            }
            #expect(text.contains(#"data: {"height":1,"png":"AP8=","shape":"round","width":2}"#))
            #expect(text.contains(#""png":"Af8=""#))
        }
    }

    @Test func aCaptureIsAFileThatGrows() async throws {
        let fixture = try await ServerFixture { request in
            guard request["command"] == "packets" else { return FakeWatch.usual(request) }
            return .lines([
                #"{"ok":true,"startedAt":1000.5}"#,
                #"{"packet":{"at":0.25,"data":"01030c00","direction":"sent"}}"#,
                #"{"packet":{"at":0.5,"lost":3}}"#,
                #"{"packet":{"at":0.75,"data":"040e0401030c00","direction":"received"}}"#,
            ])
        }
        try await fixture.run { caller in
            try await caller.open("/api/watches/bench/capture") { reader in
                // The bytes are no text, but what is looked for is.
                _ = try await reader.read { $0.utf8.contains(0x0E) }
            }
        }
    }

    @Test func aWatchThatRefusesACaptureIsHeardBeforeItBegins() async throws {
        let fixture = try await ServerFixture { request in
            guard request["command"] == "packets" else { return FakeWatch.usual(request) }
            return .lines([#"{"error":{"code":"not-permitted","message":"only its user may"},"ok":false}"#])
        }
        try await fixture.run { caller in
            let answer = try await caller.send(.get, "/api/watches/bench/capture")
            #expect((answer.status, answer.code) == (409, "not-permitted"))
        }
    }
}
